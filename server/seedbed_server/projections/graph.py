"""The graph of a memory's facts, in time: a networkx MultiDiGraph.

It is made of rows and decisions as they were recorded up to some moment, and can
be asked for any moment of the world. Without one, that is the present: the
clock, or the newest message where the clock was set back since that was recorded.
"""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from seedbed_server.log import Decision
from seedbed_server.projections.aliases import Names
from seedbed_server.projections.believing import Beliefs
from seedbed_server.projections.entities import Entities, Entity
from seedbed_server.projections.fact_ids import FactIds
from seedbed_server.projections.identity import Identity
from seedbed_server.projections.relevance import FactWords
from seedbed_server.projections.rows import ClaimRow, Known
from seedbed_server.projections.stated import Retractions, stated_claims
from seedbed_server.projections.triples import Fact, circle, circles, is_value, resolve

if TYPE_CHECKING:
    import networkx as nx

Circle = tuple[str, ...]

# Names whose joins, and claims whose facts, are worked out in some milliseconds.
_NAMES_AT_ONCE = 1000
_CLAIMS_AT_ONCE = 200


class Learned(NamedTuple):
    """Rows that count, and the facts of the circles that their claims touch."""

    known: Known
    facts: dict[Circle, dict[str, Fact]]


class MemoryGraph:
    """Entities and facts of one memory. Made by :func:`made_of`.

    ``graph`` has an edge per fact that is believed, keyed by the fact's id, with
    the :class:`Fact` as attribute ``fact``, whether it holds now or has ended;
    ``facts`` also has those that were retracted.
    """

    def __init__(
        self,
        names: Names,
        identity: Identity,
        retractions: Retractions,
        clock: Callable[[], float] = time.time,
        beliefs: Beliefs | None = None,
    ) -> None:
        import networkx as nx  # a third of a second: not at the start of a server

        self.graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        self.identity = identity
        self.entities = Entities(identity)
        self.facts: dict[str, Fact] = {}
        self.applied_seq = 0
        self.spoilt = False
        self._retractions = retractions
        self._clock = clock
        self._newest = 0.0
        self._beliefs = Beliefs() if beliefs is None else beliefs
        self._names = names
        self._claims: dict[Circle, list[ClaimRow]] = defaultdict(list)
        self._retracted: dict[Circle, list[tuple[ClaimRow, float]]] = defaultdict(list)
        self._in_circle: dict[Circle, tuple[str, ...]] = {}  # ids of facts
        self._newest_first: dict[str, list[Fact]] = {}  # by entity, sorted when asked for
        self.ids = FactIds(identity)
        self.words = FactWords()

    def add(self, known: Known) -> bool:
        """Take in what was applied since. Only facts that the new claims may touch are worked out again.

        False where that changes who is who: the graph is ``spoilt``, and must be made anew.
        """
        learned = self.learn(known)
        if learned is not None:
            self.take(learned)
        return learned is not None

    def is_quick(self, known: Known) -> bool:
        """Whether `learn` of these rows takes some milliseconds at most, whatever they say."""
        touched = {name for stated in known.claims for name in circles(self.ids.within(stated))}
        claims = sum(len(held[name]) for name in touched for held in (self._claims, self._retracted) if name in held)
        return claims <= _CLAIMS_AT_ONCE and len(self.entities.by_form) <= _NAMES_AT_ONCE

    def learn(self, known: Known) -> Learned | None:
        """Work out what rows make of what is known; for `take`, before any other is learned.

        None where they change who is who: the graph is ``spoilt`` then. Changes nothing of what is read of the graph,
        so it may go on in a thread.
        """
        known = self._beliefs.admit(known)
        self._names.add(known.mentions, _standing(known.claims, self._retractions))
        if self._names.evident() != self.identity.evident:
            self.spoilt = True
            return None
        return self.worked_out(known)

    def worked_out(self, known: Known) -> Learned:
        """Do as `learn` with rows that count, of which the names are known."""
        touched: dict[Circle, None] = {}
        for stated in known.claims:
            claim, at = self.ids.within(stated), self._retractions.of(stated)
            for name in circles(claim):
                touched[name] = None
                if at is None:
                    self._claims[name].append(claim)
                else:
                    self._retracted[name].append((claim, at))
        return Learned(known, {name: self._resolved(name) for name in touched})

    def take(self, learned: Learned) -> None:
        """Show what was learned."""
        known = learned.known
        self.entities.add(known.mentions, known.claims)
        if self.identity:
            for stated in known.claims:
                self.ids.add(stated)
        self._newest = max((self._newest, *(row.said_at for rows in (known.mentions, known.claims) for row in rows)))
        named = {mention.entity_id for mention in known.mentions}
        named.update(end for claim in known.claims for end in (claim.subject_id, claim.object_id))
        self.graph.add_nodes_from(map(self.identity.of, named))
        for name, found in learned.facts.items():
            self._in_circle[name] = tuple(found)
            for fact in found.values():
                self._put(fact)
        self.applied_seq = known.applied_seq

    def present(self) -> float:
        """The moment that is meant where none is named."""
        return max(self._clock(), self._newest)

    def spoken(self, fact: Fact) -> Fact:
        """The fact with the names of its entities, where it was said with one that is merged into them."""
        if not self.identity:
            return fact
        subject = self._name(fact.subject_id, fact.subject)
        return replace(fact, subject=subject, object=self._name(fact.object_id, fact.object))

    def explore(
        self,
        entity_ids: Iterable[str],
        hops: int = 1,
        predicates: Collection[str] = (),
        limit: int = 100,
        at: float | None = None,
    ) -> tuple[list[Fact], bool]:
        """The facts that hold at a moment within ``hops``, nearest first; and whether ``limit`` cut them short."""
        seeds = [i for i in entity_ids if i in self.graph]
        outward = self.outward(seeds, hops, self.present() if at is None else at, predicates)
        found = list(islice(outward, limit + 1))
        return found[:limit], len(found) > limit

    def outward(self, seeds: Sequence[str], hops: int, at: float, predicates: Collection[str] = ()) -> Iterator[Fact]:
        """Facts that hold, hop by hop away from the seeds, each once, newest first within a hop."""
        reached, frontier = set(seeds), list(dict.fromkeys(seeds))
        given: set[str] = set()
        for _ in range(hops):
            ends: dict[str, None] = {}
            ring: set[str] = set()
            around = [self.touching(node) for node in frontier]
            for fact in merge(*around, key=_newest_first) if len(around) > 1 else chain.from_iterable(around):
                if fact.id in given or fact.id in ring:
                    continue
                ring.add(fact.id)
                if fact.spell(at) and (not predicates or fact.predicate in predicates):
                    ends |= dict.fromkeys((fact.subject_id, fact.object_id))
                    yield fact
            given |= ring
            frontier = [end for end in ends if end not in reached]
            reached.update(frontier)

    def touching(self, node: str) -> list[Fact]:
        """The facts of an entity that are believed, ended or not, newest first."""
        found = self._newest_first.get(node)
        if found is None:
            edges = (*self.graph.out_edges(node, keys=True), *self.graph.in_edges(node, keys=True))
            found = sorted({self.facts[i].id: self.facts[i] for _, _, i in edges}.values(), key=_newest_first)
            self._newest_first[node] = found
        return found

    def entity(self, given: str) -> Entity | None:
        """The entity of an id, which may be that of a name merged into it."""
        return self.entities.by_id.get(self.identity.of(given))

    def fact(self, given: str) -> Fact | None:
        """The fact of an id, also of one that it had before names of its ends were merged or split."""
        return self.facts.get(self.ids.fact(given))

    def in_circle(self, name: Circle) -> tuple[str, ...]:
        """The ids of the facts that may end each other."""
        return self._in_circle.get(name, ())

    def before(self, fact: Fact, at: float) -> Fact | None:
        """What was so before a fact that holds at a moment, where one such thing holds at a time: where one lived."""
        spell = fact.spell(at)
        if spell is None or not is_value(fact):
            return None
        ended = [
            (held.valid_to, other.id)
            for other in (self.facts[i] for i in self._in_circle[circle(fact)])
            if other.retracted_at is None and is_value(other) and other.object_id != fact.object_id
            for held in other.spells
            if held.valid_to is not None and held.valid_from < held.valid_to <= spell.valid_from
        ]
        return self.facts[max(ended)[1]] if ended else None

    def _name(self, entity_id: str, said: str) -> str:
        merged = len(self.identity.members(entity_id)) > 1
        return self.entities.by_id[entity_id].name if merged else said

    def _resolved(self, name: Circle) -> dict[str, Fact]:
        return resolve(self._claims.get(name, ()), self._retracted.get(name, ()))

    def _put(self, fact: Fact) -> None:
        known = self.facts.get(fact.id)
        if fact == known:  # as most facts of a circle that a claim touches
            return
        self.facts[fact.id] = fact
        self.words.add(fact)
        if fact.subject_id == fact.object_id:
            return  # that a name is another one of somebody's is no tie to anybody
        for end in {fact.subject_id, fact.object_id} & self._newest_first.keys():
            _replace(self._newest_first[end], known, fact)
        if fact.retracted_at is None:
            self.graph.add_edge(fact.subject_id, fact.object_id, key=fact.id, fact=fact)


