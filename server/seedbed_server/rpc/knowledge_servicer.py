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

from seedbed_server.errors import EntityNotFoundError, InvalidFieldError, NotServedError, TooLargeError
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


@dataclass(frozen=True, slots=True)
class KnowledgeServicer(KnowledgeServiceServicer):
    """Reads requests, asks the graph, re-reads every source from the log."""

    log: Log
    knowledge: Knowledge
    graphs: Graphs

    async def ListEntities(self, request: pb.ListEntitiesRequest, context: Context) -> pb.ListEntitiesResponse:
        """List entities, most mentioned first; the page token counts those already given."""
        record, graph = await self._graph(request)
        prefix = request.name_prefix.casefold()
        found = [
            entity
            for entity in graph.entities.by_id.values()
            if (not request.type or entity.type == request.type)
            and any(name.casefold().startswith(prefix) for name in (entity.name, *entity.aliases))
        ]
        found.sort(key=lambda entity: (-entity.mention_count, entity.name, entity.id))
        alive = await self._alive(record, {seq for entity in found for seq in entity.seqs})
        page, token = _page([e for e in found if alive.keys() & e.seqs], request)
        return pb.ListEntitiesResponse(
            entities=[_entity(entity) for entity in page], next_page_token=token, applied_seq=graph.applied_seq
        )

    async def GetEntity(self, request: pb.GetEntityRequest, context: Context) -> pb.GetEntityResponse:
        """Return an entity with its newest mentions and its facts."""
        record, graph = await self._graph(request)
        entity = _known(graph, request.entity_id, "entity_id")
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
        record, graph = await self._graph(request, request.as_of)
        if request.entity_id:
            _known(graph, request.entity_id, "entity_id")
        facts = [
            fact
            for fact in graph.facts.values()
            if (request.include_superseded or fact.current)
            and (not request.entity_id or request.entity_id in (fact.subject_id, fact.object_id))
            and (not request.predicate or request.predicate == fact.predicate)
        ]
        facts.sort(key=lambda fact: (-fact.last_said, fact.id))
        page, token = _page(facts, request)
        return pb.ListTriplesResponse(
            triples=await self._triples(record, page), next_page_token=token, applied_seq=graph.applied_seq
        )

    async def Explore(self, request: pb.ExploreRequest, context: Context) -> pb.ExploreResponse:
        """Return the facts around entities, nearest first, and the entities at their ends."""
        if not request.entity_ids:
            raise InvalidFieldError("entity_ids", "is empty")
        if len(request.entity_ids) > _MOST_STARTS:
            raise TooLargeError("entity_ids", f"holds more than {_MOST_STARTS}")
        record, graph = await self._graph(request, request.as_of)
        starts = [_known(graph, one, f"entity_ids[{at}]").id for at, one in enumerate(request.entity_ids)]
        hops = checks.count(_given(request, "hops"), "hops", default=1, most=_MOST_HOPS)
        limit = checks.count(_given(request, "limit"), "limit", default=_PAGE)
        facts, cut = graph.explore(starts, hops=hops, predicates=tuple(request.predicates), limit=limit)
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
        record, graph = await self._graph(request, request.as_of)
        start = _known(graph, request.from_entity_id, "from_entity_id")
        end = _known(graph, request.to_entity_id, "to_entity_id")
        hops = checks.count(_given(request, "max_hops"), "max_hops", default=4, most=_MOST_PATH)
        limit = checks.count(_given(request, "limit"), "limit", default=10, most=_MOST_PATHS)
        paths = graph.find_paths(start.id, end.id, max_hops=hops, limit=limit)
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
        record = await self.log.get(namespace, checks.identifier(request.memory, "memory"))
        valid_at, known_at = checks.as_of(as_of) if as_of is not None else (None, None)
        if valid_at is None and known_at is None:
            return record, await self.graphs.get(record.key)
        return record, await self.graphs.as_of(
            record.key,
            valid_at=None if valid_at is None else valid_at.timestamp(),
            known_at=None if known_at is None else known_at.timestamp(),
        )

    async def _alive(self, record: MemoryRecord, seqs: Collection[int]) -> dict[int, Message]:
        return await self.log.by_seqs(record.key, sorted(seqs))

    async def _triples(self, record: MemoryRecord, facts: Sequence[Fact]) -> list[pb.Triple]:
        """The facts that some message in the log still supports."""
        alive = await self._alive(record, {seq for fact in facts for seq in fact.seqs})
        return [_triple(fact, alive) for fact in facts if any(seq in alive for seq in fact.seqs)]


def _known(graph: MemoryGraph, entity_id: str, path: str) -> Entity:
    entity = graph.entities.by_id.get(checks.identifier(entity_id, path))
    if entity is None:
        raise EntityNotFoundError
    return entity


def _page(found: Sequence[T], request: Any) -> tuple[Sequence[T], str]:
    """Cut a page out of a sorted list; the token is the place of its first item."""
    size = checks.count(_given(request, "page_size"), "page_size", default=_PAGE)
    token = request.page_token or "0"
    if not (token.isascii() and token.isdigit() and len(token) < 10):
        raise InvalidFieldError("page_token", "is not one that this server gave")
    start = int(token)
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
