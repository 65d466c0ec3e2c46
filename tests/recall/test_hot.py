"""One memory in arrays: however it was filled, it is the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed_server.recall.hot import LONG, Growing, HotMemory, Matrix, Row
from seedbed_server.recall.layout import Layout

from . import naive
from .strategies import WIDTH, Said, build, give, memories, units

QUERY: Matrix = units(np.random.default_rng(7), 1)[0]
TERMS = ("cat", "paris", "nothing")


def row(seq: int, *, session: str = "s", role: str = "user", name: tuple[str, ...] = ()) -> Row:
    return Row(seq, session, role, name, ("word",))


def same(one: HotMemory, rows: Layout, other: HotMemory) -> None:
    """Assert that what ``one`` shows of the rows alive is all that ``other`` has."""
    alive, everything = rows.alive, other.layout("", None)
    assert one.seqs[alive].tolist() == other.seqs.tolist()
    np.testing.assert_allclose(one.cosines(QUERY, rows)[alive], other.cosines(QUERY, everything), atol=1e-5)
    np.testing.assert_allclose(
        one.postings.score(TERMS, rows)[alive], other.postings.score(TERMS, everything), atol=1e-9
    )
    assert one.named(["maya"])[alive].tolist() == other.named(["maya"]).tolist()
    assert one.generic_assistant[alive].tolist() == other.generic_assistant.tolist()


@settings(deadline=None, max_examples=40)
@given(memories, st.data())
def test_filling_in_any_steps_equals_filling_at_once(said: list[Said], data: st.DataObject) -> None:
    """Words in any batches, vectors in any others and later, lost ones, interleaved sessions: the same memory."""
    last = said[-1].row.seq
    seqs = st.integers(0, last)
    memory = HotMemory(1, WIDTH, 0)
    for words, vectors in [*data.draw(st.lists(st.tuples(seqs, seqs), max_size=6)), (last, last)]:
        here = memory.words_upto
        memory.add([each.row for each in said if here < each.row.seq <= words], max(here, words))
        give(memory, said, min(vectors, memory.words_upto))
    assert (memory.words_upto, memory.vectors_upto) == (last, last)
    same(memory, memory.layout("", None), build(said))


@settings(deadline=None, max_examples=40)
@given(memories)
def test_cosines_are_of_the_spread_vectors(said: list[Said]) -> None:
    """Each row's is that of its context, or of the best of its own chunks where it is long."""
    memory = build(said)
    spread = naive.weights([each.row.session for each in said], [True] * len(said))
    chunks = [each.chunks if each.chunks is not None else np.zeros((1, WIDTH), np.float32) for each in said]
    vectors: list[Matrix | None] = [each.chunks for each in said]
    expected = [
        max([context @ QUERY, *(own @ QUERY if len(own) >= LONG else ())])
        for context, own in zip(
            naive.contexts(vectors, spread) if any(v is not None for v in vectors) else np.zeros((len(said), WIDTH)),
            chunks,
            strict=True,
        )
    ]
    np.testing.assert_allclose(memory.cosines(QUERY, memory.layout("", None)), expected, atol=1e-5)


@settings(deadline=None, max_examples=40)
@given(memories, st.data())
def test_a_search_into_the_past_sees_the_memory_of_that_time(said: list[Said], data: st.DataObject) -> None:
    """Up to any seq, all scores are those of a memory that holds only the messages up to there."""
    upto = data.draw(st.integers(0, said[-1].row.seq + 1))
    memory = build(said)
    same(memory, memory.layout("", upto), build([each for each in said if each.row.seq <= upto]))


@settings(deadline=None, max_examples=40)
@given(memories, st.sampled_from("abcz"))
def test_a_search_in_one_session_sees_that_session_alone(said: list[Said], session: str) -> None:
    """All scores are those of a memory of that session; of an unknown one there are none."""
    memory = build(said)
    same(memory, memory.layout(session, None), build([each for each in said if each.row.session == session]))


def test_vectors_of_a_message_that_is_not_here_change_nothing() -> None:
    """A message that was erased has no row; its vectors, still in the store, go to nobody else."""
    memory = HotMemory(1, WIDTH, 0)
    memory.add([row(2, session="a"), row(5, session="b")], 6)
    vectors = units(np.random.default_rng(1), 4)
    memory.add_vectors([1, 2, 3, 6], [vectors[i : i + 1] for i in range(4)], 6)
    expected = [float(vectors[1] @ QUERY), 0.0]
    np.testing.assert_allclose(memory.cosines(QUERY, memory.layout("", None)), expected, atol=1e-6)


def test_an_empty_memory_answers() -> None:
    """No rows: no scores, no error, with vectors at hand or not."""
    memory = HotMemory(1, WIDTH, 0)
    memory.add([], 3)
    memory.add_vectors([], [], 3)
    nothing = memory.layout("", 2)
    assert memory.cosines(QUERY, nothing).tolist() == memory.postings.score(["cat"], nothing).tolist() == []
    assert memory.named(["maya"]).tolist() == memory.generic_assistant.tolist() == []


def test_speakers_are_found_by_any_part_of_their_name() -> None:
    """ "Ben" and "Li" both name Ben Li; a word that says what speaks names nobody."""
    memory = HotMemory(1, WIDTH, 0)
    speakers: list[tuple[str, ...]] = [("ben", "li"), ("maya",), ("assist",), ("user",), ()]
    memory.add([row(seq, name=name) for seq, name in enumerate(speakers, 1)], 5)
    assert memory.named(["li"]).tolist() == [True, False, False, False, False]
    assert memory.named(["ben", "maya"]).tolist() == [True, True, False, False, False]
    assert not memory.named(["user", "assist", "what"]).any()


def test_the_size_counts_all_that_is_held() -> None:
    """Rows and the chunks of long messages weigh at least what their vectors take."""
    memory = HotMemory(1, WIDTH, 0)
    memory.add([row(seq) for seq in range(1, 101)], 100)
    empty = memory.nbytes
    assert empty >= 100 * 2 * WIDTH * 4
    memory.add_vectors([1], [units(np.random.default_rng(1), 500)], 100)
    assert memory.nbytes >= empty + 500 * WIDTH * 4


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(0, 9), max_size=40), max_size=8))
def test_a_growing_array_is_what_was_appended(parts: list[list[int]]) -> None:
    """In any portions, the rows are all there, in order."""
    growing = Growing(np.int64)
    for part in parts:
        growing.extend(part)
    assert growing.view.tolist() == [value for part in parts for value in part]
