"""Facts in time against an oracle: a plain replay, moment by moment, that knows nothing of spells.

The oracle holds a set of what is so. It walks through the moments at which
something is said to begin or to end, in order, and applies each to the set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed_server.log import Decision, Merge, Retraction, Split
from seedbed_server.projections.graph import MemoryGraph, made_of
from seedbed_server.projections.names import entity_id
from seedbed_server.projections.rows import ClaimRow, Known
from seedbed_server.projections.triples import claim_fact_id, resolve

LIVES, WORKS, LIKES = ("live in", "moved to"), ("work at",), ("like", "hate")
DEAD = ("be", "dead")
ENDS = {"used to live in": LIVES, "quit": WORKS}
EXAMPLES = settings(max_examples=40, deadline=None)


def begins(claim: ClaimRow) -> float:
    if claim.predicate in ENDS and claim.valid_to is not None:
        return claim.valid_to
    return claim.said_at if claim.valid_from is None else claim.valid_from


def same_slot(a: str, b: str) -> bool:
    return any(a in slot and b in slot for slot in (LIVES, WORKS))


def moments(claims: Sequence[ClaimRow]) -> Iterator[tuple[float, int, float, ClaimRow]]:
    for claim in claims:
        yield begins(claim), 1, claim.said_at, claim
        if claim.valid_to is not None and claim.predicate not in ENDS:
            yield claim.valid_to, 0, claim.said_at, claim


def replayed(claims: Sequence[ClaimRow], at: float) -> set[tuple[str, str, bool]]:
    """What is so at a moment: (predicate, object, negated)."""
    so: set[tuple[str, str, bool]] = set()
    dead = False
    for time, is_begin, _, claim in sorted(moments(claims), key=lambda moment: moment[:3]):
        if time > at:
            break
        fact = (claim.predicate, claim.object, bool(claim.negated))
        if not is_begin:
            so.discard(fact)
            continue
        so.discard((claim.predicate, claim.object, not claim.negated))
        if (claim.predicate, claim.object) == DEAD:
            dead = not claim.negated
        if claim.negated:
            so = {f for f in so if f[2] or f[1] != claim.object or not same_slot(f[0], claim.predicate)}
        elif claim.predicate in ENDS:
            so = {f for f in so if f[2] or f[1] != claim.object or f[0] not in ENDS[claim.predicate]}
        else:
            so = {f for f in so if f[2] or f[1] == claim.object or not same_slot(f[0], claim.predicate)}
            if (claim.predicate, claim.object) == DEAD:
                so = {f for f in so if f[2] or f[0] not in (*LIVES, *WORKS)}
            if claim.predicate in LIKES:
                so = {f for f in so if f[2] or f[1] != claim.object or f[0] not in LIKES}
        if claim.negated or not dead or claim.predicate not in (*LIVES, *WORKS):
            so.add(fact)
    return so


def held(claims: Sequence[ClaimRow], at: float) -> set[tuple[str, str, bool]]:
    facts = resolve(claims).values()
    return {(fact.predicate, fact.object, fact.negated) for fact in facts if fact.spell(at)}


def times(claims: Sequence[ClaimRow]) -> list[float]:
    """Every moment at which something changes, and one between each two."""
    at = sorted({moment[0] for moment in moments(claims)})
    return [at[0] - 1, *(time + step for time in at for step in (0.0, 0.01))] if at else []


@st.composite
def histories(draw: st.DrawFn, least: int = 1) -> list[ClaimRow]:
    """Claims of one subject, by seq; no two moments coincide, and when something is said is not when it is recorded."""
    count = draw(st.integers(least, 8))
    said = draw(st.permutations(range(count)))
    return [draw(_claim(seq, float(10 * said[seq - 1]))) for seq in range(1, count + 1)]


@st.composite
def _claim(draw: st.DrawFn, seq: int, said: float) -> ClaimRow:
    predicate = draw(st.sampled_from([*LIVES, *WORKS, *LIKES, *ENDS, DEAD[0]]))
    object_ = "dead" if predicate == DEAD[0] else draw(st.sampled_from("xyz"))
    negated = draw(st.booleans()) if predicate not in ENDS else False
    begin = said + 0.1 * seq - 10 * draw(st.integers(1, 4)) if draw(st.booleans()) else None
    first = said if begin is None else begin
    end = first + 10 * draw(st.integers(1, 4)) + 0.05 if draw(st.integers(0, 3)) == 0 else None
    ends = (entity_id("maya"), "Maya", "person", predicate, entity_id(object_), object_, "other")
    return ClaimRow(1, seq, 0, *ends, int(negated), "asserted", "", said, 1000.0 + seq, begin, end)


@EXAMPLES
@given(histories())
def test_what_holds_is_what_a_replay_leaves(claims: list[ClaimRow]) -> None:
    """At every moment, before, between and after."""
    for at in times(claims):
        assert held(claims, at) == replayed(claims, at), at


@EXAMPLES
@given(histories(2), st.data())
def test_the_order_of_arrival_does_not_matter(claims: list[ClaimRow], data: st.DataObject) -> None:
    """The same claims, stored in another order: the same times in the world."""
    seqs = data.draw(st.permutations([claim.seq for claim in claims]))
    other = [claim._replace(seq=seq, recorded_at=1000.0 + seq) for claim, seq in zip(claims, seqs, strict=True)]
    assert _in_the_world(claims) == _in_the_world(data.draw(st.permutations(other)))


def _in_the_world(claims: Sequence[ClaimRow]) -> dict[str, list[tuple[float, float | None]]]:
    return {i: [spell[:2] for spell in fact.spells] for i, fact in resolve(claims).items()}


@EXAMPLES
@given(histories())
def test_when_something_was_known_is_when_a_replay_learns_it(claims: list[ClaimRow]) -> None:
    """Known from the first source; no longer believed to last from the first record after which it does not."""
    records = sorted(claim.recorded_at for claim in claims)
    for i, fact in resolve(claims).items():
        own = [claim for claim in claims if claim_fact_id(claim) == i]
        named = (fact.predicate, fact.object, fact.negated)
        for spell in fact.spells:
            sources = [c for c in own if spell.holds(begins(c)) or begins(c) == spell.valid_from]
            known_from = min(c.recorded_at for c in sources)
            lasted = [
                time
                for time in records
                if time >= known_from
                and any(_lasts(_by(claims, time), named, begins(c)) for c in sources if c.recorded_at <= time)
            ]
            ended = next((time for time in records if time >= known_from and time not in lasted), None)
            if any(claim.predicate == DEAD[0] and claim.negated for claim in claims):
                continue  # an end that was learned may be unlearned: whoever is alive after all lives somewhere
            assert (spell.known_from, spell.known_to) == (known_from, ended)


def _by(claims: Sequence[ClaimRow], recorded: float) -> list[ClaimRow]:
    return [claim for claim in claims if claim.recorded_at <= recorded]


def _lasts(claims: Sequence[ClaimRow], fact: tuple[str, str, bool], since: float) -> bool:
    return all(fact in replayed(claims, at) for at in (since, *(t for t in times(claims) if t > since), inf))


def decision(number: int, content: Merge | Split | Retraction, last_seq: int) -> Decision:
    recorded = datetime.fromtimestamp(1000 + last_seq + 0.5, UTC)
    return Decision(number, content, last_seq, 0, recorded, None)


def graph(claims: Sequence[ClaimRow], *decisions: Decision) -> MemoryGraph:
    return made_of(Known([], list(claims), len(claims)), decisions, lambda: 1e6)


def picture(found: MemoryGraph) -> object:
    entities = [(e.id, e.name, e.type, e.aliases, e.seqs, e.own) for e in found.entities.by_id.values()]
    return found.facts, sorted(found.graph.edges(keys=True)), sorted(entities, key=lambda e: e[0])


@EXAMPLES
@given(histories(2), st.sampled_from([("x", "y"), ("maya", "z"), ("z", "maya")]))
def test_merge_then_split_is_the_identity(claims: list[ClaimRow], ends: tuple[str, str]) -> None:
    """Nothing of a merge is left after its split; while it lasts, one is gone and the other has all."""
    into, from_ = (entity_id(end) for end in ends)
    merge = decision(1, Merge("m", into, from_), len(claims))
    split = decision(2, Split("m"), len(claims))
    merged = graph(claims, merge)
    assert from_ not in merged.entities.by_id
    assert not any(from_ in (fact.subject_id, fact.object_id) for fact in merged.facts.values())
    assert picture(graph(claims, merge, split)) == picture(graph(claims))


@EXAMPLES
@given(histories(2), st.data())
def test_a_retracted_fact_touches_nothing(claims: list[ClaimRow], data: st.DataObject) -> None:
    """From then on the graph is as if it had not been said until then; it is still listed, as retracted."""
    taken = data.draw(st.sampled_from(sorted({claim_fact_id(claim) for claim in claims})))
    upto = data.draw(st.integers(1, len(claims)))
    gone = [claim for claim in claims if claim_fact_id(claim) == taken and claim.seq <= upto]
    left = [claim for claim in claims if claim not in gone]
    retraction = decision(1, Retraction((taken,)), upto)
    found = graph(claims, retraction)
    believed = {i: fact for i, fact in found.facts.items() if fact.retracted_at is None}
    assert believed == resolve(left)
    if gone and taken not in believed:
        fact = found.facts[taken]
        assert {spell.known_to for spell in fact.spells} == {1000 + upto + 0.5}
        assert not any(fact.spell(at) for at in times(claims))
        assert taken not in {i for _, _, i in found.graph.edges(keys=True)}


@EXAMPLES
@given(histories(2), st.data())
def test_a_merged_name_ends_facts_like_its_own(claims: list[ClaimRow], data: st.DataObject) -> None:
    """A graph in which another name is merged is the graph of claims that had said one name."""
    some = data.draw(st.sets(st.integers(1, len(claims))))
    other = entity_id("mae")
    split = [c._replace(subject_id=other, subject="Mae") if c.seq in some else c for c in claims]
    merged = graph(split, decision(1, Merge("m", entity_id("maya"), other), len(claims)))
    plain = graph(claims)
    assert {i: fact.spells for i, fact in merged.facts.items()} == {i: f.spells for i, f in plain.facts.items()}
    assert {merged.spoken(fact).subject for fact in merged.facts.values()} <= {"Maya", "Mae"}


def test_decisions_are_found_by_names_as_said() -> None:
    """A retraction made while two names were one also holds after they are apart again."""
    claims = [
        ClaimRow(1, seq, 0, *(entity_id(name.lower()), name, "person", "like", entity_id("tea"), "tea", "other"), *rest)
        for seq, name, rest in ((1, "Maya", (0, "asserted", "", 1.0, 1.0)), (2, "Mae", (0, "asserted", "", 2.0, 2.0)))
    ]
    ids = tuple(claim_fact_id(claim) for claim in claims)
    taken = decision(2, Retraction(ids), 2)
    merge = decision(1, Merge("m", entity_id("maya"), entity_id("mae")), 2)
    assert [fact.current for fact in graph(claims, merge, taken).facts.values()] == [False]
    assert [fact.current for fact in graph(claims, taken).facts.values()] == [False, False]
    again = replace(Known([], claims, 3), claims=[*claims, claims[0]._replace(seq=3, said_at=3.0, recorded_at=3.0)])
    assert [f.seqs for f in made_of(again, [merge, taken]).facts.values() if f.current] == [(3,)]


@given(st.permutations(range(4)))
def test_of_what_was_said_at_one_time_the_words_are_the_first_by_code_points(order: list[int]) -> None:
    """Whichever message came first."""
    spelt = [("Bill", "Madrid"), ("bill", "Madrid"), ("bill", "madrid"), ("Bill", "madrid")]
    ids = (entity_id("bill"), entity_id("madrid"))
    claims = [
        ClaimRow(
            *(1, seq, 0, ids[0], spelt[at][0], "person", "live in", ids[1], spelt[at][1], "location"),
            *(0, "asserted", "", 5.0, 5.0),
        )
        for seq, at in enumerate(order, 1)
    ]
    older = claims[0]._replace(seq=9, subject="ABILL", said_at=4.0)
    (fact,) = resolve([*claims, older]).values()
    assert (fact.subject, fact.object) == ("Bill", "Madrid")
