"""The reads of the log, each a function of a connection inside one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import accumulate

from sqlalchemy import bindparam, func, select

from seedbed.messages import Message
from seedbed_server.errors import MemoryNotFoundError
from seedbed_server.log import rows
from seedbed_server.log.connection import Connection, Statement
from seedbed_server.log.lookups import named, one_of, portions
from seedbed_server.log.records import Erasure, Head, MemoryRecord, Page, Pages
from seedbed_server.log.schema import decision, erasure, head, memory, message

_m = message.c
_MESSAGE = select(_m.seq, _m.id, _m.session, _m.time, _m.recorded_at, _m.body).where(_m.memory_key == bindparam("key"))
_DECIDED = select(func.coalesce(func.max(decision.c.id), 0)).where(decision.c.memory_key == memory.c.key)
_RECORD = select(
    memory.c.key,
    memory.c.namespace,
    memory.c.name,
    memory.c.variant,
    memory.c.system,
    memory.c.created_at,
    memory.c.revision,
    head.c.last_seq,
    head.c.message_count,
    _DECIDED.scalar_subquery(),
).join(head)

_BY_NAME = Statement(
    _RECORD.where(memory.c.namespace == bindparam("namespace"), memory.c.name == bindparam("name")),
)
_BY_KEY = Statement(_RECORD.where(memory.c.key == bindparam("key")))
_LIST = Statement(
    _RECORD.where(memory.c.namespace == bindparam("namespace"), memory.c.name > bindparam("after"))
    .order_by(memory.c.name)
    .limit(bindparam("limit"))
)
_HEADS = Statement(select(head.c.memory_key, head.c.last_seq).order_by(head.c.memory_key))
_MESSAGES = Statement(select(func.coalesce(func.sum(head.c.message_count), 0)))
_ERASURES = Statement(
    select(erasure.c.id, erasure.c.memory_key, erasure.c.whole, erasure.c.seqs)
    .where(erasure.c.id > bindparam("after"))
    .order_by(erasure.c.id)
    .limit(bindparam("limit"))
)
_NEWEST_ERASURE = Statement(select(func.max(erasure.c.id)))
_LAST_SEQ = Statement(select(head.c.last_seq).where(head.c.memory_key == bindparam("key")))
_OF_SESSION = _m.session == bindparam("session")
_AFTER = select(_m.seq).where(_m.memory_key == bindparam("key"), _m.seq > bindparam("after")).order_by(_m.seq)
_SEQS, _SESSION_SEQS = Statement(_AFTER), Statement(_AFTER.where(_OF_SESSION))
_PAGE = _MESSAGE.where(_m.seq > bindparam("after")).order_by(_m.seq).limit(bindparam("limit"))
_READ, _READ_SESSION = Statement(_PAGE), Statement(_PAGE.where(_OF_SESSION))
_END = _MESSAGE.where(_m.seq <= bindparam("upto")).order_by(_m.seq.desc()).limit(bindparam("limit"))
_RECORDED = select(_m.seq, _m.recorded_at).where(_m.memory_key == bindparam("key"))
_NEWEST = Statement(_RECORDED.order_by(_m.seq.desc()).limit(1))
_FIRST_FROM = Statement(_RECORDED.where(_m.seq >= bindparam("from")).order_by(_m.seq).limit(1))
_NAMESPACES = Statement(select(memory.c.namespace).distinct().order_by(memory.c.namespace))
_TAIL, _TAIL_SESSION = Statement(_END), Statement(_END.where(_OF_SESSION))
# The same pages, but only how large each body is, which SQLite tells without reading it.
_LENGTH = func.length(_m.body)
_READ_SIZES, _READ_SESSION_SIZES = (
    Statement(page.with_only_columns(_LENGTH)) for page in (_PAGE, _PAGE.where(_OF_SESSION))
)
_TAIL_SIZES, _TAIL_SESSION_SIZES = (
    Statement(page.with_only_columns(_LENGTH)) for page in (_END, _END.where(_OF_SESSION))
)

# A message is at most so large: of so few that all fit, the sizes need not be asked for.
_LARGEST = 2**20 + 2**14
# What a message takes besides its body: ids, session and times.
_BESIDES = 128


def get(c: Connection, namespace: str, name: str) -> MemoryRecord:
    """Return a memory by its name; MemoryNotFoundError."""
    found = c.one(_BY_NAME, namespace=rows.exact(namespace, "namespace"), name=rows.exact(name, "memory"))
    if found is None:
        raise MemoryNotFoundError
    return rows.memory(found)


def record(c: Connection, key: int) -> MemoryRecord | None:
    """Return a memory by its key."""
    found = c.one(_BY_KEY, key=key)
    return None if found is None else rows.memory(found)


def list_memories(c: Connection, namespace: str, after: str, limit: int) -> list[MemoryRecord]:
    """Return the memories of a namespace whose names sort after ``after``, in the byte order of names."""
    values = {"namespace": rows.exact(namespace, "namespace"), "after": rows.exact(after, "page_token")}
    return [rows.memory(row) for row in c.all(_LIST, limit=max(limit, 0), **values)]


def heads(c: Connection) -> list[Head]:
    """Return how far each memory's log has come."""
    return [Head(key, last_seq) for key, last_seq in c.all(_HEADS)]


