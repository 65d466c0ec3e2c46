"""Decisions on their way into the log, out of it, and away."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, bindparam, delete, select

from seedbed_server.errors import MessageNotFoundError, RequestIdReusedError
from seedbed_server.log import queries
from seedbed_server.log.connection import Connection, Statement
from seedbed_server.log.decisions import Content, Decision, from_row, to_columns
from seedbed_server.log.decisions import Statement as Stated
from seedbed_server.log.done import Done
from seedbed_server.log.inserting import insert_all
from seedbed_server.log.places import Place, existing, save
from seedbed_server.log.schema import decision, message, request

_d = decision.c
_COLUMNS = ("memory_key", "kind", "last_seq", "source", "recorded_at", "body")
_SOURCE = and_(message.c.memory_key == _d.memory_key, message.c.seq == _d.source)
_ALL = Statement(
    select(_d.id, _d.kind, _d.last_seq, _d.source, _d.recorded_at, _d.body, message.c.time)
    .select_from(decision.outerjoin(message, _SOURCE))
    .where(_d.memory_key == bindparam("key"))
    .order_by(_d.id)
)
_SOURCES = Statement(select(_d.source).distinct().where(_d.memory_key == bindparam("key"), _d.source > 0))
_ERASE = delete(decision).where(_d.memory_key == bindparam("key"))
_ERASE_ALL = Statement(_ERASE)
_ERASE_OF = Statement(_ERASE.where(_d.source == bindparam("source")))
_SEEN = Statement(
    select(request.c.digest).where(
        request.c.memory_key == bindparam("key"), request.c.request_id == bindparam("request_id")
    )
)


def read_all(c: Connection, key: int) -> list[Decision]:
    """Return a memory's decisions, in the order in which they were made."""
    return [from_row(row) for row in c.all(_ALL, key=key)]


def decide(c: Connection, namespace: str, name: str, content: Content) -> Done[None]:
    """Store a decision that stands by itself; MemoryNotFoundError."""
    place = existing(c, namespace, name)
    _append(c, place, [(content, 0)])
    return Done(None, place.key)


def state(
    c: Connection,
    namespace: str,
    name: str,
    statements: Sequence[tuple[Stated, Sequence[bytes]]],
    request_id: bytes,
    seal: bytes,
) -> Done[None]:
    """Store statements with the ids of the messages that they stand on, all or none.

    A ``request_id`` that was seen with the same ``seal`` stores nothing. Raises
    MemoryNotFoundError, MessageNotFoundError, RequestIdReusedError.
    """
    place = existing(c, namespace, name)
    seen = c.one(_SEEN, key=place.key, request_id=request_id) if request_id else None
    if seen is not None:
        if seen[0] != seal:
            raise RequestIdReusedError
        return Done(None, None)
    wanted = list(dict.fromkeys(one for _, sources in statements for one in sources))
    seqs = queries.seqs_by_id(c, place.key, wanted)
    if len(seqs) < len(wanted):
        raise MessageNotFoundError
    _append(c, place, [(said, seqs[one]) for said, sources in statements for one in dict.fromkeys(sources)])
    if request_id:
        insert_all(c, request, [(place.key, request_id, place.recorded_at, seal, b"")])
    return Done(None, place.key)


def erase(c: Connection, key: int, seqs: Sequence[int]) -> None:
    """Erase the statements that stand on these messages, as far as they do."""
    for source in {found for (found,) in c.all(_SOURCES, key=key)}.intersection(seqs):
        c.change(_ERASE_OF, key=key, source=source)


def erase_all(c: Connection, key: int) -> None:
    """Erase all decisions of a memory."""
    c.change(_ERASE_ALL, key=key)


def _append(c: Connection, place: Place, contents: Sequence[tuple[Content, int]]) -> None:
    place.recorded_at = place.clock()
    save(c, [place])
    made = [(to_columns(content), source) for content, source in contents]
    rows = [(place.key, kind, place.last_seq, source, place.recorded_at, body) for (kind, body), source in made]
    insert_all(c, decision, rows, _COLUMNS)
