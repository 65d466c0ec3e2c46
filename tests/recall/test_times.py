"""Times in a query."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.recall.times import intervals, within

EPOCH = datetime(1970, 1, 2)  # noqa: DTZ001 - Hypothesis adds the zone
WEDNESDAY = datetime(2023, 6, 14, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What was it on 8 May 2023?", [("2023-05-08", "2023-05-09")]),
        ("on May 8th, 2022", [("2022-05-08", "2022-05-09")]),
        ("the 31st of December", [("2022-12-31", "2023-01-01")]),
        ("2023-02-28", [("2023-02-28", "2023-03-01")]),
        ("in May 2023", [("2023-05-01", "2023-06-01")]),
        ("in August", [("2022-08-01", "2022-09-01")]),
        ("last March", [("2023-03-01", "2023-04-01")]),
        ("last June", [("2022-06-01", "2022-07-01")]),
        ("early June", [("2023-06-01", "2023-07-01")]),
        ("last summer", [("2022-06-01", "2022-09-01")]),
        ("winter 2021", [("2021-12-01", "2022-03-01")]),
        ("between 2019 and 2021", [("2019-01-01", "2020-01-01"), ("2021-01-01", "2022-01-01")]),
        ("yesterday", [("2023-06-13", "2023-06-14")]),
        ("the day before yesterday", [("2023-06-12", "2023-06-13")]),
        ("last week", [("2023-06-05", "2023-06-12")]),
        ("this month", [("2023-06-01", "2023-07-01")]),
        ("last month", [("2023-05-01", "2023-06-01")]),
        ("last weekend", [("2023-06-10", "2023-06-12")]),
        ("last Wednesday", [("2023-06-07", "2023-06-08")]),
        ("two weeks ago", [("2023-05-29", "2023-06-05")]),
        ("a couple of months ago", [("2023-04-01", "2023-05-01")]),
        ("3 days ago", [("2023-06-11", "2023-06-12")]),
        ("a year ago", [("2022-01-01", "2023-01-01")]),
        ("the last 2 weeks", [("2023-05-31", "2023-06-15")]),
        ("May I march on? It may rain at 12:30 for 20 minutes", []),
        ("31 June 2023, 29 February 2023", []),
        ("", []),
    ],
)
def test_what_a_time_means(query: str, found: list[tuple[str, str]]) -> None:
    """Whole days, weeks, months, seasons and years, the last one unless it says which."""
    assert [(f"{begin:%Y-%m-%d}", f"{end:%Y-%m-%d}") for begin, end in intervals(query, WEDNESDAY)] == found


def test_the_reference_may_be_of_any_zone() -> None:
    """It is taken as UTC, as all times are."""
    reference = datetime(2023, 6, 14, 1, tzinfo=timezone(timedelta(hours=9)))
    assert intervals("yesterday", reference)[0][0] == datetime(2023, 6, 12, tzinfo=UTC)


words = st.sampled_from(
    [
        "last",
        "this",
        "past",
        "in",
        "since",
        "may",
        "march",
        "june",
        "31",
        "29",
        "february",
        "2023",
        "0",
        "999",
        "a",
        "few",
        "two",
        "days",
        "weeks",
        "years",
        "ago",
        "spring",
        "monday",
        "yesterday",
        "weekend",
        "of",
        ",",
        "2023-13-45",
        "1900",
        "12th",
    ]
)


@given(st.lists(words, max_size=9), st.datetimes(EPOCH, EPOCH.replace(year=9000), timezones=st.just(UTC)))
def test_any_words_give_intervals_or_none(said: list[str], reference: datetime) -> None:
    """Never an error, never an empty interval, never more than four."""
    found = intervals(" ".join(said), reference)
    assert len(found) <= 4
    assert all(begin < end for begin, end in found)


def test_messages_inside_and_just_after() -> None:
    """Inside counts whole, just after half; one whose time is unknown is never meant."""
    days = [40, 16, 8, 1, 0, -30]
    times = np.array([(WEDNESDAY - timedelta(days=days)).timestamp() for days in days] + [np.nan])
    alive = np.array([True] * 5 + [False, True])

    def told(query: str, reference: datetime = WEDNESDAY) -> list[float]:
        found: list[float] = within(intervals(query, reference), times, alive & np.isfinite(times)).tolist()
        return found

    assert told("What did I say two weeks ago?") == [0, 1, 0.5, 0, 0, 0, 0]
    assert told("What did I say two weeks ago?", WEDNESDAY - timedelta(26))[0] == 1
    for edge in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)):
        assert not any(told("What did I say two weeks ago, or last month?", edge))
    assert not any(told("What did I say?"))
