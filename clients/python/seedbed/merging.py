"""The recent messages of several parts as one tail, in which nothing comes twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seedbed.messages import Message
from seedbed.recency import conversation
from seedbed.seeds import Shown


@dataclass(frozen=True, slots=True)
class Recent:
    """A recent message, and the most important part that shows it."""

    message: Message
    rank: int
    origin: str


def merge(shown: Sequence[Shown], system: str) -> list[Recent]:
    """Merge the parts' recent messages, oldest first.

    By ``seq`` where every message has one. Otherwise they come from several
    logs: each part's own order is kept, and the ids that parts share say how
    the orders fit together; a part that shares none comes before the others.
    A message without an id is never taken for another.
    """
    known: dict[str, Recent] = {}
    parts: list[list[Recent]] = []
    for rank, part in enumerate(shown):
        own: list[Recent] = []
        for message in conversation(part.recent, system):
            twin = known.get(message.id) if message.id else None
            if twin and len(message.text) > len(twin.message.text):  # another part's budget has cut it
                known[message.id] = replace(twin, message=message)
            recent = twin or Recent(message, rank, part.origin)
            if message.id:
                known.setdefault(message.id, recent)
            own.append(recent)
        parts.append(own)
    merged: list[Recent] = []
    for own in parts:
        merged = _interleave(merged, own)
    merged = [known.get(recent.message.id, recent) for recent in merged]
    if all(recent.message.seq for recent in merged):
        merged.sort(key=_seq)
    return merged


def _interleave(base: list[Recent], extra: list[Recent]) -> list[Recent]:
    """Put what is new in ``extra`` where its neighbours stand in ``base``."""
    places = {recent.message.id: place for place, recent in enumerate(base) if recent.message.id}
    merged: list[Recent] = []
    new: list[Recent] = []
    done = 0
    for recent in extra:
        place = places.get(recent.message.id)
        if place is None:
            new.append(recent)
            if recent.message.id:
                places[recent.message.id] = -1  # an id that comes twice in one part
        elif place >= done:
            merged += [*base[done:place], *new, base[place]]
            done, new = place + 1, []
    return [*merged, *base[done:], *new] if done else [*new, *base]


def _seq(recent: Recent) -> int:
    return recent.message.seq
