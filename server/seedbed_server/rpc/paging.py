"""Pages that are bounded in bytes as well as in items, also while they are read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from google.protobuf.message import Message

Row = TypeVar("Row")
Item = TypeVar("Item", bound=Message)

# A page stays well under the 4 MiB that a client takes by default.
PAGE_BYTES = 3 * 1024 * 1024
# Rows read at once: each may be large.
ROWS = 32


async def page(
    read: Callable[[Row | None, int], Awaitable[Sequence[Row]]], pack: Callable[[Row], Item], size: int, most_bytes: int
) -> tuple[list[Item], bool]:
    """Return the rows of one page, at least one if there is any, and whether more come after them.

    ``read`` gives at most so many rows after a row, or from the beginning.
    """
    items: list[Item] = []
    room = most_bytes
    last: Row | None = None
    while True:
        asked = min(ROWS, size + 1 - len(items))
        rows = await read(last, asked)
        for row in rows:
            item = pack(row)
            room -= item.ByteSize()
            if len(items) == size or (room < 0 and items):
                return items, True
            items.append(item)
            last = row
        if len(rows) < asked:
            return items, False


def within(items: Iterable[Item], most_bytes: int) -> list[Item]:
    """As many items, from the first on, as go into so many bytes; at least one if there is any."""
    kept: list[Item] = []
    room = most_bytes
    for item in items:
        room -= item.ByteSize()
        if room < 0 and kept:
            break
        kept.append(item)
    return kept
