"""An encoder child whose passages are stand-ins: unit vectors from a hash of the text; queries are really encoded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seedbed_server.models import encoder_child


class StandIn:
    """The encoder's worker with other passages: the same text has the same vector, and no vector means anything."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._dimensions = int(worker.describe()["dimensions"])

    def describe(self) -> dict[str, Any]:
        """What the real worker says of itself."""
        return dict(self._worker.describe())

    def encode_queries(self, texts: Sequence[str]) -> Any:
        """Encode as the real worker does."""
        return self._worker.encode_queries(texts)

    def encode_passages(self, headers: Sequence[str], texts: Sequence[str]) -> dict[str, Any]:
        """One unit vector a text, in the form of the real worker's answer."""
        rows = [self._vector(header + text) for header, text in zip(headers, texts, strict=True)]
        return {"vectors": np.stack(rows), "counts": [1] * len(rows)}

    def _vector(self, text: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        vector = np.random.default_rng(seed).standard_normal(self._dimensions).astype(np.float32)
        unit: np.ndarray = vector / np.linalg.norm(vector)
        return unit


def create(settings: Mapping[str, Any]) -> StandIn:
    """Load the real model, for the queries and for the memory that it takes."""
    return StandIn(encoder_child.create(settings))
