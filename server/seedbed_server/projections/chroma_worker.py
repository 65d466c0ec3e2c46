"""Embedded Chroma in its child process: rows of vectors under ids, and nothing else.

Rows of many memories share a pool: a collection costs megabytes and file handles
that are not given back. Every row says whose it is (``k``), and is never looked
for without that. Chroma's index answers only for large memories; a small one is
compared row by row, which is quicker and misses nothing.

The folder is stamped with what made it. When the stamp is another's, or Chroma
cannot read what is there, the folder is set aside and a new one begun; its
``generation`` is then another, by which the parent sees that all rows are gone.
What was set aside is deleted when the new folder has been opened again.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import InternalError

from seedbed_server.errors import StorageFullError, StorageUnavailableError

log = logging.getLogger(__name__)

POOLS = 64
WRITE = 100
"""Rows written in one step: some 50 ms, which is what a query may have to wait."""
READ = 500
"""Ids in one call of Chroma: it degrades with more, and fails with many."""
EXACT = 2_000
"""Rows of a memory up to which a query compares every one of them."""
LOCK_PATIENCE = 30.0
"""Seconds to wait for the folder: a process that was told to end may still hold it."""

_STAMP = "seedbed.json"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What made a folder: rows of another are of no use."""

    chroma: str
    fingerprint: str
    dimensions: int


class ChromaWorker:
    """The operations of the child process "vectors"."""

    fatal = (InternalError,)  # a new process checks the folder, and sets it aside if need be

    def __init__(self, folder: Path, stamp: Stamp, floor: int) -> None:
        self._folder = folder
        self._dimensions = stamp.dimensions
        self._floor = floor
        self._lock = _lock(folder)
        self._generation, self._client = _open(folder, stamp)
        self._pools: dict[str, Collection] = {}
        for known in self._client.list_collections():
            self._pools[known.name] = self._client.get_collection(known.name, embedding_function=None)

    def describe(self) -> dict[str, Any]:
        """What the parent is told when the folder is open."""
        return {"generation": self._generation}

    def close(self) -> None:
        """Close the folder in order."""
        self._client.close()

    def upsert(self, key: int, ids: Sequence[str], vectors: np.ndarray) -> Generator[None, None, None]:
        """Store or replace rows; ``vectors`` is (ids, dimensions), float32. StorageFullError below the floor."""
        if vectors.shape != (len(ids), self._dimensions):
            raise ValueError("vectors do not fit")
        for start in range(0, len(ids), WRITE):
            self._refuse_when_full()
            part = list(ids[start : start + WRITE])
            self._pool(key).upsert(
                ids=part, embeddings=vectors[start : start + WRITE], metadatas=[{"k": key} for _ in part]
            )
            yield

    def fetch(self, key: int, ids: Sequence[str]) -> Generator[None, None, dict[str, Any]]:
        """The rows of these ids that are there: ids, and vectors (ids, dimensions) float32."""
        found: list[str] = []
        vectors: list[np.ndarray] = []
        for part in _parts(ids) if self._has_pool(key) else ():
            rows = self._pool(key).get(ids=part, include=["embeddings"])
            found += rows["ids"]
            vectors.append(self._matrix(rows["embeddings"]))
            yield
        return {"ids": found, "vectors": np.concatenate([self._matrix([]), *vectors])}

    def query(self, key: int, vector: np.ndarray, k: int) -> dict[str, Any]:
        """The memory's ``k`` nearest rows and their dot products with ``vector``, best first."""
        if k < 1 or not self._has_pool(key):
            return {"ids": [], "scores": np.empty(0, np.float32)}
        rows = self._pool(key).get(where={"k": key}, include=["embeddings"], limit=EXACT + 1)
        if len(rows["ids"]) > EXACT:
            return self._query_index(key, vector, k)
        scores = self._matrix(rows["embeddings"]) @ vector
        best = np.argsort(-scores, kind="stable")[:k]
        return {"ids": [rows["ids"][row] for row in best], "scores": scores[best]}

    def delete(self, key: int, ids: Sequence[str]) -> Generator[None, None, int]:
        """Delete rows; returns how many of them were there."""
        deleted = 0
        for part in _parts(ids) if self._has_pool(key) else ():
            known = self._pool(key).get(ids=part, include=[])["ids"]
            if known:
                self._pool(key).delete(ids=known)
            deleted += len(known)
            yield
        return deleted

    def drop(self, key: int) -> Generator[None, None, int]:
        """Delete all rows of a memory; returns how many there were."""
        ids = yield from self.ids(key)
        deleted = yield from self.delete(key, ids)
        return deleted

    def ids(self, key: int) -> Generator[None, None, list[str]]:
        """The ids of all rows of a memory, in no order."""
        found: list[str] = []
        while self._has_pool(key):
            page = self._pool(key).get(where={"k": key}, include=[], limit=READ, offset=len(found))["ids"]
            found += page
            yield
            if len(page) < READ:
                break
        return found

    def _query_index(self, key: int, vector: np.ndarray, k: int) -> dict[str, Any]:
        found = self._pool(key).query(
            query_embeddings=vector[None, :], n_results=k, where={"k": key}, include=["distances"]
        )
        distances = found["distances"] or [[]]
        return {"ids": found["ids"][0], "scores": 1 - np.asarray(distances[0], np.float32)}

    def _has_pool(self, key: int) -> bool:
        return _pool_name(key) in self._pools

    def _pool(self, key: int) -> Collection:
        name = _pool_name(key)
        if name not in self._pools:
            # Inner product: of unit vectors it is the cosine, and vectors are kept to the bit.
            self._pools[name] = self._client.get_or_create_collection(
                name, embedding_function=None, configuration={"hnsw": {"space": "ip"}}
            )
        return self._pools[name]

    def _matrix(self, rows: Any) -> np.ndarray:
        return np.asarray(rows, dtype=np.float32).reshape(-1, self._dimensions)

    def _refuse_when_full(self) -> None:
        """Chroma hangs for ever once the disk is full; so it never gets that far."""
        if shutil.disk_usage(self._folder.parent).free < self._floor:
            raise StorageFullError


