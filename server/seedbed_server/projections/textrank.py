"""The sentences that say most of a text: TextRank (Mihalcea and Tarau, 2004).

Sentences vote for those that are like them; the votes are counted by PageRank.
What is chosen stays as it was written and in its order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from seedbed_server.projections.analysis import terms
from seedbed_server.projections.pagerank import pagerank

LONGEST = 400  # code points of a sentence; a longer one is cut at a space
SENTENCES = 60  # of one message
SAME = 0.9  # a sentence this like a chosen one says nothing new
FAINT = 0.15  # likeness below which sentences do not vote for each other

_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？])|\s*\n\s*")  # noqa: RUF001 - sentence ends of CJK
_CUT = re.compile(rf".{{1,{LONGEST}}}(?:\s|$)|.{{1,{LONGEST}}}", re.DOTALL)


def sentences(text: str) -> list[str]:
    """Split a text into at most SENTENCES sentences, none longer than LONGEST."""
    head = text[: LONGEST * SENTENCES]
    whole = (part.strip() for part in _END.split(head))
    pieces = (piece.strip() for part in whole if part for piece in _CUT.findall(part))
    return [piece for piece in pieces if piece][:SENTENCES]


def likeness(texts: Sequence[str], vectors: np.ndarray | None) -> np.ndarray:
    """How like each other texts are, (n, n), 0 to 1: cosine of their vectors, or shared words without vectors."""
    if vectors is not None:
        cosines: np.ndarray = np.clip(vectors @ vectors.T, 0.0, 1.0)
        return cosines
    words = [set(terms(text)) for text in texts]
    like = np.zeros((len(texts), len(texts)))
    for i, a in enumerate(words):
        for j, b in enumerate(words[:i]):
            # Shared words over the geometric mean of the numbers of words: a cosine of sets.
            like[i, j] = like[j, i] = len(a & b) / np.sqrt(len(a) * len(b)) if a and b else 0.0
    return like


def choose(texts: Sequence[str], like: np.ndarray, cost: Callable[[int], int], budget: int) -> list[int]:
    """Return the indices of the sentences to keep, in order, of at most ``budget`` in all by ``cost(index)``."""
    rank = _rank(texts, like)
    chosen: list[int] = []
    for i in sorted(range(len(texts)), key=lambda i: (-round(rank[i], 6), i)):
        if cost(i) > budget or any(like[i, j] > SAME for j in chosen):
            continue
        chosen.append(i)
        budget -= cost(i)
    return sorted(chosen)


def _rank(texts: Sequence[str], like: np.ndarray) -> list[float]:
    ties = np.argwhere(np.triu(like, 1) > FAINT)
    weights = like[ties[:, 0], ties[:, 1]].astype(np.float64).round(6)
    return pagerank(len(texts), ties, weights).tolist() if texts else []
