"""KnowledgeService: the entities and the graph of facts, read-only in this version."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import grpc

from seedbed.messages import Message
from seedbed.v1 import knowledge_service_pb2 as pb
from seedbed.v1 import message_pb2
from seedbed.v1.knowledge_service_pb2_grpc import KnowledgeServiceServicer
from seedbed_server.errors import EntityNotFoundError, InvalidFieldError, NotServedError
from seedbed_server.log import Log, MemoryRecord
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.graph import Graphs, MemoryGraph
from seedbed_server.projections.knowledge import Knowledge
from seedbed_server.projections.triples import Fact
from seedbed_server.rpc import checks
from seedbed_server.rpc.answers import stamp
from seedbed_server.rpc.guards import open_namespace

Context = grpc.aio.ServicerContext[Any, Any]
T = TypeVar("T")

_PAGE = 100
_SHOWN = 100
_MOST_HOPS = 4
_MOST_PATH = 6
_MOST_PATHS = 100
_MOST_STARTS = 100
_MOST_PREDICATES = 100


@dataclass(frozen=True, slots=True)
class KnowledgeServicer(KnowledgeServiceServicer):
    """Reads requests whole, asks the graph, re-reads every source from the log."""

    log: Log
    knowledge: Knowledge
    graphs: Graphs

    async def ListEntities(self, request: pb.ListEntitiesRequest, context: Context) -> pb.ListEntitiesResponse:
        """List entities, most mentioned first; the page token counts those already given."""
        place = _place(request)
        kind = checks.optional_identifier(request.type, "type")
        prefix = checks.optional_identifier(request.name_prefix, "name_prefix").casefold()
        record, graph = await self._graph(request)
        found = [
            entity
            for entity in graph.entities.by_id.values()
            if (not kind or entity.type == kind)
            and any(name.casefold().startswith(prefix) for name in (entity.name, *entity.aliases))
        ]
        found.sort(key=lambda entity: (-entity.mention_count, entity.name, entity.id))
        alive = await self._alive(record, {seq for entity in found for seq in entity.seqs})
        page, token = _page([e for e in found if alive.keys() & e.seqs], place)
        return pb.ListEntitiesResponse(
            entities=[_entity(entity) for entity in page], next_page_token=token, applied_seq=graph.applied_seq
        )

    async def GetEntity(self, request: pb.GetEntityRequest, context: Context) -> pb.GetEntityResponse:
        """Return an entity with its newest mentions and its facts."""
        wanted = checks.identifier(request.entity_id, "entity_id")
        record, graph = await self._graph(request)
        entity = _known(graph, wanted)
        alive = await self._alive(record, entity.seqs)
        if not alive:
            raise EntityNotFoundError
        mentions = await self.knowledge.mentions_of(record.key, entity.id, _SHOWN)
        facts, _ = graph.explore([entity.id], hops=1, limit=_SHOWN)
        return pb.GetEntityResponse(
            entity=_entity(entity),
            mentions=[
                pb.Mention(message_id=alive[row.seq].id, start=row.start, end=row.end, text=row.text)
                for row in mentions
                if row.seq in alive
            ],
            triples=await self._triples(record, facts),
        )

    async def ListTriples(self, request: pb.ListTriplesRequest, context: Context) -> pb.ListTriplesResponse:
        """List facts, newest first; those that have ended only when asked for."""
        place = _place(request)
        end = checks.optional_identifier(request.entity_id, "entity_id")
        predicate = checks.optional_identifier(request.predicate, "predicate")
        record, graph = await self._graph(request, request.as_of)
        if end:
            _known(graph, end)
        facts = [
            fact
            for fact in graph.facts.values()
            if (request.include_superseded or fact.current)
            and (not end or end in (fact.subject_id, fact.object_id))
            and (not predicate or predicate == fact.predicate)
        ]
        facts.sort(key=lambda fact: (-fact.last_said, fact.id))
        page, token = _page(facts, place)
        return pb.ListTriplesResponse(
            triples=await self._triples(record, page), next_page_token=token, applied_seq=graph.applied_seq
        )

    async def Explore(self, request: pb.ExploreRequest, context: Context) -> pb.ExploreResponse:
        """Return the facts around entities, nearest first, and the entities at their ends."""
        wanted = checks.identifiers(request.entity_ids, "entity_ids", most=_MOST_STARTS)
        predicates = checks.identifiers(request.predicates, "predicates", least=0, most=_MOST_PREDICATES)
        hops = checks.count(_given(request, "hops"), "hops", default=1, most=_MOST_HOPS)
        limit = checks.count(_given(request, "limit"), "limit", default=_PAGE)
        record, graph = await self._graph(request, request.as_of)
        starts = [_known(graph, one).id for one in wanted]
        facts, cut = graph.explore(starts, hops=hops, predicates=tuple(predicates), limit=limit)
        triples = await self._triples(record, facts)
        ends = dict.fromkeys([*starts, *(end for fact in facts for end in (fact.subject_id, fact.object_id))])
        return pb.ExploreResponse(
            entities=[_entity(graph.entities.by_id[end]) for end in ends],
            triples=triples,
            truncated=cut,
            applied_seq=graph.applied_seq,
        )

    async def FindPaths(self, request: pb.FindPathsRequest, context: Context) -> pb.FindPathsResponse:
        """Return chains of facts between two entities, shortest first."""
        wanted = [checks.identifier(getattr(request, end), end) for end in ("from_entity_id", "to_entity_id")]
        hops = checks.count(_given(request, "max_hops"), "max_hops", default=4, most=_MOST_PATH)
        limit = checks.count(_given(request, "limit"), "limit", default=10, most=_MOST_PATHS)
        record, graph = await self._graph(request, request.as_of)
        start, end = (_known(graph, one).id for one in wanted)
        paths = await self.graphs.find_paths(record.key, graph, start, end, max_hops=hops, limit=limit)
        answers = [(path, await self._triples(record, path)) for path in paths]
        return pb.FindPathsResponse(
            paths=[pb.Path(triples=triples) for path, triples in answers if len(path) == len(triples)]
        )

    async def MergeEntities(self, request: pb.MergeEntitiesRequest, context: Context) -> pb.MergeEntitiesResponse:
        """Planned."""
        raise NotServedError

    async def SplitEntity(self, request: pb.SplitEntityRequest, context: Context) -> pb.SplitEntityResponse:
        """Planned."""
        raise NotServedError

    async def AddTriples(self, request: pb.AddTriplesRequest, context: Context) -> pb.AddTriplesResponse:
        """Planned."""
        raise NotServedError

    async def RetractTriples(self, request: pb.RetractTriplesRequest, context: Context) -> pb.RetractTriplesResponse:
        """Planned."""
        raise NotServedError

    async def _graph(self, request: Any, as_of: message_pb2.AsOf | None = None) -> tuple[MemoryRecord, MemoryGraph]:
        namespace = open_namespace(checks.optional_identifier(request.namespace, "namespace"))
        name = checks.identifier(request.memory, "memory")
        valid_at, known_at = checks.as_of(as_of) if as_of is not None else (None, None)
        record = await self.log.get(namespace, name)
        if valid_at is None and known_at is None:
            return record, await self.graphs.get(record.key)
        return record, await self.graphs.as_of(
            record.key,
            valid_at=None if valid_at is None else valid_at.timestamp(),
            upto_seq=None if known_at is None else await self.log.seq_at(record.key, known_at),
        )

    async def _alive(self, record: MemoryRecord, seqs: Collection[int]) -> dict[int, Message]:
        return await self.log.by_seqs(record.key, sorted(seqs))

    async def _triples(self, record: MemoryRecord, facts: Sequence[Fact]) -> list[pb.Triple]:
        """The facts that some message in the log still supports."""
        alive = await self._alive(record, {seq for fact in facts for seq in fact.seqs})
        return [_triple(fact, alive) for fact in facts if any(seq in alive for seq in fact.seqs)]


def _known(graph: MemoryGraph, entity_id: str) -> Entity:
    entity = graph.entities.by_id.get(entity_id)
    if entity is None:
        raise EntityNotFoundError
    return entity


def _place(request: Any) -> tuple[int, int]:
    """Where the page of a request begins in a sorted list, which is what its token says, and how long it may be."""
    size = checks.count(_given(request, "page_size"), "page_size", default=_PAGE)
    token = request.page_token or "0"
    if not (token.isascii() and token.isdigit() and len(token) < 10):
        raise InvalidFieldError("page_token", "is not one that this server gave")
    return int(token), size


def _page(found: Sequence[T], place: tuple[int, int]) -> tuple[Sequence[T], str]:
    """Cut a page out of a sorted list; returns the token of the next one too."""
    start, size = place
    more = str(start + size) if start + size < len(found) else ""
    return found[start : start + size], more


def _given(request: Any, field: str) -> int | None:
    return getattr(request, field) if request.HasField(field) else None


def _entity(entity: Entity) -> pb.Entity:
    return pb.Entity(
        id=entity.id,
        name=entity.name,
        type=entity.type,
        aliases=entity.aliases,
        mention_count=entity.mention_count,
        first_seen=stamp(datetime.fromtimestamp(entity.first_seen, UTC)),
        last_seen=stamp(datetime.fromtimestamp(entity.last_seen, UTC)),
    )


def _triple(fact: Fact, alive: dict[int, Message]) -> pb.Triple:
    triple = pb.Triple(
        id=fact.id,
        subject_id=fact.subject_id,
        subject=fact.subject,
        predicate=fact.predicate,
        object_id=fact.object_id,
        object=fact.object,
        negated=fact.negated,
        modality=fact.modality,
        surface=fact.surface,
        valid_from=stamp(datetime.fromtimestamp(fact.valid_from, UTC)),
        known_from=stamp(datetime.fromtimestamp(fact.known_from, UTC)),
        source_ids=[alive[seq].id for seq in fact.seqs if seq in alive],
    )
    if fact.valid_to is not None:
        triple.valid_to.CopyFrom(stamp(datetime.fromtimestamp(fact.valid_to, UTC)))
    return triple
