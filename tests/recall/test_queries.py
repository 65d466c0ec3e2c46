"""The vectors of queries: what the encoder is asked, and what those who wait are told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from seedbed_server.errors import PartUnavailableError
from seedbed_server.recall import queries as room
from seedbed_server.recall.queries import QueryVectors


class Counting:
    """An encoder that notes its calls, and answers when it is let."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.go = asyncio.Event()
        self.go.set()
        self.error: Exception | None = None

    async def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return np.array([[len(text), 1.0] for text in texts], np.float32)


async def test_a_text_is_encoded_once() -> None:
    """Those who ask at the same time, and those who ask again, get the one vector."""
    encoder = Counting()
    queries = QueryVectors(encoder)
    queries.begin("where?")
    found = await asyncio.gather(*(queries.get("where?") for _ in range(5)))
    again = await queries.get("where?")
    assert encoder.calls == [["where?"]]
    assert all(vector is not None and vector.tolist() == [6.0, 1.0] for vector in (*found, again))


async def test_those_that_wait_go_together() -> None:
    """What comes while a call is under way makes one more call, in order, at most AT_ONCE texts."""
    encoder = Counting()
    encoder.go.clear()
    queries = QueryVectors(encoder)
    texts = [f"{'q' * n}?" for n in range(1, room.AT_ONCE + 4)]
    first = asyncio.create_task(queries.get(texts[0]))
    await asyncio.sleep(0.01)
    rest = [asyncio.create_task(queries.get(text)) for text in texts[1:]]
    await asyncio.sleep(0.01)
    encoder.go.set()
    found = await asyncio.gather(first, *rest)
    assert encoder.calls == [texts[:1], texts[1 : room.AT_ONCE + 1], texts[room.AT_ONCE + 1 :]]
    assert [vector[0] for vector in found if vector is not None] == [len(text) for text in texts]


async def test_without_the_encoder_there_is_no_vector_and_none_is_kept() -> None:
    """A part that is down answers None at once, and is asked again the next time."""
    encoder = Counting()
    encoder.error = PartUnavailableError("encoder")
    queries = QueryVectors(encoder)
    assert await queries.get("where?") is None
    encoder.error = None
    assert await queries.get("where?") is not None


async def test_a_fault_of_the_encoder_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those who were to come next are told, and the next text is encoded as ever."""
    monkeypatch.setattr(room, "AT_ONCE", 1)
    encoder = Counting()
    encoder.error = ValueError("of its own making")
    queries = QueryVectors(encoder)
    found = await asyncio.gather(queries.get("one"), queries.get("two"))
    assert found[0] is None
    assert found[1] is None
    encoder.error = None
    assert await queries.get("two") is not None


async def test_a_hanging_encoder_costs_no_more_than_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not asked twice, and its late answer serves those who come later."""
    monkeypatch.setattr(room, "PATIENCE", 0.05)
    encoder = Counting()
    encoder.go.clear()
    queries = QueryVectors(encoder)
    assert await queries.get("where?") is None
    assert await queries.get("where?") is None
    monkeypatch.undo()
    encoder.go.set()
    assert await queries.get("where?") is not None
    assert encoder.calls == [["where?"]]


async def test_one_who_gives_up_takes_nothing_from_the_others() -> None:
    """Cancelled, a caller leaves the encoding to those who wait with it."""
    encoder = Counting()
    encoder.go.clear()
    queries = QueryVectors(encoder)
    hasty, patient = (asyncio.create_task(queries.get("where?")) for _ in range(2))
    await asyncio.sleep(0.01)
    hasty.cancel()
    encoder.go.set()
    assert await patient is not None


async def test_so_many_are_kept_and_no_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently asked goes first; a long text is encoded anew each time."""
    monkeypatch.setattr(room, "KEPT", 2)
    encoder = Counting()
    queries = QueryVectors(encoder)
    long = "x" * (room.KEPT_CHARACTERS + 1)
    for text in ("a", "b", "a", "c", "a", "b", long, long):
        assert await queries.get(text) is not None
    assert encoder.calls == [["a"], ["b"], ["c"], ["b"], [long], [long]]
