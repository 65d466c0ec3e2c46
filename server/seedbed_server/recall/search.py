"""A question in, messages out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from seedbed.messages import Message
from seedbed_server.log import Log, MemoryRecord
from seedbed_server.recall.fusion import DENSE, LEXICAL, ROLE, SPEAKER, Scores, fuse
from seedbed_server.recall.hot import HotMemory
from seedbed_server.recall.layout import Floats, Layout
from seedbed_server.recall.memories import HotMemories, Progress, undivided
from seedbed_server.recall.queries import QueryVectors, Vector
from seedbed_server.recall.stopwords import query_terms

# The most that the messages found may take; beyond it there are fewer hits than asked for.
MOST_BYTES = 12 * 2**20


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for: at most ``k`` messages, of ``session`` if it is set, with a seq of at most ``upto_seq``."""

    query: str
    k: int
    session: str = ""
    upto_seq: int | None = None


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
    """The hits, best first, and how complete the search was."""

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
    layout: Layout
    legs: Mapping[str, tuple[Floats, float]]


@dataclass(frozen=True, slots=True)
class Recall:
    """Searches memories."""

    log: Log
    hot: HotMemories
    progress: Progress
    queries: QueryVectors

    def begin(self, query: str) -> None:
        """Let the encoder work on a query that will be searched for; returns at once."""
        if query_terms(query):
            self.queries.begin(query)

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
        self.queries.begin(search.query)
        async with self.hot.current(record) as (memory, _):  # the words, while the query is encoded
            words = await undivided(partial(_match, memory, terms, search))
        vector = await self.queries.get(search.query)  # nobody waits for this memory meanwhile
        async with self.hot.current(record) as (memory, complete):
            scores = await undivided(partial(_score, memory, words, vector, search))
            seqs = memory.seqs[scores.rows].tolist()
        hits = await self._read(record, seqs, scores)
        degraded = () if vector is not None and complete else ("dense",)
        return Ranking(hits, applied_seq, degraded)

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


def _match(memory: HotMemory, terms: Sequence[str], search: Search) -> _Words:
    layout = memory.layout(search.session, search.upto_seq)
    legs = {
        "lexical": (memory.postings.score(terms, layout), LEXICAL),
        "speaker": (memory.named(terms).astype(np.float64), SPEAKER),
        "role": (memory.generic_assistant.astype(np.float64), ROLE),
    }
    return _Words(memory, len(memory), terms, layout, legs)


def _score(memory: HotMemory, words: _Words, vector: Vector | None, search: Search) -> Scores:
    if words.memory is not memory or words.rows != len(memory):  # it has grown, or was loaded again
        words = _match(memory, words.terms, search)
    dense = np.zeros(len(memory)) if vector is None else memory.cosines(vector, words.layout)
    return fuse({"dense": (dense, DENSE), **words.legs}, words.layout.alive, search.k)
