"""One thread that writes, and commits many writes with one fsync.

While a commit waits for the disk, jobs gather; the next transaction takes all
of them. Each runs in a savepoint of its own, so that one that fails is undone
alone. Nobody is answered before the commit, and a commit that fails fails all.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, TypeVar

from seedbed_server.errors import OverloadedError, ShuttingDownError
from seedbed_server.log.connection import Connection
from seedbed_server.log.database import Database
from seedbed_server.log.done import Done

_log = logging.getLogger(__name__)
T = TypeVar("T")
Item = TypeVar("Item")
Work = Callable[[Connection], Done[T]]
Together = Callable[[Connection, Sequence[Item]], Sequence[Done[T] | Exception]]

# Jobs of one transaction: enough to make the fsync cheap, few enough that the
# first of them does not wait long for the last.
_GROUP = 256


class _Job:
    """A change, who waits for it, and how it went. Jobs of the same ``work`` can be run together."""

    __slots__ = ("error", "future", "item", "outcome", "work")

    def __init__(self, work: Together[Any, Any], item: Any, future: asyncio.Future[Any]) -> None:
        self.work = work
        self.item = item
        self.future = future
        self.outcome: Done[Any] | None = None
        self.error: Exception | None = None


class Writer:
    """The writing side of a log, for the event loop it is made in.

    ``changed`` is called in the loop, after each commit, with the keys of the
    memories that it changed.
    """

    def __init__(self, database: Database, *, bound: int, changed: Callable[[Sequence[int]], None]) -> None:
        self._database = database
        self._bound = bound
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Job] = deque()
        self._wake = threading.Condition()
        self._waking = False
        self._closing = False
        self._connection: Connection | None = database.connect()
        self._to_scrub = False
        self._thread = threading.Thread(target=self._run, name="seedbed-log-writer", daemon=True)
        self._thread.start()

    @property
    def scrubbed(self) -> bool:
        """Whether what was erased is out of every file."""
        return not self._to_scrub

    async def submit(self, work: Work[T]) -> T:
        """Run a change and wait until it is durable.

        A caller that is cancelled before the change begins takes it back; after
        that it is carried out all the same. Raises what the change raises,
        OverloadedError at once when too many wait, ShuttingDownError after
        ``close``, StorageFullError, and StorageUnavailableError, after which
        the change may or may not be there.
        """
        return await self.submit_with_others(lambda c, _: [work(c)], None)

    async def submit_with_others(self, work: Together[Item, T], item: Item) -> T:
        """Run a change like ``submit``, in one call with others that wait and have the same ``work``.

        ``work`` gets the items of several callers and returns what came of
        each. Where it raises instead, it is called again for each item alone.
        """
        job = _Job(work, item, self._loop.create_future())
        if self._closing:
            raise ShuttingDownError
        if len(self._waiting) >= self._bound:
            raise OverloadedError
        self._waiting.append(job)
        if not self._waking:
            # Once for each turn of the loop, when all who are ready to write have said so.
            self._waking = True
            self._loop.call_soon(self._wake_thread)
        answer: T = await job.future
        return answer

    async def close(self) -> None:
        """Carry out what waits, then stop."""
        self._closing = True
        self._wake_thread()
        await asyncio.to_thread(self._thread.join)

    def _wake_thread(self) -> None:
        self._waking = False
        with self._wake:
            self._wake.notify()

    def _run(self) -> None:
        while group := self._next_group():
            self._carry_out(group)
        if self._connection is not None:
            self._connection.close()

    def _next_group(self) -> list[_Job]:
        """Wait for jobs; an empty group means that it is time to stop."""
        with self._wake:
            while not self._waiting and not self._closing:
                self._wake.wait()
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), _GROUP))]

    def _carry_out(self, group: list[_Job]) -> None:
        """Run the jobs in one transaction and deliver what came of it.

        Where jobs cost the whole transaction, as SQLite does it on a full disk,
        they are tried again each in a transaction of its own, after the others.
        """
        runs = _runs(group)
        while runs:
            current: list[_Job] = []
            try:
                connection = self._begun()
                for current in runs:
                    self._attempt(connection, current)
                current = []
                connection.command("COMMIT")
            except Exception as error:  # noqa: BLE001  whatever it is, nobody may wait for ever
                self._reset(error)
                runs = self._without(runs, current, error)
            else:
                done = [job for run in runs for job in run]
                self._scrub(connection, done)
                self._deliver(done)
                return

    def _without(self, runs: list[list[_Job]], lost: list[_Job], error: Exception) -> list[list[_Job]]:
        """Return what to run again after ``lost`` cost the transaction; all fail where it was the commit."""
        if len(lost) > 1:
            return [run for run in runs if run is not lost] + [[job] for job in lost]
        failed = lost or [job for run in runs for job in run]
        for job in failed:
            job.outcome, job.error = None, self._database.translate(error)
        self._deliver(failed)
        return [run for run in runs if run is not lost] if lost else []

    def _begun(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.connect()
        self._connection.command(self._database.begin_write)
        return self._connection

    def _attempt(self, connection: Connection, jobs: list[_Job]) -> None:
        """Run jobs of one kind; raises only where the whole transaction is lost.

        A job alone has a savepoint. Jobs together have none: what they refuse
        they return, so an error is a fault, and they are run again one by one.
        (SQLite copies each page that a savepoint may have to restore.)
        """
        if len(jobs) > 1:
            outcomes = jobs[0].work(connection, [job.item for job in jobs])
        else:
            outcomes = [self._alone(connection, jobs[0])]
        for job, outcome in zip(jobs, outcomes, strict=True):
            job.outcome, job.error = (None, outcome) if isinstance(outcome, Exception) else (outcome, None)

    def _alone(self, connection: Connection, job: _Job) -> Done[Any] | Exception:
        connection.command("SAVEPOINT job")
        try:
            (outcome,) = job.work(connection, [job.item])
        except Exception as error:  # noqa: BLE001  a job's fault is its own
            self._undo(connection, error)
            return self._database.translate(error)
        connection.command("RELEASE job")
        return outcome

    def _undo(self, connection: Connection, error: Exception) -> None:
        try:
            connection.command("ROLLBACK TO job")
            connection.command("RELEASE job")
        except Exception:  # noqa: BLE001  the database gave up the whole transaction, for the first error's reason
            raise error from None

    def _reset(self, error: Exception) -> None:
        """Undo the transaction by closing its connection; the next one gets a new one."""
        _log.error("a transaction failed: %s", type(error).__name__)
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _scrub(self, connection: Connection, ran: list[_Job]) -> None:
        self._to_scrub = self._to_scrub or any(job.outcome is not None and job.outcome.erased for job in ran)
        if not self._to_scrub:
            return
        try:
            self._to_scrub = not self._database.scrub(connection)
        except Exception as error:  # noqa: BLE001  the erasure is committed; the files are tried again with the next
            _log.warning("erased data is not yet out of the side files: %s", type(error).__name__)

    def _deliver(self, jobs: list[_Job]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._answer, jobs)
        except RuntimeError:
            _log.warning("the event loop is gone: %d jobs are not answered", len(jobs))

    def _answer(self, jobs: list[_Job]) -> None:
        self._changed(
            list(dict.fromkeys(job.outcome.changed for job in jobs if job.outcome and job.outcome.changed is not None))
        )
        for job in jobs:
            if job.future.done():
                continue
            if job.error is not None:
                job.future.set_exception(job.error)
            elif job.outcome is not None:
                job.future.set_result(job.outcome.answer)


def _runs(group: Sequence[_Job]) -> list[list[_Job]]:
    """Put jobs that follow each other and have the same work together; those given up are left out."""
    wanted = (job for job in group if not job.future.cancelled())
    return [list(run) for _, run in groupby(wanted, key=lambda job: job.work)]
