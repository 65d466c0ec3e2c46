"""The writes of the log but for messages: settings, and what is erased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import bindparam, delete, insert, update

from seedbed.variants import Variant
from seedbed_server.errors import MemoryExistsError, RevisionChangedError
from seedbed_server.log import deciding, queries, requests, rows
from seedbed_server.log.connection import Connection, Statement
from seedbed_server.log.done import Done
from seedbed_server.log.places import Place, address, existing, find_all, make, save
from seedbed_server.log.records import Erasure, MemoryRecord, NewMemory
from seedbed_server.log.schema import erasure, memory, message

_SET = Statement(
    update(memory)
    .where(memory.c.key == bindparam("of"))
    .values({name: bindparam(f"new_{name}") for name in ("variant", "system", "revision")})
)
_DROP = Statement(delete(memory).where(memory.c.key == bindparam("key")))
_ERASE = delete(message).where(message.c.memory_key == bindparam("key"))
_ERASE_ALL = Statement(_ERASE)
_ERASE_SESSION = Statement(_ERASE.where(message.c.session == bindparam("session")))
_ERASE_ONE = Statement(_ERASE.where(message.c.seq == bindparam("seq")))
_NOTE = Statement(
    insert(erasure).values({name: bindparam(name) for name in ("memory_key", "whole", "seqs")}).returning(erasure.c.id)
)


def create(c: Connection, namespace: str, name: str, new: NewMemory) -> Done[MemoryRecord]:
    """Make a memory; MemoryExistsError."""
    at = address(namespace, name)
    if find_all(c, [at]):
        raise MemoryExistsError
    key = make(c, at, new).key
    return Done(queries.get(c, namespace, name), key)


def change_settings(
    c: Connection, namespace: str, name: str, *, variant: Variant | None, system: str | None, revision: int
) -> Done[MemoryRecord]:
    """Set the variant, the pin or both; MemoryNotFoundError, RevisionChangedError."""
    found = queries.get(c, namespace, name)
    if revision not in {0, found.revision}:
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
    place = existing(c, namespace, name)
    c.change(_DROP, key=place.key)
    c.one(_NOTE, memory_key=place.key, whole=True, seqs="")
    return Done(place.message_count, place.key, erased=True)


def clear(c: Connection, namespace: str, name: str, session: str) -> Done[tuple[int, int]]:
    """Erase a session, or everything; settings and seq stay. MemoryNotFoundError."""
    place = existing(c, namespace, name)
    own = {"session": rows.exact(session, "session")} if session else {}
    seqs = queries.seqs(c, place.key, 0, session)
    decided = 0 if session else deciding.erase_all(c, place.key)
    if not seqs and not decided:
        return Done((place.key, 0), None)
    c.change(_ERASE_SESSION if session else _ERASE_ALL, key=place.key, **own)
    gone = deciding.erase(c, place.key, seqs)
    if session:
        requests.erase(c, place.key, seqs, stated=gone.statements > 0)
    else:
        requests.erase_all(c, place.key)
    _note(c, place, seqs)
    return Done((place.key, len(seqs)), place.key, erased=True)


def forget(c: Connection, namespace: str, name: str, ids: Sequence[bytes]) -> Done[Erasure | None]:
    """Erase chosen messages; answers None where none of them is stored. MemoryNotFoundError."""
    place = existing(c, namespace, name)
    seqs = sorted(queries.seqs_by_id(c, place.key, ids).values())
    if not seqs:
        return Done(None, None)
    for seq in seqs:
        c.change(_ERASE_ONE, key=place.key, seq=seq)
    gone = deciding.erase(c, place.key, seqs)
    requests.erase(c, place.key, seqs, stated=gone.statements > 0)
    noted = replace(_note(c, place, seqs), statements=gone.statements, decisions=gone.decisions)
    return Done(noted, place.key, erased=True)


def _note(c: Connection, place: Place, seqs: Sequence[int]) -> Erasure:
    """Write down for the projections that these messages are gone."""
    place.message_count -= len(seqs)
    save(c, [place])
    noted = c.one(_NOTE, memory_key=place.key, whole=False, seqs=rows.to_ranges(seqs))
    assert noted is not None
    return Erasure(noted[0], place.key, tuple(seqs), whole=False)
