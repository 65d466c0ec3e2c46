"""What a memory shows: the parts it is made from, and the finished seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from seedbed.messages import Media, Message, ToolCall


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of a seed and where it comes from.

    ``kind`` is "pin", "message", "summary", "fact", "note" or "recalled";
    ``origin`` names the variant that chose it. ``score`` is 0 where the variant
    does not rank; ``tokens`` is what it takes in the finished seed. ``seq`` is
    the place of a recalled message in its log, 0 where that is not known.
    """

    origin: str
    kind: str
    text: str
    name: str = ""
    role: str = ""
    time: datetime | None = None
    score: float = 0.0
    source_ids: tuple[str, ...] = ()
    tokens: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """What one variant wants to show, before the budget is applied.

    ``items`` go to the leading system message and come most important first;
    ``recent`` is a contiguous newest tail of the session, oldest first.
    ``truncated`` and ``omitted`` (counts by origin) say what a budget of the
    part's own has cut and left out already; ``below_floor`` how many candidates
    were withheld because none of them is about the query.
    """

    origin: str
    items: tuple[Item, ...] = ()
    recent: tuple[Message, ...] = ()
    degraded: bool = False
    truncated: bool = False
    omitted: Mapping[str, int] = field(default_factory=dict)
    below_floor: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeedMessage:
    """One message of a seed, with the items it is made of."""

    role: str
    parts: tuple[str | Media, ...]
    name: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    items: tuple[Item, ...] = ()

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return "\n".join(part for part in self.parts if isinstance(part, str))


@dataclass(frozen=True, slots=True)
class Seed:
    """What the model should see now.

    ``tokens`` counts the whole, and never exceeds the budget; ``truncated``
    says that something was cut or left out for it, ``omitted`` how many items
    of each part; ``below_floor`` how many each withheld because none of them is
    about the query. ``applied_seq`` and ``degraded`` are as in the server's reply.
    """

    entries: tuple[SeedMessage, ...]
    tokens: int = 0
    truncated: bool = False
    omitted: Mapping[str, int] = field(default_factory=dict)
    applied_seq: int = 0
    degraded_parts: tuple[str, ...] = ()
    below_floor: Mapping[str, int] = field(default_factory=dict)

    @property
    def degraded(self) -> bool:
        """True when some part could not answer in full."""
        return bool(self.degraded_parts)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages as a chat API takes them (OpenAI's message format)."""
        return [chat_message(entry) for entry in self.entries]

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Ids of the messages whose own words are in the seed, in its order."""
        kinds = ("message", "recalled")
        found = [i for entry in self.entries for item in entry.items if item.kind in kinds for i in item.source_ids]
        return tuple(dict.fromkeys(found))


def chat_message(entry: SeedMessage | Message) -> dict[str, Any]:
    """Return one message in OpenAI's chat format; text-only content becomes a plain string."""
    content: Any = entry.text
    if any(isinstance(part, Media) for part in entry.parts):
        content = [_chat_part(part) for part in entry.parts]
    message: dict[str, Any] = {"role": entry.role, "content": content}
    if entry.name:
        message["name"] = entry.name
    if entry.tool_call_id:
        message["tool_call_id"] = entry.tool_call_id
    if entry.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in entry.tool_calls
        ]
    return message


def _chat_part(part: str | Media) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.uri:
        return {"type": "image_url", "image_url": {"url": part.uri}}
    from base64 import b64encode

    data = b64encode(part.data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{data}"}}
