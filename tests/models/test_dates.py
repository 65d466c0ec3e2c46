"""Times that people write, on a Wednesday: 18 March 2026."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.models.dates import times

NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)

# Text: when it is after the fact, and when it is still to come.
MEANT = {
    "on 5 May 2019": ("2019-05-05/2019-05-06",) * 2,
    "on May 5th, 2019": ("2019-05-05/2019-05-06",) * 2,
    "on the 5th of May": ("2025-05-05/2025-05-06", "2026-05-05/2026-05-06"),
    "on 2021-12-31": ("2021-12-31/2022-01-01",) * 2,
    "in March 2011": ("2011-03-01/2011-04-01",) * 2,
    "in March": ("2026-03-01/2026-04-01", "2027-03-01/2027-04-01"),
    "last March": ("2025-03-01/2025-04-01",) * 2,
    "next March": ("2027-03-01/2027-04-01",) * 2,
    "in 2019": ("2019-01-01/2020-01-01",) * 2,
    "in the 1990s": ("1990-01-01/2000-01-01",) * 2,
    "in the 80s": ("1980-01-01/1990-01-01",) * 2,
    "last week": ("2026-03-09/2026-03-16",) * 2,
    "this month": ("2026-03-01/2026-04-01",) * 2,
    "next year": ("2027-01-01/2028-01-01",) * 2,
    "last weekend": ("2026-03-14/2026-03-16",) * 2,
    "next summer": ("2026-06-01/2026-09-01",) * 2,
    "last winter": ("2025-12-01/2026-03-01",) * 2,
    "in the winter of 2018": ("2018-12-01/2019-03-01",) * 2,
    "on Friday": ("2026-03-13/2026-03-14", "2026-03-20/2026-03-21"),
    "next Friday": ("2026-03-27/2026-03-28",) * 2,
    "last Tuesday": ("2026-03-17/2026-03-18",) * 2,
    "yesterday": ("2026-03-17/2026-03-18",) * 2,
    "the day after tomorrow": ("2026-03-20/2026-03-21",) * 2,
    "two weeks ago": ("2026-03-02/2026-03-09",) * 2,
    "3 days ago": ("2026-03-15/2026-03-16",) * 2,
    "two years ago": ("2024-01-01/2025-01-01",) * 2,
    "in two months": ("2026-05-01/2026-06-01",) * 2,
    "a week from now": ("2026-03-23/2026-03-30",) * 2,
    "the last three weeks": ("2026-02-25/2026-03-18",) * 2,
    "on the 20th": ("2026-02-20/2026-02-21", "2026-03-20/2026-03-21"),
    "at Christmas": ("2025-12-25/2025-12-26", "2026-12-25/2026-12-26"),
    "at Easter": ("2025-04-20/2025-04-21", "2026-04-05/2026-04-06"),
    "on 29 February": ("2024-02-29/2024-03-01", "2028-02-29/2028-03-01"),
}

SAID = st.dates(date(1990, 1, 1), date(2040, 1, 1)).map(
    lambda day: datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
)

NO_TIMES = [
    "she may marry him",
    "they march on",
    "to fall in love",
    "I have 2 cats",
    "room 2019b",
    "on Fridays",
    "31 June 2020",
    "call 555-2019",
]


@pytest.mark.parametrize("text", MEANT)
def test_a_time_means_its_days(text: str) -> None:
    """One time is found, and means these days before and after the reference."""
    (time,) = times(text)
    for ahead, meant in zip((False, True), MEANT[text], strict=True):
        interval = time.interval(NOW, ahead=ahead)
        assert interval is not None
        assert "/".join(f"{moment:%Y-%m-%d}" for moment in interval) == meant


@pytest.mark.parametrize("text", NO_TIMES)
def test_no_time(text: str) -> None:
    """What is no time, or none that exists, means nothing."""
    assert [time for time in times(text) if time.interval(NOW) is not None] == []


def test_the_day_is_that_of_utc() -> None:
    """A reference in another zone counts as its moment in UTC."""
    (time,) = times("yesterday")
    interval = time.interval(datetime(2026, 3, 18, 1, 0, tzinfo=timezone(timedelta(hours=5))))
    assert interval == (datetime(2026, 3, 16, tzinfo=UTC), datetime(2026, 3, 17, tzinfo=UTC))


@given(day=st.dates(date(1950, 1, 1), date(2049, 12, 31)), said=SAID)
def test_a_full_date_means_that_day_whenever_it_is_said(day: date, said: datetime) -> None:
    """Whatever the order of its parts; `date` is the oracle."""
    for text in (f"{day:%d %B %Y}", f"{day:%B} {day.day}, {day.year}", day.isoformat()):
        (time,) = times(text)
        begin, end = time.interval(said) or (None, None)
        assert (begin, end) == (
            datetime(day.year, day.month, day.day, tzinfo=UTC),
            datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(1),
        )


@given(
    text=st.sampled_from([text for text, (past, coming) in MEANT.items() if past != coming]),
    said=SAID,
)
def test_without_a_year_it_is_before_or_after(text: str, said: datetime) -> None:
    """The past reading begins no later than now, the coming one not before today."""
    (time,) = times(text)
    past, coming = time.interval(said), time.interval(said, ahead=True)
    if "20th" not in text or monthrange(said.year, said.month)[1] >= 20:
        assert past is not None
        assert coming is not None
        assert past[0] <= said
        assert coming[1] > said
