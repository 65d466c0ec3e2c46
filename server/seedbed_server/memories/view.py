"""A memory as one question sees it: which session, up to which message, with which query."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from seedbed.messages import Message
from seedbed.recency import conversation, reach, units
from seedbed.seeds import Shown
from seedbed_server.errors import TooLargeError
from seedbed_server.log import Log, MemoryRecord

# Messages read before their tokens are counted; four times as many each time they do not fill the budget.
_FIRST_READ = 64
_EVERYTHING = 1_000_000_000
# The most of a session that one seed reads, and the most that a seed may be: it stays under what the transport carries.
MOST_BYTES = 12 * 2**20


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
class _Read:
    """The newest messages of a session, so many as were asked for, or as may be shown (``cut``), or all."""

    asked: int
    messages: list[Message]
    cut: bool

    @property
    def is_all(self) -> bool:
        """Whether asking for more would bring no more."""
        return self.cut or len(self.messages) < self.asked


@dataclass(slots=True)
class View:
    """What the parts of a seed read from. ``budget`` is that of the whole seed, in tokens.

    ``asked_by`` is the user whom "I" means in the query; empty where it is in no first person, or nobody can tell.
    """

    log: Log
    record: MemoryRecord
    ask: Ask
    upto_seq: int
    budget: int | None
    asked_by: str = ""
    _read: _Read | None = field(default=None, init=False, repr=False)

    @property
    def key(self) -> int:
        """The memory's key."""
        return self.record.key

    async def tail(self, n: int) -> list[Message]:
        """Return newest messages of the session with at least ``n`` that count, or all there are, oldest first.

        Pins and memory blocks that an agent wrote back stand among them and do not count.
        Raises TooLargeError when they are more than an answer may hold.
        """
        wanted = n
        while wanted > 0:
            messages, cut = await self._newest(wanted)
            if cut and len(conversation(messages, self.record.system)) < n and not self._fills(messages, self.budget):
                raise too_large()
            if cut or len(messages) < wanted or len(conversation(messages, self.record.system)) >= n:
                return messages
            wanted *= 2
        return []

    async def after(self, seq: int) -> tuple[list[Message], bool]:
        """Return the session's messages after ``seq``, oldest first; True if the oldest are too many to be shown."""
        messages, cut = await self._newest(_EVERYTHING)
        later = [message for message in messages if message.seq > seq]
        return later, cut and len(later) == len(messages)

    async def _newest(self, n: int) -> tuple[list[Message], bool]:
        """At most ``n`` messages, and whether older ones of them are too many to be shown; read once for all parts."""
        if self._read is None or (n > self._read.asked and not self._read.is_all):
            messages, cut = await self.log.tail_within(
                self.key, session=self.ask.session, n=n, upto_seq=self.upto_seq, max_bytes=MOST_BYTES
            )
            self._read = _Read(n, messages, cut)
        messages = self._read.messages
        return messages[-n:], self._read.cut and n > len(messages)

    async def tail_within(self, max_tokens: int | None) -> list[Message]:
        """Return newest messages of the session, as many as decide what fits ``max_tokens``, or all there are.

        They are more than fit, and the last user message is among them: it is
        kept while those after it give way. Raises TooLargeError when what fits
        is more than an answer may hold.
        """
        n = _EVERYTHING if max_tokens is None else _FIRST_READ
        while True:
            messages, cut = await self._newest(n)
            if cut and not self._fills(messages, max_tokens):
                raise too_large()
            if cut or len(messages) < n or (max_tokens is not None and self._overflow(messages, max_tokens)):
                return messages
            n *= 4

    def _fills(self, messages: list[Message], max_tokens: int | None) -> bool:
        if max_tokens is None:
            return False
        said = conversation(messages, self.record.system)
        return sum(unit.cost for unit in units(said)) > max_tokens

    def _overflow(self, messages: list[Message], max_tokens: int) -> bool:
        said = conversation(messages, self.record.system)
        every = units(said)
        more = sum(unit.cost for unit in every) > max_tokens and any(unit.is_user for unit in every)
        return more or len(said) > reach(max_tokens)


def too_large() -> TooLargeError:
    """Say that the seed would be more than an answer may hold, and what to do about it."""
    return TooLargeError("max_tokens", "is needed, or a smaller one: the seed would be larger than an answer may be")
