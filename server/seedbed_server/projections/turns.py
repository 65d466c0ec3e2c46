"""Whose turn it is: every dirty memory has a share of the next batch, so that one's flood never starves another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seedbed.messages import Message
from seedbed_server.projections.contract import Batch, Page, Projection, Source
from seedbed_server.projections.cursors import Cursors

LEAST_SHARE = 4  # messages of one memory per turn: fewer would cost more reads than they are worth
BATCH_BYTES = 40_000  # of messages read for one batch: some seconds of an encoder, for which others wait


@dataclass(frozen=True, slots=True)
class Turn:
    """A batch, where the memory's cursor has to stand before it, and where it will stand when it is committed."""

    batch: Batch
    after_seq: int
    upto_seq: int


class Turns:
    """Where a projection stands with each memory: ``cursors`` as committed, and what is in flight beyond them."""

    def __init__(self, projection: Projection[Any], source: Source, indexable: Callable[[Message], bool]) -> None:
        self.cursors = Cursors(projection.fingerprint)
        self._projection = projection
        self._source = source
        self._indexable = indexable
        self._dirty: dict[int, None] = {}
        self._ahead: dict[int, int] = {}
        self._taking: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Whether any memory is dirty."""
        return bool(self._dirty)

    def put(self, *keys: int) -> None:
        """There is something to do in these memories."""
        self._dirty |= dict.fromkeys(keys)

    def put_back(self) -> None:
        """Nothing is in flight any more: what was taken and not committed is due again."""
        self.put(*self._ahead, *self._taking)
        self._taking = ()
        self._ahead.clear()

    def begin(self, cursors: Cursors, dirty: Iterable[int]) -> None:
        """Stand elsewhere, with nothing in flight."""
        self.cursors = cursors
        self._ahead.clear()
        self.put(*dirty)

    def committed(self, positions: Mapping[int, int], skipped: Mapping[int, int]) -> None:
        """Move the cursors to ``positions``."""
        self.cursors.applied.update(positions)
        for key, count in skipped.items():
            self.cursors.skipped[key] = self.cursors.skipped.get(key, 0) + count
        for key, seq in positions.items():
            if self._ahead.get(key) == seq:
                del self._ahead[key]

    def unlearn(self, key: int) -> None:
        """Forget where a memory stands."""
        for known in (self.cursors.applied, self.cursors.skipped, self._ahead):
            known.pop(key, None)

    async def take(self) -> list[Turn] | None:
        """Take the next batch; None where erasures have to be carried out first."""
        room = self._projection.batch_messages
        share = max(LEAST_SHARE, room // max(1, len(self._dirty)))
        keys = self._taking = self._due(room)
        if not keys:
            return []
        # Taken off first: a write that comes while its messages are read puts it on again.
        for key in keys:
            del self._dirty[key]
        after = {key: max(self._ahead.get(key, 0), self.cursors.applied.get(key, 0)) for key in keys}
        found = await self._source.pages(
            after, share=share, limit=room, reach=self._projection.reach, max_bytes=BATCH_BYTES
        )
        if found.erasure_id > self.cursors.erasure_id:
            self.put(*keys)
            self._taking = ()
            return None
        turns = [await self._turn(key, after[key], page) for key, page in found.by_key.items()]
        # They come first in the next batch: else, of as many memories as one looks at, the same would always be late.
        self._dirty = dict.fromkeys(key for key in keys if key not in found.by_key) | self._dirty
        self._taking = ()
        return [turn for turn in turns if turn is not None]

    def _due(self, most: int) -> tuple[int, ...]:
        """The memories that are due the longest, each with those that are due and stored together with it.

        One that has a turn in flight comes after those that have none: its next may be as long.
        """
        found: dict[int, None] = {}
        together = self._projection.together
        for in_flight in (False, True):
            for key in self._dirty:
                if len(found) >= most:
                    break
                if (key in self._ahead) is in_flight:
                    first = key - key % together
                    pool = range(first, first + together)
                    found |= dict.fromkeys(
                        each for each in pool if each in self._dirty and (each in self._ahead) is in_flight
                    )
        return tuple(found)

    async def _turn(self, key: int, after: int, page: Page) -> Turn | None:
        """Make a turn of what follows in a memory; None for nothing."""
        if page.last_seq is None or page.last_seq <= after:
            return None
        if key not in self.cursors.applied and key not in self._ahead and key <= self.cursors.clean_after:
            await self._projection.drop(key)
        # Nothing alive up to the end: the cursor passes what was erased.
        upto = page.messages[-1].seq if page.messages else page.last_seq
        if upto < page.last_seq:
            self.put(key)
        self._ahead[key] = upto
        return Turn(Batch(key, tuple(filter(self._indexable, page.messages)), page.before), after, upto)
