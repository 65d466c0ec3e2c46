"""The parent's side of the encoder: texts to unit vectors, through its child process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from seedbed_server.models.chunking import Chunking
from seedbed_server.models.contract import Passage
from seedbed_server.models.manifest import Model, by_role
from seedbed_server.processes import Child, Priority

QUERY_TIMEOUT = 30.0
PASSAGES_TIMEOUT = 600.0
"""Seconds. Generous: what hangs is found by the watchdog, what is merely long is not killed."""

PASSAGES_PER_CALL = 128
CHARACTERS_PER_CALL = 262_144
"""Enough for batches of like length; small enough that a call ends, and another's begins."""


class Encoder:
    """Turns texts into vectors of unit length, so that their dot product is the cosine.

    ``fingerprint`` names the weights and the way texts are cut: vectors of another
    fingerprint cannot be compared with these. Without a ``model`` it is the
    manifest's first encoder. Start, stop and watch ``child``.
    """

    def __init__(self, models_dir: Path, model: Model | None = None, *, threads: int = 1) -> None:
        model = model or by_role("encoder")
        self.name = model.name
        self.dimensions = model.dimensions
        self.fingerprint = model.fingerprint(*Chunking(window=model.max_tokens).parameters())
        self.child = Child(
            "encoder",
            "seedbed_server.models.encoder_child:create",
            {"models_dir": str(models_dir.absolute()), "model": model.name, "threads": threads},
            threads=threads,
            niceness=5,  # behind writes, before the other children: searches wait for it
        )

    async def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, shape (texts, dimensions), float32; before any bulk work. PartUnavailableError."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        vectors: np.ndarray = await self.child.call(
            "encode_queries", {"texts": list(texts)}, priority=Priority.URGENT, timeout=QUERY_TIMEOUT
        )
        return vectors

    async def encode_passages(self, passages: Sequence[Passage], *, urgent: bool = False) -> list[np.ndarray]:
        """For each passage the unit vectors of its chunks, shape (chunks, dimensions), float32.

        There is at least one chunk. ``urgent`` is for the few passages that a
        query needs now. PartUnavailableError when the encoder is not there.
        """
        vectors: list[np.ndarray] = []
        for part in _calls(passages):
            reply = await self.child.call(
                "encode_passages",
                {"headers": [passage.header for passage in part], "texts": [passage.text for passage in part]},
                priority=Priority.URGENT if urgent else Priority.BULK,
                timeout=PASSAGES_TIMEOUT,
            )
            vectors += np.split(reply["vectors"], np.cumsum(reply["counts"])[:-1])
        return vectors


def _calls(passages: Sequence[Passage]) -> Iterator[list[Passage]]:
    """The passages in order, as many at a time as one call should hold."""
    part: list[Passage] = []
    size = 0
    for passage in passages:
        part.append(passage)
        size += len(passage.text)
        if len(part) == PASSAGES_PER_CALL or size >= CHARACTERS_PER_CALL:
            yield part
            part, size = [], 0
    if part:
        yield part
