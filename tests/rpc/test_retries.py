"""A write that is repeated is stored once."""

from __future__ import annotations

import asyncio
import random

import grpc
import pytest

from seedbed.v1 import memory_service_pb2 as pb

from .calling import Caller, nothing_stored, refused, said, written


async def test_the_same_request_id_answers_as_the_first_time(trips: Caller, memory: str) -> None:
    """The same ids and numbers, and nothing new."""
    request = written(memory, said("one"), said("two"), session="s", request_id="r1")
    first = await trips("Write", request)
    assert first.memory_created
    await trips("Write", written(memory, said("three")))
    async with nothing_stored(trips):
        assert await trips("Write", request) == first
    assert [m.parts[0].text for m in await trips.read(memory)] == ["one", "two", "three"]


@pytest.mark.parametrize(
    "other", [{"messages": [said("another")]}, {"session": "elsewhere"}, {"messages": [said("one")] * 2}]
)
async def test_the_same_request_id_with_another_payload_is_refused(trips: Caller, memory: str, other: dict) -> None:  # type: ignore[type-arg]
    """ALREADY_EXISTS, and nothing is stored."""
    await trips("Write", written(memory, said("one"), request_id="r1"))
    request = pb.WriteRequest(**({"memory": memory, "messages": [said("one")], "request_id": "r1"} | other))
    async with nothing_stored(trips):
        error = await refused(trips("Write", request))
    assert (error.code, error.reason, error.stored) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED", "no")


async def test_request_ids_of_different_memories_do_not_meet(trips: Caller, memory: str) -> None:
    """An id is one memory's own."""
    for name in (memory, f"{memory}-other"):
        assert (await trips("Write", written(name, said(name), request_id="r1"))).first_seq == 1


async def test_a_message_id_that_is_taken_is_named(trips: Caller, memory: str) -> None:
    """The whole batch is refused."""
    await trips("Write", written(memory, said("one", id="taken")))
    async with nothing_stored(trips):
        error = await refused(trips("Write", written(memory, said("two"), said("three", id="taken"))))
    assert (error.code, error.reason, error.stored) == ("ALREADY_EXISTS", "MESSAGE_ID_EXISTS", "no")
    assert [field.path for field in error.fields] == ["messages[1].id"]


async def test_many_at_once_with_one_request_id_are_one(trips: Caller, memory: str) -> None:
    """Whichever comes first, all get its answer."""
    request = written(memory, said("once"), request_id="r1")
    answers = await asyncio.gather(*(trips("Write", request) for _ in range(30)))
    assert all(answer == answers[0] for answer in answers)
    assert len(await trips.read(memory)) == 1


async def test_a_write_whose_answer_was_lost_is_stored_once(trips: Caller, memory: str) -> None:
    """With a deadline of a millisecond or so the answer may be lost before, at or after the commit."""
    lost = 0
    for at in range(40):
        request = written(memory, said(f"message {at}"), request_id=f"r{at}")
        try:
            await trips("Write", request, within=0.001 * (1 + at % 4))
        except grpc.aio.AioRpcError as error:
            assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            lost += 1
        await trips("Write", request)
    found = await trips.read(memory)
    assert [m.parts[0].text for m in found] == [f"message {at}" for at in range(40)]
    assert [m.seq for m in found] == list(range(1, 41))


async def test_writes_that_are_given_up_are_stored_whole_or_not_at_all(trips: Caller, memory: str) -> None:
    """And once, when they are repeated; seq has no gaps."""
    rng = random.Random(5)
    requests = [written(memory, *(said(f"{at}.{part}") for part in range(3)), request_id=f"r{at}") for at in range(30)]
    for request in requests:
        task = asyncio.create_task(trips("Write", request))
        for _ in range(rng.randrange(12)):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await asyncio.gather(*(trips("Write", request) for request in requests))
    found = await trips.read(memory)
    texts = [m.parts[0].text for m in found]
    assert sorted(texts) == sorted(f"{at}.{part}" for at in range(30) for part in range(3))
    assert all(texts[i : i + 3] == [f"{texts[i][:-2]}.{part}" for part in range(3)] for i in range(0, len(texts), 3))
    assert [m.seq for m in found] == list(range(1, 91))


async def test_many_writers_at_once_keep_their_batches_whole(trips: Caller, memory: str) -> None:
    """Order within a batch is kept, and seq counts every message once."""
    batches = [[said(f"{writer}.{part}") for part in range(5)] for writer in range(40)]
    answers = await asyncio.gather(*(trips("Write", written(memory, *batch)) for batch in batches))
    assert all(answer.last_seq == answer.first_seq + 4 for answer in answers)
    assert sum(answer.memory_created for answer in answers) == 1
    by_seq = {m.seq: m.parts[0].text for m in await trips.read(memory)}
    assert sorted(by_seq) == list(range(1, 201))
    for writer, answer in enumerate(answers):
        assert [by_seq[answer.first_seq + part] for part in range(5)] == [f"{writer}.{part}" for part in range(5)]
