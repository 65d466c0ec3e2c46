"""Graphs of memories, and what is in them: told apart from what no projection has read yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from seedbed_server.errors import EntityNotFoundError, PartUnavailableError
from seedbed_server.log import Log, MemoryRecord
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.projector import Projector

# How long to wait for messages that are not read yet before it is said of anything that it is not there, in seconds.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """Finds graphs. What a graph lacks is nowhere only if it stands on all messages of the log."""

    log: Log
    graphs: Graphs
    projector: Projector

    async def graph(
        self,
        record: MemoryRecord,
        holds: Callable[[MemoryGraph], bool] = lambda _: True,
        known_at: datetime | None = None,
    ) -> MemoryGraph:
        """Return a memory's graph, with every decision up to the record's, or as of ``known_at``.

        Where it does not hold what is looked for, and messages are still being
        read, as in a rebuild, it is looked for again once they are. Raises
        PartUnavailableError where that takes too long.
        """
        graph = await self._graph(record, known_at)
        if holds(graph) or self.graphs.is_whole(record.key, record.last_seq):
            return graph
        if not await self.projector.caught_up(record.key, record.last_seq, ("entities",), PATIENCE):
            raise PartUnavailableError("entities")
        return await self._graph(record, known_at)

    async def _graph(self, record: MemoryRecord, known_at: datetime | None) -> MemoryGraph:
        if known_at is None:
            return await self.graphs.get(record.key, record.decided)
        upto = await self.log.seq_at(record.key, known_at)
        return await self.graphs.as_known(record.key, known_at.timestamp(), upto)


def known(graph: MemoryGraph, one: str) -> Entity:
    """Return the entity of an id, which may be that of a name merged into it. EntityNotFoundError."""
    entity = graph.entity(one)
    if entity is None:
        raise EntityNotFoundError
    return entity
