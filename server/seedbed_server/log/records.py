"""What the log answers with. All of it is immutable, and safe to keep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

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
    """An imported batch: how many were stored, how many were known already, and the memory's newest seq."""

    key: int
    imported: int
    skipped: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class Erasure:
    """Messages that are gone; with ``whole``, the memory itself is, and ``seqs`` is empty."""

    id: int
    key: int
    seqs: tuple[int, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Head:
    """How far the log of one memory has come."""

    key: int
    last_seq: int
