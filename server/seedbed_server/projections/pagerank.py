"""PageRank over weighted ties in both directions (Page, Brin, Motwani and Winograd, 1999), by power iteration.

That of networkx gives the same values; it has SciPy do the sums, which costs a
small process a tenth of its memory, and for graphs as small as these ten times
as long.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

DAMPING = 0.85
TOLERANCE = 1e-5  # change of a value, on average, at which the iteration ends
_LOOK = 4
MOST = 100  # iterations; 0.85 ** 100 is far below the tolerance


def pagerank(count: int, ties: Places, weights: Floats, start: Floats | None = None) -> Floats:
    """Return the rank of each of ``count`` nodes; they add up to 1.

    ``ties`` is (m, 2), the nodes at both ends, ``weights`` (m,), above 0. With
    ``start``, (count,) and not all 0, ranks are those of walks that begin there.
    """
    once = ties[:, 0] != ties[:, 1]  # a tie of a node with itself is one way, not two
    begin = np.concatenate([ties[:, 0], ties[once, 1]])
    end = np.concatenate([ties[:, 1], ties[once, 0]])
    weight = np.concatenate([weights, weights[once]])
    out = np.bincount(begin, weights=weight, minlength=count)
    share = weight / out[begin]
    alone = np.flatnonzero(out == 0)
    home = np.full(count, 1.0 / count) if start is None else start / start.sum()
    rank = home
    for step in range(MOST):
        before = rank
        rank = DAMPING * np.bincount(end, weights=before[begin] * share, minlength=count)
        rank += (1 - DAMPING + DAMPING * before[alone].sum()) * home
        # Looked at now and then: it takes as long as half a step.
        if step % _LOOK == 0 and np.abs(rank - before).sum() < count * TOLERANCE:
            break
    return rank
