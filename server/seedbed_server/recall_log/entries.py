"""What is kept of an answer, and how large that may be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

QUERY_BYTES = 2048
PIECES = 100
PIECE_IDS = 16


class Leg(NamedTuple):
    """What one leg of a recall gave to a hit; ``rank`` counts from 1."""

    name: str
    raw: float
    contribution: float
    rank: int


class Piece(NamedTuple):
    """One piece of what was shown, and the ids of the messages it stands on, at most PIECE_IDS of them."""

    origin: str
    kind: str
    score: float = 0.0
    tokens: int = 0
    ids: tuple[str, ...] = ()
    legs: tuple[Leg, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One answered call about the memory of ``key``.

    ``call`` is "Seed" or "Recall"; ``session`` is empty for all sessions. Of the
    query there are at most QUERY_BYTES, of what was shown at most PIECES, with
    ``more_pieces`` left out. ``shown`` are all ids that were shown, of those
    pieces too: the entry goes when one of them is erased.
    """

    key: int
    time: datetime
    call: str
    request_id: str = ""
    session: str = ""
    query: str = ""
    query_cut: bool = False
    max_tokens: int | None = None
    k: int = 0
    valid_at: datetime | None = None
    known_at: datetime | None = None
    tokens: int = 0
    truncated: bool = False
    degraded: tuple[str, ...] = ()
    below_floor: int = 0
    pieces: tuple[Piece, ...] = ()
    more_pieces: int = 0
    shown: frozenset[str] = frozenset()

    @property
    def weight(self) -> int:
        """Roughly the bytes that it takes while it waits."""
        return 1024 + 4 * len(self.query) + 512 * len(self.pieces) + 128 * len(self.shown)


def beginning(query: str) -> tuple[str, bool]:
    """Return as much of a query as is kept, in whole characters, and whether that is less than all."""
    data = query[: QUERY_BYTES + 1].encode()
    if len(data) <= QUERY_BYTES:
        return query, False
    return data[:QUERY_BYTES].decode(errors="ignore"), True
