"""Random memories: sessions that interleave, gaps in seq, few words, long and short messages, lost vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from seedbed_server.recall.hot import HotMemory, Matrix, Row

WIDTH = 6
WORDS = ("paris", "berlin", "cat", "dog", "moved", "the")
terms = st.lists(st.sampled_from(WORDS), max_size=6).map(tuple)
names = st.sampled_from([(), ("maya",), ("ben", "li"), ("assist",), ("user",)])


@dataclass(frozen=True)
class Said:
    """A row and its chunks' vectors; None where they were lost."""

    row: Row
    chunks: Matrix | None


# The gap before its seq, its session, role, name and terms, and how many chunks of vectors; 0 is a lost one.
_message = st.tuples(
    st.sampled_from([1, 2, 5]), st.sampled_from("abc"), st.sampled_from(["user", "assistant"]), names, terms,
    st.sampled_from([1, 0, 2, 9]),
)  # fmt: skip
memories = st.builds(
    lambda seed, drawn: _placed(np.random.default_rng(seed), drawn),
    st.integers(0, 2**32 - 1),
    st.lists(_message, min_size=1, max_size=30),
)


def _placed(
    random: np.random.Generator,
    drawn: Sequence[tuple[int, str, str, tuple[str, ...], tuple[str, ...], int]],
) -> list[Said]:
    said, seq = [], 0
    for gap, session, role, name, text, chunks in drawn:
        seq += gap
        said.append(Said(Row(seq, session, role, name, text), units(random, chunks) if chunks else None))
    return said


def units(random: np.random.Generator, count: int) -> Matrix:
    """Random vectors of unit length."""
    vectors = random.normal(size=(count, WIDTH)).astype(np.float32)
    scaled: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def build(said: list[Said]) -> HotMemory:
    """A memory of these messages, all at once."""
    memory = HotMemory(1, WIDTH, 0)
    upto = said[-1].row.seq if said else 0
    memory.add([each.row for each in said], upto)
    give(memory, said, upto)
    return memory


def give(memory: HotMemory, said: list[Said], upto: int) -> None:
    """Hand the memory all vectors there are, to take those up to a seq that it lacks."""
    known = [(each.row.seq, each.chunks) for each in said if each.chunks is not None]
    memory.add_vectors([seq for seq, _ in known], [chunks for _, chunks in known], upto)
