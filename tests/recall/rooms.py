"""Recall over a real log and real projections, opened like a server."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from seedbed.messages import Message
from seedbed.variants import Buffer
from seedbed_server.log import Appended, Log, MemoryRecord, NewMemory
from seedbed_server.models.contract import Passage
from seedbed_server.models.encoder import Encoder
from seedbed_server.projections.analysis import is_blank
from seedbed_server.projections.contract import Backoff
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.lexical import Lexical
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.vector_index import VectorIndex
from seedbed_server.projections.vectors import Vectors
from seedbed_server.recall import HotMemories, Lens, QueryVectors, Ranking, Recall, Search

MUCH = 2**30


class StandInEncoder:
    """Not the encoder: its vectors are sums over the hashes of words. For laws of scheduling only."""

    dimensions = 16
    fingerprint = "stand-in"

    def __init__(self) -> None:
        self.urgent: list[str] = []  # texts that a search had to encode itself

    async def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([_hashed(text) for text in texts])

    async def encode_passages(self, passages: Sequence[Passage], *, urgent: bool = False) -> list[np.ndarray]:
        if urgent:
            self.urgent += [passage.text for passage in passages]
        return [_hashed(passage.text)[None] for passage in passages]


def _hashed(text: str) -> np.ndarray:
    total = np.full(StandInEncoder.dimensions, 0.01, np.float32)
    for word in text.casefold().split():
        total += np.frombuffer(hashlib.sha256(word.encode()).digest(), np.uint8)[:16].astype(np.float32) - 128
    return total / np.linalg.norm(total)


class StandInIndex(VectorIndex):
    """Not Chroma: rows in a dict. For laws of scheduling only."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, str], np.ndarray] = {}
        self.incarnation = 1

    def begin_anew(self) -> None:
        """Lose every row, as a damaged folder does."""
        self.rows.clear()
        self.incarnation += 1

    async def generation(self) -> str:
        return str(self.incarnation)

    async def upsert(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        self.rows.update(zip([(int(i.partition(":")[0]), i) for i in ids], vectors, strict=True))

    async def fetch(self, key: int, ids: Sequence[str]) -> Mapping[str, np.ndarray]:
        return {i: self.rows[key, i] for i in ids if (key, i) in self.rows}

    async def delete(self, key: int, ids: Sequence[str]) -> int:
        return sum(self.rows.pop((key, i), None) is not None for i in ids)

    async def drop(self, key: int) -> int:
        return await self.delete(key, [i for owner, i in self.rows if owner == key])

    async def present(self, key: int, ids: Sequence[str]) -> int:
        return len(await self.fetch(key, ids))

    async def count(self, key: int) -> int:
        return sum(owner == key for owner, _ in self.rows)


class Room:
    """A log, its projections, and recall. The projector follows only between ``start`` and ``stop``."""

    def __init__(self, folder: Path, encoder: Encoder | StandInEncoder, index: VectorIndex) -> None:
        self._folder = folder
        self.encoder = cast("Encoder", encoder)
        self.index = index
        self.log: Log
        self.derived: Derived
        self.lexical: Lexical
        self.vectors: Vectors
        self.projector: Projector
        self.hot: HotMemories
        self.recall: Recall

    async def open(self, limit_bytes: int = MUCH) -> None:
        self.log = await Log.open(f"sqlite:///{self._folder / 'log.db'}")
        self.derived = await Derived.open(self._folder / "derived", [Lexical.schema, Vectors.schema])
        self.lexical = Lexical(self.derived)
        self.vectors = Vectors(self.derived, self.encoder, self.index)
        self.projector = Projector(self.log, self.derived, (self.lexical, self.vectors), backoff=Backoff(0.01, 0.1))
        self.log.on_change.append(self.projector.changed)
        self.forget_all_hot(limit_bytes)

    def forget_all_hot(self, limit_bytes: int = MUCH) -> None:
        """Recall as after a restart: nothing is loaded."""
        self.hot, self.recall = self.served_by(self.encoder, self.lexical, limit_bytes)

    def served_by(self, encoder: Encoder, lexical: Lexical, limit_bytes: int = MUCH) -> tuple[HotMemories, Recall]:
        """Another recall over the same stores."""
        hot = HotMemories(
            self.log,
            self.projector,
            lexical,
            self.vectors,
            encoder,
            indexable=lambda message: not is_blank(message.text),
            limit_bytes=limit_bytes,
        )
        return hot, Recall(self.log, Lens(hot, QueryVectors(encoder)), self.projector)

    async def close(self) -> None:
        await self.projector.stop()
        await self.derived.close()
        await self.log.close()

    async def write(self, memory: str, *said: str | Message, session: str = "s") -> Appended:
        messages = [Message.user(one, "Maya") if isinstance(one, str) else one for one in said]
        return await self.log.append("default", memory, session, messages, create=NewMemory(Buffer(), ""))

    async def record(self, memory: str) -> MemoryRecord:
        return await self.log.get("default", memory)

    async def project(self, memory: str) -> None:
        """Let the projections catch up, and hold them there."""
        await self.projector.start()
        record = await self.record(memory)
        assert await self.projector.wait_applied(record.key, record.last_seq, timeout=60)
        await self.projector.stop()

    async def search(self, memory: str, query: str, k: int = 100, **limits: object) -> Ranking:
        return await self.recall.search(await self.record(memory), Search(query, k, **limits))  # type: ignore[arg-type]


def texts(ranking: Ranking) -> list[str]:
    """What was found, best first."""
    return [hit.message.text for hit in ranking.hits]


def scores(ranking: Ranking) -> dict[str, list[float]]:
    """Each hit's score and what its legs gave, by id."""
    return {hit.message.id: [hit.score, *(leg.contribution for leg in hit.legs)] for hit in ranking.hits}
