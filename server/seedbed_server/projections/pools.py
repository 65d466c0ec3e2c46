"""The collections of a Chroma folder: memories share them, and they are loaded only while they are used.

Chroma reads a collection whole, vectors and graph, and keeps it until its client
is closed. (It can be told to keep fewer, but then forgets rows that are not in
their files yet.) So the client is closed, and another opened, before the loaded
collections take more than ``LOADED`` bytes: rows that are not in their files
come back from Chroma's own log. Memories that were made one after another share
a collection: it stays small however many there are, and is read in 10 ms.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import resource
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import chromadb
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import InternalError

from seedbed_server.projections.vector_index import TOGETHER

log = logging.getLogger(__name__)

LOADED = 192 * 2**20
"""Bytes that loaded collections may take together; one alone may be as large as it is."""
SYNC = 50
"""Rows that may wait in Chroma's log until they are in the collection's files: each is put into the graph anew
at every load, and costs as much as loading ten that are there."""

_COLLECTION_BYTES = 3 * 2**20  # of one that is loaded, without its rows
_ROW_BYTES = 500  # beside the vector: links of the graph, and the id in three tables
_FILES_AT_ONCE = 16  # more than Chroma opens for one collection
_FILES = 4_096  # Chroma keeps a fifth as many collections: far more than ever fit LOADED


class DamagedError(Exception):
    """What lies in a collection's files cannot be read."""


class Pools:
    """The collections of one folder. For one thread; a collection is to be used before the next is asked for."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        _raise_file_limit()
        self._folder = folder
        self._row_bytes = 4 * dimensions + _ROW_BYTES
        self._bytes = 0
        self._loaded: dict[str, Collection] = {}
        self._sound: set[str] = set()
        self.client = _client(folder)
        self._names = {known.name for known in self.client.list_collections()}

    def check(self) -> None:
        """Read as many collections as may be loaded; the others are checked when they are first used. DamagedError."""
        for name in sorted(self._names):
            self._find(name)
            if self._bytes >= LOADED:
                return

    def find(self, key: int) -> Collection | None:
        """The collection that the memory's rows are in; None where there is none yet. DamagedError."""
        name = pool_of(key)
        return self._find(name) if name in self._names else None

    def make(self, key: int, rows: int) -> Collection:
        """The collection that the memory's rows belong in, for so many more of them. DamagedError."""
        name = pool_of(key)
        if name not in self._names:
            self._make_room()
            # Inner product: of unit vectors it is the cosine, and vectors are kept to the bit.
            self._loaded[name] = self.client.get_or_create_collection(
                name,
                embedding_function=None,
                configuration={"hnsw": {"space": "ip", "batch_size": SYNC, "sync_threshold": SYNC}},
            )
            self._names.add(name)
            self._sound.add(name)
            self._bytes += _COLLECTION_BYTES
        found = self._find(name)
        self._bytes += rows * self._row_bytes
        return found

    def close(self) -> None:
        """Close the client in order: nothing is loaded any more."""
        self._loaded.clear()
        self._bytes = 0
        self.client.close()

    def _find(self, name: str) -> Collection:
        found = self._loaded.get(name)
        if found is None:
            self._make_room()
            found = self.client.get_collection(name, embedding_function=None)
            if name not in self._sound:
                _check(found)
                self._sound.add(name)
            self._loaded[name] = found
            self._bytes += _COLLECTION_BYTES + found.count() * self._row_bytes
        return found

    def _make_room(self) -> None:
        """Give back everything loaded, when there is no room for one more."""
        if self._loaded and self._bytes >= LOADED:
            self.close()
            _give_back()
            self.client = _client(self._folder)


def pool_of(key: int) -> str:
    """The name of the collection that a memory's rows are in."""
    return f"pool-{key // TOGETHER:06d}"


def _check(pool: Collection) -> None:
    """Count the rows, read one, and search for it.

    Whether it is found is not asked: the index is approximate, and a miss must
    not cost all rows. What is damaged fails with DamagedError; other errors pass.
    """
    try:
        sample = pool.get(limit=1, include=["embeddings"])
        if pool.count() > 0:
            pool.query(query_embeddings=sample["embeddings"], n_results=1, include=["distances"])
    except BaseException as error:  # a panic inside Chroma is no Exception
        if not is_damage(error):
            raise
        log.warning("a collection of vectors cannot be read: %s", type(error).__name__)
        raise DamagedError from None


def is_damage(error: BaseException) -> bool:
    """Whether an error says that files cannot be read for what is in them.

    Chroma raises the same when it cannot open them because too many files are
    open; so it is looked whether that is the case.
    """
    if isinstance(error, DamagedError):
        return True
    of_chroma = isinstance(error, InternalError) or type(error).__name__ == "PanicException"
    return of_chroma and _can_open_files()


def _can_open_files() -> bool:
    with ExitStack() as stack:
        try:
            for _ in range(_FILES_AT_ONCE):
                stack.enter_context(Path(os.devnull).open("rb"))
        except OSError:
            return False
    return True


def _client(folder: Path) -> Any:
    # No .env file is read: it is the working directory's, not ours.
    settings = Settings(_env_file=None, anonymized_telemetry=False, allow_reset=False)  # type: ignore[call-arg]
    return chromadb.PersistentClient(folder, settings=settings)


def _give_back() -> None:
    """Return to the system what was freed: Chroma's threads have arenas of their own, which would keep all of it."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _raise_file_limit() -> None:
    """Chroma keeps as many collections as the limit of open files lets it; what it gives up loses rows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
