"""A vector space: one encoder, and all that it has made of the log. Vectors of two spaces cannot be compared.

A server has one space, and two while it changes its model. Each has an encoder
process, an index in a folder of its own, and rows under its own name in the
derived file; so a space can be made, and be deleted, without touching another.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seedbed_server.errors import StorageUnavailableError
from seedbed_server.models.contract import Passage
from seedbed_server.models.encoder import Encoder
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.vector_index import ChromaIndex
from seedbed_server.projections.vectors import CURSOR, Vectors, space_of

log = logging.getLogger(__name__)

_FOLDER = "chroma"
_AT_ONCE = 5_000  # rows deleted in one transaction: others wait for it


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """An encoder, its vectors, and the index that keeps them."""

    encoder: Encoder
    index: ChromaIndex
    vectors: Vectors

    async def start(self) -> None:
        """Begin to keep the processes running."""
        await self.encoder.child.start()
        await self.index.child.start()

    async def stop(self) -> None:
        """End the processes."""
        await asyncio.gather(self.encoder.child.stop(), self.index.child.stop())

    def call(self, prefix: str) -> None:
        """Name the processes, as they are reported: "encoder" and "vectors", after a prefix."""
        self.encoder.child.name = f"{prefix}encoder"
        self.index.child.name = f"{prefix}vectors"


class ServingEncoder:
    """The encoder that serves now, for those who keep no vectors over a change."""

    def __init__(self, current: Encoder) -> None:
        self.current = current

    @property
    def fingerprint(self) -> str:
        """Names weights and chunking."""
        return self.current.fingerprint

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.current.dimensions

    async def encode_passages(self, passages: Sequence[Passage], *, urgent: bool = False) -> list[np.ndarray]:
        """Per passage its chunks' unit vectors, (chunks, dimensions) float32. PartUnavailableError."""
        return await self.current.encode_passages(passages, urgent=urgent)


def make_space(derived: Derived, directory: Path, encoder: Encoder, *, floor: int) -> Space:
    """Return the space of an encoder, whose index lies in ``directory``; nothing is started or touched."""
    index = ChromaIndex(
        directory / f"{_FOLDER}-{space_of(encoder.fingerprint)}",
        fingerprint=encoder.fingerprint,
        dimensions=encoder.dimensions,
        floor=floor,
    )
    return Space(encoder, index, Vectors(derived, encoder, index))


async def keep_only(derived: Derived, directory: Path, spaces: Sequence[Space]) -> None:
    """Delete what other spaces have left in ``directory`` and in the derived file. They must not be running.

    Raises PartUnavailableError when the file cannot be used, and
    StorageUnavailableError when a folder cannot be deleted. Can be repeated.
    """
    kept = [space.vectors.space for space in spaces]
    await asyncio.to_thread(_delete_files, directory, kept)
    while await derived.write(lambda db: _delete_rows(db, kept)):
        pass
    await derived.scrub()


def _delete_files(directory: Path, kept: Sequence[str]) -> None:
    """Delete the folders of other spaces, those set aside, and their locks: all that can be, whatever one fails at."""
    failed = False
    for path in directory.glob(f"{_FOLDER}*"):
        if path.stem.removeprefix(f"{_FOLDER}-") in kept:
            continue
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        except OSError as error:
            log.warning("vectors of another model could not be deleted: %s", type(error).__name__)
            failed = True
    if failed:
        raise StorageUnavailableError


def _delete_rows(db: sqlite3.Connection, kept: Sequence[str]) -> bool:
    """Delete some rows; says whether there may be more. The cursor goes first: without it nothing counts as applied."""
    names = [CURSOR + space for space in kept]
    marks = ",".join("?" * len(kept))
    for table, column in (("projection", "name"), ("cursor", "projection"), ("meta", "name")):
        query = f"DELETE FROM {table} WHERE {column} LIKE '{CURSOR}%' AND {column} NOT IN ({marks})"  # noqa: S608
        db.execute(query, names)
    where = f"space NOT IN ({marks})"
    some = f"SELECT space, key, seq, kind FROM vectors WHERE {where} LIMIT {_AT_ONCE}"  # noqa: S608
    return db.execute(f"DELETE FROM vectors WHERE (space, key, seq, kind) IN ({some})", kept).rowcount > 0  # noqa: S608
