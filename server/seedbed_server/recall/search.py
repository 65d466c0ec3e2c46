"""A question in, messages out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import numpy as np

from seedbed.messages import Message
from seedbed_server.log import Log, MemoryRecord
from seedbed_server.projections.threads import undivided
from seedbed_server.recall.anchors import Events, spoken_of
from seedbed_server.recall.exact import exact_terms
from seedbed_server.recall.facts import NOTHING, FactSources, Said, Stated
from seedbed_server.recall.floor import height, holds_enough, reached
from seedbed_server.recall.fusion import ANSWER, DENSE, EXACT, GRAPH, LEXICAL, ROLE, SPEAKER, TIME, Scores, fuse
from seedbed_server.recall.hot import HotMemory
from seedbed_server.recall.layout import Floats, Layout, Mask
from seedbed_server.recall.lens import Lens
from seedbed_server.recall.memories import Progress
from seedbed_server.recall.queries import Vector
from seedbed_server.recall.stopwords import is_unspaced, query_terms
from seedbed_server.recall.times import within

# The most that the messages found may take; beyond it there are fewer hits than asked for.
MOST_BYTES = 12 * 2**20


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for: at most ``k`` messages, of ``session`` if it is set, with a seq of at most ``upto_seq``.

    ``distinct`` leaves out those that say the same as one that is better, or as good and newer. Relative times of the
    query count from ``asked_at``, or else from the newest message that the search may see. ``asked_by`` is the user
    whom "I" means, ``as_known`` whether it is asked as of an earlier moment of the log.
    """

    query: str
    k: int
    session: str = ""
    upto_seq: int | None = None
    distinct: bool = False
    asked_at: datetime | None = None
    asked_by: str = ""
    as_known: bool = False


@dataclass(frozen=True, slots=True)
class Leg:
    """What one leg gave to a hit; ``rank`` counts from 1, and is 0 where the leg did not find it."""

    name: str
    raw: float
    contribution: float
    rank: int


