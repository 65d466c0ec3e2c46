"""The vectors of queries: each text is encoded once, however many ask for it, and those that wait go together."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from seedbed_server.errors import PartUnavailableError

log = logging.getLogger(__name__)

Vector = npt.NDArray[np.float32]

# How long a search waits for the query's vector, in seconds: an encoder that hangs is no reason to find nothing.
PATIENCE = 5.0
AT_ONCE = 16  # texts of one call: the last of them waits for all
KEPT = 1024  # vectors; one and a half megabytes
KEPT_CHARACTERS = 1000  # of a text that is worth keeping: longer ones are hardly asked twice


class Encoder(Protocol):
    """What is needed of the encoder."""

    async def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, shape (texts, dimensions), float32."""
        ...


class QueryVectors:
    """Encodes queries. For one event loop."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._asked: dict[str, asyncio.Future[Vector | None]] = {}  # those that wait, and those under way
        self._waiting: list[str] = []
        self._running: asyncio.Task[None] | None = None

    def begin(self, text: str) -> None:
        """Let the encoder work on a text that will be asked for; returns at once."""
        if text in self._kept or text in self._asked:
            return
        self._asked[text] = asyncio.get_running_loop().create_future()
        self._waiting.append(text)
        if self._running is None:
            self._running = asyncio.create_task(self._encode())

    async def get(self, text: str) -> Vector | None:
        """Return the unit vector of a text, shape (dimensions,); None where the encoder does not answer in time."""
        self.begin(text)
        kept = self._kept.get(text)
        if kept is not None:
            self._kept.move_to_end(text)
            return kept
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.shield(self._asked[text])
        except TimeoutError:
            return None

    async def _encode(self) -> None:
        """Encode what waits, and what comes meanwhile, one call after the other: the encoder takes no two at a time."""
        while self._waiting:
            texts, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            for text, vector in zip(texts, await self._vectors(texts), strict=True):
                self._answer(text, vector)
        self._running = None

    async def _vectors(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        try:
            return list(await self._encoder.encode_queries(texts))
        except PartUnavailableError:
            return [None] * len(texts)
        except Exception as error:  # noqa: BLE001 - nobody waits for this task: it may not end with those who wait untold
            log.error("queries cannot be encoded: %s", type(error).__name__)  # noqa: TRY400 - the text may be a user's
            return [None] * len(texts)

    def _answer(self, text: str, vector: Vector | None) -> None:
        asked = self._asked.pop(text)
        if not asked.done():
            asked.set_result(vector)
        if vector is not None and len(text) <= KEPT_CHARACTERS:
            self._kept[text] = vector
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
