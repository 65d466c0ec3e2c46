"""Turns to entities and claims by a language model, and by the local tagger wherever that gives nothing of use.

A message is never lost to it, nor does it wait long: an endpoint that fails three
times in a row is left alone, for longer each time, and tried in the background,
while the local tagger reads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from seedbed_server.errors import PartUnavailableError
from seedbed_server.models.breaker import Breaker
from seedbed_server.models.contract import Extraction, Reader, Turn
from seedbed_server.models.llm import Llm
from seedbed_server.models.llm_reading import INSTRUCTION, READ_LIMIT, VERSION, question, read_answer

log = logging.getLogger(__name__)

TRY_SECONDS = 20.0
"""For one try of a call; a call has two."""

PATIENCE = 30.0
"""Seconds for one message, both tries together."""

MAX_TOKENS = 3000
"""Of an answer."""

HARMLESS = Turn("I live in Lisbon.", "Maya", "", None)
"""What an endpoint that failed is tried with."""


class LlmTagger:
    """Asks ``llm`` for at most ``calls`` messages at once. Also a part of the server's status."""

    name = "llm"
    restarts = 0

    def __init__(self, llm: Llm, local: Reader, *, calls: int, breaker: Breaker | None = None) -> None:
        self._llm = llm
        self._local = local
        self._breaker = breaker or Breaker()
        self._most = calls
        self._calls = asyncio.Semaphore(calls)
        self._trying: asyncio.Task[None] | None = None
        self._read = 0
        self._left = 0

    @property
    def fingerprint(self) -> str:
        """The local tagger's, the model's name, and the version of what it is asked."""
        return f"{self._local.fingerprint}/{VERSION}/{self._llm.model}"

    @property
    def at_once(self) -> int:
        """As many turns as calls, so that all take the time of one; the local tagger's while that reads."""
        return self._most if self._breaker.closed else self._local.at_once

    @property
    def state(self) -> str:
        """The words "ready", or "down" while the endpoint is left alone."""
        return "ready" if self._breaker.closed else "down"

    @property
    def detail(self) -> str:
        """How many messages were read by whom since the start, and when the endpoint is tried next."""
        said = f"extraction: {self._read} messages read by the endpoint, {self._left} by local models instead"
        return said if self._breaker.closed else f"{said}; next try in {self._breaker.wait:.0f} s"

    async def close(self) -> None:
        """Give up a try under way, and close the connections."""
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.gather(self._trying, return_exceptions=True)
        await self._llm.close()

    async def extract(self, turns: Sequence[Turn]) -> list[Extraction | None]:
        """One extraction a turn, in order; None for a turn that nobody could read. PartUnavailableError("tagger")."""
        self._try_again()
        found: list[Extraction | None] = await asyncio.gather(*map(self._ask, turns))
        left = [at for at, extraction in enumerate(found) if extraction is None]
        for at, extraction in zip(left, await self._local.extract([turns[at] for at in left]), strict=True):
            found[at] = extraction
        self._read += len(turns) - len(left)
        self._left += len(left)
        return found

    async def probe(self) -> None:
        """Ask the local tagger: the endpoint may answer while that is down. PartUnavailableError("tagger")."""
        await self._local.probe()

    async def _ask(self, turn: Turn) -> Extraction | None:
        if len(turn.text) > READ_LIMIT:
            return None
        async with self._calls:
            if not self._breaker.closed:
                return None
            found = await self._answer(turn)
        if found is None:
            self._breaker.failed()
            if not self._breaker.closed:
                log.warning("the language model is left alone for %.0f s; local models read", self._breaker.wait)
        else:
            self._breaker.succeeded()
        return found

    async def _answer(self, turn: Turn) -> Extraction | None:
        try:
            async with asyncio.timeout(PATIENCE):
                parse = partial(read_answer, turn=turn)
                return await self._llm.ask(INSTRUCTION, question(turn), parse, max_tokens=MAX_TOKENS)
        except (PartUnavailableError, TimeoutError):
            return None
        except Exception as error:  # noqa: BLE001 - whatever it is, the local tagger reads
            log.warning("the language model cannot be asked: %s", type(error).__name__)
            return None

    def _try_again(self) -> None:
        """Begin a try in the background where one is due."""
        under_way = self._trying is not None and not self._trying.done()
        if not self._breaker.closed and self._breaker.wait == 0 and not under_way:
            self._trying = asyncio.create_task(self._try())

    async def _try(self) -> None:
        if await self._answer(HARMLESS) is None:
            self._breaker.failed_again()
        else:
            log.info("the language model answers again")
            self._breaker.succeeded()