@dataclass(frozen=True, slots=True)
class Found:
    """A recalled message, as the log has it now, and why it is here."""

    message: Message
    score: float
    legs: tuple[Leg, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits, best first, and how complete the search was.

    ``below_floor`` of the k best were withheld, since not even the best of them,
    with a score of ``best_below_floor``, is about what was asked.
    """

    hits: tuple[Found, ...]
    applied_seq: int
    degraded_legs: tuple[str, ...] = ()
    below_floor: int = 0
    best_below_floor: float = 0.0


@dataclass(frozen=True, slots=True)
class _Words:
    """What the legs that need no vector say of a memory of so many rows, which never change."""

    memory: HotMemory
    rows: int
    terms: Sequence[str]
    stated: Sequence[Stated]
    layout: Layout
    legs: Mapping[str, tuple[Floats, float]]
    certain: Mask


@dataclass(slots=True)
class Recall:
    """Searches memories, through the ``lens`` that is set when a search begins."""

    log: Log
    lens: Lens
    progress: Progress
    facts: FactSources | None = None

    def begin(self, query: str) -> None:
        """Let the encoder work on a query that will be searched for; returns at once."""
        if query_terms(query):
            self.lens.queries.begin(query)

    async def search(self, record: MemoryRecord, search: Search) -> Ranking:
        """Rank the messages of a memory against a query.

        Without the models, the words alone decide, and the ranking says so. A
        query of nothing but blanks and punctuation finds nothing. There are
        fewer hits than ``k`` where more would be too large for an answer.
        """
        applied = self.progress.applied(record.key)
        applied_seq = min(applied.get("lexical", 0), applied.get("vectors", 0))
        terms = query_terms(search.query)
        if not terms or record.last_seq == 0:
            return Ranking((), applied_seq)
        lens = self.lens
        with lens.looking():
            lens.queries.begin(search.query)
            said = await self._said(record, search, terms)
            async with lens.hot.current(record) as (memory, here):  # the words, while the query is encoded
                words = await undivided(partial(_match, memory, terms, search, said.stated))
            vector = await lens.queries.get(search.query)  # nobody waits for this memory meanwhile
            # Vectors that did not come in time are not waited for a second time.
            async with lens.hot.current(record, None if here else 0.0) as (memory, complete):
                scores = await undivided(partial(_score, memory, words, vector, search))
                seqs = memory.seqs[scores.rows].tolist()
        blind = vector is None or not complete
        if seqs and not (scores.related or blind):  # without cosines nobody can tell
            return Ranking((), applied_seq, below_floor=len(seqs), best_below_floor=float(scores.fused[0]))
        hits = await self._read(record, seqs, scores)
        missing = {"dense": blind, "graph": not said.complete}
        return Ranking(hits, applied_seq, tuple(leg for leg, is_missing in missing.items() if is_missing))

    async def _said(self, record: MemoryRecord, search: Search, terms: Sequence[str]) -> Said:
        """What facts say; nothing of the past of the log, nor in one session: they rest on all that is there now."""
        if self.facts is None or search.as_known or search.session:
            return NOTHING
        return await self.facts.asked_for(record, search.query, terms, asked_by=search.asked_by, at=search.asked_at)

    async def _read(self, record: MemoryRecord, seqs: list[int], scores: Scores) -> tuple[Found, ...]:
        """Re-read the hits from the log, as many as an answer may hold: text and liveness come from nowhere else."""
        alive = await self.log.by_seqs(record.key, seqs, max_bytes=MOST_BYTES)
        return tuple(
            Found(alive[seq], float(scores.fused[at]), _legs(scores, at)) for at, seq in enumerate(seqs) if seq in alive
        )


def _legs(scores: Scores, at: int) -> tuple[Leg, ...]:
    return tuple(
        Leg(name, float(leg.raw[at]), float(leg.contribution[at]), int(leg.rank[at]))
        for name, leg in scores.legs.items()
    )


def _match(memory: HotMemory, terms: Sequence[str], search: Search, stated: Sequence[Stated]) -> _Words:
    layout = memory.layout(search.session, search.upto_seq)
    exact = exact_terms(search.query)
    identified = exact.share(memory.postings, layout.alive)
    named = memory.named([*terms, *exact.spoken])
    relevant, answering = _sources(memory, stated)
    legs = {
        "lexical": (memory.postings.score(terms, layout), LEXICAL),
        "exact": (identified, EXACT),
        "time": (_timely(memory, layout.alive, search), TIME),
        "graph": (relevant, GRAPH),
        "answer": (answering, ANSWER),
        "speaker": (named.astype(np.float64), SPEAKER),
        "role": (memory.generic_assistant.astype(np.float64), ROLE),
    }
    certain = (identified > 0) | exact.named(memory.postings, layout.alive)
    certain |= holds_enough(memory.postings, terms, layout) | ((answering > 0) & layout.alive)
    return _Words(memory, len(memory), terms, stated, layout, legs, certain)


def _timely(memory: HotMemory, alive: Mask, search: Search) -> Floats:
    """How well each row's time is what the query speaks of, relative times from the newest one; shape (n,)."""
    known = alive & np.isfinite(memory.times)
    if not known.any():
        return np.zeros(len(memory))
    reference = search.asked_at or datetime.fromtimestamp(float(memory.times[known].max()), UTC)
    spoken = spoken_of(search.query, reference, Events(memory.postings, memory.times, known))
    return within(spoken, memory.times, known)


def _sources(memory: HotMemory, stated: Sequence[Stated]) -> tuple[Floats, Floats]:
    """Of each row the relevance of the best fact that stems from it, and 1 where that answers; shapes (n,)."""
    relevant, answering = np.zeros(len(memory)), np.zeros(len(memory))
    best: dict[int, Stated] = {}
    for fact in reversed(stated):  # the best come first, and stay
        best.update(dict.fromkeys(fact.seqs, fact))
    rows, here = memory.rows_of([*best])
    facts = [fact for fact, is_here in zip(best.values(), here.tolist(), strict=True) if is_here]
    relevant[rows] = [fact.relevance for fact in facts]
    answering[rows] = [fact.answers for fact in facts]
    return relevant, answering


def _score(memory: HotMemory, words: _Words, vector: Vector | None, search: Search) -> Scores:
    if words.memory is not memory or words.rows != len(memory):  # it has grown, or was loaded again
        words = _match(memory, words.terms, search, words.stated)
    alive = words.layout.alive
    if vector is not None and is_unspaced(words.terms):
        vector = np.zeros_like(vector)  # noise: the encoder does not know these scripts
    dense = np.zeros(len(memory)) if vector is None else memory.cosines(vector, words.layout)
    scores = fuse({"dense": (dense, DENSE), **words.legs}, alive, search.k, memory.gists if search.distinct else None)
    if vector is None:
        return scores
    return replace(scores, related=_is_related(memory, words, vector, dense))


def _is_related(memory: HotMemory, words: _Words, vector: Vector, dense: Floats) -> bool:
    """Whether any message is about what was asked; what costs another pass over all vectors comes last."""
    alive, (lexical, _), (speaker, _) = words.layout.alive, words.legs["lexical"], words.legs["speaker"]
    floor = height(int(np.count_nonzero(alive)), names_speaker=bool(speaker.any()))
    return (
        bool(words.certain.any())
        or reached(dense, lexical, alive, floor)
        or reached(memory.own_cosines(vector), lexical, alive, floor)
    )