def message_count(c: Connection) -> int:
    """Return how many messages there are in all memories."""
    found = c.one(_MESSAGES)
    return int(found[0]) if found else 0


def erasures(c: Connection, after_id: int, limit: int) -> list[Erasure]:
    """Return the erasures after ``after_id``, in the order they happened."""
    found = c.all(_ERASURES, after=after_id, limit=max(limit, 0))
    return [Erasure(number, key, rows.from_ranges(seqs), bool(whole)) for number, key, whole, seqs in found]


def read(
    c: Connection, key: int, session: str, after_seq: int, limit: int, max_bytes: int | None = None
) -> list[Message]:
    """Return messages after ``after_seq``, by seq; the first one, however large, and then within ``max_bytes``."""
    values = {"key": key, "after": after_seq, "limit": max(limit, 0)}
    if max_bytes is not None:
        sizes = _sizes(c, _READ_SIZES, _READ_SESSION_SIZES, session, max_bytes, values)
        values["limit"] = min(values["limit"], max(_fitting(sizes, max_bytes), 1))
    return _messages(c, _READ, _READ_SESSION, session, **values)


def tail(
    c: Connection, key: int, session: str, n: int, upto_seq: int, max_bytes: int | None = None
) -> tuple[list[Message], bool]:
    """Return the newest ``n`` messages up to ``upto_seq``, oldest first, and whether ``max_bytes`` left some out."""
    values = {"key": key, "upto": upto_seq, "limit": max(n, 0)}
    cut = False
    if max_bytes is not None:
        sizes = _sizes(c, _TAIL_SIZES, _TAIL_SESSION_SIZES, session, max_bytes, values)
        values["limit"] = _fitting(sizes, max_bytes)
        cut = values["limit"] < len(sizes)
    return _messages(c, _TAIL, _TAIL_SESSION, session, **values)[::-1], cut


def pages(c: Connection, after: Mapping[int, int], share: int, limit: int, reach: int, max_bytes: int) -> Pages:
    """Return what follows ``after`` in several memories, in their order, until it is enough.

    Enough are ``limit`` messages, or ``max_bytes``. Each memory has at most
    ``share`` of them, and ``reach`` before them; the first has at least one.
    """
    found: dict[int, Page] = {}
    for key, seq in after.items():
        if max_bytes <= 0 or limit <= 0:
            break
        known = c.one(_LAST_SEQ, key=key)
        if known is None:
            found[key] = Page(None, (), ())
            continue
        messages = read(c, key, "", seq, min(share, limit), max_bytes)
        before = by_seqs(c, key, range(max(1, seq - reach + 1), seq + 1)) if messages and reach else {}
        found[key] = Page(known[0], tuple(messages), tuple(before[at] for at in sorted(before)))
        limit -= len(messages)
        max_bytes -= sum(len(message.text) + _BESIDES for message in messages)
    newest = c.one(_NEWEST_ERASURE)
    return Pages(found, newest[0] or 0 if newest else 0)


def seq_at(c: Connection, key: int, recorded_at: datetime) -> int:
    """Return the seq of the newest message recorded by then, 0 where there is none.

    Within a memory recorded_at never goes back from one seq to the next, so it is found by halving.
    """
    at = rows.to_micros(recorded_at)
    newest = c.one(_NEWEST, key=key)
    if newest is None or newest[1] <= at:
        return 0 if newest is None else int(newest[0])
    low, high = 0, int(newest[0])  # the answer is at least low; from high on all are later
    while low + 1 < high:
        middle = (low + high) // 2
        first = c.one(_FIRST_FROM, key=key, **{"from": middle})
        if first is None or first[1] > at:
            high = middle
        else:
            low = int(first[0])
    return low


