"""The SQLite file of the recall log. All of it is called from one thread.

A file that is damaged, or of another version, is removed and begun anew; so is
one that erasing is impossible from. Every method raises sqlite3.Error or OSError
where the disk does not let the file be used; nothing is changed then.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from seedbed_server.log import Erasure
from seedbed_server.recall_log.rows import Row, shows

T = TypeVar("T")

log = logging.getLogger(__name__)

VERSION = 1
BUSY = 5.0  # seconds that another process, which reads the file, may hold up an erasure
SCHEMA = """
BEGIN;
CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    number INTEGER NOT NULL,  -- counts the entries of a memory; unlike id it tells nothing of other memories
    time INTEGER NOT NULL,
    session TEXT NOT NULL,
    seqs TEXT NOT NULL,
    top INTEGER NOT NULL,
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX entry_by_memory ON entry (key, number);
CREATE TABLE followed (erasure_id INTEGER NOT NULL);
INSERT INTO followed VALUES ({followed});
PRAGMA user_version = {version};
COMMIT;
"""
_INSERT = """
INSERT INTO entry (key, number, time, session, seqs, top, body)
SELECT :key, coalesce(max(number), 0) + 1, :time, :session, :seqs, :top, :body FROM entry WHERE key = :key
"""
_TRIM = """
DELETE FROM entry WHERE key = :key AND number <=
    (SELECT number FROM entry WHERE key = :key ORDER BY number DESC LIMIT 1 OFFSET :kept)
