"""Finding the one message that a projection cannot be made of.

A batch that fails is applied by halves, down to single messages. One that fails
by itself is passed; one that takes its part down, only after that part has read
something harmless in between, several times: else the part is simply down.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seedbed_server.errors import UnavailableError
from seedbed_server.projections.contract import Backoff, Batch, Projection, StoreLostError
from seedbed_server.projections.derived import Derived

log = logging.getLogger(__name__)

PATIENCE = 4  # failures in a row of a part before a message is suspected of killing it
STRIKES = 3  # how often a message must bring down a part that is well without it


class _KilledError(Exception):
    """A part went down over a batch, and is well without it."""


class Isolation:
    """Applies batches of one projection with care. Does not move the cursor."""

    def __init__(self, projection: Projection[Any], derived: Derived, backoff: Backoff) -> None:
        self._projection = projection
        self._derived = derived
        self._backoff = backoff

    async def apply(self, batch: Batch) -> Counter[int]:
        """Apply all messages that can be; returns by memory how many were passed. Raises UnavailableError."""
        skipped: Counter[int] = Counter()
        await self._halve(batch, skipped)
        return skipped

    async def _halve(self, batch: Batch, skipped: Counter[int], strike: int = 1) -> None:
        try:
            skipped.update(await self._apply(batch))
        except (UnavailableError, StoreLostError):
            raise
        except Exception as error:  # noqa: BLE001 - any error may be the message's fault
            if len(batch.messages) > 1:
                await self._halves(batch, skipped)
            elif isinstance(error, _KilledError) and strike < STRIKES:
                await self._halve(batch, skipped, strike + 1)
            else:
                log.warning(
                    "projection %s passed a message it could not read: %s",
                    self._projection.names[0],
                    type(error).__name__,
                )
                skipped[batch.key] += 1

    async def _apply(self, batch: Batch) -> Mapping[int, int]:
        """All three steps for one batch, without the cursor; returns what was skipped."""
        try:
            prepared = await self._projection.prepare([batch])
        except UnavailableError:
            if await self._well():
                raise _KilledError from None
            raise
        await self._projection.store(prepared)
        await self._derived.write(lambda db: self._projection.commit(db, prepared))
        await self._projection.committed(prepared)
        return prepared.skipped

    async def _halves(self, batch: Batch, skipped: Counter[int]) -> None:
        middle = len(batch.messages) // 2
        first, second = batch.messages[:middle], batch.messages[middle:]
        await self._halve(replace(batch, messages=first), skipped)
        before = (*batch.before, *first)[-self._projection.reach :] if self._projection.reach else ()
        await self._halve(replace(batch, messages=second, before=before), skipped)

    async def _well(self) -> bool:
        """Whether the projection's part reads a harmless message, within some tries."""
        for failures in range(1, PATIENCE + 1):
            try:
                await self._projection.probe()
            except UnavailableError:
                await asyncio.sleep(self._backoff.seconds(failures))
            else:
                return True
        return False
