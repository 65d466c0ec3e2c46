"""When something held, from what was said of it: one sweep over the moments of a track.

A track is what competes: the values of one relation of one subject, or a fact
and its opposite. On it, at most one value holds at a time. A *start* begins a
fact of a value and closes the facts of every other; a *stop* closes the facts of
its value, or one fact alone. A stop that *bars* lets nothing begin after it, until
that is lifted: what was said to begin then has a spell without length. The result
depends on the moments, not on the order
in which they are given.

The second axis is what was believed. A spell is known from the first recording
of anything that it stands on. It is no longer believed to last from the first
recording of anything after it on its track that closes it, which need not be what
closes it now: whoever heard of Rome (in May) knew that Paris was over before they
heard of Berlin (in March).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

Order = tuple[float, int, float, int, int]


class Spell(NamedTuple):
    """A time in which a fact held; None is open. All in seconds since 1970.

    ``known_to`` is when an end of it was first recorded, or when it was retracted.
    """

    valid_from: float
    valid_to: float | None
    known_from: float
    known_to: float | None

    def holds(self, at: float) -> bool:
        """Whether ``at`` lies in it; its end does not."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)


@dataclass(frozen=True, slots=True)
class Moment:
    """A start or a stop. ``order`` begins with its time; ``recorded_at`` is when the log got it.

    A start has both ``value`` and ``fact``. A stop has one of them, and closes the
    facts of the value, or the fact; or none, and closes all. With ``bars`` nothing
    begins from then on; with False it may again, and the moment is nothing else.
    """

    order: Order
    recorded_at: float
    value: str | None = None
    fact: str | None = None
    stops: bool = False
    bars: bool | None = None

    @property
    def at(self) -> float:
        """Its time, in seconds since 1970."""
        return self.order[0]


def spells(track: Iterable[Moment]) -> dict[str, tuple[Spell, ...]]:
    """Return when each fact of a track held, by fact, in order of time."""
    moments = sorted(track, key=lambda moment: moment.order)
    only = moments[0] if len(moments) == 1 else None
    if only is not None and only.fact is not None and not only.stops:  # most facts are said once, and none against them
        return {only.fact: (Spell(only.at, None, only.recorded_at, None),)}
    learned = _ends_learned(moments)
    done: dict[str, list[Spell]] = {}
    open_: dict[str, tuple[str, Spell]] = {}  # by fact: its value, and its spell so far
    barred: dict[str, Spell] = {}
    barred_since: float | None = None  # when a bar that is up was first recorded

    def close(fact: str, at: float) -> None:
        done.setdefault(fact, []).append(open_.pop(fact)[1]._replace(valid_to=at))

    for moment, end in zip(moments, learned, strict=True):
        for fact in [fact for fact, (value, _) in open_.items() if _closes(moment, fact, value)]:
            close(fact, moment.at)
        if moment.bars is not None:
            first = moment.recorded_at if barred_since is None else min(barred_since, moment.recorded_at)
            barred_since = first if moment.bars else None
        if moment.stops or moment.fact is None or moment.value is None:
            continue
        if barred_since is not None:
            known_to = barred_since if end is None else min(barred_since, end)
            barred.setdefault(moment.fact, Spell(moment.at, moment.at, moment.recorded_at, known_to))
            continue
        _, spell = open_.get(moment.fact, ("", Spell(moment.at, None, moment.recorded_at, end)))
        known_from = min(spell.known_from, moment.recorded_at)
        open_[moment.fact] = (moment.value, spell._replace(known_from=known_from))
    for fact, (_, spell) in open_.items():
        done.setdefault(fact, []).append(spell)
    for fact, spell in barred.items():
        done.setdefault(fact, [spell])
    return {fact: tuple(map(_in_order, found)) for fact, found in done.items()}


def _closes(moment: Moment, fact: str, value: str) -> bool:
    if moment.bars is False:
        return False
    if moment.stops:
        return moment.fact in {None, fact} and moment.value in {None, value}
    return value != moment.value


def _in_order(spell: Spell) -> Spell:
    """Nobody stops believing what they have not heard of yet."""
    return spell if spell.known_to is None else spell._replace(known_to=max(spell.known_to, spell.known_from))


def _ends_learned(moments: Sequence[Moment]) -> list[float | None]:
    """For each start, when anything after it that would close it was first recorded."""
    found: list[float | None] = []
    others = _TwoValues()
    stops: dict[tuple[str | None, str | None], float] = {}
    for moment in reversed(moments):
        if moment.stops:
            name = (moment.value, moment.fact)
            stops[name] = min(stops.get(name, inf), moment.recorded_at)
        if moment.stops or moment.bars is False:
            found.append(None)
            continue
        closing = ((moment.value, None), (None, moment.fact), (None, None))
        first = min(others.least_but(moment.value), *(stops.get(name, inf) for name in closing))
        found.append(None if first == inf else first)
        others.add(moment.value, moment.recorded_at)
    return found[::-1]


class _TwoValues:
    """The least time of each of the two values that have the least: enough to leave one value out."""

    def __init__(self) -> None:
        self._least: list[tuple[float, str | None]] = []

    def add(self, value: str | None, time: float) -> None:
        best: dict[str | None, float] = {}
        for at, of in sorted([*self._least, (time, value)], key=lambda pair: pair[0]):
            best.setdefault(of, at)
        self._least = [(at, of) for of, at in best.items()][:2]

    def least_but(self, value: str | None) -> float:
        return next((at for at, of in self._least if of != value), inf)
