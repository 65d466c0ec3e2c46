"""Which memories a batch is made of."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seedbed_server.projections.cursors import Cursors
from seedbed_server.projections.turns import LEAST_SHARE, Turns

from .source import ListLog

BATCH, POOL = 128, 8


def turns_over(log: ListLog, keys: list[int], together: int) -> Turns:
    projection: Any = SimpleNamespace(batch_messages=BATCH, reach=0, together=together, fingerprint="turns")
    turns = Turns(projection, cast("Any", log), lambda _: True)
    turns.begin(Cursors("turns"), keys)
    return turns


@pytest.mark.parametrize("together", [1, POOL])
async def test_every_memory_of_a_flood_has_its_turn(together: int) -> None:
    """As many memories as one batch looks at, each with more to do than its share: all are served, none twice before."""
    log = ListLog()
    keys = list(range(8, 8 + BATCH))
    random.Random(3).shuffle(keys)
    for key in keys:
        log.append(key, *["m"] * 40)
    turns = turns_over(log, keys, together)
    for round_ in range(1, 4):
        for _ in range(BATCH * LEAST_SHARE // BATCH):
            taken = await turns.take()
            assert taken is not None
            assert sum(len(turn.batch.messages) for turn in taken) == BATCH
            turns.committed({turn.batch.key: turn.upto_seq for turn in taken}, {})
        assert {turns.cursors.applied[key] for key in keys} == {round_ * LEAST_SHARE}


async def test_who_has_a_turn_in_flight_lets_others_go_first() -> None:
    """However long a memory's messages are, another waits for those under way alone."""
    log = ListLog()
    log.append(8, *["long " * 10_000] * 3)
    turns = turns_over(log, [8], POOL)
    assert [turn.batch.key for turn in await turns.take() or ()] == [8]
    log.append(9, "short")
    turns.put(9)
    assert next(turn.batch.key for turn in await turns.take() or ()) == 9


async def test_memories_that_are_stored_together_are_taken_together() -> None:
    """In whatever order they were written to."""
    log = ListLog()
    keys = list(range(8, 8 + 4 * BATCH))
    random.Random(5).shuffle(keys)
    for key in keys:
        log.append(key, *["m"] * LEAST_SHARE)
    taken = await turns_over(log, keys, POOL).take()
    assert taken is not None
    assert len({turn.batch.key // POOL for turn in taken}) == BATCH // LEAST_SHARE // POOL
