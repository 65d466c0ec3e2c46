"""The graph of a memory's facts, in time: a networkx MultiDiGraph.

It is made of rows and decisions as they were recorded up to some moment, and can
be asked for any moment of the world. Without one, that is the present: the later
of the clock and of the newest message, whose writer's clock may be ahead.
"""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from seedbed_server.log import Decision
from seedbed_server.models.predicates import SINGLE
from seedbed_server.projections import analysis
from seedbed_server.projections.aliases import Names
from seedbed_server.projections.believing import Beliefs
from seedbed_server.projections.entities import Entities, Entity
from seedbed_server.projections.identity import Identity
from seedbed_server.projections.knowledge import ClaimRow, Known
from seedbed_server.projections.names import canonical
from seedbed_server.projections.pagerank import pagerank
from seedbed_server.projections.relevance import FactWords
from seedbed_server.projections.stated import Retractions, stated_claims
from seedbed_server.projections.triples import Fact, circle, circles, is_value, resolve

if TYPE_CHECKING:
    import networkx as nx

QUERY_WORDS = 2000  # of a query that are looked at for names
NAME_WORDS = 8  # words of the longest name that is looked for
NEAR_EDGES = 120  # facts around the seeds that are ranked, the newest, besides those that the words ask for

# What the score of a fact gains by holding all words asked for, and by saying what one has only one of. Ranks add up
# to 1 over all entities, so either outweighs being near.
RELEVANT = 2.0
VALUE = 1.0
SLOTS = tuple(dict.fromkeys(SINGLE.values()))

