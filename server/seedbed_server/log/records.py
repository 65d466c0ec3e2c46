"""What the log answers with. All of it is immutable, and safe to keep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seedbed.messages import Message
from seedbed.variants import Variant


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A memory as it stands.

    ``key`` is internal, and never used again, not even after the memory is
    deleted. ``last_seq`` is the newest seq ever written, ``message_count`` what
    is alive now; ``revision`` starts at 1 and grows with each change of settings.
    ``decided`` is the id of its newest decision about the graph, 0 without any.
    """

    key: int
    namespace: str
    name: str
    variant: Variant
    system: str
    created_at: datetime
    last_seq: int
    message_count: int
    revision: int
    decided: int = 0


@dataclass(frozen=True, slots=True)
class NewMemory:
    """The settings of a memory that a call creates."""

    variant: Variant
    system: str


@dataclass(frozen=True, slots=True)
class Appended:
    """A stored batch: ids in the order given, seqs from ``first_seq`` to ``last_seq`` without a gap."""

    key: int
    ids: tuple[str, ...]
    first_seq: int
    last_seq: int
    created: bool


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported batch: how many were stored, how many were known already, and the memory's newest seq.

    So with decisions; those that could not be stored count as skipped.
    ``created`` says that it made the memory.
    """

    key: int
    imported: int
    skipped: int
    last_seq: int
    decisions_imported: int = 0
    decisions_skipped: int = 0
    created: bool = False


@dataclass(frozen=True, slots=True)
class Erasure:
    """Messages that are gone; with ``whole``, the memory itself is, and ``seqs`` is empty.

    ``statements`` and ``decisions`` went with them; only who erased them is told how many.
    """

    id: int
    key: int
    seqs: tuple[int, ...]
    whole: bool
    statements: int = 0
    decisions: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """What follows in one memory.

    ``messages`` are the next ones alive, ``before`` those alive among the last
    ones before them; ``last_seq`` is that of the memory, None where it is deleted.
    """

    last_seq: int | None
    messages: tuple[Message, ...]
    before: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Pages:
    """What follows in several memories at one moment, by key, and the newest erasure of any."""

    by_key: dict[int, Page]
    erasure_id: int


@dataclass(frozen=True, slots=True)
class Head:
    """How far the log of one memory has come."""

    key: int
    last_seq: int
