"""A memory as one question sees it: which session, up to which message, with which query."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seedbed.messages import Message
from seedbed.recency import conversation, reach, units
from seedbed.seeds import Shown
from seedbed_server.log import Log, MemoryRecord

# Messages read before their tokens are counted; four times as many each time they do not fill the budget.
_FIRST_READ = 64
_EVERYTHING = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Ask:
    """What a seed is asked for; no ``max_tokens`` leaves the variant's own budget."""

    session: str
    query: str = ""
    max_tokens: int | None = None
    valid_at: datetime | None = None
    known_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a part shows; ``applied_seq`` is how far the derived store behind it was, if there is one."""

    shown: Shown
    applied_seq: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What the parts of a seed read from. ``budget`` is that of the whole seed, in tokens."""

    log: Log
    record: MemoryRecord
    ask: Ask
    upto_seq: int
    budget: int | None

    @property
    def key(self) -> int:
        """The memory's key."""
        return self.record.key

    async def tail(self, n: int) -> list[Message]:
        """Return newest messages of the session with at least ``n`` that count, or all there are, oldest first.

        Pins and memory blocks that an agent wrote back stand among them and do not count.
        """
        wanted = n
        while wanted > 0:
            messages = await self._newest(wanted)
            if len(messages) < wanted or len(conversation(messages, self.record.system)) >= n:
                return messages
            wanted *= 2
        return []

    async def _newest(self, n: int) -> list[Message]:
        return await self.log.tail(self.key, session=self.ask.session, n=n, upto_seq=self.upto_seq)

    async def tail_within(self, max_tokens: int | None) -> list[Message]:
        """Return newest messages of the session, as many as decide what fits ``max_tokens``, or all there are.

        They are more than fit, and the last user message is among them: it is
        kept while those after it give way.
        """
        if max_tokens is None:
            return await self._newest(_EVERYTHING)
        n = _FIRST_READ
        while True:
            messages = await self._newest(n)
            if len(messages) < n or self._overflow(messages, max_tokens):
                return messages
            n *= 4

    def _overflow(self, messages: list[Message], max_tokens: int) -> bool:
        said = conversation(messages, self.record.system)
        every = units(said)
        more = sum(unit.cost for unit in every) > max_tokens and any(unit.is_user for unit in every)
        return more or len(said) > reach(max_tokens)
