"""Times as people write them in English ("last March", "two weeks ago", "on 5 May") as intervals, half open, in UTC.

A compact grammar, pure: the same text and reference give the same intervals, on
every machine and at every time. What is written without a year is the last such
time before the reference, or with ``ahead`` the next one after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

Interval = tuple[datetime, datetime]
"""From the first moment up to, and without, the second; both midnight UTC."""

_Said = Mapping[str, str | None]
_Rule = Callable[[_Said, datetime, bool], Interval]

READ = 2_000
"""Code points of a text in which times are looked for."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "a couple of": 2,
    "couple of": 2, "a few": 3, "few": 3, "several": 4,
}  # fmt: skip
_NEAR = {"yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0, "tomorrow": 1}
_FIXED = {"christmas": (12, 25), "xmas": (12, 25), "new year": (1, 1), "new year's": (1, 1), "halloween": (10, 31)}

_month = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_day = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_ordinal = r"(?P<day>\d{1,2})(?:st|nd|rd|th)\b"
_year = r"(?<![-\d/$€£.])(?P<year>(?:19|20)\d\d)\b"
_season = r"(?P<season>spring|summer|autumn|fall|winter)\b"
_weekday = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?!s)"
_number = rf"(?P<number>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_unit = r"(?P<unit>day|week|month|year)s?\b'?"
_which = r"(?:(?P<which>last|previous|this|next|the coming|this coming|this past|the past|the following)\s+)"


_LEADS = re.compile(
    r"\b(?:in|since|until|till|from|to|by|during|over|the|of|and|between|through|early|late|mid|before|after|around)\s+\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Time:
    """A time that a text names at ``text[start:end]``."""

    start: int
    end: int
    rule: _Rule
    said: _Said

    def interval(self, reference: datetime, *, ahead: bool = False) -> Interval | None:
        """What it means at a time with a zone; None for a day that does not exist."""
        try:
            return self.rule(self.said, reference.astimezone(UTC), ahead)
        except (ValueError, OverflowError):
            return None


def times(text: str) -> Iterator[Time]:
    """The times of a text, in order, none overlapping another."""
    for match in _PATTERN.finditer(text[:READ]):
        at = next(at for at in range(len(_RULES)) if match[f"rule{at}"] is not None)
        found = _RULES[at][0].fullmatch(match[0])
        if found is not None and not _is_bare(text, match.start(), _RULES[at][1], found):
            said = {name: (word.lower() if word else None) for name, word in found.groupdict().items()}
            yield Time(match.start(), match.end(), _RULES[at][1], said)


def _is_bare(text: str, start: int, rule: _Rule, found: re.Match[str]) -> bool:
    """Whether a month or a season stands there without a word that makes a time of it: "she may", "to fall"."""
    if rule not in {_of_month, _of_season} or found.groupdict().get("year") or found["which"]:
        return False
    lead = _LEADS.search(text, max(0, start - 12), start)
    return lead is None or (lead[0].lower().startswith("to") and found[0].lower() == "fall")


def back(number: int, unit: str, now: datetime) -> datetime:
    """The first day of the calendar day, week, month or year that lies so many of them back; before now if negative."""
    begin = _begin(now, unit)
    if unit in {"day", "week"}:
        return begin - timedelta(number * (1 if unit == "day" else 7))
    return _months_later(begin, -number * (1 if unit == "month" else 12))


def count(number: str) -> int:
    """The number that a word says. Raises KeyError for another word."""
    return int(number) if number.isdigit() else _NUMBERS[number.lower()]


def _date(said: _Said, now: datetime, ahead: bool) -> Interval:
    day, month = int(said["day"] or 0), _month_of(said)
    if said.get("year"):
        return _span(datetime(int(said["year"] or 0), month, day, tzinfo=UTC), "day")
    return _span(_nearest(lambda year: datetime(year, month, day, tzinfo=UTC), now, ahead), "day")


def _of_month(said: _Said, now: datetime, ahead: bool) -> Interval:
    month, which = _month_of(said), said.get("which") or ""
    if said.get("year"):
        return _span(datetime(int(said["year"] or 0), month, 1, tzinfo=UTC), "month")
    return _span(_chosen(month, which, now, ahead), "month")


def _of_season(said: _Said, now: datetime, ahead: bool) -> Interval:
    month, which = _SEASONS[said["season"] or ""], said.get("which") or ""
    begin = datetime(int(said["year"] or 0), month, 1, tzinfo=UTC) if said.get("year") else None
    begin = begin or _chosen(month, which, now, ahead)
    return begin, _months_later(begin, 3)


def _chosen(month: int, which: str, now: datetime, ahead: bool) -> datetime:
    """The first of a month: of this year, the next, or the nearest on the side that the words say."""
    if which.startswith("this") and "past" not in which:
        return datetime(now.year, month, 1, tzinfo=UTC)
    if which in {"last", "previous", "this past", "the past"}:
        begin = datetime(now.year, month, 1, tzinfo=UTC)
        return begin if _months_later(begin, 1) <= now else begin.replace(year=now.year - 1)
    return _nearest(lambda year: datetime(year, month, 1, tzinfo=UTC), now, ahead or bool(which))


def _of_year(said: _Said, _: datetime, __: bool) -> Interval:
    return _span(datetime(int(said["year"] or 0), 1, 1, tzinfo=UTC), "year")


def _of_decade(said: _Said, now: datetime, _: bool) -> Interval:
    """The 1990s, or the nineties of the century that they last were in."""
    year = int(said["decade"] or 0)
    if year < 100:
        year += 2000 if 2000 + year <= now.year else 1900
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 10, 1, 1, tzinfo=UTC)


