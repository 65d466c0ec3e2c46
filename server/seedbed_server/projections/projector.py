"""The projector: keeps every projection current with the log, each at its own pace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from seedbed.messages import Message
from seedbed_server.projections.analysis import is_blank
from seedbed_server.projections.contract import Backoff, Projection, Source
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.worker import Worker


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

        self._workers = [
            Worker(
                projection=projection,
                source=source,
                derived=derived,
                indexable=indexable,
                on_progress=self._progress,
                backoff=backoff,
            )
            for projection in projections
        ]
        self._by_name = {name: worker for worker in self._workers for name in worker.projection.names}
        self._tasks: list[asyncio.Task[None]] = []
        self._moved = asyncio.Event()
        derived.on_reset += [worker.lost for worker in self._workers]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all projections, as reported."""
        return tuple(self._by_name)

    async def start(self) -> None:
        """Begin following the log. ``changed`` has to be called after each commit to it."""
        for worker in self._workers:
            self._tasks.append(asyncio.create_task(worker.run(), name=f"projection-{worker.name}"))
            self._tasks.append(asyncio.create_task(worker.projection.run(), name=f"beside-{worker.name}"))

    async def stop(self) -> None:
        """Stop after what is being stored; what was not committed is done again at the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def changed(self, key: int) -> None:
        """The memory's log has changed; belongs in ``Log.on_change``."""
        for worker in self._workers:
            worker.changed(key)

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
        if not await self._until(lambda: all(w.cursors.erasure_id >= erasure_id for w in self._workers), timeout):
            return None
        counts = dict.fromkeys(self._by_name, 0)
        for worker in self._workers:
            counts |= worker.receipts.get(erasure_id, {})
        return counts

    async def rebuild(self, key: int | None = None, names: Collection[str] = ()) -> None:
        """Set the projections (none means all) of one memory, or of all, to the start of the log.

        Returns when that is committed; they catch up in the background.
        """
        await asyncio.gather(*(worker.rebuild(key) for worker in self._named(names)))

    def status(self) -> list[ProjectionState]:
        """How each projection is doing."""
        return [_state(name, worker) for name, worker in self._by_name.items()]

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


def _state(name: str, worker: Worker) -> ProjectionState:
    trouble = worker.projection.trouble()
    state, part = ("waiting", trouble) if trouble else (worker.state, worker.waiting_for)
    return ProjectionState(name, state, part, sum(worker.cursors.skipped.values()))
