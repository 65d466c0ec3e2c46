"""The graphs of memories: loaded on use, kept current, bounded, and made as of any moment of the log."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from seedbed_server.log import Decision
from seedbed_server.projections.graph import MemoryGraph, made_of
from seedbed_server.projections.knowledge import Knowledge
from seedbed_server.projections.paths import find_paths
from seedbed_server.projections.stated import recorded_by
from seedbed_server.projections.triples import Fact

GROW_AT_ONCE = 500  # rows taken in on the event loop: some milliseconds
EMPTY_GRAPH = 50  # what a graph takes by itself, in facts


class Decided(Protocol):
    """What users decided, from the log."""

    async def decisions(self, key: int) -> Sequence[Decision]:
        """Return a memory's decisions, in order."""
        ...


@dataclass(frozen=True, slots=True)
class _Version:
    """What a kept graph rests on: it is out of date when rows are rewritten, or something was decided."""

    rewritten: int
    decided: int


class Graphs:
    """The graphs of the memories used last, of at most ``most`` facts and entities in all.

    ``applied`` tells up to which seq of a memory the projection has come.
    """

    def __init__(self, knowledge: Knowledge, log: Decided, applied: Callable[[int], int], most: int = 200_000) -> None:
        self._knowledge = knowledge
        self._log = log
        self._applied = applied
        self._most = most
        self._kept: OrderedDict[int, tuple[_Version, MemoryGraph]] = OrderedDict()
        self._locks: dict[int, asyncio.Lock] = {}

    async def get(self, key: int, decided: int = 0) -> MemoryGraph:
        """Return the memory's graph as far as the projection has applied, with decisions up to ``decided``.

        It grows when it is asked for again: read it before the next await.
        """
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            version = _Version(self._knowledge.rewritten(key), decided)
            graph = await self._grown(key, version)
            if graph is None:  # off the event loop, hence not in a graph that somebody may be reading
                known, decisions = await self._knowledge.load(key), await self._log.decisions(key)
                graph = await asyncio.to_thread(made_of, known, decisions)
            self._kept[key] = (version, graph)
            self._kept.move_to_end(key)
            self._trim()
        return graph

    async def as_known(self, key: int, known_at: float, upto_seq: int) -> MemoryGraph:
        """Return the graph of what was recorded by ``known_at`` (seconds since 1970): messages up to ``upto_seq``."""
        known, decisions = await self._knowledge.load(key), await self._log.decisions(key)

        def made() -> MemoryGraph:
            then = replace(
                known,
                mentions=[mention for mention in known.mentions if mention.seq <= upto_seq],
                claims=[claim for claim in known.claims if claim.seq <= upto_seq],
            )
            return made_of(then, recorded_by(decisions, known_at), lambda: known_at)

        return await asyncio.to_thread(made)

    async def assuming(self, key: int, decision: Decision) -> MemoryGraph:
        """Return the graph as it would be with one more decision."""
        known, decisions = await self._knowledge.load(key), await self._log.decisions(key)
        return await asyncio.to_thread(made_of, known, [*decisions, decision])

    async def find_paths(
        self,
        key: int,
        graph: MemoryGraph,
        start: str,
        end: str,
        max_hops: int = 4,
        limit: int = 10,
        at: float | None = None,
    ) -> list[list[Fact]]:
        """Do :func:`find_paths` off the event loop; the memory's graph does not grow meanwhile."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            found = asyncio.create_task(asyncio.to_thread(find_paths, graph, start, end, max_hops, limit, at))
            try:
                return await asyncio.shield(found)
            except asyncio.CancelledError:
                await asyncio.wait([found])  # the thread goes on: it may not read what grows
                raise

    async def _grown(self, key: int, version: _Version) -> MemoryGraph | None:
        """The graph that is kept, brought up to date; None where that needs a new one."""
        kept_version, graph = self._kept.get(key, (version, None))
        if graph is None or kept_version != version:
            return None
        if graph.applied_seq >= self._applied(key):
            return graph
        known = await self._knowledge.load(key, graph.applied_seq)
        few = len(known.mentions) + len(known.claims) <= GROW_AT_ONCE
        return graph if few and graph.add(known) else None

    def _trim(self) -> None:
        total = sum(_size(graph) for _, graph in self._kept.values())
        while total > self._most and len(self._kept) > 1:
            key, (_, graph) = self._kept.popitem(last=False)
            self._locks.pop(key, None)
            total -= _size(graph)


def _size(graph: MemoryGraph) -> int:
    return len(graph.facts) + len(graph.entities.by_id) + EMPTY_GRAPH
