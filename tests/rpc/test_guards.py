"""What stands around every call: its order, and what each guard does."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from seedbed.errors import BY_REASON
from seedbed.v1 import memory_service_pb2 as pb
from seedbed_server.rpc.guards import Access, Admission, Draining, chain, deadline, journal, statuses

from .calling import failure, refused
from .probe import REQUESTS, Probed, probing

TOKENS: dict[str, tuple[str, ...]] = {"0" * 64: ("default",)}


def test_the_order_of_the_chain() -> None:
    """Statuses outermost, so that nothing leaves but them; access after admission, so that a flood costs no hashing."""
    draining = Draining()
    outer, log, drain, admission, bound, access = chain(draining, 8, TOKENS)
    assert (outer, log, drain, bound) == (statuses, journal, draining, deadline)
    assert (type(admission), type(access)) == (Admission, Access)


async def test_an_overloaded_server_says_so_before_it_looks_at_a_token() -> None:
    """As the order promises, seen from outside."""
    async with probing(max_calls=0, tokens=TOKENS) as probed:
        assert (await refused(probed.call())).reason == "OVERLOADED"
        probed.draining.stopping = True
        assert (await refused(probed.call())).reason == "SHUTTING_DOWN"


@pytest.mark.parametrize("rpc", REQUESTS)
async def test_one_call_too_many_is_refused_at_once(rpc: str) -> None:
    """Not queued: the answer comes while the others are still under way. A place is free again when one ends."""
    async with probing(max_calls=3) as probed:
        probed.probe.behave = probed.probe.hold
        held = await _hold(probed, rpc, 3)
        error = await refused(probed.call())
        assert (error.code, error.reason, error.stored) == ("RESOURCE_EXHAUSTED", "OVERLOADED", "no")
        assert not any(task.done() for task in held)
        probed.probe.release.set()
        await asyncio.gather(*held)
        await asyncio.gather(*(probed.call(rpc) for _ in range(3)))


@pytest.mark.parametrize("rpc", REQUESTS)
async def test_calls_that_are_given_up_give_their_places_back(rpc: str) -> None:
    """Cancelled calls, and streams that nobody reads on, do not fill the server."""
    async with probing(max_calls=2) as probed:
        probed.probe.behave = probed.probe.hold
        for _ in range(3):
            for task in await _hold(probed, rpc, 2):
                task.cancel()


async def _hold(probed: Probed, rpc: str, calls: int) -> list[asyncio.Task[Any]]:
    """Begin calls, and return once each of them is in the probe.

    The server learns of a cancellation a moment after it: one that finds no place tries again.
    """
    held: list[asyncio.Task[Any]] = []
    async with asyncio.timeout(100):
        while len(held) < calls:
            probed.probe.entered.clear()
            call = asyncio.create_task(probed.call(rpc))
            entered = asyncio.create_task(probed.probe.entered.wait())
            await asyncio.wait((call, entered), return_when=asyncio.FIRST_COMPLETED)
            if entered.done():
                held.append(call)
            else:
                entered.cancel()
                assert (await refused(call)).reason == "OVERLOADED"
                await asyncio.sleep(0.02)  # a call after the other would leave the server no time to learn of it
    return held


async def test_the_servers_own_clock_ends_a_call_at_its_deadline() -> None:
    """The work stops too: nothing goes on for a caller who has left."""
    async with probing() as probed:
        probed.probe.behave = probed.probe.hold
        for within in (0.2, 1, 5, 25):  # on a slow machine it may be over before it is there
            error = await refused(probed.call(within=within))
            assert (error.code, error.stored) == ("DEADLINE_EXCEEDED", "unknown")
            if probed.probe.entered.is_set():
                break
        async with asyncio.timeout(100):
            await probed.probe.ended.wait()


async def test_time_that_runs_out_inside_the_server_is_a_deadline() -> None:
    """A slow part that gives up is told with the reason of the contract."""
    async with probing() as probed:

        async def late(_: Any) -> None:
            raise TimeoutError

        probed.probe.behave = late
        error = await refused(probed.call())
        assert (error.code, error.reason, error.stored) == ("DEADLINE_EXCEEDED", "DEADLINE", "unknown")


async def test_a_server_that_stops_takes_no_new_calls_and_ends_those_under_way() -> None:
    """Draining: UNAVAILABLE for the new, an answer for the old."""
    async with probing() as probed:
        probed.probe.behave = probed.probe.hold
        (held,) = await _hold(probed, "GetMemory", 1)
        probed.draining.stopping = True
        error = await refused(probed.call())
        assert (error.code, error.reason, error.stored) == ("UNAVAILABLE", "SHUTTING_DOWN", "no")
        stopping = asyncio.create_task(probed.server.stop(10))
        probed.probe.release.set()
        assert await held == pb.GetMemoryResponse()
        await stopping


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic wrong", "Bearer " + "x" * 4000, "bearer wrong"]
)
async def test_without_a_known_token_there_is_nothing(header: str | None) -> None:
    """A missing, malformed or unknown token is UNAUTHENTICATED, and the answer does not tell which."""
    async with probing(tokens=TOKENS) as probed:
        error = await refused(probed.call(headers=[("authorization", header)] if header is not None else ()))
        assert (error.code, error.reason, error.stored) == ("UNAUTHENTICATED", "UNAUTHENTICATED", "no")
        assert error.args == ("no access token, or one that is not known",)


@pytest.mark.parametrize("given", ["7", "a request id", "x" * 128])
async def test_the_callers_request_id_names_the_call(given: str, caplog: pytest.LogCaptureFixture) -> None:
    """In the answer and in the log."""
    caplog.set_level(logging.INFO)
    async with probing(max_calls=0) as probed:
        assert (await refused(probed.call(headers=[("x-request-id", given)]))).request_id == given
    assert [r.__dict__["request_id"] for r in caplog.records if r.msg == "call"] == [given]


@pytest.mark.parametrize("given", ["", "x" * 129, "x" * 4000])
async def test_a_request_id_that_is_of_no_use_is_replaced(given: str) -> None:
    """It would stand in logs and in every error: short and printable, or one of the server's own."""
    async with probing(max_calls=0) as probed:
        found = (await refused(probed.call(headers=[("x-request-id", given)]))).request_id
    assert len(found) == 16
    assert found != given


