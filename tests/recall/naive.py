"""What recall computes, written as plainly as it is defined, to compare with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from seedbed_server.recall.hot import Matrix
from seedbed_server.recall.layout import DECAY, REACH
from seedbed_server.recall.postings import K1, PSEUDO, B


def weights(sessions: Sequence[int | str], alive: Sequence[bool]) -> np.ndarray:
    """How much of row j stands in row i; shape (n, n)."""
    n = len(sessions)
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if sessions[i] == sessions[j] and alive[i] and alive[j]:
                between = [k for k in range(min(i, j), max(i, j)) if sessions[k] == sessions[i]]
                if len(between) <= REACH:
                    found[i, j] = DECAY ** len(between)
    return found


def bm25(query: Sequence[str], rows: Sequence[Sequence[str]], spread: np.ndarray, alive: Sequence[bool]) -> np.ndarray:
    """Share of the query's weight in each row, by BM25 over spread counts and lengths; shape (n,)."""
    lengths = spread @ np.array([float(len(row)) for row in rows])
    living = [length for length, lives in zip(lengths, alive, strict=True) if lives]
    mean = sum(living) / len(living) if living else 1.0
    scores, most = np.zeros(len(rows)), 0.0
    for term in set(query):
        counts = spread @ np.array([float(row.count(term)) for row in rows])
        holding = int((counts > 0).sum())
        idf = math.log(1 + (len(living) + PSEUDO - holding + 0.5) / (holding + 0.5))
        most += idf
        for i, count in enumerate(counts):
            if count > 0:
                scores[i] += idf * count / (count + K1 * (1 - B + B * lengths[i] / mean))
    return scores / most if most else scores


def contexts(vectors: Sequence[Matrix | None], spread: np.ndarray) -> np.ndarray:
    """The unit of each row's weighted sum of vectors, 0 where there is none; None is a row without a vector."""
    width = next((vector.shape[-1] for vector in vectors if vector is not None), 1)
    own = np.zeros((len(vectors), width))
    for i, chunks in enumerate(vectors):
        if chunks is not None:
            mean = chunks.astype(np.float64).mean(axis=0)
            own[i] = mean / np.linalg.norm(mean)
    sums = spread @ own
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return sums / np.where(lengths > 0, lengths, 1.0)
