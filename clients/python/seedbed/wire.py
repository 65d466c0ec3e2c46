"""The words of Seedbed on the wire: dataclasses to protos and back, for client and server alike.

Both ways are total over what the dataclasses can say, and exact: what goes out
comes back equal. Three things are made fit for the wire on the way out: text
with lone surrogates gets U+FFFD in their place (UTF-8 has no other answer),
times become UTC, and lists of metadata become tuples. What cannot be said is
refused with `WireError`, a `ValueError` that names the field and never quotes
its content. Only protobuf is imported here, never gRPC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any

from google.protobuf.message import Message as Proto
from google.protobuf.timestamp_pb2 import Timestamp

from seedbed import variants
from seedbed.errors import FieldViolation, TooLargeError
from seedbed.messages import Media, Message, MetadataScalar, MetadataValue, ToolCall
from seedbed.seeds import Item, Seed, SeedMessage
from seedbed.surrogates import call_for_wire, message_for_wire, part_for_wire, text_for_wire, value_for_wire
from seedbed.v1 import memory_service_pb2, message_pb2, variant_pb2

MAX_CALL_BYTES = 16 * 2**20
"""Of one request, or of one element of a stream: what a server takes."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
# Years 1 to 9999: what google.protobuf.Timestamp allows, and datetime too.
_SECONDS = range(-62_135_596_800, 253_402_300_800)
_NANOS = range(1_000_000_000)
_BUDGET = memory_service_pb2.OMISSION_REASON_BUDGET
_BELOW_FLOOR = memory_service_pb2.OMISSION_REASON_BELOW_FLOOR


