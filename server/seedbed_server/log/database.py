"""What the log asks of a database beyond SQL, and the choice of one by its address."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import Engine, make_url

from seedbed_server.log.connection import Connection
from seedbed_server.log.sqlite import Sqlite


class Database(Protocol):
    """One kind of database.

    ``begin_write`` starts a transaction that may write, ``begin_read`` one whose
    reads all see the same state.
    """

    begin_write: str
    begin_read: str
    engine: Engine

    def connect(self) -> Connection:
        """Open a connection; raises the driver's own errors."""
        ...

    def translate(self, error: Exception) -> Exception:
        """Return what a caller is told about an error of the driver; any other error stays what it is."""
        ...

    def scrub(self, connection: Connection) -> bool:
        """Rid side files of what was erased; False when it has to be tried again."""
        ...


def database(url: str) -> Database:
    """Return the database that ``url`` names; ValueError where it is none that the log can use."""
    address = make_url(url)
    if address.get_backend_name() != "sqlite":
        raise ValueError("the log is kept in SQLite: sqlite:///PATH")
    return Sqlite(address)
