"""What users decide about the graph: who is one, what holds, and what does not.

Each decision is written to the log, and read back through the graph that it
makes; nothing derived is changed by hand.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product

from seedbed_server.errors import (
    EntityNotFoundError,
    InvalidFieldError,
    MergeNotFoundError,
    TripleNotFoundError,
)
from seedbed_server.log import Decision, Log, MemoryRecord, Merge, Retraction, Split, Statement
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.names import canonical, entity_id, triple_id
from seedbed_server.projections.triples import Fact


@dataclass(frozen=True, slots=True)
class MergeDone:
    """A merge, or what it would be: then ``merge_id`` is empty. ``graph`` is the one after it."""

    graph: MemoryGraph
    entity: Entity
    merge_id: str
    mentions_moved: int
    triples_moved: int


@dataclass(frozen=True, slots=True)
class Corrections:
    """Takes decisions. Every method raises MemoryNotFoundError, and the errors of a write to the log."""

    log: Log
    graphs: Graphs

    async def merge(self, namespace: str, name: str, into_id: str, from_id: str, *, preview: bool) -> MergeDone:
        """Declare two entities to be one. Raises EntityNotFoundError, and InvalidFieldError where they are already."""
        record, graph = await self.current(namespace, name)
        into, from_ = known(graph, into_id), known(graph, from_id)
        if into.id == from_.id:
            raise InvalidFieldError("from_entity_id", "is the same entity as into_entity_id")
        moved = from_.mention_count, sum(fact.retracted_at is None for fact in graph.touching(from_.id))
        content = Merge(uuid.uuid4().hex, into.id, from_.id)
        if preview:
            assumed = Decision(0, content, record.last_seq, 0, datetime.now(UTC), None)
            after = await self.graphs.assuming(record.key, assumed)
        else:
            await self.log.decide(namespace, name, content)
            _, after = await self.current(namespace, name)
        return MergeDone(after, known(after, into.id), "" if preview else content.merge_id, *moved)

    async def split(self, namespace: str, name: str, merge_id: str) -> tuple[MemoryGraph, list[Entity]]:
        """Undo a merge; returns the graph after it, and the entities. MergeNotFoundError."""
        _, graph = await self.current(namespace, name)
        merged = graph.identity.merges.get(merge_id)
        if merged is None:
            raise MergeNotFoundError
        await self.log.decide(namespace, name, Split(merge_id))
        _, after = await self.current(namespace, name)
        ids = dict.fromkeys(after.identity.of(one) for one in (merged.into_id, merged.from_id))
        return after, [after.entities.by_id[one] for one in ids if one in after.entities.by_id]

    async def state(
        self, namespace: str, name: str, statements: Sequence[tuple[Statement, Sequence[str]]], request_id: str
    ) -> tuple[MemoryRecord, MemoryGraph, list[Fact | None]]:
        """Add facts with the messages they stand on; returns them as they stand, None for one forgotten since.

        Raises MessageNotFoundError, RequestIdReusedError.
        """
        await self.log.state(namespace, name, statements, request_id=request_id)
        record, graph = await self.current(namespace, name)
        return record, graph, [graph.facts.get(_fact_id(graph, said)) for said, _ in statements]

    async def retract(self, namespace: str, name: str, fact_ids: Sequence[str]) -> int:
        """Declare facts to be no longer believed; returns how many were until now. TripleNotFoundError."""
        _, graph = await self.current(namespace, name)
        facts = [graph.facts.get(one) for one in dict.fromkeys(fact_ids)]
        if None in facts:
            raise TripleNotFoundError
        believed = [fact for fact in facts if fact is not None and fact.retracted_at is None]
        if believed:
            ids = [one for fact in believed for one in _ids_as_said(graph, fact)]
            await self.log.decide(namespace, name, Retraction(tuple(dict.fromkeys(ids))))
        return len(believed)

    async def current(self, namespace: str, name: str) -> tuple[MemoryRecord, MemoryGraph]:
        """Return a memory and its graph, with every decision that was answered."""
        record = await self.log.get(namespace, name)
        return record, await self.graphs.get(record.key, record.decided)


def known(graph: MemoryGraph, one: str) -> Entity:
    """Return the entity of an id, which may be that of a name merged into it. EntityNotFoundError."""
    entity = graph.entities.by_id.get(graph.identity.of(one))
    if entity is None:
        raise EntityNotFoundError
    return entity


def _fact_id(graph: MemoryGraph, said: Statement) -> str:
    ends = [graph.identity.of(entity_id(canonical(end))) for end in (said.subject, said.object)]
    return triple_id(ends[0], " ".join(said.predicate.split()), ends[1], said.negated, "asserted")


def _ids_as_said(graph: MemoryGraph, fact: Fact) -> list[str]:
    """The ids that a fact has by the names it may have been said with: they hold whatever is merged or split later."""
    ends = product(graph.identity.members(fact.subject_id), graph.identity.members(fact.object_id))
    return [triple_id(subject, fact.predicate, object_, fact.negated, fact.modality) for subject, object_ in ends]
