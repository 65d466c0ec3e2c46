"""One projection's task: it follows the log, memory after memory, and never gives up.

Dirty memories take turns, each with a share of the batch, so that one memory's
flood never starves another. While one batch is stored, the next is prepared.
A part that is down means waiting; a message that cannot be read is found by
halving the batch, counted and passed.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from seedbed.messages import Message
from seedbed_server.errors import PartUnavailableError, UnavailableError
from seedbed_server.projections import cursors as table
from seedbed_server.projections.contract import (
    Backoff,
    Batch,
    Erasure,
    Page,
    Prepared,
    Projection,
    Source,
    StoreLostError,
)
from seedbed_server.projections.cursors import Cursors
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.isolation import PATIENCE, Isolation

log = logging.getLogger(__name__)

LEAST_SHARE = 4  # messages of one memory per turn: fewer would cost more reads than they are worth
BATCH_BYTES = 400_000  # of messages read for one batch; bounds what is in flight when they are large
ERASURES = 100  # read at once
RECEIPTS = 1000  # counts of erasures remembered


@dataclass(frozen=True, slots=True)
class _Turn:
    """A batch, where the memory's cursor has to stand before it, and where it will stand when it is committed."""

    batch: Batch
    after_seq: int
    upto_seq: int


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
        self.receipts: dict[int, Mapping[str, int]] = {}
        self.cursors = Cursors(projection.fingerprint)
        self._source = source
        self._derived = derived
        self._indexable = indexable
        self._on_progress = on_progress
        self._backoff = backoff
        self._isolation = Isolation(projection, derived, backoff)
        self._generation: str | None = None  # of the file that the cursors were read from
        self._ahead: dict[int, int] = {}
        self._taking: tuple[int, ...] = ()
        self._dirty: dict[int, None] = {}
        self._rebuilds: dict[int | None, asyncio.Future[None]] = {}
        self._wake = asyncio.Event()
        self._asked = asyncio.Event()
        self._not_before = 0.0
        self._erasures_due = True
        self._failures = 0
        self._storing: tuple[list[_Turn], asyncio.Task[None]] | None = None
        self._store_lost = False

    # What others ask of it.

    def changed(self, key: int) -> None:
        """The memory's log has changed: it grew, or something was erased."""
        self._dirty[key] = None
        self._wake.set()

    def lost(self) -> None:
        """The derived store was begun anew: nothing is applied any more."""
        self.cursors = Cursors(self.cursors.fingerprint, clean_after=self.cursors.clean_after)
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
            except UnavailableError as error:
                self._put_off(_part(error))
            except StoreLostError:
                log.warning("projection %s lost its store and begins anew", self.name)
                self._store_lost = True
            except Exception as error:  # noqa: BLE001 - whatever it is, this projection has to go on
                log.warning("projection %s failed and will try again: %s", self.name, type(error).__name__)
                self._put_off(self.name)

    def _put_off(self, part: str) -> None:
        self._requeue()
        self._failures += 1
        self._not_before = asyncio.get_running_loop().time() + self._backoff.seconds(self._failures)
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
                self.cursors = known
            self._ahead.clear()
            for head in await self._source.heads():
                if head.last_seq > self.cursors.applied.get(head.key, 0):
                    self._dirty[head.key] = None
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
        self.cursors = fresh
        self._ahead.clear()
        self._dirty |= {head.key: None for head in heads}
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
                turns = await self._gather()
                if turns:
                    self.state = "waiting" if self.waiting_for else "working"
                    await self._advance(turns)
                else:
                    await self._settle()
                    await self._rest()
        finally:
            if self._storing is not None:
                await asyncio.gather(self._storing[1], return_exceptions=True)
                self._storing = None

    async def _advance(self, turns: list[_Turn]) -> None:
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

    async def _failed(self, turns: Sequence[_Turn], error: Exception) -> None:
        """Look for the message that makes a batch fail; raises the error when that is not the likely cause."""
        self._requeue()
        if not self._suspicious(error):
            raise error
        for turn in turns:
            if self.cursors.applied.get(turn.batch.key, 0) == turn.after_seq:
                await self._carefully(turn)

    def _requeue(self) -> None:
        """Nothing is in flight any more: what was taken and not committed is due again."""
        self._dirty |= dict.fromkeys((*self._ahead, *self._taking))
        self._taking = ()
        self._ahead.clear()

    async def _rest(self) -> None:
        """Sleep until there is something to do."""
        self._wake.clear()
        if self._dirty or self._rebuilds or self._erasures_due:
            return
        self._goes_on("idle")
        self._on_progress()
        await self._wake.wait()

    async def _store(
        self, turns: Sequence[_Turn], prepared: Sequence[Prepared[Any]], skipped: Counter[int] | None = None
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
        self.cursors.applied.update(positions)
        for key, count in missed.items():
            self.cursors.skipped[key] = self.cursors.skipped.get(key, 0) + count
        for key, seq in positions.items():
            if self._ahead.get(key) == seq:
                del self._ahead[key]
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

    # What comes next.

    async def _gather(self) -> list[_Turn]:
        """Take the next batch: a share of each dirty memory, in turn; nothing while erasures are to be carried out."""
        room = self.projection.batch_messages
        share = max(LEAST_SHARE, room // max(1, len(self._dirty)))
        keys = self._taking = tuple(islice(self._dirty, room))
        if not keys:
            return []
        # Taken off first: a write that comes while its messages are read puts it on again.
        for key in keys:
            del self._dirty[key]
        after = {key: self._position(key) for key in keys}
        found = await self._source.pages(
            after, share=share, limit=room, reach=self.projection.reach, max_bytes=BATCH_BYTES
        )
        if found.erasure_id > self.cursors.erasure_id:
            self._erasures_due = True
            self._dirty |= dict.fromkeys(keys)
            self._taking = ()
            return []
        turns = [await self._turn(key, after[key], page) for key, page in found.by_key.items()]
        self._dirty |= dict.fromkeys(key for key in keys if key not in found.by_key)
        self._taking = ()
        return [turn for turn in turns if turn is not None]

    def _position(self, key: int) -> int:
        """The seq up to which a memory is applied, or in flight."""
        return max(self._ahead.get(key, 0), self.cursors.applied.get(key, 0))

    async def _turn(self, key: int, after: int, page: Page) -> _Turn | None:
        """Make a turn of what follows in a memory; None for nothing."""
        if page.last_seq is None or page.last_seq <= after:
            return None
        if key not in self.cursors.applied and key not in self._ahead and key <= self.cursors.clean_after:
            await self.projection.drop(key)
        # Nothing alive up to the end: the cursor passes what was erased.
        upto = page.messages[-1].seq if page.messages else page.last_seq
        if upto < page.last_seq:
            self._dirty[key] = None
        self._ahead[key] = upto
        return _Turn(Batch(key, tuple(filter(self._indexable, page.messages)), page.before), after, upto)

    async def _before(self, key: int, after: int) -> tuple[Message, ...]:
        """The messages before the next one that its rows depend on."""
        reach = self.projection.reach
        if not reach or not after:
            return ()
        seqs = range(max(1, after - reach + 1), after + 1)
        found = await self._source.by_seqs(key, seqs)
        return tuple(found[seq] for seq in sorted(found))

    # Trouble.

    def _suspicious(self, error: BaseException) -> bool:
        """Whether a message may be the cause of a failure, rather than the state of a part."""
        if isinstance(error, UnavailableError):
            return self._failures >= PATIENCE and _part(error) not in ("derived", "storage")
        return isinstance(error, Exception) and not isinstance(error, StoreLostError)

    async def _carefully(self, turn: _Turn) -> None:
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
                erasures = await self._source.erasures(self.cursors.erasure_id, ERASURES)
                gone: set[int] = set()  # of these memories nothing is left, and the log has nothing of it either
                for erasure in erasures:
                    if erasure.key not in gone and await self._erase(erasure):
                        gone.add(erasure.key)
                if gone:
                    await self._derived.write(partial(table.erased, name=self.name, erasure_id=erasures[-1].id))
            except BaseException:
                self._erasures_due = True
                raise
            if erasures:
                self._erasures_due = True
                await self._derived.scrub()
                self.cursors.erasure_id = erasures[-1].id  # only now is no byte of it left
                self._on_progress()

    async def _reset(self, key: int | None) -> None:
        if key is None:
            await self._restart(self.cursors)
            return
        await self._derived.write(lambda db: table.remove(db, self.name, key, distrust=True))
        self.cursors.clean_after = max(self.cursors.clean_after, key)
        self._unlearn(key)
        self._dirty[key] = None
        self._on_progress()

    async def _erase(self, erasure: Erasure) -> bool:
        """Carry it out; says whether that left nothing of the memory. What is distrusted goes as a whole."""
        distrusted = erasure.key <= self.cursors.clean_after and erasure.key not in self.cursors.applied
        if erasure.whole:
            counts = await self.projection.drop(erasure.key)
            await self._derived.write(lambda db: table.remove(db, self.name, erasure.key))
            self._unlearn(erasure.key)
        else:
            counts = await self.projection.forget(erasure.key, erasure.seqs)
            if distrusted:
                await self.projection.drop(erasure.key)
            else:
                await self._redo(erasure)
        await self._derived.write(lambda db: table.erased(db, self.name, erasure.id))
        self.receipts[erasure.id] = counts
        if len(self.receipts) > RECEIPTS:
            del self.receipts[next(iter(self.receipts))]
        return erasure.whole or distrusted

    async def _redo(self, erasure: Erasure) -> None:
        """Derive again from the messages whose rows depended on an erased one."""
        reach = self.projection.reach
        applied = self.cursors.applied.get(erasure.key, 0)
        near = {seq + step for seq in erasure.seqs for step in range(1, reach + 1)}
        alive = await self._source.by_seqs(erasure.key, sorted(s for s in near if s <= applied)) if near else {}
        for seq in sorted(alive):
            if self._indexable(alive[seq]):
                batch = Batch(erasure.key, (alive[seq],), await self._before(erasure.key, seq - 1))
                await self._isolation.apply(batch)

    def _unlearn(self, key: int) -> None:
        for known in (self.cursors.applied, self.cursors.skipped, self._ahead):
            known.pop(key, None)


def _part(error: UnavailableError) -> str:
    """What is not available: a part by its name, or the disk."""
    return error.part if isinstance(error, PartUnavailableError) else "storage"
