"""Between an entry and its row: seqs take the place of message ids.

The body is JSON, so that a later version can read it; what is searched for has a
column. ``seqs`` holds every message that was shown, as ranges such as "1-5 7". It
may claim more than was shown, so that it stays short, but never less.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from seedbed_server.log.rows import from_micros, to_micros, to_ranges
from seedbed_server.recall_log.entries import Entry, Leg, Piece

# Characters of ``seqs``; what would be longer becomes one range.
MOST_RANGES = 4096
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError)


class Row(NamedTuple):
    """What the file holds of an entry; ``time`` in microseconds since 1970, ``top`` the greatest seq shown or 0."""

    key: int
    time: int
    session: str
    seqs: str
    top: int
    body: str


def encode(entry: Entry, seqs: Mapping[str, int]) -> Row:
    """Return the row of an entry; ``seqs`` has the seq of every id it shows."""
    shown = sorted({seqs[known] for known in entry.shown})
    ranges = to_ranges(shown)
    if len(ranges) > MOST_RANGES:
        ranges = f"{shown[0]}-{shown[-1]}"
    body = {
        "call": entry.call,
        "request_id": entry.request_id,
        "query": entry.query,
        "query_cut": entry.query_cut,
        "max_tokens": entry.max_tokens,
        "k": entry.k,
        "valid_at": _micros(entry.valid_at),
        "known_at": _micros(entry.known_at),
        "tokens": entry.tokens,
        "truncated": entry.truncated,
        "degraded": entry.degraded,
        "below_floor": entry.below_floor,
        "pieces": [
            (origin, kind, score, tokens, [seqs[known] for known in ids], legs)
            for origin, kind, score, tokens, ids, legs in entry.pieces
        ],
        "more_pieces": entry.more_pieces,
    }
    top = shown[-1] if shown else 0
    return Row(entry.key, to_micros(entry.time), entry.session, ranges, top, _JSON.encode(body))


def decode(row: Row, ids: Mapping[int, str]) -> Entry | None:
    """Return the entry of a row, None for one that is damaged; ``ids`` has the id of every seq in its pieces."""
    try:
        body: dict[str, Any] = json.loads(row.body)
        pieces = tuple(_piece(piece, ids) for piece in body.pop("pieces"))
        times = {name: _time(body.pop(name)) for name in ("valid_at", "known_at")}
        degraded = tuple(body.pop("degraded"))
        shown = frozenset(known for piece in pieces for known in piece.ids)
        same = {"pieces": pieces, "degraded": degraded, "shown": shown, **times, **body}
        return Entry(row.key, from_micros(row.time), session=row.session, **same)
    except _DAMAGED:
        return None


def piece_seqs(row: Row) -> list[int]:
    """Return the seqs that the pieces of a row name, ascending; none for one that is damaged."""
    try:
        return sorted({seq for piece in json.loads(row.body)["pieces"] for seq in piece[4]})
    except _DAMAGED:
        return []


def shows(seqs: str, erased: Sequence[int]) -> bool:
    """Whether any of these messages, by ascending seq, is among those shown; True where it cannot be told."""
    try:
        for first, last in _ranges(seqs):
            at = bisect_left(erased, first)
            if at < len(erased) and erased[at] <= last:
                return True
    except ValueError:
        return True
    return False


def _ranges(seqs: str) -> Iterator[tuple[int, int]]:
    for part in seqs.split():
        first, _, last = part.partition("-")
        yield int(first), int(last or first)


def _piece(stored: Sequence[Any], ids: Mapping[int, str]) -> Piece:
    origin, kind, score, tokens, seqs, legs = stored
    return Piece(origin, kind, score, tokens, tuple(ids[seq] for seq in seqs), tuple(Leg(*leg) for leg in legs))


def _micros(time: datetime | None) -> int | None:
    return None if time is None else to_micros(time)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
