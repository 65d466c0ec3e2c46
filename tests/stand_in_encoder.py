"""A child process that stands in for the encoder: for laws of crashes, where loading a real one would take most of the time.

Its vectors are sums over the hashes of words, another way for each model.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seedbed_server.models import weights
from seedbed_server.models.manifest import known

PACE = 0.002  # seconds a text


class StandIn:
    """The operations of the encoder's process."""

    def __init__(self, name: str, dimensions: int) -> None:
        self._name = name
        self._dimensions = dimensions

    def describe(self) -> dict[str, Any]:
        return {"dimensions": self._dimensions, "window": 256}

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self._vector(text) for text in texts])

    def encode_passages(self, headers: Sequence[str], texts: Sequence[str]) -> Generator[None, None, dict[str, Any]]:
        vectors = []
        for header, text in zip(headers, texts, strict=True):
            time.sleep(PACE)
            vectors.append(self._vector(header + text))
            yield
        return {"vectors": np.stack(vectors), "counts": [1] * len(vectors)}

    def _vector(self, text: str) -> np.ndarray:
        total = np.full(self._dimensions, 0.01)
        for word in text.casefold().split():
            digest = hashlib.sha256(f"{self._name} {word}".encode()).digest()
            total += np.resize(np.frombuffer(digest, np.uint8).astype(np.float64) - 128, self._dimensions)
        vector: np.ndarray = (total / np.linalg.norm(total)).astype(np.float32)
        return vector


def create(settings: Mapping[str, Any]) -> StandIn:
    """Verify the files as the encoder does; they are not loaded."""
    root = Path(settings["models_dir"])
    model = next(model for model in known(root) if model.name == settings["model"])
    weights.require(root, [model])
    return StandIn(model.name, model.dimensions)
