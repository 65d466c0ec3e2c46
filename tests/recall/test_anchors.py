"""Times that hang on a date or an event, and events found in what was said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.projections import analysis
from seedbed_server.recall.anchors import Events, spoken_of
from seedbed_server.recall.postings import Postings

NOW = datetime(2024, 6, 1, tzinfo=UTC)
SAID: list[tuple[datetime | None, str]] = [
    (datetime(2024, 1, 10, tzinfo=UTC), "We may move to Porto this year."),
    (datetime(2024, 3, 5, 9, tzinfo=UTC), "The move is done, we live in Porto!"),
    (datetime(2024, 3, 5, 10, tzinfo=UTC), "How did the move go?"),
    (datetime(2024, 4, 2, tzinfo=UTC), "Lea's wedding was lovely."),
    (None, "The wedding of Bo and Mia was lovely too."),
]
EVER = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


def events(said: Sequence[tuple[datetime | None, str]] = SAID) -> Events:
    postings = Postings()
    for _, text in said:
        postings.add(analysis.terms(text))
    times = np.array([np.nan if when is None else when.timestamp() for when, _ in said])
    return Events(postings, times, np.isfinite(times))


def day(month: int, number: int) -> datetime:
    return datetime(2024, month, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "begin", "end"),
    [
        ("Where did I work before the move?", EVER[0], day(3, 6)),
        ("Where did I work after the move?", day(3, 5), EVER[1]),
        ("Who came to see us since Lea's wedding?", day(4, 2), EVER[1]),
        ("What broke two weeks after the wedding?", day(4, 12) + timedelta(hours=12), day(4, 20) + timedelta(hours=12)),
        ("What broke the day after the wedding?", day(4, 3), day(4, 4)),
        ("What did I pack the week before the move to Porto, and why?", day(2, 27), day(3, 5)),
        ("What did I say before 3 May 2024?", EVER[0], day(5, 3)),
        ("What did I say after 3 May 2024?", day(5, 4), EVER[1]),
        ("What have I said since 3 May 2024?", day(5, 3), EVER[1]),
        ("Who called the Sunday before May 3, 2024?", day(4, 28), day(4, 29)),
        ("Who called on the Friday after May 3, 2024?", day(5, 10), day(5, 11)),
        ("Who called the day before yesterday?", day(5, 30), day(5, 31)),
        ("What did I say before the 3rd of May?", EVER[0], day(5, 3)),
        ("What have I said since March?", day(3, 1), EVER[1]),
        ("What did I say after Tuesday?", day(5, 29), EVER[1]),
        ("What did I read until May 3?", EVER[0], day(5, 4)),
        ("What changed after the trip in April 2024?", day(4, 1), EVER[1]),
        ("Where were we the weekend after the move?", day(3, 9), day(3, 11)),
        ("Where were we the weekend before Sunday 3 March 2024?", day(2, 24), day(2, 26)),
        ("What did I eat the 3 days before the move?", day(3, 2), day(3, 5)),
        ("What did I eat the last two weeks before the move?", day(2, 20), day(3, 5)),
        ("What did I see a month before the wedding?", day(2, 17), day(3, 19)),
        ("What did I do every day since the move?", day(3, 5), EVER[1]),
        ("WHAT DID I SAY AFTER THE MOVE DID ANN COME?", day(3, 5), EVER[1]),
        ("What did I buy after the move but before the wedding?", day(3, 5), EVER[1]),  # the first one is read
    ],
)
def test_what_hangs_on_an_anchor(query: str, begin: datetime, end: datetime) -> None:
    """On a date that is said, or on the day when an event was talked about most."""
    assert spoken_of(query, NOW, events()) == [(begin, end)]


@pytest.mark.parametrize(
    "query",
    [
        "What did I say before?",
        "What came after that?",
        "How did I feel after the earthquake?",  # nobody told of one
        "Is she good at following orders?",
        "Who will look after the move?",
        "What can I cook, since I am at a wedding?",
        "What broke twenty days after the move?",
        "What broke on the second day after the move?",
        "What will I do two days after tomorrow?",
        "What was before 31 June?",
        "after",
        f"I slept well after the move. {'It is quiet here. ' * 10}",  # tells, and asks nothing
        "before the before the before the",
    ],
)
def test_nothing_that_is_known(query: str) -> None:
    """No anchor, or none that the memory knows: no time is spoken of."""
    assert spoken_of(query, NOW, events()) == []


def test_other_times_of_the_query_count_too() -> None:
    """A time beside the anchor is kept."""
    found = spoken_of("Did I sleep in January 2024 or after the move?", NOW, events())
    assert found == [(day(1, 1), day(2, 1)), (day(3, 5), EVER[1])]
    found = spoken_of("Who came the day before 2 April 2024, and in May 2024?", NOW, events())
    assert found == [(day(5, 1), day(6, 1)), (day(4, 1), day(4, 2))]
    assert spoken_of("Who called last week before the move?", NOW, events()) == [(day(2, 27), day(3, 5))]


def test_an_empty_memory_has_no_events() -> None:
    """Nothing was said, or nothing with a time."""
    nothing = Events(Postings(), np.empty(0), np.empty(0, dtype=np.bool_))
    assert spoken_of("before the move", NOW, nothing) == []


WORDS = tuple(
    """the a an last next first two 3 99 999 day days week weekend month year friday before after since until prior to
following move wedding Porto Lea 2024 9999 0001-01-01 9999-12-31 31 June March May yesterday tomorrow , . ago did""".split()  # noqa: SIM905
)


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.lists(st.sampled_from([*EVER, NOW]), max_size=5))
def test_any_words_give_times_or_none(said: list[str], when: list[datetime]) -> None:
    """Never an error, never an interval that ends before it begins; at both ends of the calendar too."""
    found = events([(moment, "The move and the wedding in Porto.") for moment in when])
    for reference in (NOW, *EVER):
        assert all(begin < end for begin, end in spoken_of(" ".join(said), reference, found))
