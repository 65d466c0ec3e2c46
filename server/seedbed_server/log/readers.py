"""A few threads that read, each with a connection of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from seedbed_server.errors import ShuttingDownError
from seedbed_server.log.connection import Connection
from seedbed_server.log.database import Database

T = TypeVar("T")

# Reads are short and mostly from cache: more threads would only wait for one another.
_THREADS = 3


class Readers:
    """The reading side of a log. It never blocks the event loop, nor the writer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="seedbed-log-reader")
        self._own = threading.local()
        self._open: set[Connection] = set()
        self._closed = False

    async def run(self, read: Callable[[Connection], T]) -> T:
        """Run ``read`` on one consistent state; SeedbedError as it raises, StorageUnavailableError for the rest."""
        if self._closed:
            raise ShuttingDownError
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, read)

    async def close(self) -> None:
        """Wait for the reads under way, then close the connections."""
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        for connection in self._open:
            connection.close()

    def _read(self, read: Callable[[Connection], T]) -> T:
        try:
            connection = self._connection()
            connection.command(self._database.begin_read)
            try:
                return read(connection)
            finally:
                connection.command("COMMIT")
        except Exception as error:  # noqa: BLE001  errors of any driver
            told = self._database.translate(error)
            if told is not error:
                self._drop_connection()
            raise told from None

    def _connection(self) -> Connection:
        found: Connection | None = getattr(self._own, "connection", None)
        if found is None:
            found = self._own.connection = self._database.connect()
            self._open.add(found)
        return found

    def _drop_connection(self) -> None:
        """Let the next read of this thread begin on a new connection: this one may be stuck in a transaction."""
        found: Connection | None = self._own.__dict__.pop("connection", None)
        if found is not None:
            self._open.discard(found)
            with suppress(Exception):
                found.close()
