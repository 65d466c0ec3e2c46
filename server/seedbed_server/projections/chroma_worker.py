"""Embedded Chroma in its child process: rows of vectors under ids, and nothing else.

Rows of several memories share a collection (see ``pools``). Every row says whose
it is (``k``), and is never looked for without that. Nothing is searched for
here: vectors are kept, and a search compares those that recall has loaded.

The folder is stamped with what made it. When the stamp is another's, or Chroma
cannot read what is there, the folder is set aside and a new one begun; its
``generation`` is then another, by which the parent sees that all rows are gone.
A collection that is found damaged later ends the process, and the next one sets
the folder aside. What was set aside is deleted when the new folder has been
opened again.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import shutil
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.api.models.Collection import Collection
from chromadb.errors import InternalError

from seedbed_server.errors import StorageFullError, StorageUnavailableError
from seedbed_server.projections.pools import DamagedError, Pools, is_damage, pool_of

log = logging.getLogger(__name__)

WRITE = 100
"""Rows written in one step: some 50 ms, which is what a query may have to wait."""
READ = 500
"""Ids in one call of Chroma: it degrades with more, and fails with many."""
LISTED = 20_000
"""Ids of a memory that are listed at a time when it is dropped: each listing goes through all of its rows."""
LOCK_PATIENCE = 30.0
"""Seconds to wait for the folder: a process that was told to end may still hold it."""

LAYOUT = "pools-of-8"
"""How rows are laid out in collections; a folder of another layout is set aside."""

_STAMP = "seedbed.json"
_DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What made a folder: rows of another are of no use."""

    chroma: str
    layout: str
    fingerprint: str
    dimensions: int


