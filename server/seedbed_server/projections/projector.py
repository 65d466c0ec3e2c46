"""The projector: keeps every projection current with the log, each at its own pace."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from seedbed.messages import Message
from seedbed_server.projections.analysis import is_blank
from seedbed_server.projections.contract import Backoff, Projection, Source
from seedbed_server.projections.cursors import Cursors
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.worker import Worker

_ERASURES = 1000  # read at once
_LOOK_AGAIN = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class ProjectionState:
    """How a projection is doing.

    ``state`` is "starting", "idle", "working" or "waiting" (then ``waiting_for``
    names the part).
    ``skipped`` counts messages of all memories that could not be read.
    """

    name: str
    state: str
    waiting_for: str
    skipped: int


class Projector:
    """Runs one :class:`Worker` per projection.

    ``is_echo`` says whether a message is recalled text that an agent wrote back;
    such messages, and those without text, are passed and nothing is made of them.
    """

    def __init__(
        self,
        source: Source,
        derived: Derived,
        projections: Sequence[Projection[Any]],
        *,
        is_echo: Callable[[Message], bool] = lambda _: False,
        backoff: Backoff = Backoff(),  # noqa: B008 - immutable
    ) -> None:
        def indexable(message: Message) -> bool:
            return not is_blank(message.text) and not is_echo(message)

        self._source = source
        self._derived = derived
        self._indexable = indexable
        self._backoff = backoff
        self._workers: list[Worker] = []
        self._removed: Mapping[int, Mapping[str, int]] = {}  # receipts of the one that was removed last
        self._by_name: dict[str, Worker] = {}
        self._tasks: dict[Worker, list[asyncio.Task[None]]] = {}
        self._running = False
        self._deleting = False
        self._moved = asyncio.Event()
        for projection in projections:
            self.add(projection)
            self.take_over(projection)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all projections, as reported."""
        return tuple(self._by_name)

    async def start(self) -> None:
        """Begin following the log. ``changed`` has to be called after each commit to it."""
        self._running = True
        for worker in self._workers:
            self._start(worker)

    async def stop(self) -> None:
        """Stop after what is being stored; what was not committed is done again at the next start."""
        self._running = False
        await asyncio.gather(*(self._halt(worker) for worker in self._workers))

    def add(self, projection: Projection[Any]) -> None:
        """Have one more follow the log. It is not reported, nor waited for, until it takes over; erasures reach it."""
        worker = Worker(
            projection=projection,
            source=self._source,
            derived=self._derived,
            indexable=self._indexable,
            on_progress=self._progress,
            backoff=self._backoff,
        )
        self._workers.append(worker)
        self._derived.on_reset.append(worker.lost)
        if self._running:
            self._start(worker)

    def take_over(self, projection: Projection[Any]) -> None:
        """Report a projection in the place of the one that has its names."""
        worker = self._of(projection)
        self._by_name |= dict.fromkeys(projection.names, worker)
        self._progress()

    @asynccontextmanager
    async def removing(self, projection: Projection[Any]) -> AsyncIterator[None]:
        """Stop a projection, and forget it when the block ends, in which its store is to be deleted.

        Until then, and when the block fails, it counts among those that an erasure has not reached.
        """
        worker = self._of(projection)
        await self._halt(worker)
        yield
        # Not after a failure: what the store still holds, an erasure has not reached.
        self._workers.remove(worker)
        self._removed = worker.receipts
        self._derived.on_reset.remove(worker.lost)
        self._progress()

    @asynccontextmanager
    async def deleting(self) -> AsyncIterator[None]:
        """No erasure counts as carried out until the block has ended, in which a store nobody follows is deleted."""
        self._deleting = True
        yield
        self._deleting = False
        self._progress()

    def changed(self, key: int) -> None:
        """The memory's log has changed; belongs in ``Log.on_change``."""
        for worker in self._workers:
            worker.changed(key)

    def cursors(self, projection: Projection[Any]) -> Cursors:
        """How far one projection is; for reading only."""
        return self._of(projection).cursors

    def state(self, projection: Projection[Any]) -> ProjectionState:
        """How one projection is doing."""
        return _state(projection.names[0], self._of(projection))

    def applied(self, key: int) -> dict[str, int]:
        """The last seq of the memory that each projection has committed."""
        return {name: worker.cursors.applied.get(key, 0) for name, worker in self._by_name.items()}

    def skipped(self, key: int) -> dict[str, int]:
        """How many of the memory's messages each projection could not read."""
        return {name: worker.cursors.skipped.get(key, 0) for name, worker in self._by_name.items()}

    async def wait_applied(self, key: int, seq: int, names: Collection[str] = (), timeout: float = 30.0) -> bool:  # noqa: ASYNC109 - False, not an error, is the answer
        """Wait until the projections (none means all) have applied ``seq``; False after ``timeout`` seconds."""
        workers = self._named(names)
        return await self._until(lambda: all(w.cursors.applied.get(key, 0) >= seq for w in workers), timeout)

    async def caught_up(self, key: int, seq: int, names: Collection[str], patience: float) -> bool:
        """Whether the projections have applied ``seq``, or do within ``patience`` seconds.

        One that waits for a part that is down is not waited for.
        """
        workers = self._named(names)
        if any(worker.waiting_for for worker in workers):
            patience = 0.0
        return await self.wait_applied(key, seq, names, patience)

    async def wait_erased(self, erasure_id: int, timeout: float = 30.0) -> dict[str, int] | None:  # noqa: ASYNC109
        """Wait until every projection has carried out an erasure; returns rows erased by name, None after ``timeout``.

        Counts of an erasure that was carried out before a restart are gone: 0.
        """
        if not await self._until(lambda: self._have_erased(erasure_id), timeout):
            return None
        counts = Counter(dict.fromkeys(self._by_name, 0))
        for receipts in (self._removed, *(worker.receipts for worker in self._workers)):
            counts.update(receipts.get(erasure_id, {}))
        return dict(counts)

    async def catch_up(self, projection: Projection[Any]) -> None:
        """Wait until one projection has applied and erased all that the log held at some moment of this call."""
        worker = self._of(projection)
        reached = False
        while not reached:  # anew from time to time: a memory that is deleted meanwhile has no seq to be waited for
            due = {head.key: head.last_seq for head in await self._source.heads()}
            erased = worker.cursors.erasure_id
            while newer := await self._source.erasures(erased, _ERASURES):
                erased = newer[-1].id
            reached = await self._until(partial(_has_reached, worker, due, erased), _LOOK_AGAIN)

    async def rebuild(self, key: int | None = None, names: Collection[str] = ()) -> None:
        """Set the projections (none means all) of one memory, or of all, to the start of the log.

        Returns when that is committed; they catch up in the background.
        """
        await asyncio.gather(*(worker.rebuild(key) for worker in self._named(names)))

    async def begin_again(self, projection: Projection[Any]) -> None:
        """Set one projection to the start of the log."""
        await self._of(projection).rebuild(None)

    def status(self) -> list[ProjectionState]:
        """How each projection is doing."""
        return [_state(name, worker) for name, worker in self._by_name.items()]

    def _of(self, projection: Projection[Any]) -> Worker:
        return next(worker for worker in self._workers if worker.projection is projection)

    def _start(self, worker: Worker) -> None:
        self._tasks[worker] = [
            asyncio.create_task(worker.run(), name=f"projection-{worker.name}"),
            asyncio.create_task(worker.projection.run(), name=f"beside-{worker.name}"),
        ]

    async def _halt(self, worker: Worker) -> None:
        tasks = self._tasks.pop(worker, [])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _have_erased(self, erasure_id: int) -> bool:
        return not self._deleting and all(w.cursors.erasure_id >= erasure_id for w in self._workers)

    def _named(self, names: Collection[str]) -> list[Worker]:
        return list({id(w): w for name, w in self._by_name.items() if not names or name in names}.values())

    def _progress(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def _until(self, true: Callable[[], bool], timeout: float) -> bool:  # noqa: ASYNC109
        try:
            async with asyncio.timeout(timeout):
                while not true():
                    await self._moved.wait()
        except TimeoutError:
            return False
        return True


def _has_reached(worker: Worker, due: Mapping[int, int], erasure_id: int) -> bool:
    applied = worker.cursors.applied
    return worker.cursors.erasure_id >= erasure_id and all(applied.get(key, 0) >= seq for key, seq in due.items())


def _state(name: str, worker: Worker) -> ProjectionState:
    trouble = worker.projection.trouble()
    state, part = ("waiting", trouble) if trouble else (worker.state, worker.waiting_for)
    return ProjectionState(name, state, part, sum(worker.cursors.skipped.values()))
