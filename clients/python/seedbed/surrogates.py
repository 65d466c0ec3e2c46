"""Text that UTF-8 cannot carry: lone halves of surrogate pairs, as broken decoders leave them.

Each becomes U+FFFD, the replacement character. A pair that was split into two
halves becomes the one character it was. All other text stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seedbed.messages import Media, Message, MetadataValue, ToolCall


def text_for_wire(text: str) -> str:
    """``text`` with U+FFFD for each lone surrogate: what protobuf can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # A surrogate pair is one character that was split; a lone half is lost.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def message_for_wire(message: Message) -> Message:
    """A message all of whose text can be sent."""
    return replace(
        message,
        id=text_for_wire(message.id),
        session=text_for_wire(message.session),
        role=text_for_wire(message.role),
        name=text_for_wire(message.name),
        parts=tuple(part_for_wire(part) for part in message.parts),
        tool_calls=tuple(call_for_wire(call) for call in message.tool_calls),
        tool_call_id=text_for_wire(message.tool_call_id),
        metadata=metadata_for_wire(message.metadata),
    )


def part_for_wire(part: str | Media) -> str | Media:
    """A content part all of whose text can be sent."""
    if isinstance(part, str):
        return text_for_wire(part)
    return replace(part, media_type=text_for_wire(part.media_type), uri=text_for_wire(part.uri))


def call_for_wire(call: ToolCall) -> ToolCall:
    """A tool call all of whose text can be sent."""
    return ToolCall(text_for_wire(call.id), text_for_wire(call.name), text_for_wire(call.arguments))


def metadata_for_wire(metadata: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
    """Metadata whose keys and values can be sent."""
    return {text_for_wire(key): value_for_wire(value) for key, value in metadata.items()}


def value_for_wire(value: Any) -> Any:
    """A metadata value that can be sent; what is no text stays."""
    if isinstance(value, str):
        return text_for_wire(value)
    return tuple(value_for_wire(inner) for inner in value) if isinstance(value, (tuple, list)) else value
