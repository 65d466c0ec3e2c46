"""The graph of a memory's facts: a networkx MultiDiGraph, loaded on use and kept current."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from seedbed_server.projections.analysis import normalise
from seedbed_server.projections.entities import Entities, Entity
from seedbed_server.projections.knowledge import ClaimRow, Knowledge, Known, MentionRow
from seedbed_server.projections.names import canonical
from seedbed_server.projections.pagerank import pagerank
from seedbed_server.projections.triples import Fact, circle, resolve

if TYPE_CHECKING:
    import networkx as nx

QUERY_WORDS = 2000  # of a query that are looked at for names
NAME_WORDS = 8  # words of the longest name that is looked for
NEAR_EDGES = 300  # facts around the seeds that are ranked, newest first: some milliseconds
GROW_AT_ONCE = 500  # rows taken in on the event loop: some milliseconds
EMPTY_GRAPH = 50  # what a graph takes by itself, in facts


@dataclass(frozen=True, slots=True)
class Ranked:
    """A fact and how near it is to what was asked about; higher is nearer."""

    fact: Fact
    score: float


class MemoryGraph:
    """Entities and facts of one memory.

    ``graph`` has an edge per fact that holds, keyed by the fact's id, with the
    :class:`Fact` as attribute ``fact``; ``facts`` also has those that have ended.
    """

    def __init__(self) -> None:
        import networkx as nx  # a third of a second: not at the start of a server

        self.graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        self.entities = Entities()
        self.facts: dict[str, Fact] = {}
        self.applied_seq = 0
        self._claims: dict[tuple[str, ...], list[ClaimRow]] = defaultdict(list)
        self._newest_first: dict[str, list[Fact]] = {}  # by entity, sorted when asked for

    def add(self, known: Known) -> None:
        """Take in what was applied since. Only facts that the new claims may touch are worked out again."""
        self.entities.add(known.mentions, known.claims)
        touched: dict[tuple[str, ...], None] = {}
        for claim in known.claims:
            self._claims[circle(claim)].append(claim)
            touched[circle(claim)] = None
        self.graph.add_nodes_from(self.entities.by_id)
        for claims in touched:
            self._resolve(claims)
        self.applied_seq = known.applied_seq

    def entities_in(self, text: str) -> list[Entity]:
        """The entities that a text names, in its order.

        The longest names win; a first name counts when only one person has it.
        """
        plain = normalise(text)
        words = plain.split()[:QUERY_WORDS]
        found = {entity.id: entity for entity in self._named(words)}
        for form in sorted(self.entities.unspaced):
            if form in plain:
                found.setdefault(self.entities.by_form[form].id, self.entities.by_form[form])
        return list(found.values())

    def facts_around(self, entity_ids: Iterable[str], k: int, hops: int = 2) -> list[Ranked]:
        """The ``k`` facts that hold and are nearest to the entities, nearest first.

        Ranked by personalised PageRank of their ends within ``hops``; equals by time, newest first.
        """
        seeds = [i for i in entity_ids if i in self.graph]
        near = self._near(seeds, hops)
        rank = _pagerank(near, seeds)
        scored = [Ranked(fact, rank[fact.subject_id] + rank[fact.object_id]) for fact in near]
        scored.sort(key=lambda r: (-round(r.score, 9), -r.fact.last_said, r.fact.id))
        return scored[:k]

    def explore(
        self, entity_ids: Iterable[str], hops: int = 1, predicates: Collection[str] = (), limit: int = 100
    ) -> tuple[list[Fact], bool]:
        """The facts within ``hops`` of the entities, nearest first; and whether ``limit`` cut them short."""
        seeds = [i for i in entity_ids if i in self.graph]
        found = list(islice(self._outward(seeds, hops, predicates), limit + 1))
        return found[:limit], len(found) > limit

    def find_paths(self, start: str, end: str, max_hops: int = 4, limit: int = 10) -> list[list[Fact]]:
        """Chains of facts from one entity to another, in either direction, shortest first; a hop is its newest fact.

        May take a second around an entity with thousands of facts: see :meth:`Graphs.find_paths`.
        """
        import networkx as nx

        if start not in self.graph or end not in self.graph or start == end:
            return []
        plain = self._between(start, end, max_hops)
        paths: list[list[Fact]] = []
        try:
            for nodes in nx.shortest_simple_paths(plain, start, end):
                if len(nodes) - 1 > max_hops or len(paths) == limit:
                    break
                paths.append([self._newest(a, b) for a, b in pairwise(nodes)])
        except (nx.NetworkXNoPath, nx.NodeNotFound):
            return []
        return paths

    def _between(self, start: str, end: str, hops: int) -> nx.Graph[str]:
        """The entities on any way of at most ``hops`` hops, and the ties between them."""
        import networkx as nx

        far = self._distances(start, hops)
        near = self._distances(end, hops)
        between = {node for node, steps in far.items() if steps + near.get(node, hops + 1) <= hops}
        plain: nx.Graph[str] = nx.Graph()
        plain.add_edges_from((a, b) for a in far if a in between for b in self.graph.adj[a] if b in between)
        return plain

    def _distances(self, start: str, hops: int) -> dict[str, int]:
        """How many hops away each entity within ``hops`` is."""
        steps, frontier = {start: 0}, [start]
        for step in range(1, hops + 1):
            frontier = [b for a in frontier for ends in (self.graph.succ, self.graph.pred) for b in ends[a]]
            frontier = [b for b in dict.fromkeys(frontier) if b not in steps]
            steps |= dict.fromkeys(frontier, step)
        return steps

    def _resolve(self, claims: tuple[str, ...]) -> None:
        for fact in resolve(self._claims[claims]).values():
            self.facts[fact.id] = fact
            for end in (fact.subject_id, fact.object_id):
                self._newest_first.pop(end, None)
            if fact.current:
                self.graph.add_edge(fact.subject_id, fact.object_id, key=fact.id, fact=fact)
            elif self.graph.has_edge(fact.subject_id, fact.object_id, key=fact.id):
                self.graph.remove_edge(fact.subject_id, fact.object_id, key=fact.id)

    def _named(self, words: Sequence[str]) -> Iterator[Entity]:
        longest = min(NAME_WORDS, self.entities.longest)
        at = 0
        while at < len(words):
            for size in range(min(longest, len(words) - at), 0, -1):
                entity = self.entities.by_form.get(canonical(" ".join(words[at : at + size])))
                if entity is not None:
                    yield entity
                    at += size
                    break
            else:
                namesakes = self.entities.first_named(canonical(words[at]))
                if len(namesakes) == 1:
                    yield namesakes[0]
                at += 1

    def _near(self, seeds: Sequence[str], hops: int) -> list[Fact]:
        return list(islice(self._outward(seeds, hops), NEAR_EDGES))

    def _outward(self, seeds: Sequence[str], hops: int, predicates: Collection[str] = ()) -> Iterator[Fact]:
        """Facts hop by hop away from the seeds, each once, newest first within a hop."""
        reached, frontier = set(seeds), list(dict.fromkeys(seeds))
        given: set[str] = set()
        for _ in range(hops):
            ends: dict[str, None] = {}
            ring: set[str] = set()
            for fact in merge(*map(self._touching, frontier), key=_newest_first):
                if fact.id in given or fact.id in ring:
                    continue
                ring.add(fact.id)
                if not predicates or fact.predicate in predicates:
                    ends |= dict.fromkeys((fact.subject_id, fact.object_id))
                    yield fact
            given |= ring
            frontier = [end for end in ends if end not in reached]
            reached.update(frontier)

    def _touching(self, node: str) -> list[Fact]:
        """The facts that hold of an entity, newest first."""
        found = self._newest_first.get(node)
        if found is None:
            edges = (*self.graph.out_edges(node, keys=True), *self.graph.in_edges(node, keys=True))
            found = sorted({self.facts[i].id: self.facts[i] for _, _, i in edges}.values(), key=_newest_first)
            self._newest_first[node] = found
        return found

    def _newest(self, a: str, b: str) -> Fact:
        ends = ((a, b), (b, a))
        both = [self.facts[str(i)] for x, y in ends for i in self.graph.get_edge_data(x, y, default={})]
        return max(both, key=lambda f: (f.last_said, f.id))


class Graphs:
    """The graphs of the memories used last, of at most ``most`` facts and entities in all."""

    def __init__(self, knowledge: Knowledge, most: int = 200_000) -> None:
        self._knowledge = knowledge
        self._most = most
        self._kept: OrderedDict[int, tuple[int, MemoryGraph]] = OrderedDict()
        self._locks: dict[int, asyncio.Lock] = {}

    async def get(self, key: int) -> MemoryGraph:
        """Return the memory's graph as far as the projection has applied.

        It grows when it is asked for again: read it before the next await.
        """
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            version = self._knowledge.rewritten(key)
            graph = self._grown(key, version)
            known = await self._knowledge.load(key, graph.applied_seq) if graph else None
            if graph and known and len(known.mentions) + len(known.claims) <= GROW_AT_ONCE:
                graph.add(known)
            else:  # off the event loop, hence not in a graph that somebody may be reading
                graph = await self._load(key)
            self._kept[key] = (version, graph)
            self._kept.move_to_end(key)
            self._trim()
        return graph

    async def find_paths(
        self, key: int, graph: MemoryGraph, start: str, end: str, max_hops: int = 4, limit: int = 10
    ) -> list[list[Fact]]:
        """Do :meth:`MemoryGraph.find_paths` off the event loop; the memory's graph does not grow meanwhile."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            found = asyncio.create_task(asyncio.to_thread(graph.find_paths, start, end, max_hops, limit))
            try:
                return await asyncio.shield(found)
            except asyncio.CancelledError:
                await asyncio.wait([found])  # the thread goes on: it may not read what grows
                raise

    def _grown(self, key: int, version: int) -> MemoryGraph | None:
        """The graph that is kept, if no rows under it were rewritten."""
        kept_version, graph = self._kept.get(key, (version, None))
        return graph if kept_version == version else None

    async def _load(self, key: int) -> MemoryGraph:
        return await asyncio.to_thread(_made_of, await self._knowledge.load(key))

    async def as_of(self, key: int, *, valid_at: float | None = None, upto_seq: int | None = None) -> MemoryGraph:
        """Return the graph at a moment of the world (seconds since 1970), from the messages up to ``upto_seq``."""
        known = await self._knowledge.load(key)

        def counts(row: ClaimRow | MentionRow) -> bool:
            return (valid_at is None or row.said_at <= valid_at) and (upto_seq is None or row.seq <= upto_seq)

        claims = [claim for claim in known.claims if counts(claim)]
        mentions = [mention for mention in known.mentions if counts(mention)]
        return await asyncio.to_thread(_made_of, replace(known, mentions=mentions, claims=claims))

    def _trim(self) -> None:
        total = sum(_size(graph) for _, graph in self._kept.values())
        while total > self._most and len(self._kept) > 1:
            key, (_, graph) = self._kept.popitem(last=False)
            self._locks.pop(key, None)
            total -= _size(graph)


def _newest_first(fact: Fact) -> tuple[float, str]:
    return (-fact.last_said, fact.id)


def _made_of(known: Known) -> MemoryGraph:
    graph = MemoryGraph()
    graph.add(known)
    return graph


def _size(graph: MemoryGraph) -> int:
    return len(graph.facts) + len(graph.entities.by_id) + EMPTY_GRAPH


def _pagerank(facts: Sequence[Fact], seeds: Sequence[str]) -> dict[str, float]:
    """Personalised PageRank over facts taken as ties in both directions, as heavy as their number of sources."""
    if not seeds:
        return {}
    place = {node: at for at, node in enumerate(dict.fromkeys(seeds))}
    ties = [[place.setdefault(end, len(place)) for end in (fact.subject_id, fact.object_id)] for fact in facts]
    start = np.zeros(len(place))
    start[: len(set(seeds))] = 1.0
    weights = np.array([len(fact.seqs) for fact in facts], np.float64)
    rank = pagerank(len(place), np.array(ties, np.intp).reshape(-1, 2), weights, start)
    return dict(zip(place, rank.tolist(), strict=True))