def _near(said: _Said, now: datetime, _: bool) -> Interval:
    words = " ".join((said["near"] or "").split())
    days = -2 if "before" in words else 2 if "after" in words else _NEAR[words]
    return _span(_begin(now, "day") + timedelta(days), "day")


def _calendar(said: _Said, now: datetime, _: bool) -> Interval:
    """Last week, this month, next year, next weekend."""
    which, what = said["which"] or "", said["what"] or ""
    step = (
        1
        if which in {"next", "the coming", "the following"}
        else -1
        if {"last", "previous", "past"} & set(which.split())
        else 0
    )
    if what == "weekend":
        begin = _begin(now, "week") + timedelta(5 + 7 * step)
        return begin, begin + timedelta(2)
    return _span(back(-step, what, now), what)


def _weekly(said: _Said, now: datetime, ahead: bool) -> Interval:
    """Friday, last Friday, next Friday (the one of the next week)."""
    which, day = said.get("which") or "", _DAYS.index((said["weekday"] or "")[:3])
    today = _begin(now, "day")
    if which == "next":
        return _span(_begin(now, "week") + timedelta(7 + day), "day")
    if which == "this":
        return _span(_begin(now, "week") + timedelta(day), "day")
    if "coming" in which or "following" in which or (ahead and not which):
        return _span(today + timedelta((day - now.weekday()) % 7 or 7), "day")
    return _span(today - timedelta((now.weekday() - day) % 7 or 7), "day")


def _relative(said: _Said, now: datetime, _: bool) -> Interval:
    """Two weeks ago, in three days."""
    number, unit = count(said["number"] or ""), said["unit"] or ""
    return _span(back(number if said.get("ago") else -number, unit, now), unit)


def _run(said: _Said, now: datetime, _: bool) -> Interval:
    """The last three weeks, the next few days: from today, or up to and with it."""
    number, unit = count(said["number"] or ""), said["unit"] or ""
    today = _begin(now, "day")
    months = number * {"month": 1, "year": 12}.get(unit, 0)
    days = number * {"day": 1, "week": 7}.get(unit, 0)
    if said["side"] in {"next", "coming", "following"}:
        tomorrow = today + timedelta(1)
        return tomorrow, (_months_later(tomorrow, months) if months else tomorrow + timedelta(days))
    return (_months_later(today, -months) if months else today - timedelta(days)), today


def _day_of_month(said: _Said, now: datetime, ahead: bool) -> Interval:
    """On the 20th: of this month, or the one before or after."""
    begin = _begin(now, "month").replace(day=int(said["day"] or 0))
    if ahead and begin < _begin(now, "day"):
        begin = _months_later(begin.replace(day=1), 1).replace(day=begin.day)
    elif not ahead and begin > now:
        begin = _months_later(begin.replace(day=1), -1).replace(day=begin.day)
    return _span(begin, "day")


