"""What each leg of a search costs in processor time, over one memory that is loaded. No model, no server."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from statistics import median

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from benchmarks.outcome import Outcome
from benchmarks.texts import conversation, questions
from seedbed_server.projections.lexical import term_row
from seedbed_server.recall.anchors import Events, spoken_of
from seedbed_server.recall.exact import exact_terms
from seedbed_server.recall.floor import holds_enough
from seedbed_server.recall.fusion import DENSE, LEXICAL, TIME, fuse
from seedbed_server.recall.hot import HotMemory, Row
from seedbed_server.recall.stopwords import query_terms
from seedbed_server.recall.times import within

_DIMENSIONS = 384
_K = 50


def run(*, messages: int, queries: int) -> Outcome:
    """Search a memory of so many messages; vectors are random, and cost what others would."""
    memory, chance = _loaded(messages), np.random.default_rng(3)
    spent: defaultdict[str, list[float]] = defaultdict(list)
    with threadpool_limits(1):  # as in the server
        for query in islice(questions(5), queries):
            _search(memory, query, _units(chance, 1)[0], spent)
    return Outcome((), tuple(_figures(messages, spent)))


def _figures(messages: int, spent: Mapping[str, list[float]]) -> Iterator[tuple[str, str]]:
    whole = [sum(each) for each in zip(*spent.values(), strict=True)]
    for leg, taken in {**spent, "all of these": whole}.items():
        yield f"search of {messages} messages, processor: {leg}", f"{median(taken):.2f} ms"


def _search(memory: HotMemory, query: str, vector: npt.NDArray[np.float32], spent: Mapping[str, list[float]]) -> None:
    """The legs in the order of a search, each timed."""
    layout = memory.layout("", None)
    with _timed(spent["lexical"]):
        terms = query_terms(query)
        lexical = memory.postings.score(terms, layout)
    with _timed(spent["exact, and speaker"]):
        exact = exact_terms(query)
        exact.share(memory.postings, layout.alive)
        memory.named([*terms, *exact.spoken])
    with _timed(spent["time"]):
        newest = datetime.fromtimestamp(float(memory.times.max()), UTC)
        spoken = spoken_of(query, newest, Events(memory.postings, memory.times, layout.alive))
        timely = within(spoken, memory.times, layout.alive)
    with _timed(spent["dense"]):
        dense = memory.cosines(vector, layout)
    with _timed(spent["floor"]):
        exact.named(memory.postings, layout.alive)
        holds_enough(memory.postings, terms, layout)
        memory.own_cosines(vector)
    with _timed(spent["fusion of three legs, and the order"]):
        fuse({"dense": (dense, DENSE), "lexical": (lexical, LEXICAL), "time": (timely, TIME)}, layout.alive, _K, None)


@contextmanager
def _timed(taken: list[float]) -> Iterator[None]:
    began = time.process_time()
    yield
    taken.append((time.process_time() - began) * 1_000)


def _loaded(messages: int) -> HotMemory:
    memory = HotMemory(1, _DIMENSIONS, erased=0)
    said = enumerate(conversation(1, messages), 1)
    memory.add([Row(*term_row(replace(message, seq=seq))) for seq, message in said], messages)
    vectors = _units(np.random.default_rng(2), messages)
    memory.add_vectors(range(1, messages + 1), np.split(vectors, messages), messages)
    return memory


def _units(chance: np.random.Generator, count: int) -> npt.NDArray[np.float32]:
    """Random unit vectors; shape (count, dimensions)."""
    drawn = chance.standard_normal((count, _DIMENSIONS), dtype=np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn
