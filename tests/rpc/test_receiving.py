"""What is in memory, and when: requests, pages, answers; and streams that have no end of their own."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.message_pb2 import ContentPart, Message
from seedbed.wire import WireError
from seedbed_server.errors import InvalidFieldError
from seedbed_server.rpc import checks
from seedbed_server.rpc.guards import Access
from seedbed_server.rpc.paging import ROWS, page

from .calling import Caller, refused, said, written
from .probe import REQUESTS, probing

MIB = 1024 * 1024


@pytest.mark.parametrize("tokens", [{}, {"0" * 64: ("default",)}])
async def test_a_request_is_not_received_for_an_unknown_caller(tokens: dict[str, tuple[str, ...]]) -> None:
    """The answer comes though the request never does; a mapping without tokens opens nothing."""
    async with probing(tokens=tokens) as probed:
        channel: Any = probed.caller.channel
        call = channel.stream_unary("/seedbed.v1.MemoryService/GetMemory")()
        error = await refused(asyncio.wait_for(_answer(call), 100))
        assert error.reason == "UNAUTHENTICATED"


async def test_a_full_server_receives_no_request() -> None:
    """The answer comes though the request never does."""
    async with probing(max_calls=0) as probed:
        channel: Any = probed.caller.channel
        error = await refused(asyncio.wait_for(_answer(channel.stream_unary("/seedbed.v1.MemoryService/Write")()), 100))
        assert error.reason == "OVERLOADED"


async def _answer(call: Any) -> Any:
    return await call


async def test_a_call_without_a_request_is_the_callers_mistake() -> None:
    """As one that cannot be read."""
    async with probing() as probed:
        channel: Any = probed.caller.channel
        error = await refused(channel.stream_unary("/seedbed.v1.MemoryService/GetMemory")(iter(())))
        assert (error.reason, [field.path for field in error.fields]) == ("INVALID_FIELD", ["request"])


def test_no_tokens_file_is_told_from_one_without_tokens() -> None:
    """None opens everything, an empty mapping nothing: falsiness decides nothing."""
    assert Access(None)._tokens is None
    assert Access({})._tokens == {}


async def test_an_answer_over_the_limit_has_a_reason() -> None:
    """Not gRPC's own error, which tells a caller nothing."""
    async with probing() as probed:

        async def large(_: Any) -> pb.GetMemoryResponse:
            return pb.GetMemoryResponse(memory=pb.Memory(system="x" * (17 * MIB)))

        probed.probe.behave = large
        error = await refused(probed.call())
    assert (error.code, error.reason, error.stored) == ("RESOURCE_EXHAUSTED", "TOO_LARGE", "no")
    assert [field.path for field in error.fields] == ["response"]


async def test_the_health_can_be_watched_and_the_watch_ends_with_the_server() -> None:
    """Clients with health checking watch; an open watch keeps no server from stopping."""
    async with probing(max_calls=0, tokens={}) as probed:
        stub: Any = health_pb2_grpc.HealthStub(probed.caller.channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(service=""))
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        probed.draining.begin()
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await asyncio.wait_for(watch.read(), 100)
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        await asyncio.wait_for(probed.server.stop(600), 100)


async def test_an_import_that_breaks_off_says_that_something_is_stored(trips: Caller, memory: str) -> None:
    """Also when it is an element that cannot be read, which no handler sees."""
    channel: Any = trips.channel
    good = pb.ImportMessagesRequest(memory=memory, messages=[said("one", id="1")]).SerializeToString()
    for elements, stored in (([good, b"\xff"], "unknown"), ([b"\xff", good], "no"), ([good, b"\xff"], "no")):
        metadata = [("authorization", f"Bearer {trips.token}")]
        call = channel.stream_unary("/seedbed.v1.MemoryService/ImportMessages")(iter(elements), metadata=metadata)
        error = await refused(call)
        assert (error.reason, error.stored) == ("INVALID_FIELD", stored)
    assert len(await trips.read(memory)) == 1


async def test_pages_and_recalls_of_large_messages_go_into_one_answer(trips: Caller, memory: str) -> None:
    """Fewer than asked for, and every message in its turn."""
    texts = [f"Oslo {at} " + "\n" * (MIB - 100) for at in range(7)]
    for text in texts:
        await trips("Write", written(memory, Message(role="user", parts=[ContentPart(text=text)])))
    found, after = [], 0
    while True:
        answer = await trips("Read", pb.ReadRequest(memory=memory, after_seq=after, page_size=1000))
        assert 0 < answer.ByteSize() < 4 * MIB
        found += [message.parts[0].text for message in answer.messages]
        after = answer.next_after_seq
        if not after:
            break
    assert found == texts
    recalled = await trips("Recall", pb.RecallRequest(memory=memory, query="Oslo", k=1000))
    assert 0 < len(recalled.hits) < len(texts)
    assert recalled.ByteSize() < 4 * MIB


@pytest.mark.parametrize("size", [1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS])
@pytest.mark.parametrize("there", [0, 1, ROWS, ROWS + 1, 2 * ROWS, 3 * ROWS + 1])
async def test_a_page_reads_little_at_a_time_and_says_whether_more_comes(size: int, there: int) -> None:
    """In whatever way the reads fall on the page."""
    asked = []

    async def read(last: int | None, limit: int) -> list[int]:
        asked.append(limit)
        start = 0 if last is None else last
        return list(range(start + 1, there + 1))[:limit]

    items, more = await page(read, lambda at: pb.Memory(last_seq=at), size, MIB)
    assert [item.last_seq for item in items] == list(range(1, min(size, there) + 1))
    assert more == (there > size)
    assert max(asked) <= ROWS


def test_what_the_reading_refuses_has_the_path_in_the_request() -> None:
    """The messages' own reading knows no place of theirs."""
    with pytest.raises(InvalidFieldError) as caught, checks._below("messages[2]"):
        raise WireError("parts[0]", "lies")
    assert caught.value.path == "messages[2].parts[0]"


@pytest.mark.parametrize("rpc", REQUESTS)
async def test_every_shape_of_call_is_answered(rpc: str) -> None:
    """Requests are received by the server's own hand: none is lost."""
    async with probing() as probed:
        seen: list[Any] = []

        async def see(request: Any) -> None:
            seen.append(request)

        probed.probe.behave = see
        await probed.call(rpc)
    assert seen == [REQUESTS[rpc]]
