"""The calls about one memory, as values: see `seedbed.calls`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from seedbed import replies
from seedbed.calls import STREAM_TIMEOUT, Call, Page, ServerCalls, new_request_id, optional_variant
from seedbed.decisions import Decision, decision_from_proto
from seedbed.importing import ImportRequests, import_elements
from seedbed.messages import Message, transcript
from seedbed.results import (
    EntityDetails,
    Imported,
    KnownEntity,
    MemoryInfo,
    Merged,
    Recall,
    RecallEntry,
    Receipt,
    Subgraph,
    Triple,
    Written,
)
from seedbed.seeds import Seed
from seedbed.statements import Statement
from seedbed.surrogates import text_for_wire
from seedbed.v1 import knowledge_service_pb2 as knowledge_pb2
from seedbed.v1 import memory_service_pb2 as memory_pb2
from seedbed.v1 import message_pb2, variant_pb2
from seedbed.variants import Variant
from seedbed.wire import message_from_proto, message_to_proto, seed_from_proto, time_to_proto, variant_to_proto

# The name space of the message ids that are made from request ids.
_MESSAGE_IDS = UUID("0bb2c1f5-7d0a-4a54-9b43-2f1d6c0e8a37")


def message_id(request_id: str, index: int) -> str:
    """The id of the message at ``index`` of a write's batch, where it has none of its own.

    A function of the request id: a write repeated with the same request id is
    the same write to the last byte.
    """
    return uuid5(_MESSAGE_IDS, f"{request_id}/{index}").hex


@dataclass(frozen=True, slots=True)
class MemoryCalls:
    """The calls about the memory ``name``, in ``session``, as ``variant`` and pin ``system`` would create it."""

    namespace: str
    name: str
    variant: Variant | None = None
    system: str = ""
    session: str = "default"
    _variant: variant_pb2.Variant | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Put the variant on the wire once; one that cannot be sent is refused before any call (TypeError)."""
        object.__setattr__(self, "_variant", optional_variant(self.variant))

    @property
    def creates(self) -> bool:
        """True when it is known how the memory is to be, so that it may be created."""
        return self.variant is not None or bool(self.system)

    @property
    def _address(self) -> dict[str, Any]:
        return {"namespace": self.namespace, "memory": self.name}

    @property
    def _spec(self) -> dict[str, Any]:
        return {"variant": self._variant, "system": text_for_wire(self.system)}

    def create(self) -> Call[MemoryInfo]:
        """CreateMemory, with the variant and the pin."""
        return ServerCalls(self.namespace).create(self.name, self.variant, self.system)

    def write(self, messages: Iterable[Message], request_id: str) -> Call[Written]:
        """Write; without a request id the call's own is used, so that a retry stores nothing twice."""
        call_id = new_request_id()
        request = memory_pb2.WriteRequest(
            **self._address, **self._spec, session=self.session, request_id=request_id or call_id
        )
        for index, message in enumerate(transcript(messages)):
            proto = message_to_proto(message)
            if not proto.id:
                proto.id = message_id(request.request_id, index)
            request.messages.append(proto)
        return Call("MemoryService", "Write", request, replies.written, request_id=call_id)

    def read(self, session: str, after_seq: int, page_size: int) -> Call[Page[Message]]:
        """Read, after ``after_seq``."""

        def parse(reply: memory_pb2.ReadResponse) -> Page[Message]:
            following = self.read(session, reply.next_after_seq, page_size) if reply.next_after_seq else None
            return Page(tuple(message_from_proto(each) for each in reply.messages), following)

        request = memory_pb2.ReadRequest(**self._address, session=session, after_seq=after_seq, page_size=page_size)
        return Call("MemoryService", "Read", request, parse)

    def seed(
        self,
        *,
        query: str,
        max_tokens: int | None,
        session: str | None,
        valid_at: datetime | None,
        known_at: datetime | None,
        variant: Variant | None,
    ) -> Call[Seed]:
        """Seed, through ``variant`` or else this handle's own."""
        request = memory_pb2.SeedRequest(
            **self._address,
            session=self.session if session is None else session,
            query=text_for_wire(query),
            max_tokens=max_tokens,
            as_of=_as_of(valid_at, known_at),
            variant=self._variant if variant is None else variant_to_proto(variant),
        )
        return Call("MemoryService", "Seed", request, seed_from_proto)

    def recall(
        self,
        *,
        query: str,
        k: int,
        session: str,
        valid_at: datetime | None,
        known_at: datetime | None,
        explain: bool,
    ) -> Call[Recall]:
        """Recall."""
        request = memory_pb2.RecallRequest(
            **self._address,
            session=session,
            query=text_for_wire(query),
            k=k,
            as_of=_as_of(valid_at, known_at),
            explain=explain,
        )
        return Call("MemoryService", "Recall", request, replies.recall)

    def recalls(self, *, session: str, with_messages: bool, page_size: int, token: str = "") -> Call[Page[RecallEntry]]:
        """ListRecalls, from ``token`` on."""
        asked: dict[str, Any] = {"session": session, "with_messages": with_messages, "page_size": page_size}

        def parse(reply: memory_pb2.ListRecallsResponse) -> Page[RecallEntry]:
            after = reply.next_page_token
            following = self.recalls(**asked, token=after) if after else None
            return Page(tuple(replies.recall_entry(each) for each in reply.entries), following)

        request = memory_pb2.ListRecallsRequest(**self._address, **asked, page_token=token)
        return Call("MemoryService", "ListRecalls", request, parse)

    def clear(self, session: str) -> Call[int]:
        """Clear."""
        request = memory_pb2.ClearRequest(**self._address, session=session)
        return Call("MemoryService", "Clear", request, lambda reply: int(reply.messages_cleared))

    def forget(self, ids: Sequence[str]) -> Call[Receipt]:
        """Forget."""
        request = memory_pb2.ForgetRequest(**self._address, message_ids=_listed(ids, "ids"))
        return Call("MemoryService", "Forget", request, lambda reply: replies.receipt(reply.receipt))

    def import_messages(self, items: Iterable[Message | Decision], timeout: float) -> Call[Imported]:
        """ImportMessages; its request is an iterator that ends early where ``items`` fails."""
        elements = import_elements(items, {**self._address, **self._spec}, self.session)
        requests = ImportRequests(elements)

        def parse(reply: memory_pb2.ImportMessagesResponse) -> Imported:
            if requests.failure is not None:
                raise requests.failure
            return replies.imported(reply)

        return Call("MemoryService", "ImportMessages", requests, parse, timeout)

    def export(self, timeout: float = STREAM_TIMEOUT) -> Call[Message | None]:
        """ExportMemory, messages alone; the other elements read as None."""

        def parse(reply: memory_pb2.ExportMemoryResponse) -> Message | None:
            return message_from_proto(reply.message) if reply.HasField("message") else None

        request = memory_pb2.ExportMemoryRequest(**self._address)
        return Call("MemoryService", "ExportMemory", request, parse, timeout)

    def export_all(self, timeout: float = STREAM_TIMEOUT) -> Call[Message | Decision | None]:
        """ExportMemory, messages and decisions; the memory's settings read as None."""

        def parse(reply: memory_pb2.ExportMemoryResponse) -> Message | Decision | None:
            if reply.HasField("decision"):
                return decision_from_proto(reply.decision)
            return message_from_proto(reply.message) if reply.HasField("message") else None

        request = memory_pb2.ExportMemoryRequest(**self._address)
        return Call("MemoryService", "ExportMemory", request, parse, timeout)

    def entities(self, kind: str, name_prefix: str, page_size: int, token: str = "") -> Call[Page[KnownEntity]]:
        """ListEntities, from ``token`` on."""

        def parse(reply: knowledge_pb2.ListEntitiesResponse) -> Page[KnownEntity]:
            after = reply.next_page_token
            following = self.entities(kind, name_prefix, page_size, after) if after else None
            return Page(tuple(replies.entity(each) for each in reply.entities), following)

        request = knowledge_pb2.ListEntitiesRequest(
            **self._address, type=kind, name_prefix=name_prefix, page_size=page_size, page_token=token
        )
        return Call("KnowledgeService", "ListEntities", request, parse)

    def entity(self, entity_id: str) -> Call[EntityDetails]:
        """GetEntity."""
        request = knowledge_pb2.GetEntityRequest(**self._address, entity_id=entity_id)
        return Call("KnowledgeService", "GetEntity", request, replies.entity_details)

    def triples(
        self,
        *,
        entity_id: str,
        predicate: str,
        valid_at: datetime | None,
        known_at: datetime | None,
        include_superseded: bool,
        page_size: int,
        token: str = "",
    ) -> Call[Page[Triple]]:
        """ListTriples, from ``token`` on."""
        asked: dict[str, Any] = {
            "entity_id": entity_id,
            "predicate": predicate,
            "include_superseded": include_superseded,
            "page_size": page_size,
        }

        def parse(reply: knowledge_pb2.ListTriplesResponse) -> Page[Triple]:
            after = reply.next_page_token
            following = self.triples(**asked, valid_at=valid_at, known_at=known_at, token=after) if after else None
            return Page(replies.triples(reply.triples), following)

        request = knowledge_pb2.ListTriplesRequest(
            **self._address, **asked, as_of=_as_of(valid_at, known_at), page_token=token
        )
        return Call("KnowledgeService", "ListTriples", request, parse)

    def explore(
        self,
        *,
        entity_ids: Sequence[str],
        hops: int,
        predicates: Sequence[str],
        valid_at: datetime | None,
        known_at: datetime | None,
        limit: int,
    ) -> Call[Subgraph]:
        """Explore."""
        request = knowledge_pb2.ExploreRequest(
            **self._address,
            entity_ids=_listed(entity_ids, "entity_ids"),
            hops=hops,
            predicates=_listed(predicates, "predicates"),
            as_of=_as_of(valid_at, known_at),
            limit=limit,
        )
        return Call("KnowledgeService", "Explore", request, replies.subgraph)

    def find_paths(
        self,
        *,
        from_id: str,
        to_id: str,
        max_hops: int,
        limit: int,
        valid_at: datetime | None,
        known_at: datetime | None,
    ) -> Call[tuple[tuple[Triple, ...], ...]]:
        """FindPaths."""
        request = knowledge_pb2.FindPathsRequest(
            **self._address,
            from_entity_id=from_id,
            to_entity_id=to_id,
            max_hops=max_hops,
            limit=limit,
            as_of=_as_of(valid_at, known_at),
        )
        return Call("KnowledgeService", "FindPaths", request, replies.paths)

    def merge(self, into_id: str, from_id: str, *, preview: bool) -> Call[Merged]:
        """MergeEntities."""
        request = knowledge_pb2.MergeEntitiesRequest(
            **self._address, into_entity_id=into_id, from_entity_id=from_id, preview=preview
        )
        return Call("KnowledgeService", "MergeEntities", request, replies.merged)

    def split(self, merge_id: str) -> Call[tuple[KnownEntity, ...]]:
        """SplitEntity."""

        def parse(reply: knowledge_pb2.SplitEntityResponse) -> tuple[KnownEntity, ...]:
            return tuple(replies.entity(each) for each in reply.entities)

        request = knowledge_pb2.SplitEntityRequest(**self._address, merge_id=merge_id)
        return Call("KnowledgeService", "SplitEntity", request, parse)

    def add_triples(self, statements: Iterable[Statement], request_id: str) -> Call[tuple[Triple, ...]]:
        """AddTriples; without a request id of the caller's, the call's own is sent."""
        call_id = new_request_id()
        request = knowledge_pb2.AddTriplesRequest(**self._address, request_id=request_id or call_id)
        for said in statements:
            request.triples.add(
                subject=text_for_wire(said.subject),
                predicate=text_for_wire(said.predicate),
                object=text_for_wire(said.object),
                negated=said.negated,
                valid_from=None if said.valid_from is None else time_to_proto(said.valid_from, "valid_from"),
                valid_to=None if said.valid_to is None else time_to_proto(said.valid_to, "valid_to"),
                source_ids=_listed(said.source_ids, "source_ids"),
            )

        def parse(reply: knowledge_pb2.AddTriplesResponse) -> tuple[Triple, ...]:
            return replies.triples(reply.triples)

        return Call("KnowledgeService", "AddTriples", request, parse, request_id=call_id)

    def retract_triples(self, triple_ids: Sequence[str]) -> Call[int]:
        """RetractTriples."""

        def parse(reply: knowledge_pb2.RetractTriplesResponse) -> int:
            return reply.retracted

        request = knowledge_pb2.RetractTriplesRequest(**self._address, triple_ids=_listed(triple_ids, "triple_ids"))
        return Call("KnowledgeService", "RetractTriples", request, parse)


def _listed(values: Sequence[str], name: str) -> Sequence[str]:
    """Refuse a text where a list of texts is meant: protobuf would take it for a list of letters."""
    if isinstance(values, str):
        raise TypeError(f"{name}: must be a list of texts, not one text")
    return values


def _as_of(valid_at: datetime | None, known_at: datetime | None) -> message_pb2.AsOf | None:
    if valid_at is None and known_at is None:
        return None
    return message_pb2.AsOf(
        valid_at=None if valid_at is None else time_to_proto(valid_at, "valid_at"),
        known_at=None if known_at is None else time_to_proto(known_at, "known_at"),
    )
