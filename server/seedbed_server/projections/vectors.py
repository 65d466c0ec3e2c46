"""The projection into vectors: every message encoded, and kept in the vector index.

Vectors of two encoders may be kept at a time, while the server changes from one
to the other: rows, cursor and index are then each encoder's own.

The index holds vectors under ids and nothing else. How many chunks a message
has is written here before the index is touched, and marked stored with the
cursor: so an erasure also finds rows of a batch that a crash cut short.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from seedbed.messages import Message
from seedbed_server.errors import PartUnavailableError
from seedbed_server.models.contract import Passage
from seedbed_server.projections.calendar import day
from seedbed_server.projections.contract import Batch, Prepared, Projection, StoreLostError
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.recent import Recent
from seedbed_server.projections.vector_index import TOGETHER, VectorIndex

LAYOUT = "rows-1"  # version of header, ids and kinds of rows; another one encodes anew
MOST_SEQ = 2**63 - 1
SINGLE = ""  # the kind of row that holds a message on its own
_PAGE = 1_000  # notes that are compared with the index at a time
CURSOR = "vectors/"  # before the space: the names of cursors, and of what the file notes of an index


class Encoder(Protocol):
    """What the projection needs of the encoder."""

    @property
    def fingerprint(self) -> str:
        """Names weights and chunking."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    async def encode_passages(self, passages: Sequence[Passage], *, urgent: bool = False) -> list[np.ndarray]:
        """Per passage its chunks' unit vectors, (chunks, dimensions) float32."""
        ...


class Row(NamedTuple):
    """The vectors of one message: ``kind`` is SINGLE."""

    key: int
    seq: int
    kind: str
    vectors: np.ndarray


class Note(NamedTuple):
    """What the file says of one message's rows; ``stored`` is 0 until they are in the index."""

    seq: int
    kind: str
    chunks: int
    stored: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """The vectors of a memory's messages.

    ``matrix`` is (chunks, dimensions), float32; the chunks of ``seqs[i]`` are its
    rows ``offsets[i]`` up to ``offsets[i + 1]``.
    """

    seqs: np.ndarray
    offsets: np.ndarray
    matrix: np.ndarray


@dataclass(frozen=True, slots=True)
class Held:
    """What is held of a memory: the ``seqs`` noted as stored, and how many rows the index lacks, or has too many."""

    seqs: AbstractSet[int]
    missing: int
    surplus: int