class WireError(ValueError):
    """A value cannot be said on the wire, or what came over it says nothing.

    ``path`` is the field's path from the object converted, such as
    ``parts[2]``; ``why`` is a fixed sentence that holds nothing of the content.
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


def sendable(proto: Proto, request_id: str = "") -> None:
    """Raise `TooLargeError` for what no server takes; gRPC itself would refuse it without saying what is wrong."""
    size = proto.ByteSize()
    if size > MAX_CALL_BYTES:
        why = f"{size:,} bytes are more than the {MAX_CALL_BYTES:,} that are sent at once"
        field = FieldViolation("request", why)
        raise TooLargeError(
            code="RESOURCE_EXHAUSTED", reason="TOO_LARGE", stored="no", fields=(field,), request_id=request_id
        )


# Times


def time_to_proto(time: datetime, path: str = "time") -> Timestamp:
    """Return ``time`` as a timestamp; a naive time is taken as UTC. Raises `WireError` outside the years 1 to 9999."""
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    since = time - _EPOCH
    seconds = since.days * 86_400 + since.seconds
    if seconds not in _SECONDS:
        raise WireError(path, "lies outside the years 1 to 9999 in UTC")
    return Timestamp(seconds=seconds, nanos=since.microseconds * 1_000)


def time_from_proto(stamp: Timestamp, path: str = "time") -> datetime:
    """Return ``stamp`` in UTC, to the microsecond (the rest is dropped). Raises `WireError` when out of range."""
    seconds, nanos = stamp.seconds, stamp.nanos
    if seconds not in _SECONDS or nanos not in _NANOS:
        raise WireError(path, "is not a timestamp of the years 1 to 9999")
    return _EPOCH + timedelta(0, seconds, nanos // 1_000)


# Metadata


def metadata_value_to_proto(value: MetadataValue, path: str = "metadata") -> message_pb2.MetadataValue:
    """Return a typed metadata value.

    Raises `WireError` for an integer beyond 64 bits and for NaN and infinities,
    `TypeError` for anything but str, int, float, bool and a flat tuple of them.
    """
    proto = message_pb2.MetadataValue()
    _put_value(proto, value, path)
    return proto


def _put_value(proto: message_pb2.MetadataValue, value: MetadataValue, path: str) -> None:
    if isinstance(value, str):
        proto.string_value = value
    # bool before int: it is one to Python, and not to the contract.
    elif isinstance(value, bool):
        proto.bool_value = value
    elif isinstance(value, int):
        if value not in _INT64:
            raise WireError(path, "holds an integer beyond 64 bits")
        proto.int_value = value
    elif isinstance(value, float):
        if not isfinite(value):
            raise WireError(path, "holds a number that is not finite")
        proto.double_value = value
    elif isinstance(value, (tuple, list)):
        # An empty list is a list too, so the kind is set before the first value.
        proto.list_value.SetInParent()
        for inner in value:
            if isinstance(inner, (tuple, list)):
                raise WireError(path, "holds a list inside a list")
            _put_value(proto.list_value.values.add(), inner, path)
    else:
        raise TypeError(f"{path}: {type(value).__name__} is not a type of metadata value")


def metadata_value_from_proto(proto: message_pb2.MetadataValue, path: str = "metadata") -> MetadataValue:
    """Return a metadata value; a list becomes a tuple. Raises `WireError` when unset, not finite, or nested."""
    kind = proto.WhichOneof("kind")
    if kind == "list_value":
        return tuple(_scalar_from_proto(value, path) for value in proto.list_value.values)
    return _scalar_from_proto(proto, path)


def _scalar_from_proto(proto: message_pb2.MetadataValue, path: str) -> MetadataScalar:
    kind = proto.WhichOneof("kind")
    if kind == "string_value":
        return proto.string_value
    if kind == "int_value":
        return proto.int_value
    if kind == "bool_value":
        return proto.bool_value
    if kind == "double_value":
        if not isfinite(proto.double_value):
            raise WireError(path, "holds a number that is not finite")
        return proto.double_value
    raise WireError(path, "holds a value without a kind" if kind is None else "holds a list inside a list")


def _metadata_from_proto(
    protos: Mapping[str, message_pb2.MetadataValue], path: str = "metadata"
) -> dict[str, MetadataValue]:
    return {key: metadata_value_from_proto(value, path) for key, value in protos.items()}


# Messages


def message_to_proto(message: Message) -> message_pb2.Message:
    """Return ``message`` on the wire, server-assigned fields too (a server ignores them on a write)."""
    try:
        return _message_to_proto(message)
    except WireError:
        raise
    except ValueError:
        # Nearly always unneeded, so it is paid only after protobuf refused a string.
        return _message_to_proto(message_for_wire(message))


def _message_to_proto(message: Message) -> message_pb2.Message:
    proto = message_pb2.Message(
        id=message.id, seq=message.seq, session=message.session, role=message.role, name=message.name,
        tool_call_id=message.tool_call_id,
    )  # fmt: skip
    _put_parts(proto.parts, message.parts)
    if message.tool_calls:
        _put_calls(proto.tool_calls, message.tool_calls)
    if message.time is not None:
        proto.time.CopyFrom(time_to_proto(message.time))
    if message.recorded_at is not None:
        proto.recorded_at.CopyFrom(time_to_proto(message.recorded_at, "recorded_at"))
    if message.metadata:
        for key, value in message.metadata.items():
            _put_value(proto.metadata[key], value, "metadata")
    return proto


def message_from_proto(proto: message_pb2.Message) -> Message:
    """Return the message that ``proto`` says. Raises `WireError` for a part or value without a kind, or a bad time."""
    return Message(
        proto.role,
        _parts_from_proto(proto.parts),
        proto.name,
        _calls_from_proto(proto.tool_calls) if proto.tool_calls else (),
        proto.tool_call_id,
        time_from_proto(proto.time) if proto.HasField("time") else None,
        _metadata_from_proto(proto.metadata) if proto.metadata else {},
        proto.id,
        proto.seq,
        proto.session,
        time_from_proto(proto.recorded_at, "recorded_at") if proto.HasField("recorded_at") else None,
    )


def _put_parts(field: Any, parts: Iterable[str | Media]) -> None:
    for index, part in enumerate(parts):
        if isinstance(part, str):
            field.add(text=part)
        elif part.uri and part.data:
            raise WireError(f"parts[{index}]", "has both an address and bytes")
        elif part.uri:
            field.add(media=message_pb2.Media(media_type=part.media_type, uri=part.uri))
        elif part.data:
            field.add(media=message_pb2.Media(media_type=part.media_type, data=part.data))
        else:
            field.add(media=message_pb2.Media(media_type=part.media_type))


def _parts_from_proto(parts: Iterable[message_pb2.ContentPart]) -> tuple[str | Media, ...]:
    found: list[str | Media] = []
    for part in parts:
        if part.HasField("text"):
            found.append(part.text)
        elif part.HasField("media"):
            found.append(Media(part.media.media_type, part.media.uri, part.media.data))
        else:
            raise WireError(f"parts[{len(found)}]", "is neither text nor media")
    return tuple(found)


def _put_calls(field: Any, calls: Iterable[ToolCall]) -> None:
    for call in calls:
        field.add(id=call.id, name=call.name, arguments=call.arguments)


def _calls_from_proto(calls: Iterable[message_pb2.ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(call.id, call.name, call.arguments) for call in calls)


# Variants

# Per variant without parts: the oneof's field, and the numbers with the defaults documented in variant.proto.
_PLAIN: dict[type[variants.Variant], tuple[str, type[Any]]] = {
    variants.Buffer: ("buffer", variant_pb2.BufferVariant),
    variants.Window: ("window", variant_pb2.WindowVariant),
    variants.TokenBuffer: ("token_buffer", variant_pb2.TokenBufferVariant),
    variants.Summary: ("summary", variant_pb2.SummaryVariant),
    variants.SummaryBuffer: ("summary_buffer", variant_pb2.SummaryBufferVariant),
    variants.Entity: ("entity", variant_pb2.EntityVariant),
    variants.KnowledgeGraph: ("knowledge_graph", variant_pb2.KnowledgeGraphVariant),
    variants.Vector: ("vector", variant_pb2.VectorVariant),
}
_CLASSES: dict[str, type[variants.Variant]] = {field: cls for cls, (field, _) in _PLAIN.items()}


def variant_to_proto(variant: variants.Variant, path: str = "variant") -> variant_pb2.Variant:
    """Return ``variant`` on the wire.

    Raises `TypeError` for what is no variant of the contract (a memory as a
    part of a Hybrid lives in process only), `WireError` for a number beyond 32 bits.
    """
    if isinstance(variant, variants.Hybrid):
        parts = [variant_to_proto(_variant(part), f"{path}.parts[{i}]") for i, part in enumerate(variant.parts)]
        budget = _int32(variant.max_tokens, f"{path}.max_tokens")
        return variant_pb2.Variant(hybrid=variant_pb2.HybridVariant(parts=parts, max_tokens=budget))
    if isinstance(variant, variants.Custom):
        options = {
            text_for_wire(key): metadata_value_to_proto(value_for_wire(value), f"{path}.options")
            for key, value in variant.options.items()
        }
        custom = variant_pb2.CustomVariant(name=text_for_wire(variant.name), options=options)
        return variant_pb2.Variant(custom=custom)
    known = _PLAIN.get(type(variant))
    if known is None:
        raise TypeError(f"{path}: {type(variant).__name__} is not a variant of the contract; register it, use Custom")
    field, proto = known
    names = proto.DESCRIPTOR.fields_by_name
    values = {name: _int32(getattr(variant, name), f"{path}.{name}") for name in names}
    return variant_pb2.Variant(**{field: proto(**values)})


def variant_from_proto(proto: variant_pb2.Variant, path: str = "variant") -> variants.Variant:
    """Return the variant that ``proto`` says; an unset number is its documented default.

    Raises `WireError` when it names no variant. Rules beyond that, such as no
    Hybrid inside a Hybrid, are the server's to check.
    """
    kind = proto.WhichOneof("kind")
    if kind is None:
        raise WireError(path, "names no variant")
    if kind == "hybrid":
        inner = [variant_from_proto(part, f"{path}.parts[{i}]") for i, part in enumerate(proto.hybrid.parts)]
        return variants.Hybrid(*inner, **_numbers(proto.hybrid, ("max_tokens",)))
    if kind == "custom":
        options = _metadata_from_proto(proto.custom.options, f"{path}.options")
        return variants.Custom(proto.custom.name, options)
    body = getattr(proto, kind)
    return _CLASSES[kind](**_numbers(body, body.DESCRIPTOR.fields_by_name))


def _variant(part: object) -> variants.Variant:
    if not isinstance(part, variants.Variant):
        raise TypeError(f"a {type(part).__name__} cannot be a part of a Hybrid that is sent: only variants can")
    return part


def _numbers(body: Any, names: Iterable[str]) -> dict[str, int]:
    """The numbers that are set; the rest are left to the dataclass, whose defaults are the documented ones."""
    return {name: getattr(body, name) for name in names if body.HasField(name)}


def _int32(value: int, path: str) -> int:
    if value not in _INT32:
        raise WireError(path, "is beyond 32 bits")
    return value


# Seeds


def seed_to_proto(seed: Seed) -> memory_service_pb2.SeedResponse:
    """Return ``seed`` as the server's reply."""
    proto = memory_service_pb2.SeedResponse(
        tokens=seed.tokens,
        truncated=seed.truncated,
        applied_seq=seed.applied_seq,
        degraded=seed.degraded,
        degraded_parts=[text_for_wire(part) for part in seed.degraded_parts],
    )
    for reason, omitted in ((_BUDGET, seed.omitted), (_BELOW_FLOOR, seed.below_floor)):
        for origin, count in omitted.items():
            proto.omitted.add(origin=text_for_wire(origin), items=count, reason=reason)
    for entry in seed.entries:
        _put_entry(proto.messages.add(), entry)
    return proto


