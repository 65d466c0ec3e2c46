"""The writes of the log, each a function of a connection inside one savepoint.

A change says what it did in ``Done``; nothing is told to anyone before the
transaction around it is committed.

An id belongs to a message while the message is stored. Once erased, it may be
given to another message, so that what was cleared can be imported again; that a
late retry does not bring an erased message back is what ``request_id`` is for:
the record of a request stays until its memory is deleted, answers a retry as it
answered first, and stores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from sqlalchemy import bindparam, delete, insert, select, update

from seedbed.v1 import memory_service_pb2
from seedbed.variants import Variant
from seedbed_server.errors import (
    MemoryExistsError,
    MemoryNotFoundError,
    MessageIdExistsError,
    RequestIdReusedError,
    RevisionChangedError,
)
from seedbed_server.log import queries, rows
from seedbed_server.log.connection import Connection, Statement
from seedbed_server.log.records import Appended, Erasure, Imported, MemoryRecord, NewMemory
from seedbed_server.log.schema import erasure, head, memory, message, request

T = TypeVar("T")

# Rows of one INSERT: each statement gives up Python's lock once, so a batch
# in one statement is not held up by a busy event loop between its rows.
_ROWS = 64


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a change answers; ``changed`` is the key of the memory it changed, or None."""

    answer: T
    changed: int | None
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """What an append stores, made before the transaction."""

    messages: Sequence[rows.Draft]
    request_id: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a memory's log stands inside the transaction."""

    key: int
    last_seq: int
    message_count: int
    recorded_at: int
    created: bool = False

    def clock(self) -> int:
        """The time of a write: the server's clock, held so that it never goes back within a memory."""
        return max(rows.now(), self.recorded_at)


_NAMED = (memory.c.namespace == bindparam("namespace"), memory.c.name == bindparam("name"))
_FIND = Statement(
    select(memory.c.key, head.c.last_seq, head.c.message_count, head.c.recorded_at)
    .join(head)
    .where(*_NAMED)
    .with_for_update()  # where several servers share a database; SQLite has one writer anyway
)
_MAKE = Statement(
    insert(memory)
    .values({name: bindparam(name) for name in ("namespace", "name", "variant", "system", "created_at", "revision")})
    .returning(memory.c.key)
)
_MAKE_HEAD = Statement(
    insert(head).values({name: bindparam(name) for name in ("memory_key", "last_seq", "message_count", "recorded_at")})
)
_ADVANCE = Statement(
    update(head)
    .where(head.c.memory_key == bindparam("key"))
    .values({name: bindparam(f"new_{name}") for name in ("last_seq", "message_count", "recorded_at")})
)
_SET = Statement(
    update(memory)
    .where(memory.c.key == bindparam("of"))
    .values({name: bindparam(f"new_{name}") for name in ("variant", "system", "revision")})
)
_DROP = Statement(delete(memory).where(memory.c.key == bindparam("key")))
_REQUEST = Statement(
    select(request.c.digest, request.c.answer).where(
        request.c.memory_key == bindparam("key"), request.c.request_id == bindparam("request_id")
    )
)
_REMEMBER = Statement(
    insert(request).values(
        {name: bindparam(name) for name in ("memory_key", "request_id", "recorded_at", "digest", "answer")}
    )
)
_SEQS = select(message.c.seq).where(message.c.memory_key == bindparam("key")).order_by(message.c.seq)
_ALL_SEQS = Statement(_SEQS)
_SESSION_SEQS = Statement(_SEQS.where(message.c.session == bindparam("session")))
_ERASE = delete(message).where(message.c.memory_key == bindparam("key"))
_ERASE_ALL = Statement(_ERASE)
_ERASE_SESSION = Statement(_ERASE.where(message.c.session == bindparam("session")))
_ERASE_ONE = Statement(_ERASE.where(message.c.seq == bindparam("seq")))
_NOTE = Statement(
    insert(erasure).values({name: bindparam(name) for name in ("memory_key", "whole", "seqs")}).returning(erasure.c.id)
)