class Vectors(Projection[list[Row]]):
    """Vectors of single messages, made by one encoder. ``space`` is a word that names whose they are."""

    names = ("vectors",)
    schema = """
    CREATE TABLE IF NOT EXISTS vectors (
        space TEXT NOT NULL, key INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
        chunks INTEGER NOT NULL, stored INTEGER NOT NULL,
        PRIMARY KEY (space, key, seq, kind)
    ) WITHOUT ROWID;
    """
    batch_messages = 128
    together = TOGETHER

    def __init__(self, derived: Derived, encoder: Encoder, index: VectorIndex) -> None:
        self.space = space_of(encoder.fingerprint)
        self._derived = derived
        self._encoder = encoder
        self._index = index
        self._generation = ""
        self._recent = Recent()

    @property
    def cursor(self) -> str:
        """The name of this encoder's cursor."""
        return CURSOR + self.space

    @property
    def fingerprint(self) -> str:
        """The encoder's, and the layout of the rows."""
        return f"{self._encoder.fingerprint}/{LAYOUT}"

    async def open(self) -> None:
        """Compare the index's generation with the one that the rows here were stored in.

        When they differ, raises StoreLostError: all is encoded anew. Nothing is changed before ``lost``.
        """
        generation = await self._index.generation()
        if not await self._derived.write(lambda db: _belongs(db, self.cursor, generation)):
            raise StoreLostError
        self._generation = generation

    def lost(self, db: sqlite3.Connection) -> None:
        """Delete the notes of all rows, and of the generation that they were stored in."""
        self._recent.clear()
        db.execute("DELETE FROM vectors WHERE space = ?", (self.space,))
        db.execute("DELETE FROM meta WHERE name = ?", (self.cursor,))

    async def prepare(self, batches: Sequence[Batch]) -> Prepared[list[Row]]:
        """Encode all texts in one go: many small memories make one call."""
        places = [(batch.key, message) for batch in batches for message in batch.messages]
        encoded = await self._encoder.encode_passages([passage(message) for _, message in places])
        return Prepared(
            [Row(key, message.seq, SINGLE, vectors) for (key, message), vectors in zip(places, encoded, strict=True)]
        )

    async def store(self, prepared: Prepared[list[Row]]) -> None:
        """Upsert the vectors. Raises StoreLostError when the index was begun anew."""
        await self._derived.write(lambda db: _note(db, self.space, prepared.rows, stored=False))
        ids = [i for row in prepared.rows for i in row_ids(row.key, row.seq, row.kind, len(row.vectors))]
        if ids:
            vectors = np.concatenate([row.vectors for row in prepared.rows])
            self._recent.forget(ids)
            await self._index.upsert(ids, vectors)
            self._recent.put(ids, vectors)
        if await self._index.generation() != self._generation:  # begun anew meanwhile: earlier rows are gone
            raise StoreLostError

    def commit(self, db: sqlite3.Connection, prepared: Prepared[list[Row]]) -> None:
        """Mark the rows stored."""
        _note(db, self.space, prepared.rows, stored=True)

    async def forget(self, key: int, seqs: Sequence[int]) -> Mapping[str, int]:
        """Delete the messages' vectors, then the note of them."""
        places = [(self.space, key, seq) for seq in seqs]
        known = await self._derived.read(lambda db: _chunks(db, places))
        ids = [i for row in known for i in row_ids(*row)]
        self._recent.forget(ids)
        await self._index.delete(key, ids)
        delete = "DELETE FROM vectors WHERE space = ? AND key = ? AND seq = ?"
        await self._derived.write(lambda db: db.executemany(delete, places))
        return {"vectors": len(ids)}

    async def drop(self, key: int) -> Mapping[str, int]:
        """Delete the memory's vectors, known here or not."""
        known = await self._counts(key, 0, stored_only=False)
        self._recent.drop(key)
        await self._index.drop(key)
        delete = "DELETE FROM vectors WHERE space = ? AND key = ?"
        await self._derived.write(lambda db: db.execute(delete, (self.space, key)))
        return {"vectors": sum(chunks for _, _, chunks in known)}

    async def load(self, key: int, after_seq: int = 0, upto_seq: int = MOST_SEQ, kind: str = SINGLE) -> Loaded:
        """Return the vectors of the memory's messages with a greater seq, up to ``upto_seq``, by seq.

        A message that the index has lost is left out. Raises PartUnavailableError,
        also when the index was begun anew and all of it has to be stored again.
        """
        if await self._index.generation() != self._generation:
            raise PartUnavailableError("vectors")
        known = [(s, n) for s, k, n in await self._counts(key, after_seq, upto_seq, stored_only=True) if k == kind]
        ids = [i for seq, chunks in known for i in row_ids(key, seq, kind, chunks)]
        found = self._recent.of(ids)
        others = [i for i in ids if i not in found]
        if others:
            found = {**found, **await self._index.fetch(key, others)}
        seqs, offsets, rows = [], [0], []
        for seq, chunks in known:
            vectors = [found.get(i) for i in row_ids(key, seq, kind, chunks)]
            here = [vector for vector in vectors if vector is not None]
            if here:
                seqs.append(seq)
                rows += here
                offsets.append(len(rows))
        matrix = np.stack(rows).astype(np.float32) if rows else np.empty((0, self._encoder.dimensions), np.float32)
        return Loaded(np.array(seqs, np.int64), np.array(offsets, np.int64), matrix)

    async def held(self, key: int, upto_seq: int) -> Held:
        """Compare what is noted of a memory with the rows of the index; ``seqs`` and ``missing`` end at a seq.

        Rows that come while they are counted can hide as many that are too many.
        """
        rows = await self._index.count(key)
        last = await self._derived.read(lambda db: _last(db, self.space, key))
        seqs: set[int] = set()
        missing = noted = 0
        after = (0, SINGLE)
        while notes := await self._noted(key, after, last):
            stored = [note for note in notes if note.stored and note.seq <= upto_seq]
            others = [note for note in notes if not (note.stored and note.seq <= upto_seq)]
            due = _ids(key, stored)
            there = await self._index.present(key, due)
            missing += len(due) - there
            noted += there + await self._index.present(key, _ids(key, others))
            seqs.update(note.seq for note in stored)
            after = notes[-1].seq, notes[-1].kind
        return Held(seqs, missing, max(0, rows - noted))

    async def matrix(self, key: int, seq: int, chunks: int) -> np.ndarray:
        """Return the vectors of a message's first chunks, as many as are there, (chunks, dimensions)."""
        found = await self._index.fetch(key, row_ids(key, seq, SINGLE, chunks))
        rows = [found[i] for i in row_ids(key, seq, SINGLE, chunks) if i in found]
        return np.stack(rows) if rows else np.empty((0, self._encoder.dimensions), np.float32)

    async def _noted(self, key: int, after: tuple[int, str], last: int) -> list[Note]:
        return await self._derived.read(lambda db: _notes(db, self.space, key, after, last))

    async def _counts(
        self, key: int, after_seq: int, upto_seq: int = MOST_SEQ, *, stored_only: bool
    ) -> list[tuple[int, str, int]]:
        """Seq, kind and number of chunks, by seq."""
        query = (
            "SELECT seq, kind, chunks FROM vectors"
            " WHERE space = ? AND key = ? AND seq > ? AND seq <= ? AND stored >= ? ORDER BY seq"
        )
        values = (self.space, key, after_seq, upto_seq, int(stored_only))
        return await self._derived.read(lambda db: db.execute(query, values).fetchall())