"""
_SHED = """
DELETE FROM entry WHERE id <= (SELECT id FROM entry ORDER BY id LIMIT 1 OFFSET (SELECT count(*) / 10 FROM entry))
"""
_PAGE = """
SELECT number, key, time, session, seqs, top, body FROM entry
WHERE key = :key AND number < :before AND (:session = '' OR session = :session) ORDER BY number DESC LIMIT :limit
"""


class RecallFile:
    """At most ``kept`` entries of each memory, and about ``most_bytes`` in all.

    ``followed`` is the id of the last erasure that has been carried out here;
    a new file begins with the one that is set. ``entries`` counts what is held,
    ``begun_anew`` how often the file had to be removed.
    """

    def __init__(self, path: Path, *, kept: int, most_bytes: int) -> None:
        self.path = path
        self.followed = 0
        self.entries = 0
        self.begun_anew = 0
        self._kept = kept
        self._most_bytes = most_bytes
        self._db: sqlite3.Connection | None = None

    def square(self, last_seqs: Mapping[int, int], newest_erasure: int) -> None:
        """Open the file, and leave nothing in it that the log as it stands does not bear out.

        The log may be an older copy than the one that was followed: then
        erasures are missing from it, or messages.
        """
        self.close()
        self.followed = newest_erasure  # where there is no file yet
        self._connection()
        if self.followed > newest_erasure:
            self.remove()
            self.followed = newest_erasure

        def fit(db: sqlite3.Connection) -> None:
            for key, top in db.execute("SELECT key, max(top) FROM entry GROUP BY key").fetchall():
                if last_seqs.get(key, -1) < top:
                    db.execute("DELETE FROM entry WHERE key = ?", (key,))
                db.execute(_TRIM, {"key": key, "kept": self._kept})
            self._shed(db)

        self._change(fit)

    def add(self, rows: Sequence[Row]) -> None:
        """Add entries, the oldest first; what is more than may be kept goes."""

        def insert(db: sqlite3.Connection) -> None:
            db.executemany(_INSERT, [row._asdict() for row in rows])
            for key in {row.key for row in rows}:
                db.execute(_TRIM, {"key": key, "kept": self._kept})
            self._shed(db)

        self._change(insert)

    def page(self, key: int, *, session: str, before: int, limit: int) -> list[tuple[int, Row]]:
        """Return the newest entries of a memory with a lesser number, each with its number."""
        values = {"key": key, "session": session, "before": before, "limit": limit}
        with self._trouble():
            found = self._connection().execute(_PAGE, values).fetchall()
        return [(number, Row(*row)) for number, *row in found]

    def erase(self, erasures: Sequence[Erasure]) -> dict[int, int]:
        """Carry out erasures of the log; returns how many entries went for each, by its id."""

        def delete(db: sqlite3.Connection) -> dict[int, int]:
            counts = {erasure.id: _erase(db, erasure) for erasure in erasures}
            db.execute("UPDATE followed SET erasure_id = ?", (erasures[-1].id,))
            return counts

        held = self.entries
        done = self._erase(delete)
        self.followed = erasures[-1].id
        return {erasure.id: held for erasure in erasures} if done is None else done

    def clear(self, key: int, session: str) -> int:
        """Erase the entries about a session of a memory, or all of it; returns how many."""

        def delete(db: sqlite3.Connection) -> int:
            where = "key = ? AND (? = '' OR session = ?)"
            return db.execute(f"DELETE FROM entry WHERE {where}", (key, session, session)).rowcount  # noqa: S608

        held = self.entries
        done = self._erase(delete)
        return held if done is None else done

    def remove(self) -> None:
        """Remove the file; the next call begins it anew. OSError."""
        self.close()
        self.begun_anew += self.path.exists()
        # The main file last: without it the others would be taken for those of its successor.
        for suffix in ("-wal", "-shm", ""):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self.entries = 0

    def close(self) -> None:
        """Close the file."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(sqlite3.Error):
                db.close()

    def _erase(self, delete: Callable[[sqlite3.Connection], T]) -> T | None:
        """Delete and leave no byte behind; None where that took the removal of the whole file."""
        try:
            done = self._change(delete)
            with self._trouble():
                self._truncate()
        except (sqlite3.Error, OSError) as error:
            log.warning("nothing can be erased from the recall log (%s): it is removed", type(error).__name__)
            self.remove()
            return None
        return done

    def _truncate(self) -> None:
        """Write the whole write-ahead log into the file, and empty it. OSError while another process reads what was."""
        (busy, *_) = self._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise OSError

    def _change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a transaction."""
        with self._trouble():
            db = self._connection()
            db.execute("BEGIN IMMEDIATE")
            done = work(db)
            (entries,) = db.execute("SELECT count(*) FROM entry").fetchone()
            db.execute("COMMIT")
        self.entries = entries
        return done

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """After an error no transaction stays open, and no damaged file stays."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self.close()
            if _is_damaged(error):
                self._begin_anew()
            raise

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                self._db = self._opened()
            except sqlite3.Error as error:
                if not _is_damaged(error):
                    raise
                self._begin_anew()
                self._db = self._opened()
        return self._db

    def _begin_anew(self) -> None:
        log.warning("the recall log was damaged or of another version: it is begun anew")
        self.remove()

    def _opened(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=BUSY)
        try:
            for setting in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "cache_size=-512"):
                db.execute(f"PRAGMA {setting}").fetchall()
            self._prepare(db)
            (self.followed,) = db.execute("SELECT erasure_id FROM followed").fetchone()
            (self.entries,) = db.execute("SELECT count(*) FROM entry").fetchone()
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Make the tables of an empty file; DatabaseError for one of another version."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0 and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
            db.executescript(SCHEMA.format(followed=self.followed, version=VERSION))
        elif version != VERSION:
            raise sqlite3.DatabaseError

    def _shed(self, db: sqlite3.Connection) -> None:
        """Delete the oldest entries of all memories, a tenth at a time, until what is left is small enough."""
        (page_size,) = db.execute("PRAGMA page_size").fetchone()
        while True:
            ((pages,), (free,)) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count"))
            if (pages - free) * page_size <= self._most_bytes or not db.execute(_SHED).rowcount:
                return


def _erase(db: sqlite3.Connection, erasure: Erasure) -> int:
    if erasure.whole:
        return db.execute("DELETE FROM entry WHERE key = ?", (erasure.key,)).rowcount
    rows = db.execute("SELECT id, seqs FROM entry WHERE key = ?", (erasure.key,))
    found = [(row,) for row, seqs in rows if shows(seqs, erasure.seqs)]
    db.executemany("DELETE FROM entry WHERE id = ?", found)
    return len(found)


def _is_damaged(error: BaseException) -> bool:
    """Whether the file itself is at fault; OperationalError is the disk's, or a lock's."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
