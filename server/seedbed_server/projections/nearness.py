"""Which facts around some entities answer best what is asked about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice

import numpy as np

from seedbed_server.models.predicates import SINGLE
from seedbed_server.projections import analysis
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.pagerank import pagerank
from seedbed_server.projections.triples import Fact, is_value

NEAR_EDGES = 120  # facts around the seeds that are ranked, the newest, besides those that the words ask for

# What the score of a fact gains by holding all words asked for, and by saying what one has only one of. Ranks add up
# to 1 over all entities, so either outweighs being near.
RELEVANT = 2.0
VALUE = 1.0
SLOTS = tuple(dict.fromkeys(SINGLE.values()))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A fact and how near it is to what was asked about; higher is nearer. ``answers`` says whether by itself."""

    fact: Fact
    score: float
    answers: bool = False


def facts_around(
    graph: MemoryGraph,
    entity_ids: Iterable[str],
    k: int,
    hops: int = 2,
    at: float | None = None,
    words: Sequence[str] = (),
) -> list[Ranked]:
    """The ``k`` facts that hold at a moment and answer best what is asked about the entities, best first.

    The score adds up how near a fact is (personalised PageRank of its ends), which share of the ``words`` asked
    for it holds, and whether it says of an entity asked about what one has only one of: home, work, spouse,
    birthplace. Equals come by time, newest first.
    """
    seeds = [i for i in entity_ids if i in graph.graph]
    moment = graph.present() if at is None else at
    shares = graph.words.shares(_without_names(graph, seeds, words))
    near = {fact.id: fact for fact in islice(graph.outward(seeds, hops, moment), NEAR_EDGES)}
    near |= {fact.id: fact for fact in _further(graph, seeds, near.values(), shares) if fact.spell(moment)}
    near = {i: fact for i, fact in near.items() if fact.subject_id != fact.object_id}  # one's other name
    rank = _pagerank([*near.values()], seeds)
    asked = set(seeds)

    def score(fact: Fact) -> float:
        return rank[fact.subject_id] + rank[fact.object_id] + _said(fact, asked, shares)

    scores = {i: score(fact) for i, fact in near.items()}
    best = sorted(near.values(), key=lambda fact: (-round(scores[fact.id], 9), -fact.last_said, fact.id))
    return [Ranked(fact, scores[fact.id]) for fact in best[:k]]


def stating(
    graph: MemoryGraph, entity_ids: Iterable[str], k: int, words: Sequence[str], at: float | None
) -> list[Ranked]:
    """The ``k`` facts of some entities that hold at a moment and say what is asked, best first; none for being near.

    Scored as in :func:`facts_around`, without PageRank: by words, and by being what one has only one of. What is
    that, of one of the entities, and holds every word that is asked for, answers.
    """
    seeds = [i for i in entity_ids if i in graph.graph]
    moment = graph.present() if at is None else at
    wanted = _without_names(graph, seeds, words)
    shares, asked = graph.words.shares(wanted), set(seeds)
    ranked = []
    for fact in {fact.id: fact for fact in _further(graph, seeds, (), shares)}.values():
        if fact.subject_id != fact.object_id and fact.spell(moment):
            is_theirs = fact.subject_id in asked and is_value(fact)
            answers = is_theirs and bool(wanted) and graph.words.holds(fact, wanted)
            ranked.append(Ranked(fact, _said(fact, asked, shares), answers))
    ranked.sort(key=lambda each: (-each.score, -each.fact.last_said, each.fact.id))
    return [each for each in ranked[:k] if each.score > 0]


def _without_names(graph: MemoryGraph, seeds: Sequence[str], words: Sequence[str]) -> list[str]:
    """The words asked for but the names of those asked about, by whatever name."""
    known = (graph.entities.by_id[i] for i in seeds)
    named = {term for entity in known for name in entity.written for term in analysis.terms(name)}
    return [word for word in words if word not in named]


def _said(fact: Fact, asked: Collection[str], shares: Mapping[str, float]) -> float:
    """What a fact says of what is asked, however near it is."""
    lasting = VALUE if fact.subject_id in asked and is_value(fact) else 0.0
    return lasting + RELEVANT * shares.get(fact.id, 0.0)


def _further(
    graph: MemoryGraph, seeds: Sequence[str], near: Iterable[Fact], shares: Mapping[str, float]
) -> Iterator[Fact]:
    """Facts that are worth a look however old: what one has only one of, and what the words of a query ask for."""
    for seed in seeds:
        for slot in SLOTS:
            yield from (graph.facts[i] for i in graph.in_circle((seed, slot)))
    within = {*seeds, *(end for fact in near for end in (fact.subject_id, fact.object_id))}
    theirs = [i for i in shares if {graph.facts[i].subject_id, graph.facts[i].object_id} & within]
    yield from (graph.facts[i] for i in nlargest(NEAR_EDGES, theirs, key=shares.__getitem__))


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
