"""What only SQLite knows: how a connection is set up, and what its errors mean."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.pool import NullPool

from seedbed_server.errors import StorageFullError, StorageUnavailableError
from seedbed_server.log.connection import Connection

# A reader that finds the file locked waits this long, in milliseconds: locks
# are held for one checkpoint, which is far shorter.
_BUSY_TIMEOUT = 5_000

_SETTINGS = (
    f"PRAGMA busy_timeout={_BUSY_TIMEOUT}",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",  # every commit is fsynced: NORMAL would lose acknowledged writes on power failure
    "PRAGMA secure_delete=ON",  # erased text is overwritten in the file
    "PRAGMA foreign_keys=ON",
    "PRAGMA cache_size=-512",  # KiB, of each connection; the operating system caches the file for all of them
)


def sqlite_url(path: Path) -> str:
    """The address of a log in a file, whatever characters its path holds."""
    return URL.create("sqlite", database=str(path)).render_as_string()


class Sqlite:
    """A log in one SQLite file. It must be a file: readers and writer are several connections."""

    begin_write = "BEGIN IMMEDIATE"
    begin_read = "BEGIN"

    def __init__(self, url: URL) -> None:
        if not url.database or url.database == ":memory:":
            raise ValueError("the log needs a file: sqlite:///PATH")
        self.engine: Engine = create_engine(
            url,
            poolclass=NullPool,
            paramstyle="qmark",
            connect_args={"check_same_thread": False, "cached_statements": 256, "isolation_level": None},
        )
        event.listen(self.engine, "connect", _set_up)
        event.listen(self.engine, "begin", _begin)

    def connect(self) -> Connection:
        """Open a connection; raises the driver's own errors."""
        pooled = self.engine.raw_connection()
        driver: Any = pooled.driver_connection
        pooled.detach()
        return Connection(driver, self.engine.dialect)

    def translate(self, error: Exception) -> Exception:
        """Return what a caller is told about an error of the driver; any other error stays what it is."""
        if not isinstance(error, sqlite3.Error):
            return error
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return StorageFullError()
        return StorageUnavailableError()

    def scrub(self, connection: Connection) -> bool:
        """Empty the write-ahead log, which still holds what was erased; False while a reader needs it."""
        ((busy, _, _),) = connection.command("PRAGMA wal_checkpoint(TRUNCATE)")
        return not busy


def _set_up(driver: Any, _record: object) -> None:
    for setting in _SETTINGS:
        driver.execute(setting).fetchall()


def _begin(connection: Any) -> None:
    connection.exec_driver_sql(Sqlite.begin_write)
