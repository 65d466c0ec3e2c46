"""Turns to entities and claims by a language model, and by the local tagger wherever that gives nothing of use.

A message is never lost to it, nor does it wait long: the local tagger reads what
the endpoint does not, and all while that is left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from seedbed_server.models.breaker import Breaker
from seedbed_server.models.contract import Extraction, Reader, Turn
from seedbed_server.models.guarded import GuardedLlm, Question
from seedbed_server.models.llm import Llm
from seedbed_server.models.llm_reading import INSTRUCTION, READ_LIMIT, VERSION, question, read_answer

TRY_SECONDS = 20.0
"""For one try of a call; a call has two."""

PATIENCE = 30.0
"""Seconds for one message, both tries together."""

MAX_TOKENS = 3000
"""Of an answer."""

_HARMLESS = Turn("I live in Lisbon.", "Maya", "", None)


class LlmTagger:
    """Asks ``llm`` for at most ``calls`` messages at once. Also a part of the server's status."""

    name = "llm"
    restarts = 0

    def __init__(
        self, llm: Llm, local: Reader, *, calls: int, patience: float = PATIENCE, breaker: Breaker | None = None
    ) -> None:
        self._llm = GuardedLlm(
            llm, _question(_HARMLESS), patience=patience, instead="local models read", breaker=breaker
        )
        self._local = local
        self._most = calls
        self._calls = asyncio.Semaphore(calls)
        self._read = 0
        self._left = 0

    @property
    def fingerprint(self) -> str:
        """The local tagger's, the model's name, and the version of what it is asked."""
        return f"{self._local.fingerprint}/{VERSION}/{self._llm.model}"

    @property
    def at_once(self) -> int:
        """As many turns as calls, so that all take the time of one; the local tagger's while that reads."""
        return self._most if self._llm.answers else self._local.at_once

    @property
    def state(self) -> str:
        """The words "ready", or "down" while the endpoint is left alone."""
        return "ready" if self._llm.answers else "down"

    @property
    def detail(self) -> str:
        """How many messages were read by whom since the start, and when the endpoint is tried next."""
        said = f"extraction: {self._read} messages read by the endpoint, {self._left} by local models instead"
        return said if self._llm.answers else f"{said}; next try in {self._llm.wait:.0f} s"

    async def close(self) -> None:
        """Give up a try under way, and close the connections."""
        await self._llm.close()

    async def extract(self, turns: Sequence[Turn]) -> list[Extraction | None]:
        """One extraction a turn, in order; None for a turn that nobody could read. PartUnavailableError("tagger")."""
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
            return await self._llm.ask(_question(turn))


def _question(turn: Turn) -> Question[Extraction]:
    return Question(INSTRUCTION, question(turn), partial(read_answer, turn=turn), MAX_TOKENS)
