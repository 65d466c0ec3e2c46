"""One projection's task: it follows the log, memory after memory, and never gives up.

While one batch is stored, the next is prepared. A part that is down means
waiting; a message that cannot be read is found by halving the batch, counted and
passed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from seedbed.messages import Message
from seedbed_server.errors import PartUnavailableError, UnavailableError
from seedbed_server.projections import cursors as table
from seedbed_server.projections.contract import (
    Backoff,
    Prepared,
    Projection,
    Source,
    StoreLostError,
)
from seedbed_server.projections.cursors import Cursors
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.erasing import Erasing
from seedbed_server.projections.isolation import PATIENCE, Isolation
from seedbed_server.projections.turns import Turn, Turns

log = logging.getLogger(__name__)

PART_AGAIN = 0.5
"""The most seconds until a part that was not there is asked again: it costs little, and searches wait for it."""
LOOK_AGAIN = 2.0
"""Seconds after which a projection with nothing to do looks whether its store is still the one it knows."""


class Worker:
    """Keeps one projection current. Run by the projector; its state is read by it."""

    def __init__(
        self,
        *,
        projection: Projection[Any],
        source: Source,
        derived: Derived,
        indexable: Callable[[Message], bool],
        on_progress: Callable[[], None],
        backoff: Backoff,
    ) -> None:
        self.projection = projection
        self.name = projection.cursor
        self.state = "starting"
        self.waiting_for = ""
        self._source = source
        self._derived = derived
        self._on_progress = on_progress
        self._backoff = backoff
        self._isolation = Isolation(projection, derived, backoff)
        self._turns = Turns(projection, source, indexable)
        self._erasing = Erasing(self.name, projection, source, derived, self._isolation, self._turns, indexable)
        self._generation: str | None = None  # of the file that the cursors were read from
        self._rebuilds: dict[int | None, asyncio.Future[None]] = {}
        self._wake = asyncio.Event()
        self._asked = asyncio.Event()
        self._not_before = 0.0
        self._erasures_due = True
        self._failures = 0
        self._storing: tuple[list[Turn], asyncio.Task[None]] | None = None
        self._store_lost = False

    # What others ask of it.

    @property
    def cursors(self) -> Cursors:
        """How far it is with each memory, as committed; for reading only."""
        return self._turns.cursors

    @property
    def receipts(self) -> Mapping[int, Mapping[str, int]]:
        """By the id of an erasure, how many rows it took of what; of the last ones."""
        return self._erasing.receipts

    def changed(self, key: int) -> None:
        """The memory's log has changed: it grew, or something was erased."""
        self._turns.put(key)
        self._wake.set()

    def lost(self) -> None:
        """The derived store was begun anew: nothing is applied any more."""
        self._turns.cursors = Cursors(self.cursors.fingerprint, clean_after=self.cursors.clean_after)
        self._wake.set()

    async def rebuild(self, key: int | None) -> None:
        """Set the memory's cursor, or every cursor, to 0; returns when that is committed."""
        done = self._rebuilds.setdefault(key, asyncio.get_running_loop().create_future())
        self._wake.set()
        self._asked.set()
        await asyncio.shield(done)

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            try:
                await self._pause()
                if self._store_lost:
                    await self._restart(Cursors(""), lost=True)
                    self._store_lost = False
                await self._open()
                await self._work()
            except PartUnavailableError as error:
                self._put_off(_part(error), most=PART_AGAIN)
            except UnavailableError as error:
                self._put_off(_part(error))
            except StoreLostError:
                log.warning("projection %s lost its store and begins anew", self.name)
                self._store_lost = True
            except Exception as error:  # noqa: BLE001 - whatever it is, this projection has to go on
                log.warning("projection %s failed and will try again: %s", self.name, type(error).__name__)
                self._put_off(self.name)

    def _put_off(self, part: str, most: float = math.inf) -> None:
        self._turns.put_back()
        self._failures += 1
        self._not_before = asyncio.get_running_loop().time() + min(most, self._backoff.seconds(self._failures))
        if self.waiting_for != part:
            log.info("projection %s waits for %s", self.name, part)
        self.state, self.waiting_for = "waiting", part
        self._on_progress()

    def _goes_on(self, state: str) -> None:
        if self.waiting_for:
            log.info("projection %s goes on", self.name)
        self.state, self.waiting_for = state, ""

    async def _pause(self) -> None:
        """Wait out the time after a failure. Cursors are set back meanwhile: that needs no part."""
        while (left := self._not_before - asyncio.get_running_loop().time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._asked.wait()
            self._asked.clear()
            if self._generation == self._derived.generation:
                await self._rebuild_asked()

    # Where it stands.

    async def _open(self) -> None:
        """Read the cursors if they are not known yet, or the file is another one; then ask the store."""
        if self._generation != self._derived.generation:
            generation = self._derived.generation
            known = await self._derived.read(lambda db: table.load(db, self.name))
            if known is None or known.fingerprint != self.projection.fingerprint:
                await self._restart(known or Cursors(""))
            else:
                heads = await self._source.heads()
                self._turns.begin(known, (head.key for head in heads if head.last_seq > known.applied.get(head.key, 0)))
            self._erasures_due = True
            self._generation = generation
            self._on_progress()
        await self._rebuild_asked()
        await self.projection.open()

    async def _restart(self, known: Cursors, *, lost: bool = False) -> None:
        """Begin at the start of the log, with every memory, and distrust all that is stored.

        What ``known`` says is erased is not erased again.
        """
        heads = await self._source.heads()
        last = max((head.key for head in heads), default=0)
        distrusted = max(last, known.clean_after, self.cursors.clean_after)
        fresh = Cursors(self.projection.fingerprint, known.erasure_id, distrusted)

        def begin(db: sqlite3.Connection) -> None:
            if lost:
                self.projection.lost(db)
            table.begin(db, self.name, fresh)

        await self._derived.write(begin)
        self._turns.begin(fresh, (head.key for head in heads))
        self._erasures_due = True
        self._on_progress()

    # The round.

    async def _work(self) -> None:
        """Batches until something is wrong; the store of one overlaps the preparation of the next."""
        try:
            while self._generation == self._derived.generation:
                if self._erasures_due or self._rebuilds:
                    await self._settle()
                    await self._orders()
                turns = await self._turns.take()
                if turns is None:
                    self._erasures_due = True
                elif turns:
                    self.state = "waiting" if self.waiting_for else "working"
                    await self._advance(turns)
                else:
                    await self._settle()
                    await self._rest()
        finally:
            if self._storing is not None:
                await asyncio.gather(self._storing[1], return_exceptions=True)
                self._storing = None

    async def _advance(self, turns: list[Turn]) -> None:
        """Prepare a batch while the last is stored, then begin to store this one."""
        try:
            batches = [turn.batch for turn in turns if turn.batch.messages]
            prepared = [await self.projection.prepare(batches)] if batches else []
        except Exception as error:  # noqa: BLE001 - sorted by _failed
            if await self._settle():
                await self._failed(turns, error)
            return
        if await self._settle():
            self._storing = (turns, asyncio.create_task(self._store(turns, prepared)))

    async def _settle(self) -> bool:
        """Wait for the batch being stored. False when it failed: then nothing is in flight, and all is read again."""
        if self._storing is None:
            return True
        turns, task = self._storing
        self._storing = None
        try:
            await task
        except Exception as error:  # noqa: BLE001 - sorted by _failed
            await self._failed(turns, error)
            return False
        return True

    async def _failed(self, turns: Sequence[Turn], error: Exception) -> None:
        """Look for the message that makes a batch fail; raises the error when that is not the likely cause."""
        self._turns.put_back()
        if not self._suspicious(error):
            raise error
        for turn in turns:
            if self.cursors.applied.get(turn.batch.key, 0) == turn.after_seq:
                await self._carefully(turn)

    async def _rest(self) -> None:
        """Sleep until there is something to do."""
        self._wake.clear()
        if self._turns or self._rebuilds or self._erasures_due:
            return
        self._goes_on("idle")
        self._on_progress()
        while not self._wake.is_set():
            try:
                async with asyncio.timeout(LOOK_AGAIN):
                    await self._wake.wait()
            except TimeoutError:
                await self.projection.open()  # its store may have been begun anew: nobody else would tell

    async def _store(
        self, turns: Sequence[Turn], prepared: Sequence[Prepared[Any]], skipped: Counter[int] | None = None
    ) -> None:
        """Store, then commit rows and cursors together."""
        positions = {turn.batch.key: turn.upto_seq for turn in turns}
        missed = Counter(skipped)
        for part in prepared:
            missed.update(part.skipped)
            await self.projection.store(part)
        await self._derived.write(lambda db: self._commit(db, prepared, positions, missed))
        if self._derived.generation != self._generation:
            raise StoreLostError
        for part in prepared:
            await self.projection.committed(part)
        self._turns.committed(positions, missed)
        self._failures = 0
        self._goes_on("working")
        self._on_progress()

    def _commit(
        self,
        db: sqlite3.Connection,
        prepared: Sequence[Prepared[Any]],
        positions: Mapping[int, int],
        skipped: Mapping[int, int],
    ) -> None:
        if self._derived.generation != self._generation:  # these cursors belong to the file before
            raise StoreLostError
        for part in prepared:
            self.projection.commit(db, part)
        table.advance(db, self.name, positions, skipped)

    # Trouble.

    def _suspicious(self, error: BaseException) -> bool:
        """Whether a message may be the cause of a failure, rather than the state of a part."""
        if isinstance(error, UnavailableError):
            return self._failures >= PATIENCE and _part(error) not in ("derived", "storage")
        return isinstance(error, Exception) and not isinstance(error, StoreLostError)

    async def _carefully(self, turn: Turn) -> None:
        """Apply a batch by halves, passing and counting the messages that cannot be derived from."""
        skipped = await self._isolation.apply(turn.batch) if turn.batch.messages else None
        await self._store([turn], [], skipped)

    # Erasures and rebuilds.

    async def _rebuild_asked(self) -> None:
        """Set back the cursors that were asked for; nothing may be in flight."""
        while self._rebuilds:
            key, done = next(iter(self._rebuilds.items()))
            await self._reset(key)
            del self._rebuilds[key]
            done.set_result(None)

    async def _orders(self) -> None:
        """Carry out what was asked, between batches: nothing is in flight here."""
        await self._rebuild_asked()
        while self._erasures_due:
            self._erasures_due = False
            try:
                self._erasures_due = await self._erasing.carry_out()
            except BaseException:
                self._erasures_due = True
                raise
            if self._erasures_due:
                self._on_progress()

    async def _reset(self, key: int | None) -> None:
        if key is None:
            await self._restart(self.cursors)
            return
        await self._derived.write(lambda db: table.remove(db, self.name, key, distrust=True))
        self.cursors.clean_after = max(self.cursors.clean_after, key)
        self._turns.unlearn(key)
        self._turns.put(key)
        self._on_progress()


def _part(error: UnavailableError) -> str:
    """What is not available: a part by its name, or the disk."""
    return error.part if isinstance(error, PartUnavailableError) else "storage"
