"""What an agent needs of a memory, wherever it lives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from seedbed.messages import Message
from seedbed.seeds import Seed, Shown


@runtime_checkable
class Memory(Protocol):
    """A memory: in process, remote, or a class of your own.

    ``read`` gives what is stored, ``seed`` what the model should see now: the
    seed may be a small part of the store, and is never the store itself. A
    class of your own that inherits from this one gets a ``seed`` that shows
    all that ``read`` gives, and may override it.

    Where several objects stand for one and the same store, as handles of a
    remote memory do, a hashable attribute ``store`` says so: what has equal
    stores is written to once.
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

    def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:  # noqa: ARG002 - the default shows all
        """Return what the model should see now, in at most ``max_tokens`` tokens."""
        from seedbed.packing import pack

        return pack("", [Shown(type(self).__name__, recent=tuple(self.read()))], max_tokens)