Circle = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A fact and how near it is to what was asked about; higher is nearer."""

    fact: Fact
    score: float


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
        self._retractions = retractions
        self._clock = clock
        self._newest = 0.0
        self._beliefs = Beliefs() if beliefs is None else beliefs
        self._names = names
        self._claims: dict[Circle, list[ClaimRow]] = defaultdict(list)
        self._retracted: dict[Circle, list[tuple[ClaimRow, float]]] = defaultdict(list)
        self._in_circle: dict[Circle, tuple[str, ...]] = {}  # ids of facts
        self._newest_first: dict[str, list[Fact]] = {}  # by entity, sorted when asked for
        self._words = FactWords()

    def add(self, known: Known) -> bool:
        """Take in what was applied since. Only facts that the new claims may touch are worked out again.

        False, and nothing is taken in, where it changes who is who: the graph must be made anew.
        """
        known = self._beliefs.admit(known)
        self._names.add(known.mentions, known.claims)
        if self._names.evident() != self.identity.evident:
            return False
        self.take(known)
        return True

    def take(self, known: Known) -> None:
        """Take in rows that count, of which the names are known."""
        self.entities.add(known.mentions, known.claims)
        touched: dict[Circle, None] = {}
        for stated in known.claims:
            claim = self._of_entities(stated)
            at = self._retractions.of(stated)
            for name in circles(claim):
                touched[name] = None
                if at is None:
                    self._claims[name].append(claim)
                else:
                    self._retracted[name].append((claim, at))
        self._newest = max((self._newest, *(row.said_at for rows in (known.mentions, known.claims) for row in rows)))
        named = {mention.entity_id for mention in known.mentions}
        named.update(end for claim in known.claims for end in (claim.subject_id, claim.object_id))
        self.graph.add_nodes_from(map(self.identity.of, named))
        for claims in touched:
            self._resolve(claims)
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

    def entities_in(self, text: str) -> list[Entity]:
        """The entities that a text names, in its order.

        The longest names win; a first name counts when only one person has it.
        """
        plain = analysis.normalise(text)
        words = plain.split()[:QUERY_WORDS]
        found = {entity.id: entity for entity in self._named(words)}
        for form in sorted(self.entities.unspaced):
            if form in plain:
                found.setdefault(self.entities.by_form[form].id, self.entities.by_form[form])
        return list(found.values())

    def facts_around(
        self, entity_ids: Iterable[str], k: int, hops: int = 2, at: float | None = None, words: Sequence[str] = ()
    ) -> list[Ranked]:
        """The ``k`` facts that hold at a moment and answer best what is asked about the entities, best first.

        The score adds up how near a fact is (personalised PageRank of its ends), which share of the ``words`` asked
        for it holds, and whether it says of an entity asked about what one has only one of: home, work, spouse,
        birthplace. Equals come by time, newest first.
        """
        seeds = [i for i in entity_ids if i in self.graph]
        moment = self.present() if at is None else at
        named = {term for i in seeds for term in analysis.terms(self.entities.by_id[i].name)}
        shares = self._words.shares([word for word in words if word not in named])
        near = {fact.id: fact for fact in islice(self._outward(seeds, hops, moment), NEAR_EDGES)}
        near |= {fact.id: fact for fact in self._further(seeds, near.values(), shares) if fact.spell(moment)}
        # That a name is one's other name goes without saying.
        near = {i: fact for i, fact in near.items() if fact.subject_id != fact.object_id}
        rank = _pagerank([*near.values()], seeds)
        asked = set(seeds)

        def score(fact: Fact) -> float:
            lasting = VALUE if fact.subject_id in asked and is_value(fact) else 0.0
            return rank[fact.subject_id] + rank[fact.object_id] + lasting + RELEVANT * shares.get(fact.id, 0.0)

        scores = {i: score(fact) for i, fact in near.items()}
        best = sorted(near.values(), key=lambda fact: (-round(scores[fact.id], 9), -fact.last_said, fact.id))
        return [Ranked(fact, scores[fact.id]) for fact in best[:k]]

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
        outward = self._outward(seeds, hops, self.present() if at is None else at, predicates)
        found = list(islice(outward, limit + 1))
        return found[:limit], len(found) > limit

    def touching(self, node: str) -> list[Fact]:
        """The facts of an entity that are believed, ended or not, newest first."""
        found = self._newest_first.get(node)
        if found is None:
            edges = (*self.graph.out_edges(node, keys=True), *self.graph.in_edges(node, keys=True))
            found = sorted({self.facts[i].id: self.facts[i] for _, _, i in edges}.values(), key=_newest_first)
            self._newest_first[node] = found
        return found

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

    def _further(self, seeds: Sequence[str], near: Iterable[Fact], shares: Mapping[str, float]) -> Iterator[Fact]:
        """Facts that are worth a look however old: what one has only one of, and what the words of a query ask for."""
        for seed in seeds:
            for slot in SLOTS:
                yield from (self.facts[i] for i in self._in_circle.get((seed, slot), ()))
        within = {*seeds, *(end for fact in near for end in (fact.subject_id, fact.object_id))}
        asked = (self.facts[i] for i in sorted(shares, key=shares.__getitem__, reverse=True))
        yield from islice((fact for fact in asked if {fact.subject_id, fact.object_id} & within), NEAR_EDGES)

    def _name(self, entity_id: str, said: str) -> str:
        merged = len(self.identity.members(entity_id)) > 1
        return self.entities.by_id[entity_id].name if merged else said

    def _of_entities(self, claim: ClaimRow) -> ClaimRow:
        if not self.identity:
            return claim
        subject, object_ = self.identity.of(claim.subject_id), self.identity.of(claim.object_id)
        return claim._replace(subject_id=subject, object_id=object_)

    def _resolve(self, claims: Circle) -> None:
        found = resolve(self._claims[claims], self._retracted.get(claims, ()))
        self._in_circle[claims] = tuple(found)
        for fact in found.values():
            known = self.facts.get(fact.id)
            self.facts[fact.id] = fact
            self._words.add(fact)
            for end in {fact.subject_id, fact.object_id} & self._newest_first.keys():
                _replace(self._newest_first[end], known, fact)
            if fact.retracted_at is None:
                self.graph.add_edge(fact.subject_id, fact.object_id, key=fact.id, fact=fact)

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

    def _outward(self, seeds: Sequence[str], hops: int, at: float, predicates: Collection[str] = ()) -> Iterator[Fact]:
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


def made_of(known: Known, decisions: Sequence[Decision] = (), clock: Callable[[], float] = time.time) -> MemoryGraph:
    """Make a graph at once; ``known`` without the claims that were stated by decision."""
    beliefs = Beliefs()
    whole = beliefs.admit(replace(known, claims=[*known.claims, *stated_claims(decisions)]))
    names = Names()
    names.add(whole.mentions, whole.claims)
    graph = MemoryGraph(names, Identity(decisions, names.evident()), Retractions(decisions), clock, beliefs)
    graph.take(whole)
    return graph


def _replace(newest_first: list[Fact], known: Fact | None, fact: Fact) -> None:
    """Put a fact in its place in a sorted list, which may be of thousands, and take what was known of it out."""
    if known is not None and known.retracted_at is None:
        del newest_first[bisect_left(newest_first, _newest_first(known), key=_newest_first)]
    if fact.retracted_at is None:
        insort(newest_first, fact, key=_newest_first)


def _newest_first(fact: Fact) -> tuple[float, str]:
    return (-fact.last_said, fact.id)


def _pagerank(facts: Sequence[Fact], seeds: Sequence[str]) -> Mapping[str, float]:
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
