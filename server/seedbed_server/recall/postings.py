"""Lexical scores: BM25 over term counts that are spread over neighbouring messages.

The formula is BM25 (Robertson and Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond", 2009) with Lucene's idf, divided by the most that
any message could score on the query. So it lies in [0, 1), and means the same
in a memory of three messages and in one of a million: what share of the query's
weight is found here.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np

from seedbed_server.recall.layout import Floats, Layout, Mask

K1 = 1.2
B = 1.0
# Messages that are taken to exist beside the real ones, without any of the query's terms: in a tiny memory every word
# would else be as good as rare.
PSEUDO = 10


class Postings:
    """Term counts by row. Rows are added in order and never change."""

    def __init__(self) -> None:
        self._terms: dict[str, tuple[array[int], array[int]]] = {}
        self._lengths = array("i")
        self._count = 0
        self._normed: tuple[Layout, Floats, int] | None = None

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """Roughly the bytes held: eight a posting, and some 400 for the objects of a term."""
        return 8 * self._count + 400 * len(self._terms) + 4 * len(self)

    def add(self, terms: Sequence[str]) -> None:
        """Append a row with these terms; none is a message without words."""
        row = len(self._lengths)
        for term, count in Counter(terms).items():
            rows, counts = self._terms.setdefault(term, (array("i"), array("i")))
            rows.append(row)
            counts.append(count)
            self._count += 1
        self._lengths.append(len(terms))

    def score(self, terms: Sequence[str], layout: Layout) -> Floats:
        """Score every row against the query's terms; shape (n,), each in [0, 1), 0 where not alive."""
        norm, total = self._norms(layout)
        scores = np.zeros(len(self))
        most = 0.0
        for term in dict.fromkeys(terms):
            counts = self._spread(term, layout)
            found = np.flatnonzero(counts)
            idf = _idf(total, len(found))
            most += idf
            here = counts[found]
            scores[found] += idf * here / (here + norm[found])
        return scores / max(most, 1e-9)

    def holding(self, term: str) -> Mask:
        """Which rows hold the term themselves; shape (n,)."""
        rows, _ = self._terms.get(term, (array("i"), array("i")))
        held = np.zeros(len(self), dtype=np.bool_)
        held[np.array(rows, dtype=np.intp)] = True
        return held

    def coverage(self, terms: Sequence[str], alive: Mask) -> Floats:
        """Share of the query's weight in each row on its own, however often and among how many words; shape (n,)."""
        total = int(np.count_nonzero(alive)) + PSEUDO
        covered = np.zeros(len(self))
        most = 0.0
        for term in dict.fromkeys(terms):
            held = self.holding(term) & alive
            weight = _idf(total, int(np.count_nonzero(held)))
            most += weight
            covered[held] += weight
        return covered / max(most, 1e-9)

    def _norms(self, layout: Layout) -> tuple[Floats, int]:
        """What BM25 adds to the counts of each row, by its length with its neighbours', and the number of messages.

        Kept for the layout that was asked for last.
        """
        if self._normed is None or self._normed[0] is not layout:
            rows = np.flatnonzero(layout.alive)
            lengths = layout.spread(rows, np.array(self._lengths, dtype=np.float64)[rows])
            mean = max(float(lengths[rows].mean()), 1e-9) if len(rows) else 1.0
            self._normed = (layout, K1 * (1 - B + B * lengths / mean), len(rows) + PSEUDO)
        return self._normed[1:]

    def _spread(self, term: str, layout: Layout) -> Floats:
        rows, counts = self._terms.get(term, (array("i"), array("i")))
        at = np.array(rows, dtype=np.intp)
        seen = layout.alive[at]
        return layout.spread(at[seen], np.array(counts, dtype=np.float64)[seen])


def _idf(total: int, holding: int) -> float:
    """Weight of a term that so many of all messages hold."""
    return float(np.log1p((total - holding + 0.5) / (holding + 0.5)))
