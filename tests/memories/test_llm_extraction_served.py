"""The server with a language model that reads messages: facts come of it, its state is shown, and a write never waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from seedbed import AsyncClient, KnowledgeGraph, Message
from seedbed.v1 import admin_service_pb2 as pb
from seedbed.v1.admin_service_pb2_grpc import AdminServiceStub
from seedbed_server.app.lifecycle import running
from seedbed_server.app.settings import Settings
from tests.models.conftest import models_dir
from tests.projections.test_llm import Endpoint, endpoint, says
from tests.serving import PATIENCE

__all__ = ["endpoint"]

FACT = {"subject": "Maya", "predicate": "live in", "object": "Porto", "quote": "I live in Porto"}
ANSWER = json.dumps({"entities": [{"text": "Porto", "type": "location"}], "triples": [FACT]})


@pytest.fixture
async def address(endpoint: Endpoint, tmp_path: Path) -> AsyncIterator[str]:
    """A server that asks the endpoint; what its own models make of the message would be told by the status."""
    settings = Settings(
        listen="127.0.0.1:0",
        data_dir=tmp_path / "data",
        models_dir=models_dir(),
        llm_url=endpoint.url,
        llm_model="scripted",
        llm_extraction_calls=2,
    )
    async with running(settings) as server:
        yield f"127.0.0.1:{server.port}"


async def test_facts_by_a_language_model(endpoint: Endpoint, address: str) -> None:
    """While the endpoint is slow the write is answered; then the fact is there, and the status says who read it."""

    go_on = asyncio.Event()

    async def slow(writer: asyncio.StreamWriter) -> None:
        await go_on.wait()
        await says(ANSWER)(writer)

    endpoint.scripts = [slow]
    async with AsyncClient(address, timeout=60.0) as client:
        memory = client.memory("maya", KnowledgeGraph())
        await memory.write([Message.user("I live in Porto.", "Maya")])
        go_on.set()  # not before the write is answered
        async with asyncio.timeout(PATIENCE):
            while "Maya lives in Porto" not in str((await memory.seed("Where does Maya live?")).messages):
                await asyncio.sleep(0.1)
    async with grpc.aio.insecure_channel(address) as channel:
        stub: Any = AdminServiceStub(channel)
        status = await stub.GetStatus(pb.GetStatusRequest())
    (part,) = [part for part in status.parts if part.part == "llm"]
    assert part.state == pb.PART_STATE_READY
    assert part.detail == "extraction: 1 messages read by the endpoint, 0 by local models instead"
