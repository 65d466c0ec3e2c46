"""Times that hang on something else ("before the move", "two weeks after the wedding", "the day before 3 August").

A date is an anchor as it stands. An event is looked for in the memory: it is taken
to be on the day when it was talked about most, by its words. What was said that day
is both before and after it: nobody can tell which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np

from seedbed_server.recall.layout import Floats, Mask
from seedbed_server.recall.postings import Postings
from seedbed_server.recall.stopwords import STOPPED, query_terms
from seedbed_server.recall.times import EVER, NUMBERS, WEEKDAYS, Interval, first_time, intervals

_DAY = 86_400.0
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_LONGEST = 200  # characters of a query: who says more tells things, and does not ask what was before or after them
_WORDS = 4  # of an event: the first ones, what follows is more likely to be the question's
_ENOUGH = 1 / 3  # share of an event's words, by their weight, that a message has to hold

_number = rf"\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"
_ANCHORED = re.compile(
    rf"\b(?:(?P<next>the\s+(?:last|previous|next|first)|the|last|previous|next)\s+)?(?:(?P<number>{_number})\s+)?"
    rf"(?:(?P<unit>day|weekend|week|month|year|{'|'.join(WEEKDAYS)})s?\s+)?"
    r"(?P<which>before|after|since|until|prior\s+to|following(?=\s+(?:the|my|our|his|her|their)\b))\s+"
    r"(?P<anchor>[^?!;:]{2,80})",
    re.IGNORECASE,
)
# A number that is not understood, before a unit: how far away that is nobody knows.
_COUNTED = re.compile(r"(?:\d|teen|ty|th|first|second|third|half|dozen|hundred)\s+$", re.IGNORECASE)
# "Look after", and "since" that gives a reason.
_NO_TIME = re.compile(r"\b(?:look\w*|tak(?:e|es|en|ing)|took|named|go(?:es|ing)?)\s+(?:\w+\s+)?after\s", re.IGNORECASE)
_REASON = re.compile(
    r"since\s+(?:i|we|you|he|she|it|they)(?:'\w+|\s+(?:am|is|are|have|has|can|do|does|like|love|want|need|know)\b)",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"[,.]|\b(?:did|does|do|was|were|is|are|has|have|had|will|would|what|who|where|how|before|after|since|until)\b",
    re.IGNORECASE,
)
# What names a day by the calendar or from now, and so no event; as terms.
_CALENDAR = frozenset(
    query_terms(
        f"day days week weeks weekend month months year years today tomorrow tonight yesterday now then ago last next "
        f"january february march april may june july august september october november december {' '.join(WEEKDAYS)}"
    )
)
_BEFORE_DATE = re.compile(r"(?:(?:the|on|about|around)\s+)+", re.IGNORECASE)
_WEEKDAY = re.compile(rf"(?:{'|'.join(WEEKDAYS)}),?\s+", re.IGNORECASE)
_MONTH = re.compile(r"(?:jan|feb|mar|apr|May\b|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)


class Events:
    """When what a memory tells of took place, by its words and times.

    ``times`` are seconds since 1970; only rows ``known`` have any.
    """

    def __init__(self, postings: Postings, times: Floats, known: Mask) -> None:
        self._postings = postings
        self._times = times
        self._known = known

    def day_of(self, text: str) -> Interval | None:
        """The day of an event; None where it has no words of its own, or no message tells of it. OverflowError."""
        terms = [term for term in query_terms(text) if term not in STOPPED and term not in _CALENDAR][:_WORDS]
        if not terms or all(map(str.isdigit, terms)) or not self._known.any():
            return None
        covered = np.where(self._known, self._postings.coverage(terms, self._known), 0.0)
        telling = np.flatnonzero(covered >= _ENOUGH)
        if not len(telling):
            return None
        days, of_day = np.unique(np.floor(self._times[telling] / _DAY), return_inverse=True)
        most = np.argmax(np.bincount(of_day, weights=covered[telling]))  # the first of equals
        begin = datetime.fromtimestamp(float(days[most]) * _DAY, UTC)
        return begin, begin + timedelta(1)


def spoken_of(query: str, reference: datetime, events: Events) -> list[Interval]:
    """The times that a query speaks of, those that hang on an anchor among them; ``reference`` is aware of its zone."""
    found = _ANCHORED.search(query) if len(query) <= _LONGEST else None
    if found is None or _NO_TIME.search(query[: found.end("which") + 1]) or _REASON.match(query, found.start("which")):
        return intervals(query, reference)
    try:
        return [*_around(found, query, reference, events)]
    except OverflowError:  # beyond the calendar
        return []


def _around(found: re.Match[str], query: str, reference: datetime, events: Events) -> Iterator[Interval]:
    """The times beside the anchor, then the one that hangs on it."""
    text = found["anchor"]
    date = _date(text, reference)
    clause = _ENDS.split(text)[0]
    within = None if date else first_time(clause, reference)  # "the trip in May 2023": the day is not to be guessed
    anchor, end = date or (within[0] if within else events.day_of(clause), 0)
    rest = text[end:] if date else text[len(clause) :] if within else text
    yield from intervals(f"{query[: found.start()]} | {rest}", reference)
    is_far = found["unit"] and not _many(found) and _COUNTED.search(query[: found.start("unit")])
    if anchor is not None and not is_far:
        yield from _beside(anchor, found, dated=date is not None)


def _date(text: str, reference: datetime) -> tuple[Interval, int] | None:
    """The date that an anchor begins with, and where it ends: "the 3rd of May", "Sunday, 3 May", "March", "Monday"."""
    skipped = _BEFORE_DATE.match(text)
    start = skipped.end() if skipped else 0
    weekday = _WEEKDAY.match(text, start)
    for said, at in (("", weekday.end() if weekday else start), ("in ", start), ("last ", start)):
        if said == "in " and not (_MONTH.match(text, at) and text[at : at + 3] != "may"):
            continue
        found = first_time(said + text[at:], reference)
        if found is not None and found[1] == 0:
            return found[0], found[2] - len(said) + at
    return None


def _beside(anchor: Interval, found: re.Match[str], *, dated: bool) -> Iterator[Interval]:
    """What lies before or after the anchor: all of it, or the part that a number of units names."""
    begin, end = anchor
    which, unit = found["which"].lower(), (found["unit"] or "").lower()
    before = which.startswith(("before", "until", "prior"))
    many = _many(found)
    if not unit or not (many or found["next"]):
        whole = not dated or which in {"until", "since"}
        yield (EVER[0], end if whole else begin) if before else (begin if whole else end, EVER[1])
    elif unit in WEEKDAYS:
        yield _weekday(begin, WEEKDAYS.index(unit), 1, before=before)
    elif unit == "weekend":
        yield _weekday(begin, WEEKDAYS.index("saturday"), 2, before=before)
    elif many and not found["next"]:  # two weeks before: about then
        middle = begin + timedelta(-many * _DAYS[unit] if before else many * _DAYS[unit])
        yield middle - timedelta(_DAYS[unit] / 2), middle + timedelta(_DAYS[unit] / 2 + 1)
    else:  # the week before, the last three days before: all of them
        span = timedelta((many or 1) * _DAYS[unit])
        yield (begin - span, begin) if before else (end, end + span)


def _weekday(day: datetime, weekday: int, days: int, *, before: bool) -> Interval:
    """The nearest such day before or after another one, and as many days as are asked for, clear of it."""
    if before:
        first = day - timedelta((day.weekday() - weekday - days) % 7 + days)
    else:
        first = day + timedelta((weekday - day.weekday() - 1) % 7 + 1)
    return first, first + timedelta(days)


def _many(found: re.Match[str]) -> int:
    """How many units, where a number is said that is understood; else 0."""
    word = " ".join((found["number"] or "").lower().split())
    return int(word) if word.isdigit() else NUMBERS.get(word, 0)
