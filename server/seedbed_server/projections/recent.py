"""The vectors that were stored last: a memory in use takes them from here, whatever the store is busy with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

import numpy as np

MOST = 4_096
"""Rows that are kept: six megabytes with 384 dimensions, and more than two batches of long messages."""


class Recent:
    """At most ``most`` vectors by id ("<key>:…"), those that came last."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[str, np.ndarray] = OrderedDict()

    def put(self, ids: Iterable[str], vectors: Iterable[np.ndarray]) -> None:
        """Keep vectors under their ids, each of shape (dimensions,); the oldest go."""
        for id_, vector in zip(ids, vectors, strict=True):
            self._kept[id_] = vector
            self._kept.move_to_end(id_)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def of(self, ids: Iterable[str]) -> Mapping[str, np.ndarray]:
        """Those of the ids that are kept."""
        return {id_: self._kept[id_] for id_ in ids if id_ in self._kept}

    def forget(self, ids: Iterable[str]) -> None:
        """Keep these no longer."""
        for id_ in ids:
            self._kept.pop(id_, None)

    def drop(self, key: int) -> None:
        """Keep nothing of a memory."""
        self.forget([id_ for id_ in self._kept if id_.startswith(f"{key}:")])

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()
