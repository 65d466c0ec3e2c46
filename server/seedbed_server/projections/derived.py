"""The SQLite file that projections keep their rows and cursors in.

It can always be made again from the log, so it is quick rather than careful:
WAL with synchronous=NORMAL. A file that is damaged, or was made by other
tables than today's, is set aside and begun anew. One thread writes, two read.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from seedbed_server.errors import PartUnavailableError

T = TypeVar("T")

log = logging.getLogger(__name__)

FILE = "derived.db"
ASIDE = ".aside"
QUICK_CHECK_BYTES = 64 * 2**20  # checked whole at open up to here (under half a second); beyond, on first error
SCRUB_PAUSES = (0.01, 0.05, 0.1, 0.3, 0.5, 1.0)  # seconds; readers hold the journal for milliseconds
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS projection (
    name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL,
    erasure_id INTEGER NOT NULL, clean_after INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cursor (
    projection TEXT NOT NULL, key INTEGER NOT NULL, applied_seq INTEGER NOT NULL, skipped INTEGER NOT NULL,
    PRIMARY KEY (projection, key)
) WITHOUT ROWID;
"""


class Derived:
    """The file. Made by :meth:`open`, which succeeds whether or not the disk lets it be used.

    While it cannot be, every call raises PartUnavailableError, and tries again.

    ``generation`` is a random word that names this incarnation of the file: it
    changes when the file is begun anew, even while the server runs.
    """

    def __init__(self, directory: Path, schemas: Sequence[str]) -> None:
        self._path = directory / FILE
        self._schemas = (SCHEMA, *schemas)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="derived-writer")
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="derived-reader")
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._db: sqlite3.Connection | None = None
        self.generation = ""
        self._trouble = ""
        self.on_reset: list[Callable[[], None]] = []  # called in the event loop when the file was begun anew
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    async def open(cls, directory: Path, schemas: Sequence[str] = ()) -> Derived:
        """Open or begin the file in ``directory``, with the tables of ``schemas`` (SQL, repeatable)."""
        self = cls(directory, schemas)
        with suppress(PartUnavailableError):
            await self._in(self._writer, self._connection)
        self._loop = asyncio.get_running_loop()
        return self

    async def close(self) -> None:
        """Finish what is queued and close every connection."""
        await self._in(self._writer, self._close)
        self._writer.shutdown()
        self._readers.shutdown()
        for db in self._opened:
            db.close()

    async def write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``change`` in a transaction of its own, in the writer thread.

        Raises PartUnavailableError("derived") when SQLite cannot do it; nothing is
        changed then. Other exceptions of ``change`` undo it and pass through.
        """
        return await self._in(self._writer, lambda: self._transaction(change))

    async def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``query`` on a snapshot, in a reader thread. Raises PartUnavailableError("derived")."""
        if not self.generation:
            await self._in(self._writer, self._connection)
        return await self._in(self._readers, lambda: self._snapshot(query))

    async def scrub(self) -> bool:
        """Leave no byte of deleted rows in any file: after erasures. False when readers were in the way all along."""
        for pause in SCRUB_PAUSES:
            if await self._in(self._writer, self._scrub):
                return True
            await asyncio.sleep(pause)
        log.warning("the derived store's journal could not be emptied; the next erasure or start does it")
        return False

    @staticmethod
    async def _in(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, work)

    # In the writer thread.

    def _connection(self) -> sqlite3.Connection:
        """The open file; opens it if it is not, and begins it anew if it is of no use."""
        if self._db is not None:
            return self._db
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._db = self._connect()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and not _damaged(error):
                    raise
                self._db = self._begin_anew()
        except (OSError, sqlite3.Error) as error:
            raise self._unavailable(error) from None
        return self._db

    def _unavailable(self, error: Exception) -> PartUnavailableError:
        """What is raised for an error of SQLite's or the disk's; the log says it once."""
        trouble = getattr(error, "sqlite_errorname", type(error).__name__)
        if trouble != self._trouble:
            log.warning("the derived store cannot be used: %s", trouble)
            self._trouble = trouble
        return PartUnavailableError("derived")

    def _damage_noticed(self, generation: str) -> None:
        """Begin the file anew, unless somebody else has noticed before."""
        if generation != self.generation:
            return
        try:
            self._db = self._begin_anew()
        except (OSError, sqlite3.Error) as error:
            self._unavailable(error)

    def _begin_anew(self) -> sqlite3.Connection:
        """Set the file aside, replacing what was set aside before, and make an empty one."""
        log.warning("the derived store was unreadable or of another version; set aside and begun anew")
        self._close()
        for suffix in ("-wal", "-shm"):
            self._path.with_name(FILE + suffix).unlink(missing_ok=True)
        if self._path.exists():
            self._path.replace(self._path.with_name(FILE + ASIDE))
        db = self._connect()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell)
        return db

    def _tell(self) -> None:
        for listener in self.on_reset:
            listener()

    def _connect(self) -> sqlite3.Connection:
        small = not self._path.exists() or self._path.stat().st_size <= QUICK_CHECK_BYTES
        db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(db, small)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection, small: bool) -> None:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA secure_delete=ON")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # what a crash left behind
        if small and db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError
        stamp = hashlib.sha256("\n".join(self._schemas).encode()).hexdigest()
        known = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        if known and db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() != (stamp,):
            raise sqlite3.DatabaseError
        if not known:
            tables = "".join(self._schemas)
            db.executescript(f"BEGIN;{tables}COMMIT;")
            values = [("schema", stamp), ("generation", secrets.token_hex(8))]
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
        (self.generation,) = db.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone()

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _transaction(self, change: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection()
        try:
            with _Transaction(connection) as db:
                result = change(db)
        except sqlite3.Error as error:
            if _damaged(error):
                self._damage_noticed(self.generation)
            raise self._unavailable(error) from None
        self._trouble = ""
        return result

    def _scrub(self) -> bool:
        try:
            self._path.with_name(FILE + ASIDE).unlink(missing_ok=True)
            return self._db is not None and self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        except (OSError, sqlite3.Error):
            return False

    # In a reader thread.

    def _snapshot(self, query: Callable[[sqlite3.Connection], T]) -> T:
        generation = self.generation
        try:
            with _Transaction(self._reader(generation), "BEGIN") as db:
                return query(db)
        except sqlite3.Error as error:
            if _damaged(error):
                self._writer.submit(self._damage_noticed, generation)
            raise self._unavailable(error) from None

    def _reader(self, generation: str) -> sqlite3.Connection:
        """The thread's own connection to the present incarnation of the file."""
        if getattr(self._local, "generation", None) != generation:
            db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            db.execute("PRAGMA query_only=ON")
            db.execute("PRAGMA cache_size=-512")  # KiB; the operating system caches the file
            self._opened.append(db)
            self._local.db, self._local.generation = db, generation
        reader: sqlite3.Connection = self._local.db
        return reader


class _Transaction:
    """BEGIN … COMMIT, or ROLLBACK on any exception."""

    def __init__(self, db: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> None:
        self._db = db
        self._begin = begin

    def __enter__(self) -> sqlite3.Connection:
        self._db.execute(self._begin)
        return self._db

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._db.execute("COMMIT")
        elif self._db.in_transaction:
            self._db.execute("ROLLBACK")


def _damaged(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in DAMAGED
