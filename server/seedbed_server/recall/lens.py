"""What a search looks through: queries and memories in the vectors of one encoder.

A change of the model is a change of lens. A search keeps the one that it began
with, since the vectors of two encoders cannot be compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from seedbed_server.recall.memories import HotMemories
from seedbed_server.recall.queries import QueryVectors

_PAUSE = 0.05


@dataclass(slots=True)
class Lens:
    """The loaded memories and the vectors of queries, of one encoder."""

    hot: HotMemories
    queries: QueryVectors
    _searches: int = 0

    @contextmanager
    def looking(self) -> Iterator[None]:
        """A search is under way while the block lasts."""
        self._searches += 1
        try:
            yield
        finally:
            self._searches -= 1

    async def idle(self) -> None:
        """Wait until no search looks through it any more; each ends by itself."""
        while self._searches:  # noqa: ASYNC110 - once in a change of the model, for a moment
            await asyncio.sleep(_PAUSE)
