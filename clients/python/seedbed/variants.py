"""The variants: how a memory is read.

A variant is a value, not a store. The same memory can be read through any of
them; a memory merely remembers which one is its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seedbed.messages import MetadataValue

if TYPE_CHECKING:
    from seedbed.local import LocalMemory
    from seedbed.memory import Memory


class Variant:
    """What every variant can do: be pinned to a system prompt, in process."""

    __slots__ = ()

    def with_system(self, system: str) -> LocalMemory:
        """Return an empty in-process memory read through this variant, with ``system`` pinned."""
        from seedbed.local import LocalMemory

        return LocalMemory(self, system=system)


@dataclass(frozen=True, slots=True)
class Buffer(Variant):
    """Every message of the session."""


@dataclass(frozen=True, slots=True)
class Window(Variant):
    """The last ``n`` messages; 0 shows none."""

    n: int = 10


@dataclass(frozen=True, slots=True)
class TokenBuffer(Variant):
    """The newest contiguous messages that fit ``max_tokens``, the pin included."""

    max_tokens: int = 2000


@dataclass(frozen=True, slots=True)
class Summary(Variant):
    """A running summary, and the messages not folded yet: at most ``threshold`` of them."""

    threshold: int = 20


@dataclass(frozen=True, slots=True)
class SummaryBuffer(Variant):
    """A summary of what overflows ``max_tokens``, and the newest messages."""

    max_tokens: int = 2000


@dataclass(frozen=True, slots=True)
class Entity(Variant):
    """Notes on at most ``max_entities`` entities that matter to the query, and ``recent`` messages."""

    max_entities: int = 5
    recent: int = 4


@dataclass(frozen=True, slots=True)
class KnowledgeGraph(Variant):
    """At most ``max_facts`` current facts around the query's entities, and ``recent`` messages."""

    max_facts: int = 20
    recent: int = 4


@dataclass(frozen=True, slots=True)
class Vector(Variant):
    """The ``k`` past messages that answer the query, oldest first, dated."""

    k: int = 4


@dataclass(frozen=True, slots=True, init=False)
class Hybrid(Variant):
    """Several variants under one budget, most important part first.

    In process, a part may also be a memory of its own, such as a remote one.
    """

    parts: tuple[Variant | Memory, ...]
    max_tokens: int

    def __init__(self, *parts: Variant | Memory, max_tokens: int = 2000) -> None:
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "max_tokens", max_tokens)


@dataclass(frozen=True, slots=True)
class Custom(Variant):
    """A variant of your own, registered under ``name`` in the entry-point group ``seedbed.variants``."""

    name: str
    options: Mapping[str, MetadataValue] = field(default_factory=dict)
