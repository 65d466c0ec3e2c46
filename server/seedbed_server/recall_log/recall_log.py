"""The recall log as the rest of the server sees it: a queue, and one hand that writes it down.

Nobody who answers waits for it. What is noted waits in memory for half a second
at most; then the log says which seqs the shown ids have, and a thread writes the
batch. All that touches the file happens one after the other. In particular, an
erasure that the log commits after a batch was looked up is carried out after it
was written, so nothing erased can be written behind an erasure's back.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from seedbed_server.errors import PartUnavailableError, SeedbedError
from seedbed_server.log import Log
from seedbed_server.recall_log.entries import Entry
from seedbed_server.recall_log.file import RecallFile
from seedbed_server.recall_log.rows import decode, encode, piece_seqs

T = TypeVar("T")

log = logging.getLogger(__name__)

FILE = "recall_log.db"
NAME = "recall_log"
# Seconds that an entry waits for others: a crash loses no more than these and the time of one write.
GATHER = 0.5
MOST_WAITING = 1024
MOST_WAITING_BYTES = 16 * 2**20
# Erasures carried out in one transaction, and counts of erasures remembered.
_ERASURES = 256
_RECEIPTS = 1024
_LAST = 2**63 - 1


class Listed(NamedTuple):
    """An entry with its number in its memory, and the seqs of the messages that its pieces name."""

    number: int
    entry: Entry
    seqs: list[int]


class RecallLog:
    """The newest ``kept`` entries of each memory, in a file of about ``most_bytes``; 0 keeps none. Made by ``open``.

    It is a part of the server as GetStatus shows them: ``state`` is "down" while
    the file cannot be used, ``restarts`` counts how often it was begun anew.
    """

    name = NAME

    def __init__(self, truth: Log, file: RecallFile, kept: int) -> None:
        self.kept = kept
        self.restarts = 0
        self.detail = ""
        self.dropped = 0
        self.state = "ready"
        self._log = truth
        self._file = file
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recall-log")
        self._busy = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[Entry] = []
        self._weight = 0
        self._square = False
        self._erased: dict[int, int] = {}

    @classmethod
    async def open(cls, truth: Log, directory: Path, *, kept: int, most_bytes: int) -> RecallLog:
        """Open the file in ``directory``, and carry out what the log erased meanwhile.

        Succeeds whether or not the disk lets it be used. With nothing to keep,
        a file of earlier is removed; OSError where that is impossible.
        """
        self = cls(truth, RecallFile(directory / FILE, kept=kept, most_bytes=most_bytes), kept)
        if kept:
            await self._alone(self._settle)
        else:
            await self._in_thread(self._file.remove)
        return self

    async def close(self) -> None:
        """Write what waits, then close the file. Nothing may be noted any more."""
        if self._waiting:
            await self._alone(self._settle)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._in_thread(self._file.close)
        self._thread.shutdown()

    def note(self, entry: Entry) -> None:
        """Keep an entry; never waits and never fails. One too many for the queue is dropped, and counted."""
        if not self.kept:
            return
        if len(self._waiting) >= MOST_WAITING or self._weight + entry.weight > MOST_WAITING_BYTES:
            self.dropped += 1
            self._tell()
            return
        self._waiting.append(entry)
        self._weight += entry.weight
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER, self._begin, self._settle)

    async def page(self, key: int, *, session: str = "", before: int | None = None, limit: int) -> list[Listed]:
        """Return the newest ``limit`` entries of a memory whose number is less than ``before``, newest first.

        Without ``before`` they include all that was noted until now. An entry that
        showed a message which is gone is left out, and so is one that cannot be
        read. Raises PartUnavailableError.
        """
        return await self._alone(partial(self._page, key, session, before, limit)) if self.kept else []

    async def follow(self, erasure_id: int | None = None) -> int | None:
        """Carry out what the log has erased until now; returns how many entries that erasure took.

        None where nothing is kept. Raises PartUnavailableError where not even
        the removal of the whole file succeeds.
        """
        if not self.kept:
            return None
        if not await self._alone(self._settle):
            raise _unavailable()
        return 0 if erasure_id is None else self._erased.pop(erasure_id, 0)

    async def clear(self, key: int, *, session: str = "") -> int | None:
        """Do as ``follow`` does, and erase all entries about a session of a memory, or about any; returns how many."""
        return await self._alone(partial(self._clear, key, session)) if self.kept else None

    # One after the other.

    async def _alone(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something that nothing else overlaps, and that goes on when its caller gives up."""
        return await asyncio.shield(self._begin(work))

    def _begin(self, work: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        async def locked() -> T:
            async with self._busy:
                return await work()

        task = asyncio.create_task(locked())
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) and not isinstance(error, PartUnavailableError):
            log.error("the recall log failed: %s", type(error).__name__)

    async def _settle(self) -> bool:
        """Write what waits, then carry out what the log has erased; whether the second succeeded."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting, self._weight = self._waiting, [], 0
        gone: Counter[int] = Counter()
        try:
            if not self._square:
                await self._square_with_log()
            if waiting:
                await self._write(waiting, gone)
            waiting = []
        except (sqlite3.Error, OSError, SeedbedError) as error:
            self._failed(error)
        finally:
            self.dropped += len(waiting)
        followed = self._square and await self._follow(gone)
        self._tell()
        return followed

    async def _square_with_log(self) -> None:
        newest = (await self._log.pages({}, share=1, limit=1, reach=0, max_bytes=1)).erasure_id
        last_seqs = {head.key: head.last_seq for head in await self._log.heads()}
        await self._in_thread(partial(self._file.square, last_seqs, newest))
        self._square = True
        self.state = "ready"

    async def _write(self, entries: Sequence[Entry], gone: Counter[int]) -> None:
        """Write those whose memory, and every message they showed, is still there; the others are counted."""
        ids: dict[int, set[str]] = {}
        for entry in entries:
            ids.setdefault(entry.key, set()).update(entry.shown)
        seqs = {key: await self._log.alive_ids(key, list(shown)) for key, shown in ids.items()}
        bare = {entry.key for entry in entries if not entry.shown}
        deleted = {key for key in bare if await self._log.record(key) is None}

        def is_alive(entry: Entry) -> bool:
            return entry.shown <= seqs[entry.key].keys() if entry.shown else entry.key not in deleted

        kept = [entry for entry in entries if is_alive(entry)]
        gone.update(entry.key for entry in entries if not is_alive(entry))
        if kept:
            await self._in_thread(lambda: self._file.add([encode(entry, seqs[entry.key]) for entry in kept]))
            self.state = "ready"

    async def _follow(self, gone: Counter[int]) -> bool:
        try:
            while erasures := await self._log.erasures(self._file.followed, _ERASURES):
                self._erased |= await self._in_thread(partial(self._file.erase, erasures))
                for erasure in erasures:
                    self._erased[erasure.id] += gone.pop(erasure.key, 0)  # they had waited, and showed what is erased
                for old in list(self._erased)[:-_RECEIPTS]:
                    del self._erased[old]
        except (OSError, SeedbedError) as error:
            self._failed(error)
            return False
        return True

    async def _clear(self, key: int, session: str) -> int:
        followed = await self._settle()
        try:
            count = await self._in_thread(partial(self._file.clear, key, session))
        except OSError as error:
            self._failed(error)
            followed = False
        self._tell()
        if not followed:
            raise _unavailable()
        return count

    async def _page(self, key: int, session: str, before: int | None, limit: int) -> list[Listed]:
        if before is None or not self._square:
            await self._settle()
        try:
            return await self._read(key, session, _LAST if before is None else before, limit)
        except (sqlite3.Error, OSError) as error:
            self._failed(error)
            raise PartUnavailableError(NAME) from None

    async def _read(self, key: int, session: str, before: int, limit: int) -> list[Listed]:
        found: list[Listed] = []
        while True:
            asked = limit - len(found)
            page = await self._in_thread(partial(self._file.page, key, session=session, before=before, limit=asked))
            named = {number: piece_seqs(row) for number, row in page}
            ids = await self._log.alive(key, sorted({seq for seqs in named.values() for seq in seqs}))
            for number, row in page:
                if ids.keys() >= set(named[number]) and (entry := decode(row, ids)):
                    found.append(Listed(number, entry, named[number]))
            if len(page) < asked or len(found) >= limit:
                return found
            before = page[-1][0]

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # What is told of it.

    def _failed(self, error: Exception) -> None:
        if self.state != "down":
            log.warning("the recall log cannot be used: %s", getattr(error, "sqlite_errorname", type(error).__name__))
        self.state = "down"

    def _tell(self) -> None:
        self.restarts = self._file.begun_anew
        self.detail = f"{self._file.entries} entries, {self.dropped} dropped" if self.kept else ""


def _unavailable() -> PartUnavailableError:
    """What is gone from the log may still be here."""
    error = PartUnavailableError(NAME)
    error.after_storing = True
    return error