def create(c: Connection, namespace: str, name: str, new: NewMemory) -> Done[MemoryRecord]:
    """Make a memory; MemoryExistsError."""
    if _find(c, namespace, name) is not None:
        raise MemoryExistsError
    key = _make(c, namespace, name, new).key
    return Done(queries.get(c, namespace, name), key)


def change_settings(
    c: Connection, namespace: str, name: str, *, variant: Variant | None, system: str | None, revision: int
) -> Done[MemoryRecord]:
    """Set the variant, the pin or both; MemoryNotFoundError, RevisionChangedError."""
    found = queries.get(c, namespace, name)
    if revision not in (0, found.revision):
        raise RevisionChangedError
    if variant is None and system is None:
        return Done(found, None)
    c.change(
        _SET,
        of=found.key,
        new_variant=rows.variant_bytes(found.variant if variant is None else variant),
        new_system=rows.system_bytes(found.system if system is None else system),
        new_revision=found.revision + 1,
    )
    return Done(queries.get(c, namespace, name), found.key)


def drop(c: Connection, namespace: str, name: str) -> Done[int]:
    """Delete a memory with all it holds; answers how many messages that was. MemoryNotFoundError."""
    place = _existing(c, namespace, name)
    c.change(_DROP, key=place.key)
    c.one(_NOTE, memory_key=place.key, whole=True, seqs="")
    return Done(place.message_count, place.key, erased=True)


def append(c: Connection, namespace: str, name: str, batch: Batch, new: NewMemory | None) -> Done[Appended]:
    """Store a batch, or answer as before where its request id was seen.

    Raises MemoryNotFoundError, MessageIdExistsError, RequestIdReusedError.
    """
    place = _find_or_make(c, namespace, name, new)
    if batch.request_id:
        seen = c.one(_REQUEST, key=place.key, request_id=batch.request_id)
        if seen is not None:
            return Done(_answered(place.key, seen[0], seen[1], batch.digest), None)
    _refuse_taken_ids(c, place.key, batch.messages)
    at = _store(c, place, batch.messages)
    ids = tuple(draft.id.decode() for draft in batch.messages)
    answer = Appended(place.key, ids, place.last_seq + 1, place.last_seq + len(ids), place.created)
    if batch.request_id:
        stored = _answer_bytes(answer)
        c.change(
            _REMEMBER,
            memory_key=place.key,
            request_id=batch.request_id,
            recorded_at=at,
            digest=batch.digest,
            answer=stored,
        )
    return Done(answer, place.key)


def import_messages(
    c: Connection, namespace: str, name: str, drafts: Sequence[rows.Draft], new: NewMemory | None
) -> Done[Imported]:
    """Store those messages whose ids are not stored yet; MemoryNotFoundError."""
    place = _find_or_make(c, namespace, name, new)
    known = queries.seqs_by_id(c, place.key, [draft.id for draft in drafts if draft.given])
    fresh = [draft for draft in drafts if draft.id not in known]
    if fresh:
        _store(c, place, fresh)
    answer = Imported(place.key, len(fresh), len(known), place.last_seq + len(fresh))
    return Done(answer, place.key if fresh or place.created else None)


def clear(c: Connection, namespace: str, name: str, session: str) -> Done[tuple[int, int]]:
    """Erase a session, or everything; settings and seq stay. MemoryNotFoundError."""
    place = _existing(c, namespace, name)
    if session:
        values = {"key": place.key, "session": rows.exact(session, "session")}
        seqs = [seq for (seq,) in c.all(_SESSION_SEQS, **values)]
        c.change(_ERASE_SESSION, **values)
    else:
        seqs = [seq for (seq,) in c.all(_ALL_SEQS, key=place.key)]
        c.change(_ERASE_ALL, key=place.key)
    if not seqs:
        return Done((place.key, 0), None)
    _note_erasure(c, place, seqs)
    return Done((place.key, len(seqs)), place.key, erased=True)


def forget(c: Connection, namespace: str, name: str, ids: Sequence[bytes]) -> Done[Erasure | None]:
    """Erase chosen messages; answers None where none of them is stored. MemoryNotFoundError."""
    place = _existing(c, namespace, name)
    seqs = sorted(queries.seqs_by_id(c, place.key, ids).values())
    if not seqs:
        return Done(None, None)
    for seq in seqs:
        c.change(_ERASE_ONE, key=place.key, seq=seq)
    return Done(_note_erasure(c, place, seqs), place.key, erased=True)


