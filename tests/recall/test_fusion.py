"""From the legs' scores to one order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed_server.recall.fusion import fuse
from seedbed_server.recall.layout import Floats

# Few different values, so that ties are common.
values = st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0])
rows = st.lists(st.tuples(values, values, st.booleans()), max_size=25)
depths = st.integers(0, 30)
WEIGHTS = {"one": 2.0, "two": -0.25}


def legs(drawn: list[tuple[float, float, bool]]) -> dict[str, tuple[Floats, float]]:
    return {name: (np.array([row[at] for row in drawn]), WEIGHTS[name]) for at, name in enumerate(WEIGHTS)}


@settings(deadline=None, max_examples=80)
@given(rows, depths)
def test_the_best_alive_come_first_and_equal_ones_newest_first(drawn: list[tuple[float, float, bool]], k: int) -> None:
    """The k best of the rows alive, as a full sort gives them; all of them where there are fewer."""
    scores = fuse(legs(drawn), np.array([row[2] for row in drawn], dtype=np.bool_), k)
    order = sorted(
        (at for at, row in enumerate(drawn) if row[2]),
        key=lambda at: (-(2.0 * drawn[at][0] - 0.25 * drawn[at][1]), -at),
    )
    assert scores.rows.tolist() == order[:k]


@settings(deadline=None, max_examples=80)
@given(rows, depths)
def test_contributions_add_up_to_the_score(drawn: list[tuple[float, float, bool]], k: int) -> None:
    """What the legs gave explains the score, and so the order, to the bit; raw times weight is what a leg gave."""
    scores = fuse(legs(drawn), np.array([row[2] for row in drawn], dtype=np.bool_), k)
    assert np.array_equal(sum(leg.contribution for leg in scores.legs.values()), scores.fused)
    for name, leg in scores.legs.items():
        assert np.array_equal(leg.raw * WEIGHTS[name], leg.contribution)


@settings(deadline=None, max_examples=80)
@given(rows, depths)
def test_ranks_count_who_got_more_from_a_leg(drawn: list[tuple[float, float, bool]], k: int) -> None:
    """One more than the rows alive to which the leg gave more; 0 where it gave nothing."""
    scores = fuse(legs(drawn), np.array([row[2] for row in drawn], dtype=np.bool_), k)
    for at, (name, weight) in enumerate(WEIGHTS.items()):
        given_to = {row: weight * drawn[row][at] for row in range(len(drawn)) if drawn[row][2]}
        expected = [
            1 + sum(other > given_to[row] for other in given_to.values()) if given_to[row] else 0
            for row in scores.rows.tolist()
        ]
        assert scores.legs[name].rank.tolist() == expected


@settings(deadline=None, max_examples=80)
@given(rows, depths, st.lists(st.integers(0, 3), min_size=25, max_size=25))
def test_of_what_says_the_same_the_best_is_kept(
    drawn: list[tuple[float, float, bool]], k: int, said: list[int]
) -> None:
    """The k best that differ, as a full sort gives them; of equal ones the newest."""
    gists = np.array(said[: len(drawn)], dtype=np.int64)
    alive = np.array([row[2] for row in drawn], dtype=np.bool_)
    every = fuse(legs(drawn), alive, len(drawn)).rows.tolist()
    first = {gists[at]: at for at in reversed(every)}
    expected = [at for at in every if first[gists[at]] == at][:k]
    assert fuse(legs(drawn), alive, k, gists).rows.tolist() == expected


def test_one_answer_among_ten_thousand_equal_messages() -> None:
    """However many say the same, what says something else is found."""
    n = 10_000
    scores = np.ones(n + 1)
    scores[17] = 0.5
    gists = np.zeros(n + 1, dtype=np.int64)
    gists[17] = 1
    assert fuse({"one": (scores, 1.0)}, np.ones(n + 1, dtype=np.bool_), 4, gists).rows.tolist() == [n, 17]
