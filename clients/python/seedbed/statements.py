"""Facts of the caller's own, to be added to the graph of a memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact, by names: ``Statement("Maya", "work at", "Tidepost", ("message-7",))``.

    ``source_ids`` are the messages that it stands on, 1 to 100; with the last of
    them the fact is forgotten. Without ``valid_from`` it holds from the time of
    the message. ``negated`` says that it is not so.
    """

    subject: str
    predicate: str
    object: str
    source_ids: tuple[str, ...]
    negated: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None
