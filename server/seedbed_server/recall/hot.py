"""One memory, loaded for recall: its rows, its words and its vectors, in arrays.

A row is a message. Rows are added in the order of seq and never change; an
erasure drops the whole hot memory, and it is loaded again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seedbed_server.projections import analysis
from seedbed_server.projections.lexical import DAY_TERMS
from seedbed_server.projections.rows import LATEST
from seedbed_server.recall.layout import WEIGHTS, Floats, Layout, Mask, Rows
from seedbed_server.recall.postings import Postings

Matrix = npt.NDArray[np.float32]
# A message of at least this many chunks is also compared chunk by chunk: the mean of so many says little of any one.
# From fewer on it did no good: docs/recall.md.
LONG = 8
_ROWS_AT_ONCE = 1024
_CANCELLED = 1e-3  # a sum of unit vectors that is shorter points nowhere: its cosine is 0, not what rounding left
# Names that say what speaks, not who; as terms, since that is how the names of speakers come here.
_GENERIC = ("", "user", "assistant", "ai", "bot", "system", "human", "agent", "tool")
GENERIC_NAMES = frozenset(tuple(analysis.terms(name)) for name in _GENERIC)


class Growing:
    """A NumPy array that grows at its end, doubling its room: amortised constant time per row."""

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        self._room = np.zeros((16,) if width is None else (16, width), dtype=dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        return self._room.nbytes

    @property
    def view(self) -> npt.NDArray[Any]:
        """The rows in use."""
        return self._room[: self._used]

    def extend(self, rows: npt.ArrayLike) -> None:
        """Append rows."""
        values = np.asarray(rows, dtype=self._room.dtype)
        need = self._used + len(values)
        if need > len(self._room):
            room = np.zeros((max(need, 2 * len(self._room)), *self._room.shape[1:]), dtype=self._room.dtype)
            room[: self._used] = self.view
            self._room = room
        self._room[self._used : need] = values
        self._used = need


@dataclass(frozen=True, slots=True)
class Row:
    """What recall keeps of a message: ``name`` holds the terms of the speaker's name, ``terms`` all others.

    ``time`` is when it was said, in seconds since 1970, if that is known.
    """

    seq: int
    session: str
    role: str
    name: tuple[str, ...]
    terms: tuple[str, ...]
    time: float | None = None

    @property
    def gist(self) -> int:
        """Equal for messages of one speaker in the same words, whatever their case, marks, endings and day."""
        said = self.terms if self.time is None else self.terms[:-DAY_TERMS]
        digest = hashlib.blake2b("\n".join([*self.name, "", *said]).encode(), digest_size=8).digest()
        return int.from_bytes(digest, signed=True)


class HotMemory:
    """The arrays of one memory. Not safe for use from two threads at once.

    ``erased`` is how many messages had been erased from the memory when this was
    loaded. ``words_upto`` and ``vectors_upto`` are the seqs up to which words
    and vectors are here.
    """

    def __init__(self, key: int, dimensions: int, erased: int) -> None:
        self.key = key
        self.erased = erased
        self.words_upto = 0
        self.vectors_upto = 0
        self.postings = Postings()
        self._seqs = Growing(np.int64)
        self._session_of = Growing(np.intp)
        self._sessions: dict[str, int] = {}
        self._name_of = Growing(np.intp)
        self._names: dict[tuple[str, ...], int] = {}
        self._generic_assistant = Growing(np.bool_)
        self._times = Growing(np.float64)
        self._gists = Growing(np.int64)
        self._own = Growing(np.float32, dimensions)
        self._lengths = Growing(np.float32)  # of each row's sum with its neighbours, before it is made a unit
        self._chunks = Growing(np.float32, dimensions)
        self._chunk_rows = Growing(np.intp)
        self._everything: Layout | None = None

    def __len__(self) -> int:
        return len(self._seqs)

    @property
    def nbytes(self) -> int:
        """Roughly the bytes held."""
        by_row = (self._seqs, self._session_of, self._name_of, self._generic_assistant, self._times, self._gists)
        vectors = (self._own, self._lengths, self._chunks, self._chunk_rows)
        return self.postings.nbytes + sum(held.nbytes for held in (*by_row, *vectors))

    @property
    def seqs(self) -> npt.NDArray[np.int64]:
        """Seq of each row, ascending; shape (n,)."""
        return self._seqs.view

    def add(self, rows: Sequence[Row], upto: int) -> None:
        """Append messages, in the order of seq, all there are up to seq ``upto``; their vectors may follow later."""
        first = len(self)
        for row in rows:
            self.postings.add((*row.name, *row.terms))
        self._everything = None
        self._seqs.extend([row.seq for row in rows])
        self._session_of.extend([self._sessions.setdefault(row.session, len(self._sessions)) for row in rows])
        self._name_of.extend([self._names.setdefault(row.name, len(self._names)) for row in rows])
        self._generic_assistant.extend([row.role == "assistant" and _is_generic(row.name) for row in rows])
        # The last microseconds of the calendar are beyond it as a float.
        self._times.extend([np.nan if row.time is None else min(row.time, LATEST) for row in rows])
        self._gists.extend([row.gist for row in rows])
        self._own.extend(np.zeros((len(rows), self._own.view.shape[1]), dtype=np.float32))
        self._lengths.extend(np.zeros(len(rows), dtype=np.float32))
        if self.vectors_upto:
            new = np.arange(first, len(self))
            self._lengths.view[new] = self._lengths_of(new, self.layout("", None))
        self.words_upto = max(self.words_upto, upto)

    def add_vectors(self, seqs: Sequence[int], chunks: Sequence[Matrix], upto: int) -> None:
        """Set the chunk vectors of messages, each of shape (chunks, dimensions), up to seq ``upto``.

        The words of these messages must be here. Vectors that are here already
        are skipped, and those of a message that is not: it has been erased.
        """
        wanted = np.asarray(seqs, dtype=np.int64)
        rows, here = self.rows_of(seqs)
        due = (wanted > self.vectors_upto) & (wanted <= upto)
        rows, new = rows[due[here]], np.flatnonzero(here & due)
        for row, at in zip(rows, new.tolist(), strict=True):
            self._own.view[row] = _unit(chunks[at].mean(axis=0))
            if len(chunks[at]) >= LONG:
                self._chunks.extend(chunks[at])
                self._chunk_rows.extend(np.full(len(chunks[at]), row))
        if len(rows):
            layout = self.layout("", None)
            near, counts = layout.neighbours(rows)
            touched = np.unique(near[counts])
            self._lengths.view[touched] = self._lengths_of(touched, layout)
        self.vectors_upto = max(self.vectors_upto, upto)

    def layout(self, session: str, upto_seq: int | None) -> Layout:
        """Return how the rows stand; alive are those of ``session`` (empty: of all) up to ``upto_seq``."""
        if not session and (upto_seq is None or not len(self) or upto_seq >= self.seqs[-1]):
            return self._whole()
        alive = np.ones(len(self), dtype=np.bool_)
        if session:
            alive &= self._session_of.view == self._sessions.get(session, -1)
        if upto_seq is not None:
            alive &= self.seqs <= upto_seq
        return Layout(self._session_of.view, alive)

    def _whole(self) -> Layout:
        """The layout with every row alive: what most searches ask for. Kept, since its parts are worked out once."""
        if self._everything is None:
            self._everything = Layout(self._session_of.view, np.ones(len(self), dtype=np.bool_))
        return self._everything

    def cosines(self, query: Matrix, layout: Layout) -> Floats:
        """Cosine of the query, shape (dimensions,), with each row in its context; shape (n,).

        The context is the weighted sum of the row's vector and those of its
        neighbours, so its product with the query is the sum of theirs, and the sum
        itself is never held. It is 0 where neither the row nor one around it has a
        vector, or they cancel each other. The neighbours are those alive: near the end of what a search may
        see lengths are worked out anew. Rows that are not alive have a cosine of no
        meaning.
        """
        lengths = self._lengths.view.astype(np.float64)
        cut = layout.cut_off()
        if len(cut):
            lengths[cut] = self._lengths_of(cut, layout)
        sums = layout.spread_all(self.own_cosines(query))
        cosines = np.where(lengths > _CANCELLED, sums / np.maximum(lengths, _CANCELLED), 0.0)
        if len(self._chunks):
            np.maximum.at(cosines, self._chunk_rows.view, (self._chunks.view @ query).astype(np.float64))
        return cosines

    def own_cosines(self, query: Matrix) -> Floats:
        """Cosine of the query, shape (dimensions,), with each row on its own; shape (n,)."""
        return (self._own.view @ query).astype(np.float64)

    def rows_of(self, seqs: Sequence[int]) -> tuple[Rows, Mask]:
        """The rows of those of ``seqs`` that are here, and which these are; shapes (m,) and (len(seqs),)."""
        wanted = np.asarray(seqs, dtype=np.int64)
        places = np.searchsorted(self.seqs, wanted)
        here = np.append(self.seqs, -1)[places] == wanted
        return places[here], here

    def named(self, terms: Sequence[str]) -> Mask:
        """Which rows are spoken by somebody whom the query's terms name; shape (n,)."""
        asked = frozenset(terms)
        hit = np.zeros(len(self._names), dtype=np.bool_)
        for name, code in self._names.items():
            hit[code] = not _is_generic(name) and not asked.isdisjoint(name)
        spoken: Mask = hit[self._name_of.view]
        return spoken

    @property
    def times(self) -> Floats:
        """When each row was said, in seconds since 1970; NaN where that is not known; shape (n,)."""
        return self._times.view

    @property
    def gists(self) -> npt.NDArray[np.int64]:
        """Equal for rows that say the same; shape (n,)."""
        return self._gists.view

    @property
    def generic_assistant(self) -> Mask:
        """Which rows are the words of an assistant without a name of its own; shape (n,)."""
        return self._generic_assistant.view

    def _lengths_of(self, rows: Rows, layout: Layout) -> Floats:
        """Length of the weighted sum of each row's vector and its neighbours'; shape (m,)."""
        found = np.empty(len(rows))
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            near, counts = layout.neighbours(rows[start : start + _ROWS_AT_ONCE])
            weights = np.where(counts, WEIGHTS, 0.0).astype(np.float32)
            sums = np.matmul(weights[:, None, :], self._own.view[near])[:, 0, :]
            found[start : start + _ROWS_AT_ONCE] = np.linalg.norm(sums, axis=1)
        return found


def _is_generic(name: tuple[str, ...]) -> bool:
    return name in GENERIC_NAMES


def _unit(vectors: Matrix) -> Matrix:
    """Scale to unit length along the last axis; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Matrix = vectors / np.maximum(lengths, 1e-9)
    return scaled
