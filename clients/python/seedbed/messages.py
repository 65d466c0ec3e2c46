"""The words of a conversation: a message and what it is made of.

Everything here is an immutable value, shared by the client, the in-process
memories and the server. Nothing here knows of gRPC or of storage.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

# Nothing is to be seen of controls, formatting and separators, nor of the fillers of some scripts, which are letters
# or symbols by their category. Lone surrogates count as what they are replaced by.
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(map(chr, range(0xFE00, 0xFE10)))

T = TypeVar("T")

MetadataScalar = str | int | float | bool
MetadataValue = MetadataScalar | tuple[MetadataScalar, ...]


@dataclass(frozen=True, slots=True)
class Media:
    """Content that is not text: kept and returned, never embedded.

    Exactly one of ``uri`` and ``data`` is set. A ``uri`` is never fetched.
    """

    media_type: str
    uri: str = ""
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that the model asked for; ``arguments`` is kept as written."""

    id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    ``id``, ``seq``, ``session`` and ``recorded_at`` are empty until the message
    is stored. ``time`` is when it was said, in UTC; order is by ``seq`` alone.
    """

    role: str
    parts: tuple[str | Media, ...] = ()
    name: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    time: datetime | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    id: str = ""
    seq: int = 0
    session: str = ""
    recorded_at: datetime | None = None

    @property
    def text(self) -> str:
        """The text parts, joined by newlines: what is counted, indexed and quoted."""
        return "\n".join(part for part in self.parts if isinstance(part, str))

    @classmethod
    def user(cls, text: str, name: str = "") -> Message:
        """What a person said to the agent."""
        return cls("user", (text,), name)

    @classmethod
    def assistant(cls, text: str = "", name: str = "", tool_calls: tuple[ToolCall, ...] = ()) -> Message:
        """What the model answered, or which tools it asked for."""
        return cls("assistant", (text,) if text else (), name, tool_calls)

    @classmethod
    def system(cls, text: str) -> Message:
        """An instruction to the model."""
        return cls("system", (text,))

    @classmethod
    def tool(cls, text: str, tool_call_id: str, name: str = "") -> Message:
        """The result of a tool call."""
        return cls("tool", (text,), name, tool_call_id=tool_call_id)


def is_blank_text(text: str) -> bool:
    """Whether nothing is to be seen of a text: spaces, controls, zero-width characters and fillers only."""
    return all(char in _FILLERS or unicodedata.category(char) in _UNSEEN for char in text)


def transcript(messages: Iterable[T], kinds: type | tuple[type, ...] = Message) -> Iterator[T]:
    """Return an iterator over ``messages``, each of which is of the ``kinds``.

    Raises TypeError that says what stands where a message should, and how one is
    made: at once for what is no list, else when it is reached.
    """
    if isinstance(messages, Message | str | Mapping) or not isinstance(messages, Iterable):
        raise TypeError(f"messages: must be a list of Message, not {_a(messages)}; one alone is [Message.user(text)]")
    return _each(messages, kinds)


def _each(messages: Iterable[T], kinds: type | tuple[type, ...]) -> Iterator[T]:
    for place, message in enumerate(messages):
        if not isinstance(message, kinds):
            raise TypeError(f"messages[{place}]: must be a Message, such as Message.user(text), not {_a(message)}")
        if isinstance(getattr(message, "parts", ()), str):  # it would be sent letter by letter
            raise TypeError(f"messages[{place}].parts: must be a tuple, such as (text,), not a str")
        yield message


def _a(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
