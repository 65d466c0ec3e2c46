"""Decisions on their way into the log, out of it, and away."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, delete, select, update

from seedbed_server.errors import MessageNotFoundError, RequestIdReusedError
from seedbed_server.log import queries, requests
from seedbed_server.log.connection import Connection, Statement
from seedbed_server.log.decisions import STATEMENT, Content, Decision, Witnesses, from_body, from_row, to_columns
from seedbed_server.log.decisions import Statement as Stated
from seedbed_server.log.done import Done
from seedbed_server.log.inserting import insert_all
from seedbed_server.log.lookups import named, one_of, portions
from seedbed_server.log.places import Place, existing, save
from seedbed_server.log.schema import decision, message, request

_d = decision.c
_COLUMNS = ("memory_key", "kind", "last_seq", "source", "recorded_at", "body")
_OF_MEMORY = _d.memory_key == bindparam("key")
_SOURCE = and_(message.c.memory_key == _d.memory_key, message.c.seq == _d.source)
_AFTER = Statement(
    select(_d.id, _d.kind, _d.last_seq, _d.source, _d.recorded_at, _d.body, message.c.time, message.c.recorded_at)
    .select_from(decision.outerjoin(message, _SOURCE))
    .where(_OF_MEMORY, _d.id > bindparam("after"))
    .order_by(_d.id)
)
_OTHERS_SINCE = Statement(
    select(_d.id).where(_OF_MEMORY, _d.id > bindparam("seen"), _d.kind != bindparam("kind")).limit(1)
)
_BODY = Statement(select(_d.kind, _d.body).where(_d.id == bindparam("of")))
_STANDING = Statement(
    select(_d.id, _d.kind, _d.last_seq, _d.source, _d.recorded_at, _d.body)
    .where(_OF_MEMORY, _d.source == 0)
    .order_by(_d.id)
)
_SOURCES = Statement(select(_d.source).distinct().where(_OF_MEMORY, _d.source > 0))
_REWRITE = Statement(update(decision).where(_d.id == bindparam("of")).values(body=bindparam("new_body")))
_ERASE_ONE = Statement(delete(decision).where(_d.id == bindparam("of")))
_ERASE_ALL = Statement(delete(decision).where(_OF_MEMORY))
_ERASE_OF = Statement(delete(decision).where(_OF_MEMORY, _d.source == bindparam("source")))
_SEEN = Statement(
    select(request.c.digest, request.c.last_seq).where(
        request.c.memory_key == bindparam("key"), request.c.request_id == bindparam("request_id")
    )
)


class Row(NamedTuple):
    """A decision to be stored; ``last_seq`` is None where the memory's newest message is meant.

    Without a ``name`` it gets one of its own.
    """

    content: Content
    source: int = 0
    witnesses: Witnesses = ()
    last_seq: int | None = None
    name: str = ""


class Erased(NamedTuple):
    """How many statements, and how many other decisions, went."""

    statements: int
    decisions: int


def read(c: Connection, key: int, after_id: int = 0) -> list[Decision]:
    """Return a memory's decisions after the one of ``after_id``, in the order in which they were made."""
    return [from_row(row) for row in c.all(_AFTER, key=key, after=after_id)]


def read_standing(c: Connection, key: int) -> list[Decision]:
    """Return a memory's decisions that stand by themselves, in the order in which they were made."""
    return [from_row((*row, None, None)) for row in c.all(_STANDING, key=key)]


def decide(
    c: Connection, namespace: str, name: str, made: Sequence[tuple[Content, Witnesses]], seen: int
) -> Done[bool]:
    """Store decisions that stand by themselves, all or none.

    Who made them had seen those up to ``seen``: where one that is no statement
    has come since, nothing is stored, and the answer is False. Raises
    MemoryNotFoundError, and MessageNotFoundError where a name or a fact has no
    witness left.
    """
    place = existing(c, namespace, name)
    if c.one(_OTHERS_SINCE, key=place.key, seen=seen, kind=STATEMENT) is not None:
        return Done(False, None)
    wanted = {seq for _, witnesses in made for group in witnesses for seq in group}
    alive = queries.alive(c, place.key, sorted(wanted)).keys()
    rows = [Row(content, 0, _among(alive, witnesses)) for content, witnesses in made]
    if not all(group for row in rows for group in row.witnesses):
        raise MessageNotFoundError
    append(c, place, rows)
    return Done(True, place.key)


