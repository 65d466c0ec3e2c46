"""A language model that may fail: asked while it answers, left alone while it does not.

Nobody waits long for it. An endpoint that fails three times in a row is left
alone, for longer each time, and tried in the background; whoever asks meanwhile
is told at once that there is no answer, and does without.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from seedbed_server.errors import PartUnavailableError
from seedbed_server.models.breaker import Breaker
from seedbed_server.models.llm import Llm

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What a model is told and asked; ``parse`` gives None for an answer that cannot be used."""

    instruction: str
    text: str
    parse: Callable[[str], T | None]
    max_tokens: int


class GuardedLlm:
    """Asks ``llm``, for at most ``patience`` seconds with all tries.

    ``harmless`` is what an endpoint that failed is tried with, and ``instead`` says
    in the log what is done while it is left alone.
    """

    def __init__(
        self, llm: Llm, harmless: Question[Any], *, patience: float, instead: str, breaker: Breaker | None = None
    ) -> None:
        self.model = llm.model
        self._patience = patience
        self._llm = llm
        self._harmless = harmless
        self._instead = instead
        self._breaker = breaker or Breaker()
        self._trying: asyncio.Task[None] | None = None

    @property
    def answers(self) -> bool:
        """Whether it is asked at all, and not left alone."""
        return self._breaker.closed

    @property
    def wait(self) -> float:
        """Seconds until it is tried again; 0 where a try is due, or none is needed."""
        return self._breaker.wait

    async def close(self) -> None:
        """Give up a try under way, and close the connections."""
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.gather(self._trying, return_exceptions=True)
        await self._llm.close()

    async def ask(self, question: Question[T]) -> T | None:
        """Return what is made of the answer; None where there is none of use, and at once while it is left alone."""
        if not self.answers:
            self._try_again()
            return None
        found = await self._answer(question)
        if found is not None:
            self._breaker.succeeded()
            return found
        self._breaker.failed()
        if not self.answers:
            log.warning("the language model is left alone for %.0f s; %s", self.wait, self._instead)
        return None

    async def _answer(self, question: Question[T]) -> T | None:
        try:
            async with asyncio.timeout(self._patience):
                return await self._llm.ask(
                    question.instruction, question.text, question.parse, max_tokens=question.max_tokens
                )
        except (PartUnavailableError, TimeoutError):
            return None
        except Exception as error:  # noqa: BLE001 - whatever it is, others do its work
            log.warning("the language model cannot be asked: %s", type(error).__name__)
            return None

    def _try_again(self) -> None:
        """Begin a try in the background where one is due."""
        under_way = self._trying is not None and not self._trying.done()
        if self.wait == 0 and not under_way:
            self._trying = asyncio.create_task(self._try())

    async def _try(self) -> None:
        if await self._answer(self._harmless) is None:
            self._breaker.failed_again()
        else:
            log.info("the language model answers again")
            self._breaker.succeeded()
