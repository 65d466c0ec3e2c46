"""What users decide about the graph: who is one, what holds, and what does not.

Each decision is written to the log, and read back through the graph that it
makes; nothing derived is changed by hand. A decision is checked against a graph
and stored only if no other has come since that was read; else it is checked
again. So of two that exclude each other, one is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from seedbed_server.errors import (
    EntityNotFoundError,
    InvalidFieldError,
    MergeNotFoundError,
    MessageNotFoundError,
    TripleNotFoundError,
    stored_already,
)
from seedbed_server.log import Content, Decision, Log, MemoryRecord, Merge, Retraction, Split, Statement, Witnesses
from seedbed_server.memories.finding import Finding, known
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.identity import alias_pair
from seedbed_server.projections.names import canonical, entity_id, triple_id
from seedbed_server.projections.rows import seconds
from seedbed_server.projections.timeline import Spell
from seedbed_server.projections.triples import Fact, begin


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
    finding: Finding

    async def merge(self, namespace: str, name: str, into_id: str, from_id: str, *, preview: bool) -> MergeDone:
        """Declare two entities to be one. Raises EntityNotFoundError, and InvalidFieldError where they are already."""

        def both(graph: MemoryGraph) -> bool:
            return graph.entity(into_id) is not None and graph.entity(from_id) is not None

        while True:
            record, graph = await self._current(namespace, name, both)
            into, from_ = known(graph, into_id), known(graph, from_id)
            if into.id == from_.id:
                raise InvalidFieldError("from_entity_id", "is the same entity as into_entity_id")
            moved = from_.mention_count, sum(fact.retracted_at is None for fact in graph.touching(from_.id))
            content = Merge(uuid.uuid4().hex, into.id, from_.id)
            if preview:
                assumed = Decision(0, content, record.last_seq, 0, datetime.now(UTC), None)
                after = await self.graphs.assuming(record.key, assumed)
                return MergeDone(after, known(after, into.id), "", *moved)
            witnesses = await self._naming(record, into.id, from_.id)
            if await self._decided(record, [(content, witnesses)], EntityNotFoundError):
                _, after = await self._after(namespace, name, both)
                with stored_already():
                    return MergeDone(after, known(after, into.id), content.merge_id, *moved)

    async def split(self, namespace: str, name: str, merge_id: str) -> tuple[MemoryGraph, list[Entity]]:
        """Undo a merge; returns the graph after it, and the entities. MergeNotFoundError."""
        while True:
            record, graph = await self._current(namespace, name, lambda graph: merge_id in graph.identity.merges)
            merged = graph.identity.merges.get(merge_id)
            if merged is None:
                raise MergeNotFoundError
            # The id of an evident merge is made of names; that of a decided one says nothing.
            witnesses = await self._naming(record, *(alias_pair(merge_id) or ()))
            if await self._decided(record, [(Split(merge_id), witnesses)], MergeNotFoundError):
                break
        _, after = await self._after(namespace, name)
        ids = dict.fromkeys(after.identity.of(one) for one in (merged.into_id, merged.from_id))
        return after, [after.entities.by_id[one] for one in ids if one in after.entities.by_id]

    async def state(
        self, namespace: str, name: str, statements: Sequence[tuple[Statement, Sequence[str]]], request_id: str
    ) -> tuple[MemoryRecord, MemoryGraph, list[tuple[Fact, Spell] | None]]:
        """Add facts with the messages they stand on; returns them in the spells that were stated.

        None stands for one that was forgotten since. Raises MessageNotFoundError,
        RequestIdReusedError.
        """
        first = await self.log.state(namespace, name, statements, request_id=request_id)
        record, graph = await self._after(namespace, name)
        found: list[tuple[Fact, Spell] | None] = []
        for (said, _), at in zip(statements, first, strict=True):
            fact = graph.facts.get(_fact_id(graph, said))
            found.append(None if fact is None else (fact, _spell(fact, said, at)))
        return record, graph, found

    async def retract(self, namespace: str, name: str, fact_ids: Sequence[str]) -> int:
        """Declare facts to be no longer believed; returns how many were until now. TripleNotFoundError."""
        while True:
            record, graph = await self._current(
                namespace, name, lambda graph: all(graph.fact(one) is not None for one in fact_ids)
            )
            facts = {graph.ids.fact(one): graph.fact(one) for one in fact_ids}
            if None in facts.values():
                raise TripleNotFoundError
            believed = [fact for fact in facts.values() if fact is not None and fact.retracted_at is None]
            made = [(Retraction(graph.ids.said(fact.id)), (fact.seqs,)) for fact in believed]
            if not made or await self._decided(record, made, TripleNotFoundError):
                return len(believed)

    async def _current(
        self, namespace: str, name: str, holds: Callable[[MemoryGraph], bool] = lambda _: True
    ) -> tuple[MemoryRecord, MemoryGraph]:
        """Return a memory and its graph, with every decision that was answered."""
        record = await self.log.get(namespace, name)
        return record, await self.finding.graph(record, holds)

    async def _after(
        self, namespace: str, name: str, holds: Callable[[MemoryGraph], bool] = lambda _: True
    ) -> tuple[MemoryRecord, MemoryGraph]:
        """Do as ``_current`` after a decision was stored; so do errors say."""
        with stored_already():
            return await self._current(namespace, name, holds)

    async def _decided(
        self, record: MemoryRecord, made: Sequence[tuple[Content, Witnesses]], gone: type[Exception]
    ) -> bool:
        """Store decisions unless another came meanwhile; raises ``gone`` where what they name was forgotten."""
        try:
            return await self.log.decide(record.namespace, record.name, made, seen=record.decided)
        except MessageNotFoundError:
            raise gone from None

    async def _naming(self, record: MemoryRecord, *names: str) -> Witnesses:
        return tuple([await self.graphs.naming(record.key, one) for one in names])


def _fact_id(graph: MemoryGraph, said: Statement) -> str:
    ends = [graph.identity.of(entity_id(canonical(end))) for end in (said.subject, said.object)]
    return triple_id(ends[0], " ".join(said.predicate.split()), ends[1], said.negated, "asserted")


def _spell(fact: Fact, said: Statement, at: datetime | None) -> Spell:
    """The spell of a fact that a statement is part of, or begins; ``at`` is when its message was said."""
    if at is None and said.valid_from is None:
        return fact.spells[-1]
    begun = begin(
        said.predicate, *(None if time is None else seconds(time) for time in (at, said.valid_from, said.valid_to))
    )
    holding = (spell for spell in reversed(fact.spells) if spell.holds(begun))
    beginning = (spell for spell in reversed(fact.spells) if spell.valid_from == begun)
    return next(holding, None) or next(beginning, fact.spells[-1])