def _find(c: Connection, namespace: str, name: str) -> _Place | None:
    found = c.one(_FIND, namespace=rows.exact(namespace, "namespace"), name=rows.exact(name, "memory"))
    return None if found is None else _Place(*found)


def _existing(c: Connection, namespace: str, name: str) -> _Place:
    place = _find(c, namespace, name)
    if place is None:
        raise MemoryNotFoundError
    return place


def _find_or_make(c: Connection, namespace: str, name: str, new: NewMemory | None) -> _Place:
    place = _find(c, namespace, name)
    if place is not None:
        return place
    if new is None:
        raise MemoryNotFoundError
    return _make(c, namespace, name, new)


def _make(c: Connection, namespace: str, name: str, new: NewMemory) -> _Place:
    at = rows.now()
    made = c.one(
        _MAKE,
        namespace=rows.exact(namespace, "namespace"),
        name=rows.exact(name, "memory"),
        variant=rows.variant_bytes(new.variant),
        system=rows.system_bytes(new.system),
        created_at=at,
        revision=1,
    )
    assert made is not None
    c.change(_MAKE_HEAD, memory_key=made[0], last_seq=0, message_count=0, recorded_at=at)
    return _Place(made[0], 0, 0, at, created=True)


def _refuse_taken_ids(c: Connection, key: int, drafts: Sequence[rows.Draft]) -> None:
    given = [draft.id for draft in drafts if draft.given]
    taken = queries.seqs_by_id(c, key, given) if given else {}
    for i, draft in enumerate(drafts):
        if draft.id in taken:
            raise MessageIdExistsError(f"messages[{i}].id")


def _store(c: Connection, place: _Place, drafts: Sequence[rows.Draft]) -> int:
    """Write the messages behind the newest one; returns the time they were recorded at."""
    at = place.clock()
    for start in range(0, len(drafts), _ROWS):
        some = drafts[start : start + _ROWS]
        values: dict[str, Any] = {"memory_key": place.key, "recorded_at": at}
        for i, draft in enumerate(some):
            values |= {
                f"seq{i}": place.last_seq + start + i + 1,
                f"id{i}": draft.id,
                f"session{i}": draft.session,
                f"time{i}": at if draft.time is None else draft.time,
                f"body{i}": draft.body,
            }
        c.change(_insert_messages(len(some)), **values)
    c.change(
        _ADVANCE,
        key=place.key,
        new_last_seq=place.last_seq + len(drafts),
        new_message_count=place.message_count + len(drafts),
        new_recorded_at=at,
    )
    return at


@cache
def _insert_messages(count: int) -> Statement:
    shared = ("memory_key", "recorded_at")
    own = ("seq", "id", "session", "time", "body")
    values: list[dict[str, Any]] = [
        {name: bindparam(name) for name in shared} | {name: bindparam(f"{name}{i}") for name in own}
        for i in range(count)
    ]
    return Statement(insert(message).values(values))


def _note_erasure(c: Connection, place: _Place, seqs: Sequence[int]) -> Erasure:
    c.change(
        _ADVANCE,
        key=place.key,
        new_last_seq=place.last_seq,
        new_message_count=place.message_count - len(seqs),
        new_recorded_at=place.recorded_at,
    )
    noted = c.one(_NOTE, memory_key=place.key, whole=False, seqs=rows.to_ranges(seqs))
    assert noted is not None
    return Erasure(noted[0], place.key, tuple(seqs), whole=False)


def _answer_bytes(answer: Appended) -> bytes:
    return memory_service_pb2.WriteResponse(
        message_ids=answer.ids,
        first_seq=answer.first_seq,
        last_seq=answer.last_seq,
        memory_created=answer.created,
    ).SerializeToString()


def _answered(key: int, seen: bytes, answer: bytes, digest: bytes) -> Appended:
    if seen != digest:
        raise RequestIdReusedError
    first = memory_service_pb2.WriteResponse.FromString(answer)
    return Appended(key, tuple(first.message_ids), first.first_seq, first.last_seq, first.memory_created)
