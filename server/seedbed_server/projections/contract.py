"""What the projector and a projection promise each other."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

from seedbed.messages import Message
from seedbed.variants import Variant

Rows = TypeVar("Rows")


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait for a part: ``first`` seconds, doubled up to ``most``."""

    first: float = 0.25
    most: float = 15.0

    def seconds(self, failures: int) -> float:
        """The wait after so many failures in a row."""
        return min(self.most, self.first * 2.0 ** min(failures - 1, 20))


class StoreLostError(Exception):
    """What a projection had stored is gone: it has to begin at the start of the log."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive messages of one memory that something can be derived from.

    ``messages`` go up by ``seq``; messages without text and echoes are left out.
    ``before`` are up to ``Projection.reach`` messages that stand before the
    first one, for context only.
    """

    key: int
    messages: tuple[Message, ...]
    before: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared(Generic[Rows]):
    """What was derived and is not stored yet, and how many messages per memory could not be read."""

    rows: Rows
    skipped: Mapping[int, int] = field(default_factory=Counter)


class Projection(ABC, Generic[Rows]):
    """One derived store.

    A batch goes through three steps: ``prepare`` derives (slow, stores nothing),
    ``store`` writes to what is outside the SQLite file, ``commit`` writes rows in
    the transaction that moves the cursor. The next batch is prepared while the
    last one is stored. Every step may be repeated for the same messages: rows are
    replaced, never added twice.

    ``names`` are what it is reported as.
    ``fingerprint`` says what makes it; another one begins at the start of the log.
    ``reach`` is on how many messages before it a message's rows depend.
    ``together`` is how many memories, with keys one after another, are stored in
    one place, so that it pays to have them in one batch.
    """

    names: ClassVar[tuple[str, ...]]
    schema: ClassVar[str]
    reach: ClassVar[int] = 0
    together: ClassVar[int] = 1

    @property
    def cursor(self) -> str:
        """The name of its cursor: one for each projection that is kept, also of two that are reported alike."""
        return self.names[0]

    @property
    def batch_messages(self) -> int:
        """How many messages are prepared at once. Erasures and rebuilds wait for them: it should take moments."""
        return 128

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """What makes the rows: models and versions of rules."""

    async def open(self) -> None:
        """Compare what is stored outside the SQLite file with it.

        Raises PartUnavailableError when it cannot be asked now, and StoreLostError
        when the two do not belong together.
        """

    def lost(self, db: sqlite3.Connection) -> None:
        """Delete what is noted here of a store that is gone; runs in the transaction that sets the cursors back."""

    @abstractmethod
    async def prepare(self, batches: Sequence[Batch]) -> Prepared[Rows]:
        """Derive the rows of several memories' messages at once. Raises PartUnavailableError to be called again."""

    async def probe(self) -> None:
        """Let the part that a message may bring down read a harmless one. Raises PartUnavailableError if it is down."""
        await self.prepare([Batch(0, (Message.user("How are you?"),))])

    async def store(self, prepared: Prepared[Rows]) -> None:
        """Write what lives outside the SQLite file."""

    @abstractmethod
    def commit(self, db: sqlite3.Connection, prepared: Prepared[Rows]) -> None:
        """Write the rows; runs in the writer thread, inside the cursor's transaction."""

    async def committed(self, prepared: Prepared[Rows]) -> None:
        """What is to be done once the rows are committed; nothing may depend on it after a crash."""

    async def run(self) -> None:
        """Work of its own beside the log's order, until cancelled; most have none and return."""

    def trouble(self) -> str:
        """Name the part that this work waits for; empty when all is well."""
        return ""

    @abstractmethod
    async def forget(self, key: int, seqs: Sequence[int]) -> Mapping[str, int]:
        """Erase all that only these messages support; returns rows erased by reported name."""

    @abstractmethod
    async def drop(self, key: int) -> Mapping[str, int]:
        """Erase everything of a memory; returns rows erased by reported name."""


class Record(Protocol):
    """What a projector needs to know of a memory."""

    @property
    def last_seq(self) -> int:
        """The seq of its newest message."""
        ...

    @property
    def variant(self) -> Variant:
        """How it is read."""
        ...


class Erasure(Protocol):
    """An entry in the log's list of erasures."""

    @property
    def id(self) -> int:
        """Its place in the list."""
        ...

    @property
    def key(self) -> int:
        """The memory."""
        ...

    @property
    def seqs(self) -> tuple[int, ...]:
        """The messages erased; empty when ``whole``."""
        ...

    @property
    def whole(self) -> bool:
        """The memory itself was deleted."""
        ...


class Head(Protocol):
    """Where a memory's log stands."""

    @property
    def key(self) -> int:
        """The memory."""
        ...

    @property
    def last_seq(self) -> int:
        """The seq of its newest message."""
        ...


class Page(Protocol):
    """What follows in one memory."""

    @property
    def last_seq(self) -> int | None:
        """The seq of its newest message; None where the memory is deleted."""
        ...

    @property
    def messages(self) -> Sequence[Message]:
        """The next messages alive, by seq."""
        ...

    @property
    def before(self) -> tuple[Message, ...]:
        """Those alive among the last ones before them."""
        ...


class Pages(Protocol):
    """What follows in several memories, at one moment."""

    @property
    def by_key(self) -> Mapping[int, Page]:
        """The memories that were read."""
        ...

    @property
    def erasure_id(self) -> int:
        """The newest erasure of any memory."""
        ...


class Source(Protocol):
    """The part of the log that projections read."""

    async def record(self, key: int) -> Record | None:
        """Return a memory, or None when it is deleted."""
        ...

    async def heads(self) -> Sequence[Head]:
        """Return where every memory stands."""
        ...

    async def read(self, key: int, *, after_seq: int = 0, limit: int, session: str = "") -> Sequence[Message]:
        """Return messages alive, by seq."""
        ...

    async def pages(self, after: Mapping[int, int], *, share: int, limit: int, reach: int, max_bytes: int) -> Pages:
        """Return what follows these seqs in several memories, in their order, until it is enough.

        Enough are ``limit`` messages, or ``max_bytes``. Each memory has at most
        ``share`` of them, and ``reach`` before them; the first has at least one.
        """
        ...

    async def by_seqs(self, key: int, seqs: Sequence[int]) -> Mapping[int, Message]:
        """Return those of the messages that are alive."""
        ...

    async def erasures(self, after_id: int, limit: int) -> Sequence[Erasure]:
        """Return erasures in order."""
        ...