def _put_entry(proto: memory_service_pb2.SeedMessage, entry: SeedMessage) -> None:
    proto.role = text_for_wire(entry.role)
    proto.name = text_for_wire(entry.name)
    proto.tool_call_id = text_for_wire(entry.tool_call_id)
    _put_parts(proto.parts, map(part_for_wire, entry.parts))
    _put_calls(proto.tool_calls, map(call_for_wire, entry.tool_calls))
    for item in entry.items:
        added = proto.items.add(
            origin=text_for_wire(item.origin),
            kind=text_for_wire(item.kind),
            text=text_for_wire(item.text),
            name=text_for_wire(item.name),
            role=text_for_wire(item.role),
            score=item.score,
            source_ids=map(text_for_wire, item.source_ids),
            tokens=item.tokens,
        )
        if item.time is not None:
            added.time.CopyFrom(time_to_proto(item.time))


def seed_from_proto(proto: memory_service_pb2.SeedResponse) -> Seed:
    """Return the seed of a server's reply."""
    omitted: Counter[str] = Counter()
    below_floor: Counter[str] = Counter()
    for omission in proto.omitted:
        (below_floor if omission.reason == _BELOW_FLOOR else omitted)[omission.origin] += omission.items
    degraded = tuple(proto.degraded_parts)
    if proto.degraded and not degraded:
        # A server that names no part still said that the answer is not whole.
        degraded = ("unknown",)
    entries = tuple(_entry_from_proto(entry) for entry in proto.messages)
    return Seed(entries, proto.tokens, proto.truncated, dict(omitted), proto.applied_seq, degraded, dict(below_floor))


def _entry_from_proto(proto: memory_service_pb2.SeedMessage) -> SeedMessage:
    return SeedMessage(
        proto.role,
        _parts_from_proto(proto.parts),
        proto.name,
        _calls_from_proto(proto.tool_calls),
        proto.tool_call_id,
        tuple(_item_from_proto(item) for item in proto.items),
    )


def _item_from_proto(proto: memory_service_pb2.SeedItem) -> Item:
    return Item(
        proto.origin,
        proto.kind,
        proto.text,
        proto.name,
        proto.role,
        time_from_proto(proto.time) if proto.HasField("time") else None,
        proto.score,
        tuple(proto.source_ids),
        proto.tokens,
    )