@pytest.mark.parametrize("rpc", REQUESTS)
@pytest.mark.parametrize("garbage", [b"\xff", b"\x0a\x02\xff\xfe", b"\x0a\x7f", b"\x12\x01\x80"], ids=repr)
async def test_a_request_that_cannot_be_read_is_the_callers_mistake(rpc: str, garbage: bytes) -> None:
    """Broken bytes and text that is not UTF-8 are INVALID_FIELD, never a fault of the server's."""
    path = f"/seedbed.v1.MemoryService/{rpc}"
    async with probing() as probed:
        channel: Any = probed.caller.channel
        call: Any
        if rpc == "ImportMessages":
            call = channel.stream_unary(path)(iter([garbage]))
        elif rpc == "ExportMemory":
            call = channel.unary_stream(path)(garbage).read()
        else:
            call = channel.unary_unary(path)(garbage)
        error = await refused(call)
        assert (error.code, error.reason, error.stored) == ("INVALID_ARGUMENT", "INVALID_FIELD", "no")
        assert [field.path for field in error.fields] == ["request"]
        await probed.call(rpc)


async def test_a_method_that_does_not_exist_is_unimplemented() -> None:
    """gRPC answers that by itself, and the client has an error for it."""
    async with probing() as probed:
        channel: Any = probed.caller.channel
        error = await failure(channel.unary_unary("/seedbed.v1.MemoryService/Dream")(b""))
        assert error.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_health_is_told_without_a_token_and_without_a_place() -> None:
    """An orchestrator has no token, and must be answered by a full server too."""
    async with probing(max_calls=0, tokens=TOKENS) as probed:
        stub: Any = health_pb2_grpc.HealthStub(probed.caller.channel)
        for service in ("", "seedbed.v1.MemoryService", "seedbed.v1.KnowledgeService", "seedbed.v1.AdminService"):
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        assert (
            await failure(stub.Check(health_pb2.HealthCheckRequest(service="x")))
        ).code() is grpc.StatusCode.NOT_FOUND


async def test_logs_hold_a_line_per_call_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    """Method, code, milliseconds, request id."""
    caplog.set_level(logging.INFO)
    async with probing() as probed:
        await probed.call()
    (line,) = [r for r in caplog.records if r.name == "seedbed_server.rpc.guards"]
    extra = line.__dict__.keys() - logging.makeLogRecord({}).__dict__.keys() - {"message", "asctime"}
    assert extra == {"method", "code", "ms", "request_id"}
    assert (line.__dict__["method"], line.__dict__["code"]) == ("/seedbed.v1.MemoryService/GetMemory", "OK")
    assert line.__dict__["code"] not in BY_REASON
