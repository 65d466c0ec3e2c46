"""Which facts a query gets: those it asks for by their words, and what lasts, however much is said besides."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from seedbed_server.log import Decision, Retraction
from seedbed_server.projections.graph import MemoryGraph, made_of
from seedbed_server.projections.names import canonical, entity_id
from seedbed_server.projections.nearness import NEAR_EDGES, facts_around
from seedbed_server.projections.rows import ClaimRow, Known
from seedbed_server.projections.stated import recorded_by
from seedbed_server.recall.stopwords import query_terms

DAY = 86_400.0


def claim(seq: int, subject: str, predicate: str, thing: str) -> ClaimRow:
    return ClaimRow(
        key=1,
        seq=seq,
        place=0,
        subject_id=entity_id(canonical(subject)),
        subject=subject,
        subject_type="person",
        predicate=predicate,
        object_id=entity_id(canonical(thing)),
        object=thing,
        object_type="other",
        negated=0,
        modality="asserted",
        surface="",
        said_at=seq * DAY,
        recorded_at=seq * DAY,
        valid_from=None,
        valid_to=None,
    )


def graph(*said: tuple[str, str, str], noise: int = 2 * NEAR_EDGES) -> MemoryGraph:
    """What was said first, and then so many other things about Maya."""
    later = [("Maya", "see", f"film {n}") for n in range(noise)]
    claims = [claim(seq, *each) for seq, each in enumerate([*said, *later], 1)]
    return made_of(Known([], claims, len(claims)))


def asked(known: MemoryGraph, query: str, k: int = 5) -> list[tuple[str, str, str]]:
    named = [entity.id for entity in known.entities.named_in(query)]
    ranked = facts_around(known, named, k, words=query_terms(query))
    return [(each.fact.subject, each.fact.predicate, each.fact.object) for each in ranked]


ALLERGY = ("Maya", "be allergic to", "hazelnuts")
HOME = ("Maya", "live in", "Porto")
SISTER = ("Maya", "sister", "Elena")
WORK = ("Elena", "work at", "Braga Hospital")


def test_the_words_of_a_query_find_an_old_fact() -> None:
    """A thousand newer facts do not hide what is asked for."""
    assert asked(graph(ALLERGY), "What is Maya allergic to?", k=1) == [ALLERGY]


def test_what_one_has_one_of_is_always_looked_at() -> None:
    """Where somebody lives comes among the first, whatever is asked and however long ago it was said."""
    assert HOME in asked(graph(HOME, ALLERGY), "How is Maya?")


def test_a_fact_of_a_neighbour_is_found_by_its_words() -> None:
    """Asked about through a relation: the sister's work, not Maya's films."""
    assert asked(graph(SISTER, WORK), "Where does Maya's sister Elena work?", k=2)[0] in (SISTER, WORK)
    assert {SISTER, WORK} <= set(asked(graph(SISTER, WORK), "Where does Maya's sister Elena work?"))


def test_words_of_strangers_do_not_count() -> None:
    """A fact that holds the words but belongs to nobody near is left out."""
    stranger = ("Tom", "be allergic to", "dust")
    assert stranger not in asked(graph(ALLERGY, stranger), "What is Maya allergic to?", k=50)


def test_without_words_the_nearest_and_newest_stand() -> None:
    """A query of a name alone."""
    words: Sequence[str] = ()
    known = graph(ALLERGY, noise=3)
    ranked = facts_around(known, [entity_id(canonical("Maya"))], 9, words=words)
    assert [each.fact.object for each in ranked] == ["film 2", "film 1", "film 0", "hazelnuts"]


def test_who_does_not_like_something_does_not_love_it() -> None:
    """A denial ends what says more; what says less stands beside it."""
    loved, denied = claim(1, "Maya", "love", "oysters"), claim(2, "Maya", "like", "oysters")._replace(negated=1)
    known = made_of(Known([], [loved, denied], 2))
    assert [(f.predicate, f.negated, f.current) for f in known.facts.values()] == [
        ("love", False, False),
        ("like", True, True),
    ]
    liked, less = claim(1, "Maya", "like", "tea"), claim(2, "Maya", "love", "tea")._replace(negated=1)
    known = made_of(Known([], [liked, less], 2))
    assert all(fact.current for fact in known.facts.values())


def test_the_end_of_the_calendar_is_a_time_like_any() -> None:
    """The last moment that a timestamp can say is after every decision."""
    assert recorded_by([], 253_402_300_799.999999) == []
    decision = Decision(1, Retraction(()), 0, 0, datetime(2026, 1, 1, tzinfo=UTC), None)
    assert recorded_by([decision], 253_402_300_799.999999) == [decision]
