"""Between the values of this package and the protobuf messages of the contract.

Nothing is lost either way, with three stated exceptions: a lone surrogate
becomes U+FFFD (protobuf strings are UTF-8), a time without a zone is taken as
UTC, and times are kept to the microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from seedbed import variants
from seedbed.messages import Media, Message, MetadataScalar, MetadataValue, ToolCall
from seedbed.v1 import message_pb2, variant_pb2

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def message_to_proto(message: Message) -> message_pb2.Message:
    """Return ``message`` as the contract's Message; ValueError where an integer is over 64 bits."""
    proto = message_pb2.Message(
        id=_clean(message.id),
        seq=message.seq,
        session=_clean(message.session),
        role=_clean(message.role),
        name=_clean(message.name),
        tool_call_id=_clean(message.tool_call_id),
    )
    for part in message.parts:
        _add_part(proto.parts.add(), part)
    for call in message.tool_calls:
        proto.tool_calls.add(id=_clean(call.id), name=_clean(call.name), arguments=_clean(call.arguments))
    if message.time is not None:
        _set_time(proto.time, message.time)
    if message.recorded_at is not None:
        _set_time(proto.recorded_at, message.recorded_at)
    for key, value in message.metadata.items():
        _set_value(proto.metadata[_clean(key)], value)
    return proto


def message_from_proto(proto: message_pb2.Message) -> Message:
    """Return the contract's Message as a value; a content part of an unknown kind is left out."""
    return Message(
        role=proto.role,
        parts=tuple(_part(part) for part in proto.parts if part.WhichOneof("kind")),
        name=proto.name,
        tool_calls=tuple(ToolCall(call.id, call.name, call.arguments) for call in proto.tool_calls),
        tool_call_id=proto.tool_call_id,
        time=_time(proto.time) if proto.HasField("time") else None,
        metadata=_values(proto.metadata),
        id=proto.id,
        seq=proto.seq,
        session=proto.session,
        recorded_at=_time(proto.recorded_at) if proto.HasField("recorded_at") else None,
    )


def variant_to_proto(variant: variants.Variant) -> variant_pb2.Variant:
    """Return ``variant`` as the contract's Variant, every setting written out.

    Raises TypeError for what the contract cannot say: a class of your own that
    is not ``Custom``, or a Hybrid part that is a memory in this process.
    """
    proto = variant_pb2.Variant()
    match variant:
        case variants.Hybrid():
            proto.hybrid.max_tokens = variant.max_tokens
            for part in variant.parts:
                if not isinstance(part, variants.Variant):
                    raise TypeError("a memory in this process cannot be part of a variant that is sent")
                proto.hybrid.parts.append(variant_to_proto(part))
        case variants.Custom():
            proto.custom.name = _clean(variant.name)
            for key, value in variant.options.items():
                _set_value(proto.custom.options[_clean(key)], value)
        case _:
            _set_plain(proto, variant)
    return proto


def variant_from_proto(proto: variant_pb2.Variant) -> variants.Variant:
    """Return the contract's Variant as a value; an unset setting has its default. ValueError if no kind is set."""
    kind = proto.WhichOneof("kind")
    if kind is None:
        raise ValueError("the variant has no kind")
    chosen = getattr(proto, kind)
    if kind == "hybrid":
        parts = [variant_from_proto(part) for part in proto.hybrid.parts]
        return variants.Hybrid(*parts, **_settings(chosen, ("max_tokens",)))
    if kind == "custom":
        return variants.Custom(proto.custom.name, _values(proto.custom.options))
    make, fields = _PLAIN[kind]
    return make(**_settings(chosen, fields))


# The variants that are nothing but numbers: field of the oneof -> class and its settings.
_PLAIN: dict[str, tuple[Callable[..., variants.Variant], tuple[str, ...]]] = {
    "buffer": (variants.Buffer, ()),
    "window": (variants.Window, ("n",)),
    "token_buffer": (variants.TokenBuffer, ("max_tokens",)),
    "summary": (variants.Summary, ("threshold",)),
    "summary_buffer": (variants.SummaryBuffer, ("max_tokens",)),
    "entity": (variants.Entity, ("max_entities", "recent")),
    "knowledge_graph": (variants.KnowledgeGraph, ("max_facts", "recent")),
    "vector": (variants.Vector, ("k",)),
}


def _set_plain(proto: variant_pb2.Variant, variant: variants.Variant) -> None:
    for kind, (make, fields) in _PLAIN.items():
        if type(variant) is make:
            chosen = getattr(proto, kind)
            chosen.SetInParent()
            for field in fields:
                setattr(chosen, field, getattr(variant, field))
            return
    raise TypeError("the contract has no such variant")


def _settings(proto: Any, fields: tuple[str, ...]) -> dict[str, int]:
    return {field: getattr(proto, field) for field in fields if proto.HasField(field)}


def _clean(text: str) -> str:
    """``text`` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _add_part(proto: message_pb2.ContentPart, part: str | Media) -> None:
    if isinstance(part, str):
        proto.text = _clean(part)
        return
    proto.media.media_type = _clean(part.media_type)
    if part.uri:
        proto.media.uri = _clean(part.uri)
    else:
        proto.media.data = part.data


def _part(proto: message_pb2.ContentPart) -> str | Media:
    if proto.WhichOneof("kind") == "text":
        return proto.text
    return Media(proto.media.media_type, proto.media.uri, proto.media.data)


def _set_time(proto: Timestamp, time: datetime) -> None:
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    proto.seconds = since.days * 86_400 + since.seconds
    proto.nanos = since.microseconds * 1_000


def _time(proto: Timestamp) -> datetime:
    return _EPOCH + timedelta(seconds=proto.seconds, microseconds=proto.nanos // 1_000)


def _set_value(proto: message_pb2.MetadataValue, value: MetadataValue) -> None:
    if isinstance(value, bool):  # before int: a bool is one
        proto.bool_value = value
    elif isinstance(value, int):
        proto.int_value = value
    elif isinstance(value, float):
        proto.double_value = value
    elif isinstance(value, str):
        proto.string_value = _clean(value)
    else:
        proto.list_value.SetInParent()
        for item in value:
            _set_value(proto.list_value.values.add(), item)


def _values(protos: Mapping[str, message_pb2.MetadataValue]) -> dict[str, MetadataValue]:
    return {key: _value(value) for key, value in protos.items() if value.WhichOneof("kind")}


def _value(proto: message_pb2.MetadataValue) -> MetadataValue:
    if proto.WhichOneof("kind") == "list_value":
        items = (_scalar(item) for item in proto.list_value.values)
        return tuple(item for item in items if item is not None)
    scalar = _scalar(proto)
    assert scalar is not None
    return scalar


def _scalar(proto: message_pb2.MetadataValue) -> MetadataScalar | None:
    kind = proto.WhichOneof("kind")
    if kind is None or kind == "list_value":
        return None
    scalar: MetadataScalar = getattr(proto, kind)
    return scalar
