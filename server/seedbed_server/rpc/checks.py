"""Every field of every request, held against the contract.

A check returns what the server goes on with, or raises InvalidFieldError with
the field's path. One rule for NUL: identifiers may not hold it, content may.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from google.protobuf.message import Message as ProtoMessage
from google.protobuf.timestamp_pb2 import Timestamp

from seedbed import wire
from seedbed.messages import Message, is_blank_text
from seedbed.v1 import message_pb2, variant_pb2
from seedbed.variants import Variant
from seedbed_server.errors import InvalidFieldError, TooLargeError
from seedbed_server.rpc.limits import LIMITS

DEFAULT_SESSION = "default"
RESERVED_METADATA = "seedbed."
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_LAST_SECOND = 253_402_300_799  # 9999-12-31T23:59:59Z, the last a Timestamp can hold
_FIRST_SECOND = -62_135_596_800  # 0001-01-01T00:00:00Z, the first


def identifier(value: str, path: str) -> str:
    """Check a required identifier: 1 to 256 bytes of UTF-8, without NUL."""
    if not value:
        raise InvalidFieldError(path, "is required")
    return optional_identifier(value, path)


def optional_identifier(value: str, path: str) -> str:
    """Check an identifier that may be empty."""
    if len(value) > LIMITS.id_bytes or len(value.encode()) > LIMITS.id_bytes:
        raise InvalidFieldError(path, f"is longer than {LIMITS.id_bytes} bytes")
    if "\x00" in value:
        raise InvalidFieldError(path, "holds a NUL character")
    return value


def identifiers(values: Sequence[str], path: str, *, least: int = 1, most: int = LIMITS.batch_messages) -> list[str]:
    """Check a list of identifiers."""
    if len(values) < least:
        raise InvalidFieldError(path, "is empty")
    if len(values) > most:
        raise TooLargeError(path, f"holds more than {most}")
    return [identifier(value, f"{path}[{at}]") for at, value in enumerate(values)]


def text_within(value: str, path: str, limit: int) -> str:
    """Check a text against a limit in bytes."""
    if len(value) > limit or len(value.encode()) > limit:
        raise TooLargeError(path, f"is longer than {limit} bytes")
    return value


def size_within(value: ProtoMessage, path: str, limit: int) -> None:
    """Check the size on the wire of a part of the request, in bytes."""
    if value.ByteSize() > limit:
        raise TooLargeError(path, f"is larger than {limit} bytes")


def count(value: int | None, path: str, *, default: int, most: int | None = None) -> int:
    """Check a page size or a number of hits: negative is refused, 0 and unset are the default."""
    if value is None or value == 0:
        return default
    if value < 0:
        raise InvalidFieldError(path, "is negative")
    return min(value, LIMITS.page if most is None else most)


def not_negative(value: int, path: str) -> int:
    """Check a number that may be 0."""
    if value < 0:
        raise InvalidFieldError(path, "is negative")
    return value


def timestamp(value: Timestamp, path: str) -> datetime:
    """Check a time: what a Timestamp may hold, and a datetime can."""
    if not _FIRST_SECOND <= value.seconds <= _LAST_SECOND:
        raise InvalidFieldError(path, "is out of range")
    if not 0 <= value.nanos < 1_000_000_000:
        raise InvalidFieldError(path, "has nanos out of range")
    return value.ToDatetime(tzinfo=UTC)


def as_of(value: message_pb2.AsOf, path: str = "as_of") -> tuple[datetime | None, datetime | None]:
    """Check the two as-of times; returns (valid_at, known_at)."""
    valid_at = timestamp(value.valid_at, f"{path}.valid_at") if value.HasField("valid_at") else None
    known_at = timestamp(value.known_at, f"{path}.known_at") if value.HasField("known_at") else None
    return valid_at, known_at


def messages(batch: Sequence[message_pb2.Message], path: str = "messages") -> list[Message]:
    """Check a batch of messages: not empty, each one acceptable."""
    if not batch:
        raise InvalidFieldError(path, "is empty")
    if len(batch) > LIMITS.batch_messages:
        raise TooLargeError(path, f"holds more than {LIMITS.batch_messages} messages")
    return [message(item, f"{path}[{at}]") for at, item in enumerate(batch)]


def message(value: message_pb2.Message, path: str) -> Message:
    """Check one message of a write."""
    size_within(value, path, LIMITS.message_bytes)
    optional_identifier(value.id, f"{path}.id")
    optional_identifier(value.session, f"{path}.session")
    identifier(value.role, f"{path}.role")
    optional_identifier(value.name, f"{path}.name")
    optional_identifier(value.tool_call_id, f"{path}.tool_call_id")
    if value.HasField("time"):
        timestamp(value.time, f"{path}.time")
    # The server's own: whatever stands there is ignored on a write.
    value.ClearField("seq")
    value.ClearField("recorded_at")
    _content(value, path)
    if value.metadata:
        _metadata(value, f"{path}.metadata")
    with _below(path):
        return wire.message_from_proto(value)


@contextmanager
def _below(path: str) -> Iterator[None]:
    """What the reading itself refuses is a bad field too; its path is told from here."""
    try:
        yield
    except wire.WireError as error:
        raise InvalidFieldError(f"{path}.{error.path}", error.why) from None


def _content(value: message_pb2.Message, path: str) -> None:
    """Something must be said: a visible text, a medium, or a tool call or result."""
    for name, items in (("parts", value.parts), ("tool_calls", value.tool_calls)):
        if len(items) > LIMITS.message_parts:
            raise TooLargeError(f"{path}.{name}", f"holds more than {LIMITS.message_parts}")
    said = bool(value.tool_calls or value.tool_call_id)
    for at, part in enumerate(value.parts):
        kind = part.WhichOneof("kind")
        if kind is None:
            raise InvalidFieldError(f"{path}.parts[{at}]", "is neither text nor media")
        if kind == "media":
            _media(part.media, f"{path}.parts[{at}].media")
        said = said or kind == "media" or not is_blank_text(part.text)
    if not said:
        raise InvalidFieldError(f"{path}.parts", "holds nothing but blank text")
    for at, call in enumerate(value.tool_calls):
        identifier(call.id, f"{path}.tool_calls[{at}].id")
        identifier(call.name, f"{path}.tool_calls[{at}].name")


def _media(value: message_pb2.Media, path: str) -> None:
    identifier(value.media_type, f"{path}.media_type")
    if not (value.uri or value.data):
        raise InvalidFieldError(path, "has neither uri nor data")


def _metadata(value: message_pb2.Message, path: str) -> None:
    if len(value.metadata) > LIMITS.metadata_entries:
        raise TooLargeError(path, f"holds more than {LIMITS.metadata_entries} keys")
    metadata(value.metadata.items(), path)


def metadata(items: Iterable[tuple[str, message_pb2.MetadataValue]], path: str) -> None:
    """Check typed metadata: keys not reserved, every value of a kind and finite, lists flat."""
    size = 0
    for key, item in items:
        shown = f'{path}["{key}"]' if _PLAIN_KEY.fullmatch(key) else path
        identifier(key, shown)
        if key.startswith(RESERVED_METADATA):
            raise InvalidFieldError(shown, "is a reserved key")
        size += len(key) + item.ByteSize()
        if size > LIMITS.metadata_bytes:
            raise TooLargeError(path, f"is larger than {LIMITS.metadata_bytes} bytes")
        _metadata_value(item, shown)


def _metadata_value(item: message_pb2.MetadataValue, path: str, *, nested: bool = False) -> None:
    kind = item.WhichOneof("kind")
    if kind is None:
        raise InvalidFieldError(path, "has no value")
    if kind == "double_value" and not math.isfinite(item.double_value):
        raise InvalidFieldError(path, "is not a finite number")
    if kind == "list_value":
        if nested:
            raise InvalidFieldError(path, "is a list inside a list")
        if len(item.list_value.values) > LIMITS.metadata_entries:
            raise TooLargeError(path, f"holds more than {LIMITS.metadata_entries} values")
        for at, inner in enumerate(item.list_value.values):
            _metadata_value(inner, f"{path}[{at}]", nested=True)


def variant(value: variant_pb2.Variant, path: str = "variant", *, part: bool = False) -> Variant:
    """Check a variant tree: every setting in range, hybrids not nested."""
    kind = value.WhichOneof("kind")
    if kind is None:
        raise InvalidFieldError(path, "names no variant")
    inner = getattr(value, kind)
    here = f"{path}.{kind}"
    for setting in ("n", "max_tokens", "threshold", "max_entities", "recent", "max_facts", "k"):
        if setting in inner.DESCRIPTOR.fields_by_name:
            not_negative(getattr(inner, setting), f"{here}.{setting}")
    if kind == "custom":
        identifier(inner.name, f"{here}.name")
        metadata(inner.options.items(), f"{here}.options")
    if kind == "hybrid":
        if part:
            raise InvalidFieldError(here, "is a hybrid inside a hybrid")
        if not inner.parts:
            raise InvalidFieldError(f"{here}.parts", "is empty")
        if len(inner.parts) > LIMITS.parts:
            raise TooLargeError(f"{here}.parts", f"holds more than {LIMITS.parts}")
        for at, item in enumerate(inner.parts):
            variant(item, f"{here}.parts[{at}]", part=True)
    with _below(path):
        return wire.variant_from_proto(value)
