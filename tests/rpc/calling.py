"""Small words for the tests of the contract: a caller, and what came back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor

from seedbed.errors import SeedbedError, from_rpc_error
from seedbed.v1 import admin_service_pb2, knowledge_service_pb2, message_pb2
from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.admin_service_pb2_grpc import AdminServiceStub
from seedbed.v1.knowledge_service_pb2_grpc import KnowledgeServiceStub
from seedbed.v1.memory_service_pb2_grpc import MemoryServiceStub

_FILES = (pb.DESCRIPTOR, knowledge_service_pb2.DESCRIPTOR, admin_service_pb2.DESCRIPTOR)
RPCS: dict[str, MethodDescriptor] = {
    rpc.name: rpc for file in _FILES for service in file.services_by_name.values() for rpc in service.methods
}
# The one list of what is in the contract and not served yet.
PLANNED = frozenset({"Check", "Backup"})
SERVED = sorted(RPCS.keys() - PLANNED)
STREAMED_IN = frozenset({"ImportMessages"})
STREAMED_OUT = frozenset({"ExportMemory"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls the RPCs of the contract by name, with one access token, through the generated stubs."""

    channel: grpc.aio.Channel
    token: str = ""

    async def __call__(
        self, rpc: str, request: Any, *, within: float = 100.0, headers: Iterable[tuple[str, str]] = ()
    ) -> Any:
        """Answer with the response; for a streamed one, with the list of its elements.

        ``request`` of a streamed call may be a list; ``within`` is the deadline in seconds.
        """
        metadata = [*headers, *([("authorization", f"Bearer {self.token}")] if self.token else ())]
        method = self.method(rpc)
        if rpc in STREAMED_IN:
            elements = request if isinstance(request, list) else [request]
            return await method(iter(elements), timeout=within, metadata=metadata)
        call = method(request, timeout=within, metadata=metadata)
        if rpc not in STREAMED_OUT:
            return await call
        try:
            return [item async for item in call]
        finally:
            call.cancel()  # given up before it is read from, a stream would go on: gRPC does not end it by itself

    def method(self, rpc: str) -> Any:
        """The stub's own method."""
        for stub in (MemoryServiceStub, KnowledgeServiceStub, AdminServiceStub):
            made: Any = stub(self.channel)
            if hasattr(made, rpc):
                return getattr(made, rpc)
        raise KeyError(rpc)

    async def read(self, memory: str, **fields: Any) -> list[message_pb2.Message]:
        """All messages of a memory, page by page."""
        found: list[message_pb2.Message] = []
        after = 0
        while True:
            page = await self("Read", pb.ReadRequest(memory=memory, after_seq=after, **fields))
            found += page.messages
            after = page.next_after_seq
            if not after:
                return found

    async def memories(self, namespace: str = "") -> list[pb.Memory]:
        """All memories of a namespace, page by page."""
        found: list[pb.Memory] = []
        token = ""
        while True:
            page = await self("ListMemories", pb.ListMemoriesRequest(namespace=namespace, page_token=token))
            found += page.memories
            token = page.next_page_token
            if not token:
                return found

    async def everything(self, namespace: str = "") -> list[Any]:
        """All that is stored in a namespace: settings, counts and messages."""
        listed = await self.memories(namespace)
        return [
            await self("ExportMemory", pb.ExportMemoryRequest(namespace=namespace, memory=one.memory)) for one in listed
        ]


async def failure(call: Awaitable[Any]) -> grpc.aio.AioRpcError:
    """The error that a call must end with, as gRPC gives it."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


async def refused(call: Awaitable[Any]) -> SeedbedError:
    """The error that a call must end with, as the client's typed error."""
    return from_rpc_error(await failure(call))


@asynccontextmanager
async def nothing_stored(caller: Caller, namespace: str = "") -> AsyncIterator[None]:
    """Hold that the block changes nothing in a namespace."""
    before = await caller.everything(namespace)
    yield
    assert await caller.everything(namespace) == before


def said(text: str = "Hi, I'm Maya.", role: str = "user", **fields: Any) -> message_pb2.Message:
    """A message of one text."""
    return message_pb2.Message(role=role, parts=[message_pb2.ContentPart(text=text)], **fields)


def written(memory: str, *messages: message_pb2.Message, **fields: Any) -> pb.WriteRequest:
    """A write of these messages."""
    return pb.WriteRequest(memory=memory, messages=messages or [said()], **fields)
