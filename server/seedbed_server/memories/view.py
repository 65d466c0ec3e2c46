"""A memory as one question sees it: which session, up to which message, with which query."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seedbed.messages import Message
from seedbed.recency import conversation
from seedbed.seeds import Shown
from seedbed.tokens import message_tokens
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
        """Return newest messages of the session that hold at least ``max_tokens`` tokens, or all there are."""
        if max_tokens is None:
            return await self._newest(_EVERYTHING)
        n = _FIRST_READ
        while True:
            messages = await self._newest(n)
            if len(messages) < n or sum(map(message_tokens, messages)) >= max_tokens:
                return messages
            n *= 4