def _pool_name(key: int) -> str:
    return f"pool-{key % POOLS:03d}"


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


def _open(folder: Path, stamp: Stamp) -> tuple[str, Any]:
    """The folder's generation and a client on it.

    A folder of another make is set aside for a new one at once. After a damaged
    one StorageUnavailableError ends this process, since what Chroma leaves of it in
    memory can bring the process down at any time; the next begins the new folder.
    """
    aside = folder.with_name(f"{folder.name}.aside")
    generation = _generation(folder, stamp)
    if generation:
        try:
            client = _sound_client(folder)
        except BaseException as error:  # noqa: BLE001 - a panic inside Chroma is no Exception
            log.warning("vector index cannot be read (%s): set aside", type(error).__name__)
            _set_aside(folder, aside)
            raise StorageUnavailableError from None
        shutil.rmtree(aside, ignore_errors=True)
        return generation, client
    if folder.exists():
        log.warning("vector index is of another make: set aside")
        _set_aside(folder, aside)
    generation = _begin(folder, stamp)
    return generation, _client(folder)


def _set_aside(folder: Path, aside: Path) -> None:
    shutil.rmtree(aside, ignore_errors=True)
    folder.rename(aside)


def _generation(folder: Path, stamp: Stamp) -> str:
    """The generation that the folder's stamp names; empty when there is none, or it is not ours."""
    try:
        written = json.loads((folder / _STAMP).read_text(encoding="utf-8"))
        ours = Stamp(written["chroma"], written["fingerprint"], written["dimensions"]) == stamp
        return str(written["generation"]) if ours else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _begin(folder: Path, stamp: Stamp) -> str:
    """Make a stamped folder; the stamp is on disk before Chroma writes its first byte."""
    generation = secrets.token_hex(8)
    folder.mkdir(parents=True)
    content = {
        "chroma": stamp.chroma,
        "fingerprint": stamp.fingerprint,
        "dimensions": stamp.dimensions,
        "generation": generation,
    }
    with (folder / _STAMP).open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    return generation


def _client(folder: Path) -> Any:
    # No .env file is read: it is the working directory's, not ours.
    settings = Settings(_env_file=None, anonymized_telemetry=False, allow_reset=False)  # type: ignore[call-arg]
    return chromadb.PersistentClient(folder, settings=settings)


def _sound_client(folder: Path) -> Any:
    """A client, after every pool has been counted, has given a row, and has been searched for it.

    Whether the row is found is not asked: the index is approximate, and a miss
    must not cost all rows. What is damaged fails.
    """
    client = _client(folder)
    for known in client.list_collections():
        pool = client.get_collection(known.name, embedding_function=None)
        sample = pool.get(limit=1, include=["embeddings"])
        if pool.count() > 0:
            pool.query(query_embeddings=sample["embeddings"], n_results=1, include=["distances"])
    return client


def create(settings: Mapping[str, Any]) -> ChromaWorker:
    """Open the folder; StorageUnavailableError when another process holds it."""
    folder = Path(settings["folder"])
    folder.parent.mkdir(parents=True, exist_ok=True)
    stamp = Stamp(chromadb.__version__, settings["fingerprint"], settings["dimensions"])
    return ChromaWorker(folder, stamp, settings["floor"])
