"""The namespace comes from the token only, and no byte of one is in an answer to another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from seedbed.errors import from_rpc_error
from seedbed.v1 import admin_service_pb2 as admin
from seedbed.v1.variant_pb2 import (
    BufferVariant,
    EntityVariant,
    HybridVariant,
    KnowledgeGraphVariant,
    SummaryVariant,
    Variant,
    VectorVariant,
)

from .bad_fields import GOOD, request_class
from .calling import RPCS, SERVED, Caller, failure, nothing_stored, refused, said, written

AS = Callable[[str], Caller]
NAMESPACED = [rpc for rpc in SERVED if "namespace" in RPCS[rpc].input_type.fields_by_name]
CREATING = {"CreateMemory", "Write", "ImportMessages", "ListMemories"}
ACME, CORP = "Quetzalcoatl", "Ouroboros"


@pytest.fixture(scope="module")
async def tenants(as_token: AS) -> tuple[Caller, Caller]:
    """Two tenants whose names begin alike, each with a memory of the same name that holds a word of its own."""
    callers = as_token("acme-token"), as_token("corp-token")
    for caller, canary in zip(callers, (ACME, CORP), strict=True):
        messages = [
            said(
                f"My friend {canary} lives in {canary} City and works for {canary} Industries.", name=canary, id=canary
            ),
            said(f"{canary} likes tea.", role="assistant"),
        ]
        await caller("Write", written("shared", *messages, session="talk", system=f"You know {canary}."))
        await caller("Write", written(f"only-{canary}", *messages))
    return callers


def _request(rpc: str, **fields: Any) -> Any:
    cls = request_class(rpc)
    return cls(**({**GOOD.get(rpc, {}), **fields}))


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
            _look(await failure(acme(rpc, _request(rpc, namespace=namespace, **_named(rpc, "shared")))))
            for namespace in ("acme-corp", "nowhere", "ACME", "acme ", "acme/", "default", "*", "%")
        }
        if rpc not in CREATING:
            missing = acme(rpc, _request(rpc, namespace="acme", **_named(rpc, "missing")))
            looks.add(_look(await failure(missing)))
    assert len(looks) == 1
    assert looks.pop()[:3] == (grpc.StatusCode.NOT_FOUND, "no such memory", "MEMORY_NOT_FOUND")


def _named(rpc: str, memory: str) -> dict[str, str]:
    return {"memory": memory} if "memory" in RPCS[rpc].input_type.fields_by_name else {}


async def test_without_a_memory_a_foreign_namespace_is_as_closed(tenants: tuple[Caller, Caller]) -> None:
    """Rebuild of a whole namespace is one's own business only."""
    acme, _ = tenants
    error = await refused(acme("Rebuild", admin.RebuildRequest(namespace="acme-corp")))
    assert error.reason == "MEMORY_NOT_FOUND"


@pytest.mark.parametrize("rpc", NAMESPACED)
async def test_a_token_of_several_namespaces_must_name_one(
    as_token: AS, tenants: tuple[Caller, Caller], rpc: str
) -> None:
    """INVALID_ARGUMENT, rather than a guess."""
    if rpc in ("Rebuild", "GetStatus"):
        # Without a memory these are about all that the token opens.
        await as_token("both-token")(rpc, _request(rpc))
    fields = _named(rpc, "shared")
    error = await refused(as_token("both-token")(rpc, _request(rpc, **fields)))
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
    error = await refused(Caller(channel, token)(rpc, _request(rpc)))
    assert (error.code, error.reason, error.stored) == ("UNAUTHENTICATED", "UNAUTHENTICATED", "no")


async def test_reflection_needs_no_token(channel: grpc.aio.Channel) -> None:
    """The contract is no secret."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
    names = {one.name async for answer in call for one in answer.list_services_response.service}
    assert names >= {f"seedbed.v1.{name}Service" for name in ("Memory", "Knowledge", "Admin")}


async def test_rebuild_of_everything_stays_within_the_token(tenants: tuple[Caller, Caller]) -> None:
    """Counts only what the caller may see."""
    acme, _ = tenants
    held = sum(one.message_count for one in await acme.memories())
    assert (await acme("Rebuild", admin.RebuildRequest(projections=["lexical"]))).messages == held


QUESTIONS = ("", ACME, CORP, f"Who is {CORP}, and who lives in {CORP} City?", "tea", "friend")


async def test_no_answer_holds_a_byte_of_another_tenant(tenants: tuple[Caller, Caller]) -> None:
    """Every RPC, every variant, every question; with the derived stores behind, and when they have caught up."""
    for _ in range(2):
        for caller, own, foreign in ((tenants[0], ACME, CORP), (tenants[1], CORP, ACME)):
            answers = await _all_answers(caller)
            assert own.encode() in b"".join(answers.values())
            leaks = [what for what, answer in answers.items() if foreign.encode() in answer]
            assert not leaks
        await asyncio.gather(*(_applied(caller, "shared") for caller in tenants))


async def _all_answers(caller: Caller) -> dict[str, bytes]:
    parts = [
        Variant(buffer=BufferVariant()),
        Variant(vector=VectorVariant(k=50)),
        Variant(entity=EntityVariant(max_entities=50)),
        Variant(knowledge_graph=KnowledgeGraphVariant(max_facts=50)),
        Variant(summary=SummaryVariant(threshold=0)),
    ]
    requests: list[tuple[str, dict[str, Any]]] = [
        ("GetMemory", {}), ("ListMemories", {}), ("Read", {}), ("ExportMemory", {}), ("ListEntities", {}),
        ("ListTriples", {"include_superseded": True}), ("GetStatus", {}), ("ListModels", {}),
    ]  # fmt: skip
    requests += [("Recall", {"query": query, "k": 1000, "explain": True}) for query in QUESTIONS]
    for variant in (*parts, Variant(hybrid=HybridVariant(parts=parts))):
        requests += [("Seed", {"query": query, "variant": variant}) for query in QUESTIONS]
    found: dict[str, bytes] = {}
    for at, (rpc, fields) in enumerate(requests):
        answer = await caller(rpc, _request(rpc, **{**_named(rpc, "shared"), **fields}))
        whole = answer if isinstance(answer, list) else [answer]
        # The question itself comes from the caller, and no answer repeats it.
        found[f"{rpc} {at}"] = b"".join(one.SerializeToString() for one in whole)
    return found


async def _applied(caller: Caller, memory: str) -> None:
    """Wait until every derived store has applied the memory's newest message."""
    async with asyncio.timeout(100):
        while True:
            status = await caller("GetStatus", admin.GetStatusRequest(memory=memory))
            if status.projections and all(one.applied_seq >= status.last_seq for one in status.projections):
                return
            await asyncio.sleep(0.05)
