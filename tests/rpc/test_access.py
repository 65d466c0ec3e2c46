"""The namespace comes from the token only, and no byte of one is in an answer to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from seedbed.errors import from_rpc_error
from seedbed.v1 import admin_service_pb2 as admin

from .bad_fields import named, request_of
from .calling import RPCS, SERVED, Caller, failure, nothing_stored, refused
from .conftest import ACME, CORP

AS = Callable[[str], Caller]
NAMESPACED = [rpc for rpc in SERVED if "namespace" in RPCS[rpc].input_type.fields_by_name]
CREATING = {"CreateMemory", "Write", "ImportMessages", "ListMemories"}


def _look(error: grpc.aio.AioRpcError) -> tuple[Any, ...]:
    """All that an error tells, but for the id of the request."""
    typed = from_rpc_error(error)
    keys = sorted(key for key, _ in error.trailing_metadata() or ())
    return error.code(), error.details(), typed.reason, typed.stored, typed.fields, *keys


@pytest.mark.parametrize("rpc", NAMESPACED)
async def test_a_foreign_namespace_looks_like_one_that_does_not_exist(tenants: tuple[Caller, Caller], rpc: str) -> None:
    """And like a memory that is missing in one's own: same code, same reason, same details."""
    acme, corp = tenants
    async with nothing_stored(corp):
        looks = {
            _look(await failure(acme(rpc, request_of(rpc, namespace=namespace, **named(rpc, "shared")))))
            for namespace in ("acme-corp", "nowhere", "ACME", "acme ", "acme/", "default", "*", "%")
        }
        if rpc not in CREATING:
            missing = acme(rpc, request_of(rpc, namespace="acme", **named(rpc, "missing")))
            looks.add(_look(await failure(missing)))
    assert len(looks) == 1
    assert looks.pop()[:3] == (grpc.StatusCode.NOT_FOUND, "no such memory", "MEMORY_NOT_FOUND")


async def test_without_a_memory_a_foreign_namespace_is_as_closed(tenants: tuple[Caller, Caller]) -> None:
    """Rebuild of a whole namespace is one's own business only."""
    acme, _ = tenants
    error = await refused(acme("Rebuild", admin.RebuildRequest(namespace="acme-corp")))
    assert error.reason == "MEMORY_NOT_FOUND"


@pytest.mark.parametrize("rpc", NAMESPACED)
async def test_a_token_of_several_namespaces_must_name_one(as_token: AS, rpc: str) -> None:
    """INVALID_ARGUMENT, rather than a guess."""
    if rpc in ("Rebuild", "GetStatus"):
        # Without a memory these are about all that the token opens.
        await as_token("both-token")(rpc, request_of(rpc))
    fields = named(rpc, "shared")
    error = await refused(as_token("both-token")(rpc, request_of(rpc, **fields)))
    assert (error.code, error.reason, error.stored) == ("INVALID_ARGUMENT", "INVALID_FIELD", "no")
    assert [field.path for field in error.fields] == ["namespace"]


async def test_a_token_of_several_namespaces_opens_each(as_token: AS, tenants: tuple[Caller, Caller]) -> None:
    """By its name."""
    both = as_token("both-token")
    for namespace, canary in (("acme", ACME), ("acme-corp", CORP)):
        assert [one.memory for one in await both.memories(namespace)] == [f"only-{canary}", "shared"]
        assert canary in str(await both.everything(namespace))


@pytest.mark.parametrize("rpc", sorted(RPCS))
@pytest.mark.parametrize("token", ["", "wrong", "acme"])
async def test_without_a_token_no_call_is_answered(channel: grpc.aio.Channel, rpc: str, token: str) -> None:
    """Every RPC of the contract, served or planned, for no token, an unknown one, and a namespace's name."""
    error = await refused(Caller(channel, token)(rpc, request_of(rpc)))
    assert (error.code, error.reason, error.stored) == ("UNAUTHENTICATED", "UNAUTHENTICATED", "no")


async def test_reflection_needs_no_token(channel: grpc.aio.Channel) -> None:
    """The contract is no secret."""
    made: Any = reflection_pb2_grpc.ServerReflectionStub
    stub = made(channel)
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
    names = {one.name async for answer in call for one in answer.list_services_response.service}
    assert names >= {f"seedbed.v1.{name}Service" for name in ("Memory", "Knowledge", "Admin")}


async def test_rebuild_of_everything_stays_within_the_token(tenants: tuple[Caller, Caller]) -> None:
    """Counts only what the caller may see."""
    acme, _ = tenants
    held = sum(one.message_count for one in await acme.memories())
    assert (await acme("Rebuild", admin.RebuildRequest(projections=["lexical"]))).messages == held