def namespaces(c: Connection) -> list[str]:
    """Return the namespaces that hold a memory, in byte order."""
    return [found.decode() for (found,) in c.all(_NAMESPACES)]


def seqs(c: Connection, key: int, after_seq: int, session: str = "") -> list[int]:
    """Return the seqs of the messages alive after ``after_seq``, in order; of one session, if it is named."""
    own = {"session": rows.exact(session, "session")} if session else {}
    return [seq for (seq,) in c.all(_SESSION_SEQS if session else _SEQS, key=key, after=after_seq, **own)]


def alive(c: Connection, key: int, seqs: Sequence[int]) -> dict[int, str]:
    """Return the ids of those of the messages that are alive, by seq."""
    found = (row for some in portions(seqs) for row in c.all(_id_of(len(some)), key=key, **named(some)))
    return {seq: one.decode() for seq, one in found}


def alive_ids(c: Connection, key: int, ids: Sequence[str]) -> dict[str, int]:
    """Return the seqs of those of the messages that are alive, by id."""
    wanted = [rows.exact(one, f"ids[{i}]") for i, one in enumerate(ids)]
    return {one.decode(): seq for one, seq in seqs_by_id(c, key, wanted).items()}


def by_seqs(c: Connection, key: int, seqs: Sequence[int], max_bytes: int | None = None) -> dict[int, Message]:
    """Return those of the messages that are alive, by seq; of the first ones, as many as ``max_bytes`` hold."""
    if max_bytes is not None and len(seqs) > max_bytes // _LARGEST:
        sizes = {
            seq: size for some in portions(seqs) for seq, size in c.all(_size_of(len(some)), key=key, **named(some))
        }
        seqs = seqs[: _fitting([sizes[seq] + _BESIDES if seq in sizes else 0 for seq in seqs], max_bytes)]
    found = (
        rows.message(row) for some in portions(seqs) for row in c.all(_where_seq(len(some)), key=key, **named(some))
    )
    return {message.seq: message for message in found}


def by_ids(c: Connection, key: int, ids: Sequence[str]) -> dict[str, Message]:
    """Return those of the messages that are alive, by id."""
    wanted = [rows.exact(one, f"ids[{i}]") for i, one in enumerate(ids)]
    found = (
        rows.message(row) for some in portions(wanted) for row in c.all(_where_id(len(some)), key=key, **named(some))
    )
    return {message.id: message for message in found}


def seqs_by_id(c: Connection, key: int, ids: Sequence[bytes]) -> dict[bytes, int]:
    """Return the seqs of those ids that are stored in a memory."""
    return {found: seq for some in portions(ids) for found, seq in c.all(_seq_of(len(some)), key=key, **named(some))}


def _sizes(
    c: Connection, every: Statement, of_session: Statement, session: str, max_bytes: int, values: dict[str, int]
) -> list[int]:
    """The bytes of each message of a page, one more of them than could fit."""
    own = {"session": rows.exact(session, "session")} if session else {}
    limit = min(values["limit"], max_bytes // _BESIDES + 1)
    found = c.all(of_session if session else every, **own, **(values | {"limit": limit}))
    return [size + _BESIDES for (size,) in found]


def _fitting(sizes: Sequence[int], max_bytes: int) -> int:
    """How many of the first sizes add up to at most ``max_bytes``."""
    return sum(total <= max_bytes for total in accumulate(sizes))


def _messages(c: Connection, every: Statement, of_session: Statement, session: str, **values: int) -> list[Message]:
    own = {"session": rows.exact(session, "session")} if session else {}
    return [rows.message(row) for row in c.all(of_session if session else every, **own, **values)]


@cache
def _where_seq(size: int) -> Statement:
    return Statement(_MESSAGE.where(one_of(_m.seq, size)))


@cache
def _where_id(size: int) -> Statement:
    return Statement(_MESSAGE.where(one_of(_m.id, size)))


@cache
def _id_of(size: int) -> Statement:
    return Statement(select(_m.seq, _m.id).where(_m.memory_key == bindparam("key"), one_of(_m.seq, size)))


@cache
def _size_of(size: int) -> Statement:
    return Statement(select(_m.seq, _LENGTH).where(_m.memory_key == bindparam("key"), one_of(_m.seq, size)))


@cache
def _seq_of(size: int) -> Statement:
    return Statement(select(_m.id, _m.seq).where(_m.memory_key == bindparam("key"), one_of(_m.id, size)))
