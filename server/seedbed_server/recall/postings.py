"""Lexical scores over a memory: BM25 of each message, of its neighbourhood, and of its session.

Only the messages' own term counts are stored. A neighbourhood's counts are the
sum of three messages' counts, a session's the sum of all its messages' counts;
both are formed at query time, so there is one index and nothing to keep in step.

BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
and Beyond" (2009), with the idf of Lucene, which is never negative.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

K1 = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """Per row: BM25 of the message, of the message with its neighbours, of its session. Shapes (n,)."""

    single: Floats
    context: Floats
    session: Floats
    most: float
    """The most that any document could score on this query: the sum of the terms' idf, times K1 + 1."""


@dataclass(slots=True)
class _Term:
    rows: array[int] = field(default_factory=lambda: array("i"))
    counts: array[int] = field(default_factory=lambda: array("i"))


class Postings:
    """Term counts by row. Rows are added in order and never change."""

    def __init__(self) -> None:
        self._terms: dict[str, _Term] = {}
        self._lengths = array("i")

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """Roughly the bytes held: eight per posting, and some 400 for a term's own objects."""
        return 8 * sum(len(term.rows) for term in self._terms.values()) + 400 * len(self._terms) + 4 * len(self)

    def add(self, terms: Sequence[str]) -> None:
        """Append a row with these terms; an empty row is a message without words."""
        row = len(self._lengths)
        for term, count in Counter(terms).items():
            posting = self._terms.get(term)
            if posting is None:
                posting = self._terms[term] = _Term()
            posting.rows.append(row)
            posting.counts.append(count)
        self._lengths.append(len(terms))

    def score(self, terms: Sequence[str], layout: Layout) -> LexicalScores:
        """Score every row against the query's terms.

        ``layout`` says which rows are neighbours and which share a session, and
        which are alive: dead rows neither score nor count.
        """
        n = len(self)
        lengths = np.array(self._lengths, dtype=np.float64) * layout.alive
        single = _Field(lengths, layout.alive)
        context = _Field(layout.around(lengths), layout.alive)
        session = _Field(layout.by_session(lengths), layout.by_session(layout.alive.astype(np.float64)) > 0)
        most = 0.0
        for term, repeats in Counter(terms).items():
            posting = self._terms.get(term)
            if posting is None:
                most += float(np.log1p((n + 0.5) / 0.5)) * (K1 + 1)
                continue
            counts = np.zeros(n)
            counts[np.array(posting.rows, dtype=np.intp)] = np.array(posting.counts)
            counts *= layout.alive
            weight = 1.0 + np.log(repeats)
            most += single.add(counts, weight) * (K1 + 1)
            context.add(layout.around(counts), weight)
            session.add(layout.by_session(counts), weight)
        return LexicalScores(single.scores, context.scores, session.scores[layout.session_of], most)


class _Field:
    """BM25 over one kind of document, a term at a time."""

    def __init__(self, lengths: Floats, alive: npt.NDArray[np.bool_]) -> None:
        self.scores = np.zeros(len(lengths))
        self._total = max(int(alive.sum()), 1)
        mean = max(float(lengths[alive].mean()) if alive.any() else 1.0, 1.0)
        self._norm = K1 * (1 - B + B * lengths / mean)

    def add(self, counts: Floats, weight: float) -> float:
        """Add one term's part; returns its weighted idf."""
        rows = np.flatnonzero(counts)
        idf = weight * float(np.log1p((self._total - len(rows) + 0.5) / (len(rows) + 0.5)))
        found = counts[rows]
        self.scores[rows] += idf * found * (K1 + 1) / (found + self._norm[rows])
        return idf


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the rows of a memory stand: neighbours and sessions. All shapes (n,).

    ``before`` and ``after`` hold the row of the neighbour inside the session, or
    n where there is none.
    """

    before: Rows
    after: Rows
    session_of: Rows
    sessions: int
    alive: npt.NDArray[np.bool_]

    def around(self, values: Floats) -> Floats:
        """Each row's value plus its two neighbours'."""
        padded = np.append(values, 0.0)
        return (values + padded[self.before] + padded[self.after]) * self.alive

    def by_session(self, values: Floats) -> Floats:
        """Sums per session, shape (sessions,)."""
        return np.bincount(self.session_of, weights=values, minlength=self.sessions)
