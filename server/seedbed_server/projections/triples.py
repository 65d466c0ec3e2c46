"""From claims to facts: the same claim from several messages is one fact, and others may end it.

Which fact holds when follows from all claims about a subject, whatever order
they arrived in. A claim holds from its ``valid_from``, or else from when it was
said. Equal times are ordered by when they were said, then by ``seq``.

- Of a relation that has one value at a time (SINGLE: where one lives, whom one
  works for, whom one is married to, where one was born), each value holds until
  the next begins.
- The opposite of a claim ends it ("likes", "does not like"; "loves", "hates"), and
  "does not like" ends "loves" too; so do the words of ENDINGS ("used to live in",
  "moved from", "quit"), and a ``valid_to``.
- Who is dead lives, works and is married no more: it ends, and what is said to begin
  later has no time in which it held, unless it was said that they are alive after all.
- Only asserted claims do so: what is planned or possible ends nothing.

No other claims end each other. A town and its country are two values here:
"lives in Germany" said after "lives in Berlin" supersedes it. A fact may hold
more than once: whoever moves back has two spells there.

What was retracted is no claim any more: it ends nothing and supports nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from seedbed_server.models.predicates import ENDINGS, OPPOSITES, SINGLE, STRONGER
from seedbed_server.projections.names import entity_id, triple_id
from seedbed_server.projections.rows import DEATH, ClaimRow
from seedbed_server.projections.timeline import Moment, Spell, spells

# That somebody has died, or lives, and the relations that end with a life.
_DEATH, _LIFE = (DEATH[0], entity_id(DEATH[1])), ("be", entity_id("alive"))
_OF_A_LIFE = ("residence", "employer", "spouse")


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple with what it stands on; ``seqs`` are its sources, ``spells`` the times in which it held, in order.

    ``last_said`` is in seconds since 1970, as is ``retracted_at``, which is None
    for what is believed.
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
    last_said: float
    spells: tuple[Spell, ...]
    retracted_at: float | None = None

    @property
    def valid_from(self) -> float:
        """When it began, the last time."""
        return self.spells[-1].valid_from

    @property
    def current(self) -> bool:
        """It is believed, and nothing has ended it."""
        return self.retracted_at is None and self.spells[-1].valid_to is None

    def spell(self, at: float) -> Spell | None:
        """The spell that holds at a moment of the world, if one does and the fact is believed.

        A plan holds from when it was said: it is had before the day that it is for.
        """
        if self.retracted_at is not None:
            return None
        for spell in reversed(self.spells):
            if spell.holds(at):
                return spell
        return self.spells[-1] if self.modality == "planned" and self.last_said <= at < self.valid_from else None


def resolve(claims: Iterable[ClaimRow], retracted: Iterable[tuple[ClaimRow, float]] = ()) -> dict[str, Fact]:
    """Return the facts that claims make, by id.

    ``retracted`` are claims that were taken back, and when: they touch nothing,
    and a fact that stands on nothing else is given as it would stand, marked.
    """
    said = sorted(claims, key=_when_said)
    facts = _facts(said)
    gone: dict[str, list[tuple[ClaimRow, float]]] = defaultdict(list)
    for claim, at in retracted:
        gone[claim_fact_id(claim)].append((claim, at))
    for i, pairs in gone.items():
        if i in facts:
            continue
        own = sorted((claim for claim, _ in pairs), key=_when_said)
        fact = _facts([*said, *own], only=own)[i]
        at = max(at for _, at in pairs)
        ended = tuple(spell._replace(known_to=at) for spell in fact.spells)
        facts[i] = replace(fact, spells=ended, retracted_at=at)
    return facts


def circles(claim: ClaimRow) -> list[tuple[str, ...]]:
    """Name the circles that a claim belongs to, its own first."""
    further = _OF_A_LIFE if (claim.predicate, claim.object_id) in (_DEATH, _LIFE) else ()
    return [circle(claim), *((claim.subject_id, slot) for slot in further)]


def circle(claim: ClaimRow | Fact) -> tuple[str, ...]:
    """Name the claims that may end each other: facts of one circle follow from the claims that belong to it alone."""
    slot = slot_of(claim.predicate)
    relation = "liking" if claim.predicate in OPPOSITES else claim.predicate
    return (claim.subject_id, slot) if slot else (claim.subject_id, relation, claim.object_id)


def slot_of(predicate: str) -> str | None:
    """The relation with one value at a time that a predicate speaks of."""
    return SINGLE.get(predicate) or ENDINGS.get(predicate)


def is_value(fact: Fact) -> bool:
    """Whether it says what a relation with one value at a time is, rather than what it is not, or was."""
    return fact.predicate in SINGLE and not fact.negated and fact.modality == "asserted"


def claim_fact_id(claim: ClaimRow) -> str:
    """The id of the fact that a claim states."""
    return triple_id(claim.subject_id, claim.predicate, claim.object_id, bool(claim.negated), claim.modality)


def _facts(said: Sequence[ClaimRow], only: Sequence[ClaimRow] | None = None) -> dict[str, Fact]:
    """One fact for equal claims, in the words of the newest; with ``only``, just the facts of these claims."""
    tracks: dict[tuple[str, ...], list[Moment]] = defaultdict(list)
    for claim in said:
        for track, moment in _moments(claim):
            tracks[track].append(moment)
    held: dict[str, tuple[Spell, ...]] = {}
    for moments in tracks.values():
        held |= spells(moments)
    stated: dict[str, list[ClaimRow]] = defaultdict(list)
    for claim in said if only is None else only:
        stated[claim_fact_id(claim)].append(claim)
    return {i: _fact(i, own, held[i]) for i, own in stated.items()}


def _fact(i: str, said: Sequence[ClaimRow], held: tuple[Spell, ...]) -> Fact:
    newest = _wording(said)
    return Fact(
        *(i, newest.subject_id, newest.subject, newest.predicate, newest.object_id, newest.object),
        *(bool(newest.negated), newest.modality, newest.surface),
        seqs=tuple(sorted({claim.seq for claim in said})),
        last_said=newest.said_at,
        spells=held,
    )


def _wording(said: Sequence[ClaimRow]) -> ClaimRow:
    """The newest of claims in order; of those said at one time the first by code points, whichever came first."""
    at = said[-1].said_at
    together = takewhile(lambda claim: claim.said_at == at, reversed(said))
    return min(together, key=lambda claim: (claim.subject, claim.object, claim.surface, claim.seq, claim.place))


def _moments(claim: ClaimRow) -> Iterator[tuple[tuple[str, ...], Moment]]:
    """What a claim starts and stops, and on which track."""
    fact = claim_fact_id(claim)
    at = begin(claim.predicate, claim.said_at, claim.valid_from, claim.valid_to)
    order = (at, 1, claim.said_at, claim.seq, claim.place)
    alone = (claim.subject_id, claim.predicate, claim.object_id)
    home: tuple[str, ...] = alone
    value = _POLARITY[claim.negated]
    slot, ending = SINGLE.get(claim.predicate), ENDINGS.get(claim.predicate)
    if claim.modality != "asserted":
        home = (fact,)
    elif slot and not claim.negated:
        home, value = (claim.subject_id, slot), claim.object_id
        yield alone, Moment(order, claim.recorded_at, value=_POLARITY[1], stops=True)
    elif slot or (ending and not claim.negated):
        yield (claim.subject_id, slot or ending or ""), Moment(order, claim.recorded_at, claim.object_id, stops=True)
    if claim.modality == "asserted":
        for denied in (STRONGER if claim.negated else OPPOSITES).get(claim.predicate, ()):
            other = (claim.subject_id, denied, claim.object_id)
            yield other, Moment(order, claim.recorded_at, value=_POLARITY[0], stops=True)
    if claim.modality == "asserted" and (claim.predicate, claim.object_id) in (_DEATH, _LIFE):
        over = ((claim.predicate, claim.object_id) == _DEATH) != bool(claim.negated)
        for relation in _OF_A_LIFE:
            yield (claim.subject_id, relation), Moment(order, claim.recorded_at, stops=over, bars=over)
    yield home, Moment(order, claim.recorded_at, value, fact)
    if claim.valid_to is not None and not ending:
        end = max(claim.valid_to, at)
        # Before what begins at that time; but an end is never before its own start.
        last = (end, 0 if end > at else 2, claim.said_at, claim.seq, claim.place)
        yield home, Moment(last, claim.recorded_at, fact=fact, stops=True)


_POLARITY = ("is", "is not")


def begin(predicate: str, said_at: float | None, valid_from: float | None, valid_to: float | None) -> float:
    """Since when a claim holds, in seconds since 1970. "Used to" holds from the end of what it speaks of.

    One of ``said_at`` and ``valid_from`` is known.
    """
    if predicate in ENDINGS and valid_to is not None:
        return valid_to
    if valid_from is not None or said_at is None:
        return valid_from or 0.0
    return said_at if valid_to is None else min(said_at, valid_to)


def _when_said(claim: ClaimRow) -> tuple[float, int, int]:
    return (claim.said_at, claim.seq, claim.place)
