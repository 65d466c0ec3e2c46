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
from typing import Any, TypeVar

from seedbed_server.errors import OverloadedError, ShuttingDownError
from seedbed_server.log.changes import Done
from seedbed_server.log.connection import Connection
from seedbed_server.log.database import Database

_log = logging.getLogger(__name__)
T = TypeVar("T")
Work = Callable[[Connection], Done[T]]

# Jobs of one transaction: enough to make the fsync cheap, few enough that the
# first of them does not wait long for the last.
_GROUP = 256


class _Job:
    """A change, who waits for it, and how it went."""

    __slots__ = ("done", "error", "future", "work")

    def __init__(self, work: Work[Any], future: asyncio.Future[Any]) -> None:
        self.work = work
        self.future = future
        self.done: Done[Any] | None = None
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
        self._closing = False
        self._connection: Connection | None = database.connect()
        self._to_scrub = False
        self._thread = threading.Thread(target=self._run, name="seedbed-log-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Work[T]) -> T:
        """Run a change and wait until it is durable.

        A caller that is cancelled before the change begins takes it back; after
        that it is carried out all the same. Raises what the change raises,
        OverloadedError at once when too many wait, ShuttingDownError after
        ``close``, StorageFullError, and StorageUnavailableError, after which
        the change may or may not be there.
        """
        job = _Job(work, self._loop.create_future())
        with self._wake:
            if self._closing:
                raise ShuttingDownError
            if len(self._waiting) >= self._bound:
                raise OverloadedError
            self._waiting.append(job)
            self._wake.notify()
        answer: T = await job.future
        return answer

    async def close(self) -> None:
        """Carry out what waits, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        await asyncio.to_thread(self._thread.join)

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

        Where a job costs the whole transaction, as SQLite does it on a full
        disk, that job fails and the others are run again without it.
        """
        while group:
            running: _Job | None = None
            ran: list[_Job] = []
            try:
                connection = self._begun()
                for running in group:
                    if not running.future.cancelled():
                        self._attempt(connection, running)
                        ran.append(running)
                running = None
                connection.command("COMMIT")
            except Exception as error:  # noqa: BLE001  whatever it is, nobody may wait for ever
                failed = group if running is None else [running]
                group = [job for job in group if job not in failed]
                self._fail(failed, error)
            else:
                self._scrub(connection, ran)
                self._deliver(ran)
                return

    def _begun(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.connect()
        self._connection.command(self._database.begin_write)
        return self._connection

    def _attempt(self, connection: Connection, job: _Job) -> None:
        """Run one job in its savepoint; raises only where the whole transaction is lost."""
        job.done = job.error = None
        connection.command("SAVEPOINT job")
        try:
            job.done = job.work(connection)
        except Exception as error:  # noqa: BLE001  a job's fault is its own
            self._undo(connection, error)
            job.error = self._database.translate(error)
        connection.command("RELEASE job")

    def _undo(self, connection: Connection, error: Exception) -> None:
        try:
            connection.command("ROLLBACK TO job")
        except Exception:  # noqa: BLE001  the database gave up the whole transaction, for the first error's reason
            raise error from None

    def _fail(self, jobs: list[_Job], error: Exception) -> None:
        """Undo the transaction and tell these jobs; the next one gets a new connection."""
        _log.error("a transaction failed: %d jobs, %s", len(jobs), type(error).__name__)
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
        for job in jobs:
            job.done, job.error = None, self._database.translate(error)
        self._deliver(jobs)

    def _scrub(self, connection: Connection, ran: list[_Job]) -> None:
        self._to_scrub = self._to_scrub or any(job.done is not None and job.done.erased for job in ran)
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
            list(dict.fromkeys(job.done.changed for job in jobs if job.done and job.done.changed is not None))
        )
        for job in jobs:
            if job.future.done():
                continue
            if job.error is not None:
                job.future.set_exception(job.error)
            elif job.done is not None:
                job.future.set_result(job.done.answer)
