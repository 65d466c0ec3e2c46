"""From claims to facts: the same claim from several messages is one fact, and a later one may end it.

Which fact holds follows from all claims about a subject, whatever order they
arrived in. Time is the message's own; equal times are ordered by ``seq``.

- Of a relation that has one value at a time (SINGLE: where one lives, whom one
  works for, whom one is married to, where one was born), the latest value holds.
- The opposite of a claim, said later, ends it ("likes", "does not like"), and
  so do the words of ENDINGS ("used to live in", "moved from", "quit").
- Only asserted claims do so: what is planned or possible ends nothing.

No other claims end each other. A town and its country are two values here:
"lives in Germany" said after "lives in Berlin" supersedes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from seedbed_server.projections.knowledge import ClaimRow
from seedbed_server.projections.names import triple_id

SINGLE = {
    "live in": "residence",
    "lives in": "residence",
    "moved to": "residence",
    "work at": "employer",
    "works at": "employer",
    "works for": "employer",
    "be married to": "spouse",
    "marry": "spouse",
    "be born in": "birthplace",
}
ENDINGS = {
    "used to live in": "residence",
    "moved from": "residence",
    "used to work at": "employer",
    "quit": "employer",
    "leave": "employer",
    "used to be married to": "spouse",
    "be divorced from": "spouse",
}


@dataclass(slots=True)
class Fact:
    """A triple with what it stands on. Times are in seconds since 1970.

    It holds from ``valid_from`` until ``valid_to``, None while it holds;
    ``known_from`` is when it was first recorded. ``seqs`` are its sources.
    """

    id: str
    subject_id: str
    subject: str
    predicate: str
    object_id: str
    object: str
    negated: bool
    modality: str
    surface: str
    seqs: tuple[int, ...]
    valid_from: float
    known_from: float
    last_said: float
    valid_to: float | None = None

    @property
    def current(self) -> bool:
        """Nothing has ended it."""
        return self.valid_to is None


def resolve(claims: Iterable[ClaimRow]) -> dict[str, Fact]:
    """Return the facts that claims make, by id, and mark those that later ones have ended."""
    said = sorted(claims, key=lambda c: (c.said_at, c.seq, c.place))
    facts = _facts(said)
    asserted = [claim for claim in said if claim.modality == "asserted"]
    for group in _grouped(asserted, _opposites):
        _last_polarity_holds(group, facts)
    for group in _grouped(asserted, _slot):
        _last_value_holds(group, facts)
    return facts


def circle(claim: ClaimRow) -> tuple[str, ...]:
    """Name the claims that a claim may end, or be ended by: facts of one circle follow from its claims alone."""
    return _slot(claim) or _opposites(claim)


def claim_fact_id(claim: ClaimRow) -> str:
    """The id of the fact that a claim states."""
    return triple_id(claim.subject_id, claim.predicate, claim.object_id, bool(claim.negated), claim.modality)


def _facts(said: Sequence[ClaimRow]) -> dict[str, Fact]:
    """One fact for equal claims, in the words of the newest."""
    facts: dict[str, Fact] = {}
    seqs: dict[str, set[int]] = defaultdict(set)
    for claim in said:
        i = claim_fact_id(claim)
        seqs[i].add(claim.seq)
        fact = facts.get(i)
        if fact is None:
            facts[i] = Fact(
                *(i, claim.subject_id, claim.subject, claim.predicate, claim.object_id, claim.object),
                *(bool(claim.negated), claim.modality, claim.surface, (claim.seq,)),
                *(claim.said_at, claim.recorded_at, claim.said_at),
            )
            continue
        fact.subject, fact.object, fact.surface = claim.subject, claim.object, claim.surface
        fact.known_from = min(fact.known_from, claim.recorded_at)
        fact.last_said = claim.said_at
    for i, fact in facts.items():
        fact.seqs = tuple(sorted(seqs[i]))
    return facts


def _opposites(claim: ClaimRow) -> tuple[str, ...]:
    return (claim.subject_id, claim.predicate, claim.object_id)


def _slot(claim: ClaimRow) -> tuple[str, ...] | None:
    slot = SINGLE.get(claim.predicate) or ENDINGS.get(claim.predicate)
    return (claim.subject_id, slot) if slot else None


def _last_polarity_holds(group: Sequence[ClaimRow], facts: dict[str, Fact]) -> None:
    """Of "is" and "is not", in order of time, the last one said holds."""
    open_fact: Fact | None = None
    for claim in group:
        fact = facts[claim_fact_id(claim)]
        if open_fact is not None and open_fact is not fact:
            _end(open_fact, claim.said_at)
            _begin(fact, claim.said_at)
        open_fact = fact


def _last_value_holds(group: Sequence[ClaimRow], facts: dict[str, Fact]) -> None:
    """Of a relation with one value, in order of time, the last value holds, under all its predicates."""
    value = ""
    holding: dict[str, Fact] = {}
    for claim in group:
        fact = facts[claim_fact_id(claim)]
        ending = claim.predicate in ENDINGS or bool(claim.negated)
        if ending and claim.object_id != value:
            continue
        if ending or claim.object_id != value:
            for other in holding.values():
                _end(other, claim.said_at)
            holding = {}
            value = ""
        if not ending:
            value = claim.object_id
            if fact.id not in holding:
                _begin(fact, claim.said_at)
                holding[fact.id] = fact


def _end(fact: Fact, at: float) -> None:
    if fact.valid_to is None:
        fact.valid_to = at


def _begin(fact: Fact, at: float) -> None:
    """A fact said again after it had ended holds from then on."""
    if fact.valid_to is not None:
        fact.valid_from, fact.valid_to = at, None


def _grouped(claims: Iterable[ClaimRow], by: Callable[[ClaimRow], tuple[str, ...] | None]) -> Iterable[list[ClaimRow]]:
    groups: dict[tuple[str, ...], list[ClaimRow]] = defaultdict(list)
    for claim in claims:
        name = by(claim)
        if name is not None:
            groups[name].append(claim)
    return groups.values()
