"""The graphs of memories: loaded on use, kept current, bounded, and made as of any moment of the log.

A kept graph grows with messages and with statements. It is made anew when who is
who changes, when a fact is taken back, and when rows are rewritten. While the
projection is set back, as in a rebuild, the rows are not whole: then the kept
graph goes on answering as of where the projection stood, unless messages were
erased since.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from seedbed_server.log import MOST_WITNESSES, Decision, Statement
from seedbed_server.projections.graph import MemoryGraph, made_of
from seedbed_server.projections.knowledge import Knowledge
from seedbed_server.projections.paths import find_paths
from seedbed_server.projections.rows import Known
from seedbed_server.projections.stated import recorded_by, stated_claims
from seedbed_server.projections.threads import undivided
from seedbed_server.projections.triples import Fact

GROW_AT_ONCE = 500  # rows taken in on the event loop: some milliseconds
EMPTY_GRAPH = 50  # what a graph takes by itself, in facts


class Decided(Protocol):
    """What users decided, from the log."""

    async def decisions(self, key: int, after_id: int = 0) -> Sequence[Decision]:
        """Return a memory's decisions after the one of ``after_id``, in order."""
        ...


@dataclass(frozen=True, slots=True)
class _Kept:
    """A graph and what it rests on; ``decided`` is the id of the newest decision that it knows."""

    graph: MemoryGraph
    rewritten: int
    erased: int
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
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._locks: dict[int, asyncio.Lock] = {}
        self._supposing = asyncio.Lock()

    async def get(self, key: int, decided: int = 0) -> MemoryGraph:
        """Return the memory's graph as far as the projection has applied, with decisions up to ``decided``.

        It grows when it is asked for again: read it before the next await.
        """
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            kept = self._kept.get(key)
            current = None if kept is None else await self._grown(key, kept, decided)
            if current is None:
                current = await self._loaded(key, decided)
                if kept is not None and self._was_set_back(key, kept, current):
                    current = kept
            self._kept[key] = current
            self._kept.move_to_end(key)
            self._trim()
        return current.graph

    def is_whole(self, key: int, upto_seq: int) -> bool:
        """Whether the rows of all messages up to ``upto_seq`` are there: what is not in the graph then is nowhere."""
        return self._applied(key) >= upto_seq

    async def as_known(self, key: int, known_at: float, upto_seq: int) -> MemoryGraph:
        """Return the graph of what was recorded by ``known_at`` (seconds since 1970): messages up to ``upto_seq``."""

        def made(known: Known, decisions: Sequence[Decision]) -> MemoryGraph:
            then = replace(
                known,
                mentions=[mention for mention in known.mentions if mention.seq <= upto_seq],
                claims=[claim for claim in known.claims if claim.seq <= upto_seq],
            )
            return made_of(then, recorded_by(decisions, known_at), lambda: known_at)

        return await self._supposed(key, made)

    async def assuming(self, key: int, decision: Decision) -> MemoryGraph:
        """Return the graph as it would be with one more decision."""
        return await self._supposed(key, lambda known, decisions: made_of(known, [*decisions, decision]))

    async def _supposed(self, key: int, made: Callable[[Known, Sequence[Decision]], MemoryGraph]) -> MemoryGraph:
        """Make a graph that is not kept. One at a time: each takes seconds, and threads that searches need too."""
        async with self._supposing:
            known, decisions = await self._knowledge.load(key), await self._log.decisions(key)
            return await undivided(partial(made, known, decisions))

    async def naming(self, key: int, name: str, *, but: Collection[int] = ()) -> tuple[int, ...]:
        """Return the seqs of the newest messages, but for some, that say a name, by its id; MOST_WITNESSES at most."""
        read = await self._knowledge.naming(key, name, but=but)
        stated = stated_claims(await self._log.decisions(key))
        said = {claim.seq for claim in stated if name in (claim.subject_id, claim.object_id)}
        return tuple(sorted(said.difference(but).union(read))[-MOST_WITNESSES:])

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
            return await undivided(partial(find_paths, graph, start, end, max_hops, limit, at))

    async def _loaded(self, key: int, decided: int) -> _Kept:
        rewritten, erased = self._knowledge.rewritten(key), self._knowledge.erased(key)
        known, decisions = await self._knowledge.load(key), await self._log.decisions(key)
        # Off the event loop, hence not in a graph that somebody may be reading.
        graph = await asyncio.to_thread(made_of, known, decisions)
        return _Kept(graph, rewritten, erased, decisions[-1].id if decisions else decided)

    def _was_set_back(self, key: int, kept: _Kept, loaded: _Kept) -> bool:
        """Whether the rows were set back while they were loaded, and what was kept says all that may be said."""
        behind = loaded.graph.applied_seq < kept.graph.applied_seq and loaded.decided <= kept.decided
        return behind and kept.erased == self._knowledge.erased(key) and not kept.graph.spoilt

    async def _grown(self, key: int, kept: _Kept, decided: int) -> _Kept | None:
        """What is kept, brought up to date; None where that needs a new graph."""
        graph, applied = kept.graph, self._applied(key)
        if graph.spoilt:
            return None
        set_back = applied < graph.applied_seq and kept.erased == self._knowledge.erased(key)
        if kept.rewritten != self._knowledge.rewritten(key) and not set_back:
            return None
        new = Known([], [], graph.applied_seq)
        if applied > graph.applied_seq:
            new = await self._knowledge.load(key, graph.applied_seq)
        made = await self._log.decisions(key, kept.decided) if decided > kept.decided else ()
        if not all(isinstance(decision.content, Statement) for decision in made):
            return None
        new = replace(new, claims=[*new.claims, *stated_claims(made)])
        if new.mentions or new.claims or new.applied_seq > graph.applied_seq:
            few = len(new.mentions) + len(new.claims) <= GROW_AT_ONCE
            if not (few and await self._grow(graph, new)):
                return None
        return replace(kept, decided=made[-1].id) if made else kept

    async def _grow(self, graph: MemoryGraph, new: Known) -> bool:
        """Let a graph take in rows, off the event loop where that takes long; False where it must be made anew."""
        if graph.is_quick(new):
            return graph.add(new)
        learning = asyncio.create_task(asyncio.to_thread(graph.learn, new))
        try:
            learned = await asyncio.shield(learning)
        except asyncio.CancelledError:
            graph.spoilt = True  # it has learned what it will never show
            raise
        if learned is not None:
            graph.take(learned)
        return learned is not None

    def _trim(self) -> None:
        total = sum(_size(kept.graph) for kept in self._kept.values())
        while total > self._most and len(self._kept) > 1:
            key, kept = self._kept.popitem(last=False)
            self._locks.pop(key, None)
            total -= _size(kept.graph)


def _size(graph: MemoryGraph) -> int:
    return len(graph.facts) + len(graph.entities.by_id) + EMPTY_GRAPH
