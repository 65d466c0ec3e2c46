"""A canary for each tenant: no byte of one namespace is in any answer to another.

This runs late in the room: by then the models of its server are loaded.
"""

from __future__ import annotations

import asyncio
from typing import Any

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

from .bad_fields import named, request_of
from .calling import Caller
from .conftest import ACME, CORP

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
        answer = await caller(rpc, request_of(rpc, **{**named(rpc, "shared"), **fields}))
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
