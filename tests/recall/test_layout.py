"""How values spread over neighbours."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed_server.recall.layout import DECAY, REACH, Layout

from . import naive

rows = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans(), st.floats(0, 9)), max_size=45)


def layout(sessions: list[int], alive: list[bool]) -> Layout:
    return Layout(np.array(sessions, dtype=np.intp), np.array(alive, dtype=np.bool_))


@settings(deadline=None, max_examples=60)
@given(rows)
def test_spread_is_the_weighted_sum_over_the_session(drawn: list[tuple[int, bool, bool, float]]) -> None:
    """Any order of sessions, any rows dead, any rows with a value: as the plain definition says."""
    sessions, alive = [row[0] for row in drawn], [row[1] for row in drawn]
    has_value = [at for at, row in enumerate(drawn) if row[1] and row[2]]
    values = np.zeros(len(drawn))
    values[has_value] = [drawn[at][3] for at in has_value]
    spread = layout(sessions, alive).spread(np.array(has_value, dtype=np.intp), values[has_value])
    np.testing.assert_allclose(spread, naive.weights(sessions, alive) @ values, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(rows)
def test_cut_off_are_the_living_beside_the_dead(drawn: list[tuple[int, bool, bool, float]]) -> None:
    """Exactly the rows whose context misses somebody: those that weigh less than they would with all alive."""
    sessions, alive = [row[0] for row in drawn], [row[1] for row in drawn]
    whole = naive.weights(sessions, [True] * len(drawn)).sum(axis=1)
    seen = naive.weights(sessions, alive).sum(axis=1)
    expected = [at for at, lives in enumerate(alive) if lives and seen[at] < whole[at]]
    assert sorted(layout(sessions, alive).cut_off().tolist()) == expected


def test_a_value_falls_with_the_distance_and_ends() -> None:
    """Weight 0.6 a message, none beyond the sixth, none into another session."""
    sessions = [0] * 10 + [1] * 3
    spread = layout(sessions, [True] * 13).spread(np.array([9]), np.array([2.0]))
    assert spread[9] == 2.0
    assert spread[9 - REACH] == 2.0 * DECAY**REACH
    assert spread[:3].tolist() == spread[10:].tolist() == [0.0] * 3
