"""Between values and what the columns hold: bytes, microseconds and ranges."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from seedbed.messages import Message
from seedbed.v1 import message_pb2, variant_pb2
from seedbed.variants import Variant
from seedbed.wire import message_from_proto, message_to_proto, variant_from_proto, variant_to_proto
from seedbed_server.errors import InvalidFieldError
from seedbed_server.log.records import MemoryRecord

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_COLUMNS = ("id", "seq", "session", "time", "recorded_at")


class Draft(NamedTuple):
    """A message on its way in: its columns, but for those that only the transaction knows.

    ``time`` is None where the message has none. ``given`` says that the id is
    the caller's own, not made here.
    """

    id: bytes
    given: bool
    session: bytes
    time: int | None
    body: bytes


def drafts(messages: Sequence[Message], session: str | None) -> list[Draft]:
    """Prepare messages for storing; with ``session`` None each one carries its own.

    Raises InvalidFieldError where an id or a session is not UTF-8, or an id
    occurs twice.
    """
    fresh = iter(_new_ids(sum(not message.id for message in messages)))
    shared = None if session is None else exact(session, "session")
    found: list[Draft] = []
    seen: set[bytes] = set()
    for i, message in enumerate(messages):
        given = exact(message.id, f"messages[{i}].id") if message.id else b""
        if given in seen:
            raise InvalidFieldError(f"messages[{i}].id", "occurs twice in the batch")
        if given:
            seen.add(given)
        own = exact(message.session, f"messages[{i}].session") if shared is None else shared
        said = None if message.time is None else to_micros(message.time)
        found.append(Draft(given or next(fresh), bool(given), own, said, _body(message)))
    return found


def digest(session: str, batch: Iterable[Draft]) -> bytes:
    """Return the SHA-256 of a batch as it was given: two batches share it only if they say the same.

    Every part goes in behind its length, so that no two batches run together.
    """
    parts = [session.encode()]
    for draft in batch:
        said = b"" if draft.time is None else str(draft.time).encode()
        parts += (draft.id if draft.given else b"", said, draft.body)
    return sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest()


def message(row: Sequence[Any]) -> Message:
    """Return the message of a row of (seq, id, session, time, recorded_at, body)."""
    proto = message_pb2.Message.FromString(row[5])
    proto.seq = row[0]
    proto.id = row[1].decode()
    proto.session = row[2].decode()
    for stamp, micros in ((proto.time, row[3]), (proto.recorded_at, row[4])):
        stamp.seconds, rest = divmod(micros, 1_000_000)
        stamp.nanos = rest * 1_000
    return message_from_proto(proto)


def memory(row: Sequence[Any]) -> MemoryRecord:
    """Return the record of a row.

    It holds key, namespace, name, variant, system, created_at, revision, last_seq, message_count and decided.
    """
    return MemoryRecord(
        key=row[0],
        namespace=row[1].decode(),
        name=row[2].decode(),
        variant=variant_from_proto(variant_pb2.Variant.FromString(row[3])),
        system=row[4].decode(),
        created_at=from_micros(row[5]),
        revision=row[6],
        last_seq=row[7],
        message_count=row[8],
        decided=row[9],
    )


def variant_bytes(variant: Variant) -> bytes:
    """Return the column of a variant; TypeError where the contract cannot say it."""
    return variant_to_proto(variant).SerializeToString(deterministic=True)


def system_bytes(system: str) -> bytes:
    """Return the column of a pin. It is content, so a lone surrogate in it becomes U+FFFD."""
    return message_to_proto(Message.system(system)).parts[0].text.encode()


def exact(text: str, path: str) -> bytes:
    """Return the UTF-8 of what is compared byte for byte; InvalidFieldError for ``path`` where it has none.

    Replacing a lone surrogate, as is done in content, would make two names one.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidFieldError(path, "is not valid UTF-8") from None


def now() -> int:
    """Return the server's clock, in microseconds since 1970."""
    return time.time_ns() // 1_000


def to_micros(moment: datetime) -> int:
    """Return a time as microseconds since 1970; one without a zone is taken as UTC."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the time of a column, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def to_ranges(seqs: Sequence[int]) -> str:
    """Return ascending seqs as ranges, such as "1-5 7": a whole memory's worth is a few bytes."""
    ranges: list[list[int]] = []
    for seq in seqs:
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    return " ".join(f"{first}-{last}" if first != last else str(first) for first, last in ranges)


def from_ranges(text: str) -> tuple[int, ...]:
    """Return the seqs of ranges."""
    seqs: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        seqs.extend(range(int(first), int(last or first) + 1))
    return tuple(seqs)


def _body(message: Message) -> bytes:
    proto = message_to_proto(message)
    for column in _COLUMNS:
        proto.ClearField(column)  # type: ignore[arg-type]
    return proto.SerializeToString(deterministic=True)


def _new_ids(count: int) -> list[bytes]:
    """Return ids of 32 hexadecimal digits: as in UUID 7, 48 bits of milliseconds and a counter, then 64 random bits.

    In order of time they fall beside each other in the index, which is what keeps a write small.
    """
    now_ms = time.time_ns() // 1_000_000
    noise = os.urandom(8 * count).hex().encode()
    return [b"%012x%04x%b" % (now_ms, i & 0xFFFF, noise[16 * i : 16 * i + 16]) for i in range(count)]
