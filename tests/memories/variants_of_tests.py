"""Custom variants, as a package of their own registers them."""

import threading
from collections.abc import Iterable

from seedbed import Memory, Message, Seed, SeedMessage


class Shout(Memory):
    """Shows the last ``n`` messages in capitals, as a note."""

    def __init__(self, n: int = 2) -> None:
        self.n = n
        self.stored: list[Message] = []

    def read(self) -> list[Message]:
        return self.stored

    def write(self, messages: Iterable[Message]) -> None:
        self.stored.extend(messages)

    def clear(self) -> None:
        self.stored.clear()

    def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
        return Seed((SeedMessage("system", (" / ".join(m.text.upper() for m in self.stored[-self.n :]),)),))


class Faulty(Shout):
    """Fails where ``where`` says: "make", "write", "seed", or answers with "nonsense"."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where
        self._maybe("make")

    def write(self, messages: Iterable[Message]) -> None:
        self._maybe("write")
        super().write(messages)

    def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
        self._maybe("seed")
        return "nonsense"  # type: ignore[return-value]

    def _maybe(self, place: str) -> None:
        if self.where == place:
            raise RuntimeError("a secret that must not leave")


class Stuck(Shout):
    """Never answers."""

    def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
        threading.Event().wait()
        raise AssertionError
