"""Pages of entities and facts.

A page token says after what a page begins, rather than after how many, so
that it is no matter what came and went before it meanwhile.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from google.protobuf.message import Message

from seedbed_server.errors import InvalidFieldError
from seedbed_server.log import Log
from seedbed_server.rpc.paging import page
from seedbed_server.rpc.sources import Known, sources

Row = TypeVar("Row")
Item = TypeVar("Item", bound=Message)

_LONGEST = 8192  # of names at most 256 code points long a token takes less

Key = tuple[float | str, ...]
Ids = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row, Item]):
    """How rows are listed: what each is about, its sort key, and the item made of it and of the ids of its sources."""

    known: Callable[[Row], Known]
    place: Callable[[Row], Key]
    pack: Callable[[Row, Ids], Item]

    async def page(
        self, log: Log, key: int, rows: list[Row], after: Key | None, size: int, most_bytes: int
    ) -> tuple[list[Item], str]:
        """Return one page of those rows of a memory that a message in the log supports, and the token of the next."""
        rows.sort(key=self.place)
        upcoming = iter(rows if after is None else rows[bisect_right(rows, after, key=self.place) :])
        given: list[Row] = []

        async def read(_: tuple[Row, Ids] | None, limit: int) -> Sequence[tuple[Row, Ids]]:
            found: list[tuple[Row, Ids]] = []
            while len(found) < limit and (some := list(islice(upcoming, limit - len(found)))):
                ids = await sources(log, key, [self.known(row) for row in some])
                found += [(row, ids[self.known(row).id]) for row in some if self.known(row).id in ids]
            given.extend(row for row, _ in found)
            return found

        items, more = await page(read, lambda found: self.pack(*found), size, most_bytes)
        return items, to_token(self.place(given[len(items) - 1])) if more else ""


def to_token(key: Key) -> str:
    """The token of a page that ends with what has this sort key."""
    return urlsafe_b64encode(json.dumps(key, ensure_ascii=False).encode(errors="replace")).decode()


def from_token(token: str, *like: type) -> Key | None:
    """The sort key of a token, of parts of these types; None without a token. InvalidFieldError."""
    if not token:
        return None
    try:
        key = json.loads(urlsafe_b64decode(token[:_LONGEST].encode("ascii")), parse_constant=_no_number)
    except (ValueError, RecursionError):  # of base64, UTF-8, JSON
        raise _refused() from None
    if not isinstance(key, list) or [type(part) for part in key] != list(like):
        raise _refused()
    return tuple(key)


def _no_number(_: str) -> float:
    raise ValueError


def _refused() -> InvalidFieldError:
    return InvalidFieldError("page_token", "is not one that this server gave")
