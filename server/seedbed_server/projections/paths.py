"""Chains of facts from one entity to another."""

from __future__ import annotations

from itertools import pairwise

from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.triples import Fact


def find_paths(
    graph: MemoryGraph, start: str, end: str, max_hops: int = 4, limit: int = 10, at: float | None = None
) -> list[list[Fact]]:
    """Return chains of facts that hold at a moment, in either direction, shortest first; a hop is its newest fact.

    May take a second around an entity with thousands of facts: see :meth:`Graphs.find_paths`.
    """
    import networkx as nx  # a third of a second: not at the start of a server

    if start not in graph.graph or end not in graph.graph or start == end:
        return []
    ties = _Ties(graph, graph.present() if at is None else at)
    far, near = ties.distances(start, max_hops), ties.distances(end, max_hops)
    between = {node for node, steps in far.items() if steps + near.get(node, max_hops + 1) <= max_hops}
    plain: nx.Graph[str] = nx.Graph()
    plain.add_edges_from((a, b) for a in far if a in between for b in ties.of(a) if b in between)
    paths: list[list[Fact]] = []
    try:
        for nodes in nx.shortest_simple_paths(plain, start, end):
            if len(nodes) - 1 > max_hops or len(paths) == limit:
                break
            paths.append([ties.of(a)[b] for a, b in pairwise(nodes)])
    except (nx.NetworkXNoPath, nx.NodeNotFound):
        return []
    return paths


class _Ties:
    """Who is tied to whom at a moment, and by which fact."""

    def __init__(self, graph: MemoryGraph, at: float) -> None:
        self._graph = graph
        self._at = at
        self._found: dict[str, dict[str, Fact]] = {}

    def of(self, node: str) -> dict[str, Fact]:
        """The newest fact that holds with each neighbour."""
        found = self._found.get(node)
        if found is None:
            found = self._found[node] = {}
            for fact in self._graph.touching(node):
                if fact.spell(self._at):
                    found.setdefault(fact.object_id if fact.subject_id == node else fact.subject_id, fact)
        return found

    def distances(self, start: str, hops: int) -> dict[str, int]:
        """How many hops away each entity within ``hops`` is."""
        steps, frontier = {start: 0}, [start]
        for step in range(1, hops + 1):
            frontier = [b for b in dict.fromkeys(b for a in frontier for b in self.of(a)) if b not in steps]
            steps |= dict.fromkeys(frontier, step)
        return steps
