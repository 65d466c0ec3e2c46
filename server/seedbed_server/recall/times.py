"""Times in a query ("last March", "two weeks ago", "8 May 2023") as intervals, in English.

A grammar of our own, and a small one: libraries for this read many languages,
take milliseconds a sentence, or depend on the clock. Relative times count from a
reference time: the world time that is asked as of, or else that of the newest
message which a search may see, so that the answer depends on the question and the
memory, and never on when the server is asked. What is
ambiguous, such as "may" or a bare weekday in the future, is left to the words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

import numpy as np

from seedbed_server.recall.layout import Floats, Mask

Interval = tuple[datetime, datetime]
"""From the first moment up to, and without, the second; UTC."""

EVER: Interval = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3, "several": 4, "eleven": 11, "twelve": 12}
_MOST = 4  # intervals of one query
_WEEK = 7 * 86_400.0
READ = 1_000  # characters of a query that are read

_month = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_day = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_year = r"(?P<year>(?:19|20)\d\d)\b"
_within = "(?:in|since|during|early|late|mid)"
_season = r"(?P<season>spring|summer|autumn|fall|winter)"
_weekday = r"(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)day"
_number = rf"(?P<number>\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
_unit = r"(?P<unit>day|week|month|year)"


def intervals(query: str, reference: datetime) -> list[Interval]:
    """Return what the query's times mean, at most four, in the order of the query; ``reference`` is aware of its zone.

    Times that do not exist, such as 31 June, mean nothing.
    """
    now = reference.astimezone(UTC)
    return [*islice(_intervals(query[:READ], now), _MOST)]


def first_time(text: str, reference: datetime) -> tuple[Interval, int, int] | None:
    """What the first time in a text means, and where it begins and ends; None where there is none, or no such time."""
    found = _PATTERN.search(text[:READ])
    meant = intervals(found[0], reference) if found else []
    return (meant[0], found.start(), found.end()) if found and meant else None


def within(spoken: Sequence[Interval], times: Floats, known: Mask) -> Floats:
    """How well each message's time is one that a query speaks of: 1 inside, 1/2 just after, else 0; shape (n,).

    ``times`` are seconds since 1970; only rows ``known`` can have any. What happened
    is told soon after: within a week, or within as long as the interval is, up to
    two; but not after all that was before.
    """
    found = np.zeros(len(times))
    for moments in spoken:
        begin, end = (moment.timestamp() for moment in moments)
        after = 0.0 if moments[0] == EVER[0] else min(max(end - begin, _WEEK), 2 * _WEEK)
        found[known & (begin <= times) & (times < end)] = 1.0
        told = known & (end <= times) & (times < end + after)
        found[told] = np.maximum(found[told], 0.5)
    return found


def _intervals(query: str, now: datetime) -> Iterator[Interval]:
    for match in _PATTERN.finditer(query):
        rule = next(at for at in range(len(_RULES)) if match[f"rule{at}"] is not None)
        found = _RULES[rule][0].fullmatch(match[0])
        try:
            if found:
                yield _RULES[rule][1](found.groupdict(), now)
        except (ValueError, OverflowError):
            continue


def _date(said: dict[str, str | None], now: datetime) -> Interval:
    """A day, with or without its year: the last one, then."""
    day, month = int(said["day"] or 0), _month_number(said)
    if said.get("year"):
        return _span(datetime(int(said["year"] or 0), month, day, tzinfo=UTC), "day")
    begin = datetime(now.year, month, day, tzinfo=UTC)
    return _span(begin if begin <= now else begin.replace(year=now.year - 1), "day")


def _of_month(said: dict[str, str | None], now: datetime) -> Interval:
    if said.get("year"):
        return _span(datetime(int(said["year"] or 0), _month_number(said), 1, tzinfo=UTC), "month")
    return _span(_last(_month_number(said), now, strictly=said.get("which") == "last"), "month")


def _of_season(said: dict[str, str | None], now: datetime) -> Interval:
    month = _SEASONS[(said["season"] or "").lower()]
    if said.get("year"):
        begin = datetime(int(said["year"] or 0), month, 1, tzinfo=UTC)
    else:
        begin = _last(month, now, strictly=False)
        if (said.get("which") or "").lower() == "last" and now < _later(begin, 3):
            begin = begin.replace(year=begin.year - 1)
    return begin, _later(begin, 3)


def _of_year(said: dict[str, str | None], _: datetime) -> Interval:
    return _span(datetime(int(said["year"] or 0), 1, 1, tzinfo=UTC), "year")


def _near(said: dict[str, str | None], now: datetime) -> Interval:
    """Yesterday, and last night."""
    today = _begin(now, "day")
    days = 2 if "before" in (said["near"] or "") else 1
    return today - timedelta(days), today - timedelta(days - 1)


def _calendar(said: dict[str, str | None], now: datetime) -> Interval:
    """Last week, this month, last weekend, last Tuesday."""
    which, what = (said["which"] or "").lower(), (said["what"] or "").lower()
    if what == "weekend":
        saturday = _begin(now, "week") + timedelta(5)
        saturday -= timedelta(7 if which != "this" or saturday > now else 0)
        return saturday, saturday + timedelta(2)
    if said.get("weekday"):
        back = (now.weekday() - _DAYS.index(what[:3])) % 7 or 7
        return _span(_begin(now, "day") - timedelta(back), "day")
    begin = _begin(now, what)
    return _span(begin if which == "this" else _begin(begin - timedelta(1), what), what)


def _ago(said: dict[str, str | None], now: datetime) -> Interval:
    """The calendar day, week, month or year so far back."""
    number, unit = _number_of(said), (said["unit"] or "").lower()
    if unit in {"day", "week"}:
        return _span(_begin(now - timedelta(number * (1 if unit == "day" else 7)), unit), unit)
    return _span(_later(_begin(now, unit), -number * (1 if unit == "month" else 12)), unit)


def _past(said: dict[str, str | None], now: datetime) -> Interval:
    """The last three weeks, up to now."""
    number, unit = _number_of(said), (said["unit"] or "").lower()
    days = number * {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    return now - timedelta(days), now + timedelta(1)


def _number_of(said: dict[str, str | None]) -> int:
    number = (said["number"] or "").lower()
    return int(number) if number.isdigit() else NUMBERS[number]


def _month_number(said: dict[str, str | None]) -> int:
    month = (said["month"] or "").lower()
    return int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1


def _begin(time: datetime, unit: str) -> datetime:
    day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "week":
            return day - timedelta(day.weekday())
        case "month":
            return day.replace(day=1)
        case "year":
            return day.replace(month=1, day=1)
    return day


def _span(begin: datetime, unit: str) -> Interval:
    days = {"day": 1, "week": 7}.get(unit)
    return begin, begin + timedelta(days) if days else _later(begin, 1 if unit == "month" else 12)


def _later(begin: datetime, months: int) -> datetime:
    """The first of the month so many months later."""
    at = begin.year * 12 + begin.month - 1 + months
    return begin.replace(year=at // 12, month=at % 12 + 1, day=1)


def _last(month: int, now: datetime, *, strictly: bool) -> datetime:
    """When the month last began; with ``strictly``, the one that goes on does not count."""
    begin = datetime(now.year, month, 1, tzinfo=UTC)
    return begin.replace(year=now.year - 1) if begin > now or (strictly and month == now.month) else begin


_RULES: tuple[tuple[re.Pattern[str], Callable[[dict[str, str | None], datetime], Interval]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), rule)
    for pattern, rule in (
        (rf"{_year}-(?P<month>\d\d)-(?P<day>\d\d)\b", _date),
        (rf"{_day}\s+(?:of\s+)?{_month}(?:,?\s+{_year})?", _date),
        (rf"{_month}\s+(?:the\s+)?{_day}(?!:)(?:,?\s+{_year})?", _date),
        (rf"(?:{_within}\s+)?{_month}(?:\s+of)?,?\s+{_year}", _of_month),
        (rf"(?:{_within}|this|(?P<which>last))\s+{_month}", _of_month),
        (rf"{_season}(?:\s+of)?,?\s+{_year}", _of_season),
        (rf"(?:this|(?P<which>last))\s+{_season}", _of_season),
        (_year, _of_year),
        (r"(?P<near>(?:the\s+day\s+before\s+)?yesterday|last\s+night)", _near),
        (rf"(?P<which>last|this|previous)\s+(?P<what>week(?:end)?|month|year|{_weekday})", _calendar),
        (rf"{_number}\s+{_unit}s?\s+ago", _ago),
        (rf"(?:last|past)\s+{_number}\s+{_unit}s?", _past),
    )
)
# All rules as one, so that a query is read once; names of groups may stand in it only once, and are dropped.
_PATTERN = re.compile(
    r"\b(?:"
    + "|".join(f"(?P<rule{at}>{re.sub(r'[(][?]P<[a-z]+>', '(', rule.pattern)})" for at, (rule, _) in enumerate(_RULES))
    + r")\b",
    re.IGNORECASE,
)
