"""Lexical scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed_server.recall.layout import Layout
from seedbed_server.recall.postings import Postings

from . import naive
from .strategies import WORDS, terms

rows = st.lists(st.tuples(st.integers(0, 2), st.booleans(), terms), max_size=30)
queries = st.lists(st.sampled_from([*WORDS, "unheard-of"]), max_size=5)


def indexed(texts: Sequence[tuple[str, ...]]) -> Postings:
    postings = Postings()
    for text in texts:
        postings.add(text)
    return postings


def together(count: int) -> Layout:
    """All rows in one session, alive."""
    return Layout(np.zeros(count, dtype=np.intp), np.ones(count, dtype=np.bool_))


@settings(deadline=None, max_examples=60)
@given(rows, queries)
def test_scores_are_bm25_over_spread_counts(drawn: list[tuple[int, bool, tuple[str, ...]]], query: list[str]) -> None:
    """Any memory, any query, with words nobody said and messages without words: equal to the formula, in [0, 1)."""
    sessions, alive, texts = [r[0] for r in drawn], [r[1] for r in drawn], [r[2] for r in drawn]
    layout = Layout(np.array(sessions, dtype=np.intp), np.array(alive, dtype=np.bool_))
    scores = indexed(texts).score(query, layout)
    np.testing.assert_allclose(scores, naive.bm25(query, texts, naive.weights(sessions, alive), alive), atol=1e-9)
    assert ((scores >= 0) & (scores < 1)).all()
    assert not scores[~layout.alive].any()


def test_words_that_nobody_said_count_in_the_whole() -> None:
    """A query half of which is unknown finds at most half: the score says how much of it was found."""
    postings = indexed([("cat", "sat"), ("dog",)])
    known, half = (postings.score(query, together(2))[0] for query in (["cat"], ["cat", "zebra"]))
    assert 0 < half < known / 2


def test_a_term_asked_twice_counts_once() -> None:
    """A query's score does not depend on how often it repeats a word."""
    postings = indexed([("cat", "sat"), ("dog",)])
    assert (
        postings.score(["cat", "cat", "dog"], together(2)).tolist()
        == postings.score(["cat", "dog"], together(2)).tolist()
    )


def test_the_rarer_word_weighs_more() -> None:
    """Of two messages far from each other, the one with the rare word comes first."""
    texts = [("order", "7319")] + [("filler",)] * 8 + [("order", "open")] + [("order",)] * 8
    scores = indexed(texts).score(["order", "7319"], together(len(texts)))
    assert scores.argmax() == 0


def test_an_empty_index_scores_nothing() -> None:
    """No rows, no scores, no error; neither with rows of which none is alive."""
    assert indexed([]).score(["cat"], together(0)).tolist() == []
    dead = Layout(np.zeros(2, dtype=np.intp), np.zeros(2, dtype=np.bool_))
    assert indexed([("cat",), ()]).score(["cat"], dead).tolist() == [0.0, 0.0]


def test_size_grows_with_what_is_held() -> None:
    """The estimate of bytes rises with every row."""
    sizes = [indexed([("cat",)] * count).nbytes for count in range(5)]
    assert sizes == sorted(set(sizes))
