"""A circuit breaker: whoever has failed several times in a row is left alone for a while, longer each time."""

from __future__ import annotations

import time
from collections.abc import Callable

STRIKES = 3
"""Failures in a row that open it."""

FIRST = 5.0
MOST = 300.0
"""Seconds that it stays open: doubled with each failed try, from the first to at most the last."""


class Breaker:
    """Closed while all is well. ``clock`` gives seconds that only go forward."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._strikes = 0
        self._openings = 0
        self._until = 0.0

    @property
    def closed(self) -> bool:
        """Whether work may be sent."""
        return self._openings == 0

    @property
    def wait(self) -> float:
        """Seconds until a try is due; 0 where it is, or none is needed."""
        return 0.0 if self.closed else max(0.0, self._until - self._clock())

    def succeeded(self) -> None:
        """All is well again."""
        self._strikes = self._openings = 0

    def failed(self) -> None:
        """Work failed. What was under way when it opened changes nothing more."""
        self._strikes += 1
        if self.closed and self._strikes >= STRIKES:
            self._open()

    def failed_again(self) -> None:
        """The try of an open one failed."""
        self._open()

    def _open(self) -> None:
        self._until = self._clock() + min(MOST, FIRST * 2.0 ** min(self._openings, 20))
        self._openings += 1
