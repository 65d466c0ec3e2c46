"""What an agent needs of a memory, wherever it lives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from seedbed.messages import Message
from seedbed.seeds import Seed


@runtime_checkable
class Memory(Protocol):
    """A memory: in process, remote, or a class of your own.

    ``read`` gives what is stored, ``seed`` what the model should see now: the
    seed may be a small part of the store, and is never the store itself.
    """

    def read(self) -> Sequence[Message]:
        """Return the stored messages, oldest first."""
        ...

    def write(self, messages: Iterable[Message]) -> object:
        """Store a transcript, all of it or nothing. What is returned is the memory's own: a receipt, a count, None."""
        ...

    def clear(self) -> object:
        """Forget the messages; the pin stays."""
        ...

    def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
        """Return what the model should see now, in at most ``max_tokens`` tokens."""
        ...
