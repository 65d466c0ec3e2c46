"""Where vectors are kept: the port, and the one that keeps them in embedded Chroma.

It is a store, and not searched: recall loads a memory's vectors, and compares all of them.

A row is a vector under an id, ``"<key>:<seq>:<chunk>"``, of the memory ``key``.
No text and nothing of a user's enters; what a row means is known from its id. All
calls can be repeated: when one fails, whether it was done is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from seedbed_server.errors import PartUnavailableError
from seedbed_server.processes import Child, Priority

READ_TIMEOUT = 60.0
WRITE_TIMEOUT = 300.0
"""Seconds. What hangs is found by the watchdog; these bound what is merely slow."""

TOGETHER = 8
"""Memories, with keys one after another, whose rows share a collection."""

ROWS_PER_CALL = 4_000
"""Rows of one call: 6 MB of vectors with 384 dimensions."""

FREE_SPACE_FLOOR = 256 * 1024 * 1024
"""Bytes that stay free on the disk: below, nothing is written."""


class VectorIndex(Protocol):
    """A store of vectors; every backend passes one suite of tests.

    PartUnavailableError is raised by every call when the store is not there.
    """

    async def generation(self) -> str:
        """Name this incarnation of the store: when another is named, all rows are gone."""
        ...

    async def upsert(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Store or replace rows, of any memories; ``vectors`` is (ids, dimensions), float32. StorageFullError."""
        ...

    async def fetch(self, key: int, ids: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The vectors of those ids that are there, to the bit."""
        ...

    async def delete(self, key: int, ids: Sequence[str]) -> int:
        """Delete rows; returns how many of them were there."""
        ...

    async def drop(self, key: int) -> int:
        """Delete all rows of a memory; returns how many there were."""
        ...

    async def present(self, key: int, ids: Sequence[str]) -> int:
        """How many of these ids have a row."""
        ...

    async def count(self, key: int) -> int:
        """How many rows a memory has."""
        ...


class ChromaIndex:
    """A VectorIndex in a folder, by embedded Chroma in a child process. Start, stop and watch ``child``.

    ``fingerprint`` and ``dimensions`` are the encoder's: a folder with vectors of
    another encoder is set aside, and a new one begun.
    """

    def __init__(self, folder: Path, *, fingerprint: str, dimensions: int, floor: int = FREE_SPACE_FLOOR) -> None:
        self._dimensions = dimensions
        self.child = Child(
            "vectors",
            "seedbed_server.projections.chroma_worker:create",
            {
                "folder": str(folder.absolute()),
                "fingerprint": fingerprint,
                "dimensions": dimensions,
                "floor": floor,
            },
            niceness=10,
        )

    async def generation(self) -> str:
        """Name the folder's incarnation: when another is named, all rows are gone."""
        if self.child.state != "ready":
            raise PartUnavailableError(self.child.name)
        return str(self.child.info["generation"])

    async def upsert(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Store or replace rows, of any memories; ``vectors`` is (ids, dimensions), float32. StorageFullError."""
        if vectors.shape != (len(ids), self._dimensions):
            raise ValueError("vectors do not fit")
        for part in _slices(len(ids)):
            payload = {"ids": list(ids[part]), "vectors": vectors[part].astype(np.float32, copy=False)}
            await self.child.call("upsert", payload, timeout=WRITE_TIMEOUT)

    async def fetch(self, key: int, ids: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors of those ids that are there, to the bit."""
        _refuse_foreign(key, ids)
        found: dict[str, np.ndarray] = {}
        for part in _slices(len(ids)):
            rows = await self.child.call(
                "fetch", {"key": key, "ids": list(ids[part])}, priority=Priority.URGENT, timeout=READ_TIMEOUT
            )
            found.update(zip(rows["ids"], rows["vectors"], strict=True))
        return found

    async def delete(self, key: int, ids: Sequence[str]) -> int:
        """Delete rows; returns how many of them were there."""
        _refuse_foreign(key, ids)
        deleted = 0
        for part in _slices(len(ids)):
            deleted += await self.child.call("delete", {"key": key, "ids": list(ids[part])}, timeout=WRITE_TIMEOUT)
        return deleted

    async def drop(self, key: int) -> int:
        """Delete all rows of a memory; returns how many there were."""
        dropped = 0
        while part := int(await self.child.call("drop", {"key": key}, timeout=WRITE_TIMEOUT)):
            dropped += part
        return dropped

    async def present(self, key: int, ids: Sequence[str]) -> int:
        """How many of these ids have a row."""
        _refuse_foreign(key, ids)
        found = 0
        for part in _slices(len(ids)):
            found += await self.child.call("present", {"key": key, "ids": list(ids[part])}, timeout=READ_TIMEOUT)
        return found

    async def count(self, key: int) -> int:
        """How many rows a memory has."""
        return int(await self.child.call("count", {"key": key}, timeout=READ_TIMEOUT))


def _slices(count: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_PER_CALL) for start in range(0, count, ROWS_PER_CALL))


def _refuse_foreign(key: int, ids: Sequence[str]) -> None:
    """ValueError for an id of another memory: pools are shared, the wall is the id."""
    if not all(id_.startswith(f"{key}:") for id_ in ids):
        raise ValueError("an id of another memory")