def space_of(fingerprint: str) -> str:
    """The word that names an encoder's vectors, by its fingerprint; fit for the name of a folder."""
    return fingerprint[:16]


def passage(message: Message) -> Passage:
    """What is encoded of a message: also for one that is not applied yet."""
    return Passage(header(message), message.text)


def header(message: Message) -> str:
    """What stands before a text when it is encoded: who spoke, and on which day ("Maya (8 May 2023): ")."""
    said = f" ({day(message.time)})" if message.time else ""
    return f"{message.name or message.role}{said}: "


def row_ids(key: int, seq: int, kind: str, chunks: int) -> list[str]:
    """The ids of a message's rows in the index: "<key>:<seq>:<kind><chunk>"."""
    return [f"{key}:{seq}:{kind}{chunk}" for chunk in range(chunks)]


def _note(db: sqlite3.Connection, space: str, rows: Iterable[Row], *, stored: bool) -> None:
    """Write how many chunks messages have; before they are stored, never fewer than an earlier try left."""
    most = "chunks = excluded.chunks" if stored else "chunks = max(chunks, excluded.chunks)"
    db.executemany(
        f"INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {most}, stored = excluded.stored",  # noqa: S608
        [(space, row.key, row.seq, row.kind, len(row.vectors), stored) for row in rows],
    )


def _chunks(db: sqlite3.Connection, places: Sequence[tuple[str, int, int]]) -> list[tuple[int, int, str, int]]:
    """Key, seq, kind and number of chunks of all rows of these messages, each given by space, key and seq."""
    query = "SELECT key, seq, kind, chunks FROM vectors WHERE space = ? AND key = ? AND seq = ?"
    return [row for place in places for row in db.execute(query, place)]


def _last(db: sqlite3.Connection, space: str, key: int) -> int:
    """The last seq that anything is noted of."""
    query = "SELECT max(seq) FROM vectors WHERE space = ? AND key = ?"
    return int(db.execute(query, (space, key)).fetchone()[0] or 0)


def _notes(db: sqlite3.Connection, space: str, key: int, after: tuple[int, str], last: int) -> list[Note]:
    """A page of what is noted of a memory, by seq and kind, up to a seq."""
    query = (
        "SELECT seq, kind, chunks, stored FROM vectors"
        " WHERE space = ? AND key = ? AND (seq, kind) > (?, ?) AND seq <= ? ORDER BY seq, kind LIMIT ?"
    )
    return [Note(*row) for row in db.execute(query, (space, key, *after, last, _PAGE))]


def _ids(key: int, notes: Iterable[Note]) -> list[str]:
    return [i for note in notes for i in row_ids(key, note.seq, note.kind, note.chunks)]


def _belongs(db: sqlite3.Connection, name: str, generation: str) -> bool:
    known = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    if known is None:  # the file here is new, or set back: nothing is applied yet
        db.execute("INSERT INTO meta VALUES (?, ?)", (name, generation))
        return True
    return bool(known == (generation,))
