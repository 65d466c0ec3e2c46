"""Times that hang on something else ("before the move", "two weeks after the wedding", "the day before 3 August").

A date is an anchor as it stands. An event is looked for in the memory: it is taken
to be on the day when it was talked about most, by its words. What was said that day
is both before and after it: nobody can tell which.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import numpy as np

from seedbed_server.recall.layout import Floats, Mask
from seedbed_server.recall.postings import Postings
from seedbed_server.recall.stopwords import STOPPED, query_terms
from seedbed_server.recall.times import NUMBERS, READ, Interval, first_interval, intervals

_EVER = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
_DAY = 86_400.0
_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WORDS = 4  # of an event: the first ones, what follows is more likely to be the question's
_ENOUGH = 1 / 3  # share of an event's words, by their weight, that a message has to hold

_number = rf"\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"
_ANCHORED = re.compile(
    rf"\b(?:(?P<number>{_number}|(?:the\s+)?(?:last|previous|next)|the)\s+"
    rf"(?P<unit>day|weekend|week|month|year|{'|'.join(_WEEKDAYS)})s?\s+)?"
    r"(?P<which>before|after|since|until|prior\s+to|following(?=\s+(?:the|my|our|his|her|their)\b))\s+"
    r"(?P<anchor>[^?!;:]{2,80})",
    re.IGNORECASE,
)


class Events:
    """When what a memory tells of took place, by its words and times.

    ``times`` are seconds since 1970; only rows ``known`` have any.
    """

    def __init__(self, postings: Postings, times: Floats, known: Mask) -> None:
        self._postings = postings
        self._times = times
        self._known = known

    def day_of(self, text: str) -> Interval | None:
        """The day of an event; None where it has no words of its own, or no message tells of it."""
        terms = [term for term in query_terms(text) if term not in STOPPED][:_WORDS]
        if not terms or not self._known.any():
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
    found = _ANCHORED.search(query[:READ])
    if found is None:
        return intervals(query, reference)
    date = first_interval(found["anchor"], reference)
    anchor = date or events.day_of(_clause(found["anchor"]))
    if anchor is None:
        return intervals(query, reference)
    which = " ".join(found["which"].lower().split())
    others = intervals(query if date is None else query[: found.start()], reference)
    try:
        return [*others, _beside(anchor, which, found["number"], (found["unit"] or "").lower(), dated=date is not None)]
    except OverflowError:
        return others


def _clause(text: str) -> str:
    """An event's own words: up to where something else begins."""
    return re.split(r"[,.]|\b(?:did|does|do|was|were|is|are|has|have|had|will|would|what|who|where|how)\b", text)[0]


def _beside(anchor: Interval, which: str, number: str | None, unit: str, *, dated: bool) -> Interval:
    """What lies before or after the anchor: all of it, or the part that a number of units names."""
    begin, end = anchor
    ahead = which in {"before", "until", "prior to"}
    if not unit:
        whole = not dated or which in {"until", "since"}
        return (_EVER[0], end if whole else begin) if ahead else (begin if whole else end, _EVER[1])
    if unit in _WEEKDAYS:
        weekday = _WEEKDAYS.index(unit)
        days = (begin.weekday() - weekday) % 7 or 7 if ahead else -((weekday - begin.weekday()) % 7 or 7)
        return begin - timedelta(days), begin - timedelta(days - 1)
    one = timedelta(_DAYS[unit])
    many = _count(number)
    if many is None:  # the week before, the next day after
        return (begin - one, begin) if ahead else (end, end + one)
    middle = begin - many * one if ahead else begin + many * one
    return middle - one / 2, middle + one / 2 + timedelta(1)


def _count(number: str | None) -> int | None:
    """How many, where a number is said."""
    word = " ".join((number or "").lower().split())
    return int(word) if word.isdigit() else NUMBERS.get(word)
