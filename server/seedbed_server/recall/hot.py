"""One memory, loaded for recall: its rows, its words and its vectors, in arrays.

A row is a message. Rows are added in the order of seq and never change; an
erasure drops the whole hot memory, and it is loaded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from seedbed_server.recall.postings import Layout, Postings

Matrix = npt.NDArray[np.float32]
_NONE = -1


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
        """The rows in use; later growth does not move them under a reader."""
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


class HotMemory:
    """The arrays of one memory. Not safe for use from two threads at once.

    ``erased`` is how many messages had been erased from the memory when this was
    loaded. ``words_upto`` and ``vectors_upto`` are the seqs up to which words
    and vectors are here.
    """

    def __init__(self, key: int, dimensions: int, erased: int) -> None:
        self.key = key
        self.erased = erased
        self.postings = Postings()
        self._seqs = Growing(np.int64)
        self._session_of = Growing(np.intp)
        self._before = Growing(np.intp)
        self._after = Growing(np.intp)
        self._sessions: dict[str, int] = {}
        self._newest: dict[int, int] = {}
        self._chunks = Growing(np.float32, dimensions)
        self._owners = Growing(np.intp)
        self.words_upto = 0
        self.vectors_upto = 0

    def __len__(self) -> int:
        return len(self._seqs)

    @property
    def nbytes(self) -> int:
        """Roughly the bytes held."""
        arrays = (self._seqs, self._session_of, self._before, self._after, self._chunks, self._owners)
        return self.postings.nbytes + sum(held.nbytes for held in arrays)

    @property
    def seqs(self) -> npt.NDArray[np.int64]:
        """Seq of each row, ascending; shape (n,)."""
        return self._seqs.view

    def add(self, seq: int, session_name: str, terms: Sequence[str]) -> None:
        """Append a message and its terms."""
        at = len(self)
        session = self._sessions.setdefault(session_name, len(self._sessions))
        before = self._newest.get(session, _NONE)
        self._newest[session] = at
        if before != _NONE:
            self._after.view[before] = at
        self._seqs.extend([seq])
        self._session_of.extend([session])
        self._before.extend([before])
        self._after.extend([_NONE])
        self.postings.add(terms)

    def add_vectors(self, seqs: Sequence[int], chunks: Sequence[Matrix], upto: int) -> None:
        """Append the chunk vectors of messages, each of shape (chunks, dimensions), up to seq ``upto``.

        The words of these messages must be here; vectors that are here already are skipped.
        """
        new = [at for at, seq in enumerate(seqs) if self.vectors_upto < seq <= upto]
        rows = np.searchsorted(self.seqs, [seqs[at] for at in new])
        for row, at in zip(rows, new, strict=True):
            self._chunks.extend(chunks[at])
            self._owners.extend(np.full(len(chunks[at]), row))
        self.vectors_upto = max(self.vectors_upto, upto)

    def layout(self, session: str, upto_seq: int | None) -> Layout:
        """Return the neighbours and sessions of all rows.

        Alive are those of ``session`` (empty: of all) with a seq of at most ``upto_seq``.
        """
        n = len(self)
        alive = np.ones(n, dtype=np.bool_)
        if session:
            alive &= self._session_of.view == self._sessions.get(session, _NONE)
        if upto_seq is not None:
            alive &= self.seqs <= upto_seq
        before, after = self._before.view, self._after.view
        return Layout(
            before=np.where(before == _NONE, n, before),
            after=np.where(after == _NONE, n, after),
            session_of=self._session_of.view,
            sessions=max(len(self._sessions), 1),
            alive=alive,
        )

    def cosines(self, query: Matrix) -> npt.NDArray[np.float64]:
        """Cosine of the query, shape (dimensions,), with the best chunk of each row; 0 where a row has none."""
        best = np.full(len(self), -np.inf)
        np.maximum.at(best, self._owners.view, (self._chunks.view @ query).astype(np.float64))
        return np.where(np.isneginf(best), 0.0, best)
