"""From the legs' scores to one order.

The score is a plain weighted sum of quantities that mean the same in every
memory, so it needs no statistics of the candidates, holds for a memory of one
message, and its parts add up to it exactly:

    dense      cosine of the query and the message in its context
    lexical    share of the query's weight that the message and its context hold
    exact      share of the query's identifiers that the message itself holds
    time       the query speaks of the time at which the message was said
    graph      relevance of the best fact that stems from the message
    answer     such a fact answers the query by itself: where one lives, say
    speaker    the query names the one who spoke
    role       long-winded assistants without a name repeat what others said

Weights and the choice of legs were measured on two kinds of conversation, each
half tuned and the other half scored: docs/recall.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seedbed_server.recall.layout import Floats, Mask, Rows

DENSE = 1.0
LEXICAL = 2.0
EXACT = 1.0  # an identifier outweighs what neighbours and other words can give
TIME = 0.15
GRAPH = 0.15
ANSWER = 1.0
SPEAKER = 0.10
ROLE = -0.15


@dataclass(frozen=True, slots=True)
class LegScores:
    """One leg's raw score, contribution and rank (from 1; 0 for not found) of each row returned; shapes (k,)."""

    raw: Floats
    contribution: Floats
    rank: Rows


@dataclass(frozen=True, slots=True)
class Scores:
    """The best rows, their fused scores, and what each leg gave; shapes (k,).

    ``related`` is False when no row at all is about what was asked.
    """

    rows: Rows
    fused: Floats
    legs: Mapping[str, LegScores]
    related: bool = True


def fuse(
    legs: Mapping[str, tuple[Floats, float]], alive: Mask, k: int, gists: npt.NDArray[np.int64] | None = None
) -> Scores:
    """Return the ``k`` best rows alive, best first; equal ones newest first.

    ``legs`` are raw scores of shape (n,) with their weights. Of rows with the same
    one of ``gists``, shape (n,), only the best is returned.
    """
    fused = np.zeros(len(alive))
    for raw, weight in legs.values():
        fused += weight * raw
    best = _best(fused, np.flatnonzero(alive), k) if gists is None else _distinct(fused, alive, k, gists)
    shown = {name: _leg(raw, weight, alive, best) for name, (raw, weight) in legs.items()}
    return Scores(best, fused[best], shown)


def _best(fused: Floats, rows: Rows, k: int) -> Rows:
    if len(rows) > k > 0:
        # All that tie with the last one are kept for the exact order below.
        last = np.partition(fused[rows], len(rows) - k)[len(rows) - k]
        rows = rows[fused[rows] >= last]
    best: Rows = rows[np.lexsort((-rows, -fused[rows]))][:k]
    return best


def _distinct(fused: Floats, alive: Mask, k: int, gists: npt.NDArray[np.int64]) -> Rows:
    """The best rows of different gists: looked for among more and more of the best, until there are enough."""
    rows = np.flatnonzero(alive)
    among = 4 * k
    while True:
        best = _best(fused, rows, among)
        _, first = np.unique(gists[best], return_index=True)
        if len(first) >= k or among >= len(rows):
            distinct: Rows = best[np.sort(first)][:k]
            return distinct
        among *= 8


def _leg(raw: Floats, weight: float, alive: Mask, best: Rows) -> LegScores:
    mine = weight * raw[best] + 0.0  # never -0.0
    if not mine.any():  # most legs have nothing to say of most queries, and ranks cost a sort
        return LegScores(raw[best], mine, np.zeros(len(best), dtype=np.intp))
    pulls = np.sort((weight * raw)[alive])
    rank = len(pulls) - np.searchsorted(pulls, mine, side="right") + 1
    return LegScores(raw[best], mine, np.where(raw[best] != 0, rank, 0))
