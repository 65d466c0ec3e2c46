"""Where the rows of a memory stand in their sessions, and how a value spreads to its neighbours.

A turn is rarely understood alone: the answer stands next to the question. So
every signal of a message, its term counts as well as its vector, is spread over
the messages around it in the same session, with a weight that falls with the
distance. One rule takes the place of separate indexes over pairs, triples and
whole sessions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

# Weight 0.6 ** distance, up to 6 messages away. Measured against narrower and wider ones: docs/recall.md.
DECAY = 0.6
REACH = 6
OFFSETS = np.arange(-REACH, REACH + 1)
WEIGHTS = DECAY ** np.abs(OFFSETS).astype(np.float64)


@dataclass(frozen=True)
class Layout:
    """The rows of a memory in the order of their sessions, and which of them a search may see.

    ``session_of`` is the number of each row's session, ``alive`` what may be
    seen; both of shape (n,).
    """

    session_of: Rows
    alive: Mask

    @cached_property
    def order(self) -> Rows:
        """The rows session by session, each in the order of seq; shape (n,)."""
        return np.argsort(self.session_of, kind="stable")

    @cached_property
    def place(self) -> Rows:
        """Where each row stands in ``order``; shape (n,)."""
        place = np.empty_like(self.order)
        place[self.order] = np.arange(len(place))
        return place

    def neighbours(self, rows: Rows) -> tuple[Rows, Mask]:
        """The rows around each of ``rows``, and which of them count: same session, alive. Shapes (m, 2 REACH + 1)."""
        n = len(self.order)
        places = self.place[rows][:, None] + OFFSETS
        near = self.order[np.clip(places, 0, n - 1)]
        counts = (places >= 0) & (places < n) & (self.session_of[near] == self.session_of[rows][:, None])
        return near, counts & self.alive[near]

    def cut_off(self) -> Rows:
        """The rows alive that have a neighbour in reach, of their session, that is not."""
        session, alive = self.session_of[self.order], self.alive[self.order]
        cut = np.zeros_like(alive)
        if not alive.all():
            for step in range(1, REACH + 1):
                same = session[step:] == session[:-step]
                cut[step:] |= same & ~alive[:-step]
                cut[:-step] |= same & ~alive[step:]
        return self.order[cut & alive]

    @cached_property
    def slot(self) -> Rows:
        """Where each row stands in a line of all sessions, with REACH empty slots around each session; shape (n,)."""
        session = self.session_of[self.order]
        new = np.ones(len(session), dtype=np.intp)
        new[1:] = session[1:] != session[:-1]
        slot = np.empty_like(self.order)
        slot[self.order] = np.arange(len(slot)) + REACH * np.cumsum(new)
        return slot

    def spread(self, rows: Rows, values: Floats) -> Floats:
        """Spread the values at ``rows``, all alive, over their neighbours; returns shape (n,), 0 where not alive.

        Nothing crosses the empty slots between two sessions, so nobody has to look where one ends.
        """
        near = self.slot[rows][:, None] + OFFSETS
        line = np.bincount(near.ravel(), weights=(values[:, None] * WEIGHTS).ravel(), minlength=self._slots)
        return np.where(self.alive, line[self.slot], 0.0)

    def spread_all(self, values: Floats) -> Floats:
        """Spread the values of all rows alive, shape (n,), over their neighbours: quicker than ``spread`` for many."""
        line = np.zeros(self._slots)
        line[self.slot] = np.where(self.alive, values, 0.0)
        spread: Floats = np.convolve(line, WEIGHTS, "same")[self.slot]
        return spread

    @cached_property
    def _slots(self) -> int:
        return int(self.slot.max(initial=0)) + REACH + 1