def _feast(said: _Said, now: datetime, ahead: bool) -> Interval:
    name = said["feast"] or ""
    which = said.get("which") or ""

    def of_year(year: int) -> datetime:
        return _easter(year) if name == "easter" else datetime(year, *_FIXED[name], tzinfo=UTC)

    return _span(_nearest(of_year, now, ahead or which == "next"), "day")


def _easter(year: int) -> datetime:
    """Easter Sunday of the Gregorian calendar (the anonymous algorithm of 1876, after Meeus)."""
    century, rest = divmod(year, 100)
    epact = (19 * (year % 19) + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    shift = (year % 19 + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * shift + 114, 31)
    return datetime(year, month, day + 1, tzinfo=UTC)


def _nearest(of_year: Callable[[int], datetime], now: datetime, ahead: bool) -> datetime:
    """The last begin up to now, or the first after it."""
    for year in range(now.year, now.year + 9) if ahead else range(now.year, now.year - 9, -1):
        try:
            begin = of_year(year)
        except ValueError:
            continue  # 29 February
        if (begin > now) == ahead:
            return begin
    raise ValueError("no such day")


def _month_of(said: _Said) -> int:
    month = said["month"] or ""
    return int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1


def _begin(time: datetime, unit: str) -> datetime:
    day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return day - timedelta(day.weekday())
    return day if unit == "day" else day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)


def _span(begin: datetime, unit: str) -> Interval:
    days = {"day": 1, "week": 7}.get(unit)
    return begin, begin + timedelta(days) if days else _months_later(begin, 1 if unit == "month" else 12)


def _months_later(begin: datetime, months: int) -> datetime:
    at = begin.year * 12 + begin.month - 1 + months
    return begin.replace(year=at // 12, month=at % 12 + 1, day=1)


_RULES: tuple[tuple[re.Pattern[str], _Rule], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), rule)
    for pattern, rule in (
        (rf"{_year}-(?P<month>\d\d)-(?P<day>\d\d)\b", _date),
        (rf"(?:the\s+)?{_day}\s+(?:of\s+)?{_month}(?:,?\s+(?:of\s+|in\s+)?{_year})?", _date),
        (rf"{_month}\s+(?:the\s+)?{_day}(?![:\d])(?:,?\s+(?:of\s+|in\s+)?{_year})?", _date),
        (rf"{_month}(?:\s+of)?,?\s+{_year}", _of_month),
        (rf"{_season}(?:\s+of)?,?\s+{_year}", _of_season),
        (rf"{_which}?{_season}", _of_season),
        (rf"{_which}(?P<what>week(?:end)?|month|year)\b", _calendar),
        (rf"(?P<side>last|past|previous|next|coming|following)\s+{_number}\s+{_unit}", _run),
        (rf"{_which}?(?P<weekday>{_weekday})", _weekly),
        (rf"{_which}?{_month}", _of_month),
        (rf"{_which}?(?P<feast>{'|'.join(sorted((*_FIXED, 'easter'), key=len, reverse=True))})\b", _feast),
        (r"(?P<decade>(?:19|20)?\d0)'?s\b", _of_decade),
        (_year, _of_year),
        (rf"(?P<near>the\s+day\s+(?:before\s+yesterday|after\s+tomorrow)|{'|'.join(_NEAR)})\b", _near),
        (rf"{_number}\s+{_unit}\s+(?P<ago>ago)\b", _relative),
        (rf"in\s+{_number}\s+{_unit}(?:\s+time)?", _relative),
        (rf"{_number}\s+{_unit}\s+from\s+(?:now|today)\b", _relative),
        (rf"the\s+{_ordinal}", _day_of_month),
    )
)
# All rules as one, so that a text is read once; names of groups may stand in it only once, and are dropped.
_PATTERN = re.compile(
    r"\b(?:"
    + "|".join(
        f"(?P<rule{at}>{re.sub(r'[(][?]P<[a-z0-9]+>', '(', rule.pattern)})" for at, (rule, _) in enumerate(_RULES)
    )
    + r")",
    re.IGNORECASE,
)