def state(
    c: Connection,
    namespace: str,
    name: str,
    statements: Sequence[tuple[Stated, Sequence[bytes]]],
    request_id: bytes,
    seal: bytes,
) -> Done[list[int | None]]:
    """Store statements with the ids of the messages that they stand on, all or none.

    A ``request_id`` that was seen with the same ``seal`` stores nothing. Answers
    when the messages of each were said, the first of them, in microseconds since
    1970, or None where none of them is left. Raises MemoryNotFoundError,
    MessageNotFoundError, RequestIdReusedError.
    """
    place = existing(c, namespace, name)
    seen = c.one(_SEEN, key=place.key, request_id=request_id) if request_id else None
    if seen is not None and not (seen[1] == 0 and requests.is_same(seen[0], seal)):
        raise RequestIdReusedError
    wanted = list(dict.fromkeys(one for _, sources in statements for one in sources))
    found = {one: (seq, min(times)) for one, seq, *times in _said(c, place.key, wanted)}
    first = [min((found[one][1] for one in sources if one in found), default=None) for _, sources in statements]
    if seen is not None:
        return Done(first, None)
    if len(found) < len(wanted):
        raise MessageNotFoundError
    append(c, place, [Row(said, found[one][0]) for said, sources in statements for one in dict.fromkeys(sources)])
    if request_id:
        insert_all(c, request, [(place.key, request_id, place.recorded_at, seal, b"", 0, 0)])
    return Done(first, place.key)


def testify(c: Connection, key: int, witnesses: Mapping[int, Witnesses]) -> Done[None]:
    """Give decisions, by id, other witnesses, as far as they live; a decision that is gone meanwhile is passed."""
    wanted = {seq for groups in witnesses.values() for group in groups for seq in group}
    alive = queries.alive(c, key, sorted(wanted)).keys()
    for number, groups in witnesses.items():
        for kind, body in c.all(_BODY, of=number):
            content, _, name = from_body(kind, body)
            c.change(_REWRITE, of=number, new_body=to_columns(content, _among(alive, groups), name)[1])
    return Done(None, None)


def erase(c: Connection, key: int, seqs: Sequence[int]) -> Erased:
    """Erase the statements that stand on these messages, and the decisions that lose their last witness by them."""
    stated = {found for (found,) in c.all(_SOURCES, key=key)}.intersection(seqs)
    statements = sum(c.change(_ERASE_OF, key=key, source=source) for source in stated)
    decisions, gone = 0, set(seqs)
    for standing in read_standing(c, key):
        left = tuple(tuple(seq for seq in group if seq not in gone) for group in standing.witnesses)
        if not all(left):
            decisions += c.change(_ERASE_ONE, of=standing.id)
        elif left != standing.witnesses:
            c.change(_REWRITE, of=standing.id, new_body=to_columns(standing.content, left, standing.name)[1])
    return Erased(statements, decisions)


def erase_all(c: Connection, key: int) -> int:
    """Erase all decisions of a memory; returns how many."""
    return c.change(_ERASE_ALL, key=key)


def append(c: Connection, place: Place, made: Sequence[Row]) -> None:
    """Store decisions at the end of a memory's log as it stands."""
    place.recorded_at = place.clock()
    save(c, [place])
    rows = []
    for content, source, witnesses, last_seq, name in made:
        kind, body = to_columns(content, witnesses, name or uuid.uuid4().hex)
        last = place.last_seq if last_seq is None else last_seq
        rows.append((place.key, kind, last, source, place.recorded_at, body))
    insert_all(c, decision, rows, _COLUMNS)


def _said(c: Connection, key: int, ids: Sequence[bytes]) -> Iterator[Sequence[Any]]:
    """Rows of (id, seq, time, recorded_at) of messages; one may come twice."""
    for some in portions(ids):
        yield from c.all(_said_of(len(some)), key=key, **named(some))


@cache
def _said_of(size: int) -> Statement:
    columns = (message.c.id, message.c.seq, message.c.time, message.c.recorded_at)
    return Statement(select(*columns).where(message.c.memory_key == bindparam("key"), one_of(message.c.id, size)))


def _among(seqs: Collection[int], witnesses: Witnesses) -> Witnesses:
    return tuple(tuple(seq for seq in group if seq in seqs) for group in witnesses)