def made_of(known: Known, decisions: Sequence[Decision] = (), clock: Callable[[], float] = time.time) -> MemoryGraph:
    """Make a graph at once; ``known`` without the claims that were stated by decision."""
    beliefs = Beliefs()
    whole = beliefs.admit(replace(known, claims=[*known.claims, *stated_claims(decisions)]))
    names, retractions = Names(), Retractions(decisions)
    names.add(whole.mentions, _standing(whole.claims, retractions))
    graph = MemoryGraph(names, Identity(decisions, names.evident()), retractions, clock, beliefs)
    graph.take(graph.worked_out(whole))
    return graph


def _standing(claims: Iterable[ClaimRow], retractions: Retractions) -> list[ClaimRow]:
    """Those that nobody has retracted: the others say nothing of who is who."""
    return [claim for claim in claims if retractions.of(claim) is None]


def _replace(newest_first: list[Fact], known: Fact | None, fact: Fact) -> None:
    """Put a fact in its place in a sorted list, which may be of thousands, and take what was known of it out."""
    if known is not None and known.retracted_at is None:
        del newest_first[bisect_left(newest_first, _newest_first(known), key=_newest_first)]
    if fact.retracted_at is None:
        insort(newest_first, fact, key=_newest_first)


def _newest_first(fact: Fact) -> tuple[float, str]:
    return (-fact.last_said, fact.id)
