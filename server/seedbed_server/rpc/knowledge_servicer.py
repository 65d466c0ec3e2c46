"""KnowledgeService: the entities and the graph of facts, and what users decide about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import grpc

from seedbed.v1 import knowledge_service_pb2 as pb
from seedbed.v1 import message_pb2
from seedbed.v1.knowledge_service_pb2_grpc import KnowledgeServiceServicer
from seedbed_server.errors import EntityNotFoundError, stored_already
from seedbed_server.log import Log, MemoryRecord
from seedbed_server.memories.correcting import Corrections
from seedbed_server.memories.finding import Finding, known
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.knowledge import Knowledge
from seedbed_server.projections.timeline import Spell
from seedbed_server.projections.triples import Fact
from seedbed_server.rpc import checks
from seedbed_server.rpc import knowledge_answers as answers
from seedbed_server.rpc.caller import open_namespace
from seedbed_server.rpc.listing import Key, Listing, from_token
from seedbed_server.rpc.paging import PAGE_BYTES, within
from seedbed_server.rpc.sources import sources
from seedbed_server.rpc.statements import statements

Context = grpc.aio.ServicerContext[Any, Any]

_PAGE = 100
_SHOWN = 100
_MOST_HOPS = 4
_MOST_PATH = 6
_MOST_PATHS = 100
_MOST_STARTS = 100
_MOST_PREDICATES = 100


class _Asked(NamedTuple):
    """A memory and its graph; ``at`` is the moment of the world that is asked about."""

    record: MemoryRecord
    graph: MemoryGraph
    at: float


@dataclass(frozen=True, slots=True)
class KnowledgeServicer(KnowledgeServiceServicer):
    """Reads requests whole, asks the graph, and names only sources that are in the log now."""

    log: Log
    knowledge: Knowledge
    graphs: Graphs
    finding: Finding
    corrections: Corrections
    page_bytes: int = PAGE_BYTES

    async def ListEntities(self, request: pb.ListEntitiesRequest, context: Context) -> pb.ListEntitiesResponse:
        """List entities, most mentioned first."""
        after = from_token(request.page_token, int, str, str)
        size = checks.count(_given(request, "page_size"), "page_size", default=_PAGE)
        kind = checks.optional_identifier(request.type, "type")
        prefix = checks.optional_identifier(request.name_prefix, "name_prefix").casefold()
        record, graph, _ = await self._asked(request, None)
        found = [
            entity
            for entity in graph.entities.by_id.values()
            if (not kind or entity.type == kind)
            and any(name.casefold().startswith(prefix) for name in (entity.name, *entity.aliases))
        ]
        applied = graph.applied_seq
        listing = Listing(_itself, _entity_place, lambda entity, _: answers.entity(graph, entity))
        entities, token = await listing.page(self.log, record.key, found, after, size, self.page_bytes)
        return pb.ListEntitiesResponse(entities=entities, next_page_token=token, applied_seq=applied)

    async def GetEntity(self, request: pb.GetEntityRequest, context: Context) -> pb.GetEntityResponse:
        """Return an entity with its newest mentions and its facts."""
        wanted = checks.identifier(request.entity_id, "entity_id")
        asked = await self._asked(request, None, wanted)
        entity = known(asked.graph, wanted)
        found = pb.GetEntityResponse(entity=answers.entity(asked.graph, entity))
        facts, _ = asked.graph.explore([entity.id], hops=1, limit=_SHOWN, at=asked.at)
        held = _held(asked, facts)
        if not await sources(self.log, asked.record.key, [entity]):
            raise EntityNotFoundError
        names = asked.graph.identity.members(entity.id)
        rows = await self.knowledge.mentions_of(asked.record.key, names, _SHOWN)
        alive = await self.log.alive(asked.record.key, sorted({row.seq for row in rows}))
        for row in rows:
            if row.seq in alive:
                found.mentions.add(message_id=alive[row.seq], start=row.start, end=row.end, text=row.text)
        triples = await self._triples(asked, held)
        found.triples.extend(within(triples, self.page_bytes - found.ByteSize()))
        return found

    async def ListTriples(self, request: pb.ListTriplesRequest, context: Context) -> pb.ListTriplesResponse:
        """List facts, newest first; those that have ended or were retracted only when asked for."""
        after = from_token(request.page_token, float, str, float)
        size = checks.count(_given(request, "page_size"), "page_size", default=_PAGE)
        end = checks.optional_identifier(request.entity_id, "entity_id")
        predicate = checks.optional_identifier(request.predicate, "predicate")
        asked = await self._asked(request, request.as_of, *([end] if end else ()))
        end = known(asked.graph, end).id if end else ""
        facts = [
            fact
            for fact in asked.graph.facts.values()
            if (not end or end in (fact.subject_id, fact.object_id)) and (not predicate or predicate == fact.predicate)
        ]
        if request.include_superseded:
            until = asked.at if request.as_of.HasField("valid_at") else None
            listed = [(f, s) for f in facts for s in f.spells if until is None or s.valid_from <= until]
        else:
            listed = _held(asked, facts)
        applied = asked.graph.applied_seq
        listing = Listing(_fact, _fact_place, lambda held, ids: answers.triple(asked.graph, *held, ids))
        triples, token = await listing.page(self.log, asked.record.key, listed, after, size, self.page_bytes)
        return pb.ListTriplesResponse(triples=triples, next_page_token=token, applied_seq=applied)

    async def Explore(self, request: pb.ExploreRequest, context: Context) -> pb.ExploreResponse:
        """Return the facts around entities, nearest first, and the entities at their ends."""
        wanted = checks.identifiers(request.entity_ids, "entity_ids", most=_MOST_STARTS)
        predicates = checks.identifiers(request.predicates, "predicates", least=0, most=_MOST_PREDICATES)
        hops = checks.count(_given(request, "hops"), "hops", default=1, most=_MOST_HOPS)
        limit = checks.count(_given(request, "limit"), "limit", default=_PAGE)
        asked = await self._asked(request, request.as_of, *wanted)
        starts = [known(asked.graph, one).id for one in wanted]
        facts, cut = asked.graph.explore(starts, hops=hops, predicates=tuple(predicates), limit=limit, at=asked.at)
        found = pb.ExploreResponse(truncated=cut, applied_seq=asked.graph.applied_seq)
        triples = await self._triples(asked, _held(asked, facts))
        found.truncated |= not answers.fill(found, asked.graph, starts, triples, self.page_bytes)
        return found

    async def FindPaths(self, request: pb.FindPathsRequest, context: Context) -> pb.FindPathsResponse:
        """Return chains of facts between two entities, shortest first."""
        wanted = [checks.identifier(getattr(request, end), end) for end in ("from_entity_id", "to_entity_id")]
        hops = checks.count(_given(request, "max_hops"), "max_hops", default=4, most=_MOST_PATH)
        limit = checks.count(_given(request, "limit"), "limit", default=10, most=_MOST_PATHS)
        asked = await self._asked(request, request.as_of, *wanted)
        start, end = (known(asked.graph, one).id for one in wanted)
        paths = await self.graphs.find_paths(
            asked.record.key, asked.graph, start, end, max_hops=hops, limit=limit, at=asked.at
        )
        found = [(path, await self._triples(asked, _held(asked, path))) for path in paths]
        whole = (pb.Path(triples=triples) for path, triples in found if len(path) == len(triples))
        return pb.FindPathsResponse(paths=within(whole, self.page_bytes))

    async def MergeEntities(self, request: pb.MergeEntitiesRequest, context: Context) -> pb.MergeEntitiesResponse:
        """Declare two entities to be one, or say what that would change."""
        into, from_ = (checks.identifier(getattr(request, end), end) for end in ("into_entity_id", "from_entity_id"))
        done = await self.corrections.merge(*_address(request), into, from_, preview=request.preview)
        return pb.MergeEntitiesResponse(
            entity=answers.entity(done.graph, done.entity),
            merge_id=done.merge_id,
            mentions_moved=done.mentions_moved,
            triples_moved=done.triples_moved,
        )

    async def SplitEntity(self, request: pb.SplitEntityRequest, context: Context) -> pb.SplitEntityResponse:
        """Undo a merge."""
        merge_id = checks.identifier(request.merge_id, "merge_id")
        graph, entities = await self.corrections.split(*_address(request), merge_id)
        return pb.SplitEntityResponse(entities=[answers.entity(graph, entity) for entity in entities])

    async def AddTriples(self, request: pb.AddTriplesRequest, context: Context) -> pb.AddTriplesResponse:
        """Add facts of the caller's own; answered after the commit."""
        request_id = checks.optional_identifier(request.request_id, "request_id")
        given = statements(request.triples)
        record, graph, facts = await self.corrections.state(*_address(request), given, request_id)
        with stored_already():
            ids = await sources(self.log, record.key, [found[0] for found in facts if found is not None])
        # A repeated call may name what was forgotten since: its place in the order stays, without an id.
        whole = [
            answers.triple(graph, *found, ids[found[0].id]) if found is not None and found[0].id in ids else pb.Triple()
            for found in facts
        ]
        return pb.AddTriplesResponse(triples=answers.fitting(whole, self.page_bytes))

    async def RetractTriples(self, request: pb.RetractTriplesRequest, context: Context) -> pb.RetractTriplesResponse:
        """Declare facts to be no longer believed."""
        ids = checks.identifiers(request.triple_ids, "triple_ids")
        return pb.RetractTriplesResponse(retracted=await self.corrections.retract(*_address(request), ids))

    async def _asked(self, request: Any, as_of: message_pb2.AsOf | None, *entity_ids: str) -> _Asked:
        """The graph that a request is about; it holds the entities, or lacks them with all messages read."""
        namespace, name = _address(request)
        valid_at, known_at = checks.as_of(as_of) if as_of is not None else (None, None)
        record = await self.log.get(namespace, name)

        def holds(graph: MemoryGraph) -> bool:
            return all(graph.entity(one) is not None for one in entity_ids)

        graph = await self.finding.graph(record, holds, known_at)
        return _Asked(record, graph, graph.present() if valid_at is None else valid_at.timestamp())

    async def _triples(self, asked: _Asked, found: Sequence[tuple[Fact, Spell]]) -> list[pb.Triple]:
        """The facts that some message in the log still supports."""
        ids = await sources(self.log, asked.record.key, [fact for fact, _ in found])
        return [answers.triple(asked.graph, fact, spell, ids[fact.id]) for fact, spell in found if fact.id in ids]


def _held(asked: _Asked, facts: Sequence[Fact]) -> list[tuple[Fact, Spell]]:
    """Those that hold at the moment asked about, with the spell in which they do."""
    found = ((fact, fact.spell(asked.at)) for fact in facts)
    return [(fact, spell) for fact, spell in found if spell is not None]


def _address(request: Any) -> tuple[str, str]:
    namespace = open_namespace(checks.optional_identifier(request.namespace, "namespace"))
    return namespace, checks.identifier(request.memory, "memory")


def _entity_place(entity: Entity) -> Key:
    return (-entity.mention_count, entity.name, entity.id)


def _fact_place(held: tuple[Fact, Spell]) -> Key:
    fact, spell = held
    return (-fact.last_said, fact.id, -spell.valid_from)


def _itself(entity: Entity) -> Entity:
    return entity


def _fact(held: tuple[Fact, Spell]) -> Fact:
    return held[0]


def _given(request: Any, field: str) -> int | None:
    return getattr(request, field) if request.HasField(field) else None
