"""An entry of the recall log, as lines to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from seedbed.results import RecallEntry, ShownItem


def told(entry: RecallEntry) -> Iterator[str]:
    """First when and what was asked and how the answer was, then a line for each piece shown."""
    yield "  ".join([_day(entry.time), entry.call, f'"{entry.query}{"…" if entry.query_cut else ""}"'])
    yield "       " + ", ".join(_facts(entry))
    texts = {message.id: message.text for message in entry.messages}
    for item in entry.shown:
        yield _piece(item)
        yield from (f"         > {texts[known]}" for known in item.message_ids if known in texts)
    if entry.more_shown:
        yield f"       and {entry.more_shown} more"


def _facts(entry: RecallEntry) -> Iterator[str]:
    yield f"session {entry.session}" if entry.session else "all sessions"
    if entry.max_tokens is not None:
        yield f"at most {entry.max_tokens} tokens"
    if entry.k:
        yield f"k {entry.k}"
    for name, time in (("valid", entry.valid_at), ("known", entry.known_at)):
        if time is not None:
            yield f"{name} at {_day(time)}"
    if entry.call == "Seed":
        yield f"{entry.tokens} tokens{' (truncated)' if entry.truncated else ''}"
    if entry.degraded:
        yield f"degraded: {', '.join(entry.degraded)}"
    if entry.below_floor:
        yield f"{entry.below_floor} below the floor"
    yield f"request {entry.request_id}"


def _piece(item: ShownItem) -> str:
    score = f" {item.score:.3f}" if item.score else ""
    legs = "".join(f"  {leg.leg} {leg.contribution:+.3f} (#{leg.rank})" for leg in item.legs)
    return f"       {item.origin} {item.kind}{score}  {' '.join(item.message_ids)}{legs}"


def _day(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"
