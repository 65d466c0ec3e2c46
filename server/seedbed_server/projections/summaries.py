"""Running summaries per session, kept at checkpoints.

Every BLOCK messages of a session a checkpoint is made from the one before and
the block, so a variant finds a summary that ends at most BLOCK - 1 messages after
the point it needs. ``fold`` can ask for one that ends exactly at a message (a
leaf), made of the newest checkpoint before it; no later one is built on it. So
what a checkpoint says follows from the session's messages alone, not from who
asked when.

Folding costs an encoder or a language model, so only sessions are folded whose
memory is read through a variant with a summary, or that were asked for. It runs
in lanes of its own, a block at a time: each memory is in one lane at most, and
next is the one that has waited longest, so that one for which it takes long does
not keep others waiting. The cursor says that messages were seen and their
sessions queued, in the same transaction; what is folded is what the checkpoints
say, and nothing counts as folded before its checkpoint is committed. A failure
leaves the session waiting, with backoff, and others go on.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from seedbed.messages import Message
from seedbed.variants import Hybrid, Summary, SummaryBuffer
from seedbed_server.errors import UnavailableError
from seedbed_server.projections import checkpoints
from seedbed_server.projections.checkpoints import MAX_SEQ, Checkpoint, Session
from seedbed_server.projections.contract import Backoff, Batch, Prepared, Projection, Source, StoreLostError
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.summarisers import Summariser

log = logging.getLogger(__name__)

BLOCK = 8
LANES = 4


@dataclass(slots=True)
class _Job:
    """A session to be folded: all full blocks, then up to each of ``leaves`` exactly.

    ``orders`` counts how often it was asked for; ``made`` are the leaves that are there.
    """

    leaves: set[int] = field(default_factory=set)
    made: set[int] = field(default_factory=set)
    orders: int = 0
    failures: int = 0
    not_before: float = 0.0


class Summaries(Projection[list[Session]]):
    """Marks sessions to be folded, and folds them in the background (``run``)."""

    names = ("summaries",)
    schema = checkpoints.SCHEMA
    batch_messages = 512

    def __init__(
        self,
        derived: Derived,
        source: Source,
        summariser: Summariser,
        *,
        indexable: Callable[[Message], bool] = lambda _: True,
        backoff: Backoff = Backoff(1.0, 300.0),  # noqa: B008 - immutable
    ) -> None:
        self._derived = derived
        self._source = source
        self._summariser = summariser
        self._indexable = indexable
        self._backoff = backoff
        self._jobs: dict[Session, _Job] = {}
        self._epochs: Counter[int] = Counter()
        self._turns: dict[int, int] = {}  # by memory, the number of its last turn
        self._numbers = count(1)
        self._busy: set[int] = set()
        self._resuming = asyncio.Lock()
        self._generation = ""
        self._wake = asyncio.Event()
        self._folded = asyncio.Event()

    @property
    def fingerprint(self) -> str:
        """The summariser's, and where checkpoints are made."""
        return f"{self._summariser.fingerprint}/{BLOCK}"

    # What is asked of it.

    async def fold(self, key: int, session: str, upto_seq: int = 0) -> None:
        """Queue a session: all its full blocks, and with ``upto_seq`` also a summary that ends exactly there."""
        await self._derived.write(lambda db: checkpoints.ask(db, [(key, session)], upto_seq))
        self._enqueue([(key, session)], upto_seq)

    async def wait_folded(self, key: int, session: str, timeout: float = 30.0) -> bool:  # noqa: ASYNC109
        """Wait until nothing is queued for a session; False after ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):
                while (key, session) in self._jobs:
                    await self._folded.wait()
        except TimeoutError:
            return False
        return True

    async def summary(self, key: int, session: str, covering: int = 0, upto: int = 0) -> Checkpoint | None:
        """Return the shortest-reaching summary that covers the message ``covering``, else the furthest-reaching.

        None of those returned reaches past the message ``upto``, unless that is 0.
        None when nothing of the session is folded so far.
        """
        return await self._derived.read(lambda db: checkpoints.find(db, key, session, covering, upto or MAX_SEQ))

    def trouble(self) -> str:
        """Say what folding waits for: "summariser" while any session fails, else nothing."""
        return "summariser" if any(job.failures for job in self._jobs.values()) else ""

    # As a projection.

    async def prepare(self, batches: Sequence[Batch]) -> Prepared[list[Session]]:
        """Find the sessions that grew, of memories that are read through a summary."""
        found: dict[Session, None] = {}
        for batch in batches:
            record = await self._source.record(batch.key)
            if record is not None and summarised(record.variant):
                found.update(dict.fromkeys((batch.key, message.session) for message in batch.messages))
        return Prepared(list(found))

    def commit(self, db: sqlite3.Connection, prepared: Prepared[list[Session]]) -> None:
        """Queue them durably."""
        checkpoints.ask(db, prepared.rows)

    async def committed(self, prepared: Prepared[list[Session]]) -> None:
        """Queue them for the task."""
        self._enqueue(prepared.rows)

    async def forget(self, key: int, seqs: Sequence[int]) -> Mapping[str, int]:
        """Delete every summary that the messages had a part in; they are made again without them."""
        self._epochs[key] += 1
        erased, sessions = await self._derived.write(lambda db: checkpoints.forget(db, key, seqs))
        self._enqueue_anew(key, sessions)
        return {"summaries": erased}

    async def drop(self, key: int) -> Mapping[str, int]:
        """Delete the memory's summaries. If the memory lives on, all are made anew."""
        self._epochs[key] += 1
        alive = await self._source.record(key) is not None
        erased, lost = await self._derived.write(lambda db: checkpoints.drop(db, key, alive=alive))
        if alive:
            self._enqueue_anew(key, [])
            for session, leaf_seq in lost:
                self._enqueue([(key, session)], leaf_seq)
        else:
            self._jobs = {session: job for session, job in self._jobs.items() if session[0] != key}
        return {"summaries": erased}

    # In the background.

    async def run(self) -> None:
        """Fold what is queued, until cancelled."""
        self._generation = ""
        async with asyncio.TaskGroup() as lanes:
            for _ in range(LANES):
                lanes.create_task(self._lane())

    async def _lane(self) -> None:
        while True:
            try:
                await self._resume()
                await self._next()
            except UnavailableError:
                await asyncio.sleep(self._backoff.first)

    async def _resume(self) -> None:
        """Queue what a new store has queued; once for all lanes."""
        async with self._resuming:
            generation = self._derived.generation
            if generation == self._generation:
                return
            found = await self._derived.read(
                lambda db: db.execute("SELECT key, session, leaf_seq FROM asked").fetchall()
            )
            self._generation = generation
        for key, session, leaf_seq in found:
            self._enqueue([(key, session)], leaf_seq)

    def _enqueue(self, sessions: Sequence[Session], leaf_seq: int = 0) -> None:
        for session in sessions:
            job = self._jobs.setdefault(session, _Job())
            if leaf_seq:
                job.leaves.add(leaf_seq)
            job.orders += 1
        self._wake.set()

    def _enqueue_anew(self, key: int, sessions: Sequence[Session]) -> None:
        """Queue sessions whose summaries were deleted, and make the leaves that somebody still waits for again."""
        for (owner, _), job in self._jobs.items():
            if owner == key:
                job.leaves |= job.made
        self._enqueue(sessions)

    async def _next(self) -> None:
        """Fold one block of the session whose turn it is, or sleep until there may be one."""
        now = time.monotonic()
        free = [session for session in self._jobs if session[0] not in self._busy]
        due = min(
            (session for session in free if self._jobs[session].not_before <= now),
            key=lambda session: self._turns.get(session[0], 0),
            default=None,
        )
        if due is None:
            self._wake.clear()
            soonest = min((self._jobs[session].not_before for session in free), default=None)
            try:
                async with asyncio.timeout(None if soonest is None else max(0.0, soonest - now)):
                    await self._wake.wait()
            except TimeoutError:
                pass
            return
        job = self._jobs.pop(due)
        self._jobs[due] = job  # to the end: sessions take turns
        self._turns[due[0]] = next(self._numbers)
        if len(self._turns) > 2 * len(self._jobs) + LANES:
            self._turns = {key: self._turns[key] for key, _ in self._jobs if key in self._turns}
        self._busy.add(due[0])
        try:
            await self._fold_in_turn(due, job)
        finally:
            self._busy.discard(due[0])
            self._wake.set()

    async def _fold_in_turn(self, due: Session, job: _Job) -> None:
        orders = job.orders
        try:
            more = await self._fold_next(due, job)
        except StoreLostError:
            return
        except Exception as error:  # noqa: BLE001 - the other sessions must go on
            job.failures += 1
            job.not_before = time.monotonic() + self._backoff.seconds(job.failures)
            log.warning("a summary has to wait: %s", type(error).__name__)
            return
        job.failures = 0
        if not more and self._jobs.get(due) is job and job.orders == orders:
            await self._done(due, job)

    async def _done(self, session: Session, job: _Job) -> None:
        """Nothing is left to fold, and nothing more was asked for meanwhile."""
        del self._jobs[session]
        rows = [(*session, leaf_seq) for leaf_seq in (0, *job.made)]
        await self._derived.write(
            lambda db: db.executemany("DELETE FROM asked WHERE key = ? AND session = ? AND leaf_seq = ?", rows)
        )
        self._folded.set()
        self._folded = asyncio.Event()

    async def _fold_next(self, session: Session, job: _Job) -> bool:
        """Make the session's next checkpoint, or leaf; says whether there may be more to do."""
        key, name = session
        epoch, generation = self._epochs[key], self._derived.generation
        after, before = await self._derived.read(lambda db: checkpoints.newest(db, key, name))
        block = await self._source.read(key, after_seq=after, limit=BLOCK, session=name)
        leaf_seq = 0
        if len(block) < BLOCK:
            if not job.leaves:
                return False
            leaf_seq = min(job.leaves)
            after, before = await self._derived.read(lambda db: checkpoints.newest(db, key, name, leaf_seq))
            near = await self._source.read(key, after_seq=after, limit=BLOCK, session=name)
            block = [message for message in near if message.seq <= leaf_seq]
            if len(block) == BLOCK:
                return True  # the checkpoint before it was dropped between the two looks
            if not block or await self._derived.read(lambda db: checkpoints.has_leaf(db, key, name, block[-1].seq)):
                return self._noted(job, key, epoch, leaf_seq)
        draft = await self._summariser.fold(before, [m for m in block if self._indexable(m)])

        def commit(db: sqlite3.Connection) -> None:
            if self._epochs[key] != epoch or self._derived.generation != generation:
                raise StoreLostError  # something was erased meanwhile: it may be in the draft
            checkpoints.save(db, session, block, draft, leaf=leaf_seq > 0)

        await self._derived.write(commit)
        return self._noted(job, key, epoch, leaf_seq) if leaf_seq else True

    def _noted(self, job: _Job, key: int, epoch: int, leaf_seq: int) -> bool:
        """Note a leaf that is there, unless it may be gone by now; says whether there may be more to do."""
        if self._epochs[key] != epoch:
            return True
        job.leaves.discard(leaf_seq)
        job.made.add(leaf_seq)
        return bool(job.leaves)


def summarised(variant: object) -> bool:
    """Whether a memory that is read through this variant shows a summary."""
    parts = variant.parts if isinstance(variant, Hybrid) else (variant,)
    return any(isinstance(part, Summary | SummaryBuffer) for part in parts)