class ChromaWorker:
    """The operations of the child process "vectors"."""

    fatal = (InternalError, DamagedError)  # a new process checks the folder, and sets it aside if need be

    def __init__(self, folder: Path, stamp: Stamp, floor: int) -> None:
        self._folder = folder
        self._dimensions = stamp.dimensions
        self._floor = floor
        self._lock = _lock(folder)
        self._generation, self._pools = _open(folder, stamp)

    def describe(self) -> dict[str, Any]:
        """What the parent is told when the folder is open."""
        return {"generation": self._generation}

    def close(self) -> None:
        """Close the folder in order."""
        self._pools.close()

    def upsert(self, ids: Sequence[str], vectors: np.ndarray) -> Generator[None, None, None]:
        """Store or replace rows; ``vectors`` is (ids, dimensions), float32. StorageFullError below the floor.

        Rows of one collection go together, whichever memories they are of: a call
        costs Chroma as much as ten rows.
        """
        if vectors.shape != (len(ids), self._dimensions):
            raise ValueError("vectors do not fit")
        keys = [int(id_.partition(":")[0]) for id_ in ids]
        for at in _by_pool(keys):
            for start in range(0, len(at), WRITE):
                self._refuse_when_full()
                part = at[start : start + WRITE]
                with self._noted():
                    pool = self._pools.make(keys[part[0]], len(part))
                whose: Any = [{"k": keys[i]} for i in part]
                pool.upsert(ids=[ids[i] for i in part], embeddings=vectors[part], metadatas=whose)
                yield

    def fetch(self, key: int, ids: Sequence[str]) -> Generator[None, None, dict[str, Any]]:
        """The rows of these ids that are there: ids, and vectors (ids, dimensions) float32."""
        found: list[str] = []
        vectors: list[np.ndarray] = []
        for part in _parts(ids):
            if (pool := self._pool(key)) is None:
                break
            rows = pool.get(ids=part, include=["embeddings"])
            found += rows["ids"]
            vectors.append(self._matrix(rows["embeddings"]))
            yield
        return {"ids": found, "vectors": np.concatenate([self._matrix([]), *vectors])}

    def delete(self, key: int, ids: Sequence[str]) -> Generator[None, None, int]:
        """Delete rows; returns how many of them were there."""
        deleted = 0
        for part in _parts(ids):
            if (pool := self._pool(key)) is None:
                break
            known = pool.get(ids=part, include=[])["ids"]
            if known:
                pool.delete(ids=known)
            deleted += len(known)
            yield
        return deleted

    def drop(self, key: int) -> Generator[None, None, int]:
        """Delete at most LISTED rows of a memory; returns how many there were: with 0, none is left."""
        pool = self._pool(key)
        ids = [] if pool is None else pool.get(where={"k": key}, include=[], limit=LISTED)["ids"]
        yield
        deleted = yield from self.delete(key, ids)
        return deleted

    def present(self, key: int, ids: Sequence[str]) -> Generator[None, None, int]:
        """How many of these ids have a row."""
        found = 0
        for part in _parts(ids):
            if (pool := self._pool(key)) is None:
                break
            found += len(pool.get(ids=part, include=[])["ids"])
            yield
        return found

    def count(self, key: int) -> int:
        """How many rows a memory has: some 5 µs each, in one step."""
        pool = self._pool(key)
        return 0 if pool is None else len(pool.get(where={"k": key}, include=[])["ids"])

    def _pool(self, key: int) -> Collection | None:
        with self._noted():
            return self._pools.find(key)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Leave a note in the folder when it turns out to be damaged: the next process begins another."""
        try:
            yield
        except DamagedError:
            (self._folder / _DAMAGED).touch()
            raise

    def _matrix(self, rows: Any) -> np.ndarray:
        return np.asarray(rows, dtype=np.float32).reshape(-1, self._dimensions)

    def _refuse_when_full(self) -> None:
        """Chroma hangs for ever once the disk is full; so it never gets that far."""
        if shutil.disk_usage(self._folder.parent).free < self._floor:
            raise StorageFullError


def _by_pool(keys: Sequence[int]) -> list[list[int]]:
    """Where the rows stand that share a collection, by collection."""
    grouped: dict[str, list[int]] = {}
    for at, key in enumerate(keys):
        grouped.setdefault(pool_of(key), []).append(at)
    return list(grouped.values())


def _parts(ids: Sequence[str]) -> Iterator[list[str]]:
    """The distinct ids, as many at a time as Chroma takes well."""
    distinct = list(dict.fromkeys(ids))
    return (distinct[start : start + READ] for start in range(0, len(distinct), READ))


def _lock(folder: Path) -> int:
    """Hold the folder: two processes on one get wrong answers, not errors. The descriptor is kept open."""
    descriptor = os.open(folder.with_name(f"{folder.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    patience = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > patience:
                raise StorageUnavailableError from None
            time.sleep(0.05)
        else:
            return descriptor


def _open(folder: Path, stamp: Stamp) -> tuple[str, Pools]:
    """The folder's generation and its collections.

    A folder of another make is set aside for a new one at once. After a damaged
    one StorageUnavailableError ends this process, since what Chroma leaves of it in
    memory can bring the process down at any time; the next begins the new folder.
    """
    aside = folder.with_name(f"{folder.name}.aside")
    generation = _generation(folder, stamp)
    if generation:
        try:
            pools = Pools(folder, stamp.dimensions)
            pools.check()
        except BaseException as error:  # a panic inside Chroma is no Exception
            if not is_damage(error):
                raise
            log.warning("vector index cannot be read (%s): set aside", type(error).__name__)
            _set_aside(folder, aside)
            raise StorageUnavailableError from None
        shutil.rmtree(aside, ignore_errors=True)
        return generation, pools
    if folder.exists():
        log.warning("vector index is damaged, or of another make: set aside")
        _set_aside(folder, aside)
    generation = _begin(folder, stamp)
    return generation, Pools(folder, stamp.dimensions)


def _set_aside(folder: Path, aside: Path) -> None:
    shutil.rmtree(aside, ignore_errors=True)
    folder.rename(aside)


def _generation(folder: Path, stamp: Stamp) -> str:
    """The generation that the folder's stamp names; empty when there is none, it is not ours, or it is damaged."""
    try:
        written = json.loads((folder / _STAMP).read_text(encoding="utf-8"))
        generation = str(written.pop("generation"))
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    return generation if written == asdict(stamp) and not (folder / _DAMAGED).exists() else ""


def _begin(folder: Path, stamp: Stamp) -> str:
    """Make a stamped folder; the stamp is on disk before Chroma writes its first byte."""
    generation = secrets.token_hex(8)
    folder.mkdir(parents=True)
    with (folder / _STAMP).open("w", encoding="utf-8") as file:
        json.dump({**asdict(stamp), "generation": generation}, file)
        file.flush()
        os.fsync(file.fileno())
    return generation


def create(settings: Mapping[str, Any]) -> ChromaWorker:
    """Open the folder; StorageUnavailableError when another process holds it."""
    folder = Path(settings["folder"])
    folder.parent.mkdir(parents=True, exist_ok=True)
    stamp = Stamp(chromadb.__version__, LAYOUT, settings["fingerprint"], settings["dimensions"])
    return ChromaWorker(folder, stamp, settings["floor"])
