"""Messages on their way into the log, many batches at a time.

An id belongs to a message while the message is stored. Once erased, it may be
given to another message, so that what was cleared can be imported again; that a
late retry does not bring an erased message back is what ``request_id`` is for
(see `requests`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import select

from seedbed.v1 import memory_service_pb2
from seedbed_server.errors import MemoryNotFoundError, MessageIdExistsError, RequestIdReusedError, SeedbedError
from seedbed_server.log import queries, requests
from seedbed_server.log.carrying import Carried, take_in
from seedbed_server.log.connection import Connection, Statement
from seedbed_server.log.done import Done
from seedbed_server.log.inserting import insert_all
from seedbed_server.log.lookups import named, one_of_pairs, portions
from seedbed_server.log.places import Address, Place, find_all, make, save
from seedbed_server.log.records import Appended, Imported, NewMemory
from seedbed_server.log.rows import Draft
from seedbed_server.log.schema import message, request


class Batch(NamedTuple):
    """What one call wants to append; ``digest`` is of session and messages, and empty without a request id."""

    address: Address
    drafts: Sequence[Draft]
    request_id: bytes
    digest: bytes
    new: NewMemory | None


def append_all(c: Connection, batches: Sequence[Batch]) -> list[Done[Appended] | SeedbedError]:
    """Store batches in their order; each is stored whole, or refused by its error without a trace.

    The errors are MemoryNotFoundError, MessageIdExistsError and RequestIdReusedError.
    """
    return _Appending(c, batches).outcomes()


def import_messages(
    c: Connection, at: Address, drafts: Sequence[Draft], decisions: Sequence[Carried], new: NewMemory | None
) -> Done[Imported]:
    """Store those messages whose ids are not stored yet, then those decisions; MemoryNotFoundError."""
    place = find_all(c, [at]).get(at)
    if place is None:
        if new is None:
            raise MemoryNotFoundError
        place = make(c, at, new)
    known = queries.seqs_by_id(c, place.key, [draft.id for draft in drafts if draft.given])
    fresh = [draft for draft in drafts if draft.id not in known]
    if fresh:
        insert_all(c, message, _advance(place, fresh))
        save(c, [place])
    decided = take_in(c, place, decisions) if decisions else 0
    answer = Imported(
        place.key, len(fresh), len(known), place.last_seq, decided, len(decisions) - decided, place.created
    )
    return Done(answer, place.key if fresh or decided or place.created else None)


def _advance(place: Place, drafts: Sequence[Draft]) -> list[tuple[Any, ...]]:
    """Move a place on by these messages; returns their rows."""
    at, seq = place.clock(), place.last_seq
    place.last_seq += len(drafts)
    place.message_count += len(drafts)
    place.recorded_at = at
    return [
        (place.key, seq + i, draft.id, draft.session, at if draft.time is None else draft.time, at, draft.body)
        for i, draft in enumerate(drafts, 1)
    ]


class _Appending:
    """Batches being appended: what the database holds is asked once for all, and written once for all.

    Between the two everything is decided here, so that a batch sees what the
    ones before it did.
    """

    def __init__(self, c: Connection, batches: Sequence[Batch]) -> None:
        self._c = c
        self._batches = batches
        self._places = find_all(c, {batch.address for batch in batches})
        self._seen = self._requests_seen()
        self._taken = self._ids_taken()
        self._messages: list[tuple[Any, ...]] = []
        self._requests: list[tuple[Any, ...]] = []

    def outcomes(self) -> list[Done[Appended] | SeedbedError]:
        """Decide on each batch, then write all that is to be stored."""
        found = [self._outcome(batch) for batch in self._batches]
        touched = {done.changed for done in found if isinstance(done, Done)}
        insert_all(self._c, message, self._messages)
        save(self._c, [place for place in self._places.values() if place.key in touched])
        insert_all(self._c, request, self._requests)
        return found

    def _outcome(self, batch: Batch) -> Done[Appended] | SeedbedError:
        place = self._places.get(batch.address)
        if place is None:
            if batch.new is None:
                return MemoryNotFoundError()
            place = self._places[batch.address] = make(self._c, batch.address, batch.new)
        seen = self._seen.get((place.key, batch.request_id))
        if seen is not None:
            first = _answer(place.key, seen[1], batch.drafts) if requests.is_same(seen[0], batch.digest) else None
            return RequestIdReusedError() if first is None else Done(first, None)
        for i, draft in enumerate(batch.drafts):
            if draft.given and draft.id in self._taken[place.key]:
                return MessageIdExistsError(f"messages[{i}].id")
        return self._store(place, batch)

    def _store(self, place: Place, batch: Batch) -> Done[Appended]:
        created = place.last_seq == 0 and place.created
        first_seq = place.last_seq + 1
        self._messages += _advance(place, batch.drafts)
        self._taken[place.key].update(draft.id for draft in batch.drafts if draft.given)
        ids = tuple(draft.id.decode() for draft in batch.drafts)
        answer = Appended(place.key, ids, first_seq, place.last_seq, created)
        if batch.request_id:
            stored = _answer_bytes(answer, batch.drafts)
            self._seen[place.key, batch.request_id] = batch.digest, stored
            self._requests.append(
                (place.key, batch.request_id, place.recorded_at, batch.digest, stored, first_seq, place.last_seq)
            )
        return Done(answer, place.key)

    def _requests_seen(self) -> dict[tuple[int, bytes], tuple[bytes, bytes]]:
        """Which of the requests are known: digest and answer by memory and request id."""
        asked = {
            (self._places[batch.address].key, batch.request_id)
            for batch in self._batches
            if batch.request_id and batch.address in self._places
        }
        found: dict[tuple[int, bytes], tuple[bytes, bytes]] = {}
        for some in portions(list(asked)):
            known = self._c.all(_seen(len(some)), **named(part for one in some for part in one))
            found |= {(key, one): (digest, answer) for key, one, digest, answer in known}
        return found

    def _ids_taken(self) -> defaultdict[int, set[bytes]]:
        """Which of the ids that callers gave are stored already, by memory."""
        given: defaultdict[int, set[bytes]] = defaultdict(set)
        for batch in self._batches:
            place = self._places.get(batch.address)
            if place is not None:
                given[place.key].update(draft.id for draft in batch.drafts if draft.given)
        for key, ids in given.items():
            given[key] = set(queries.seqs_by_id(self._c, key, list(ids)))
        return given


@cache
def _seen(size: int) -> Statement:
    columns = (request.c.memory_key, request.c.request_id, request.c.digest, request.c.answer)
    return Statement(select(*columns).where(one_of_pairs(request.c.memory_key, request.c.request_id, size)))


def _answer_bytes(answer: Appended, drafts: Sequence[Draft]) -> bytes:
    return memory_service_pb2.WriteResponse(
        message_ids=["" if draft.given else made for made, draft in zip(answer.ids, drafts, strict=True)],
        first_seq=answer.first_seq,
        last_seq=answer.last_seq,
        memory_created=answer.created,
    ).SerializeToString()


def _answer(key: int, stored: bytes, drafts: Sequence[Draft]) -> Appended | None:
    """The first answer, with the ids that a retry brings along; None where it cannot be one."""
    first = memory_service_pb2.WriteResponse.FromString(stored)
    if [not made for made in first.message_ids] != [draft.given for draft in drafts]:
        return None
    ids = tuple(made or draft.id.decode() for made, draft in zip(first.message_ids, drafts, strict=True))
    return Appended(key, ids, first.first_seq, first.last_seq, first.memory_created)
