"""A server with the real guards, and behaviours that a test chooses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc

from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.admin_service_pb2_grpc import AdminServiceServicer
from seedbed.v1.knowledge_service_pb2_grpc import KnowledgeServiceServicer
from seedbed.v1.memory_service_pb2_grpc import MemoryServiceServicer
from seedbed_server.rpc.guards import Draining, chain
from seedbed_server.rpc.interceptor import Guards
from seedbed_server.rpc.server import Server, Tls

from .calling import Caller

Behaviour = Callable[[Any], Awaitable[Any]]


class Probe(MemoryServiceServicer):
    """Three shapes of call, behind which one behaviour stands."""

    def __init__(self) -> None:
        self.behave: Behaviour = self.answer
        self.entered = asyncio.Event()
        self.release = asyncio.Event()
        self.ended = asyncio.Event()

    async def answer(self, request: Any) -> None:
        """Do nothing."""

    async def hold(self, request: Any) -> None:
        """Stay until released."""
        self.entered.set()
        try:
            await self.release.wait()
        finally:
            self.ended.set()

    async def GetMemory(self, request: Any, context: Any) -> pb.GetMemoryResponse:
        return await self.behave(request) or pb.GetMemoryResponse()

    async def ImportMessages(self, request_iterator: AsyncIterator[Any], context: Any) -> pb.ImportMessagesResponse:
        async for request in request_iterator:
            await self.behave(request)
        return pb.ImportMessagesResponse()

    async def ExportMemory(self, request: Any, context: Any) -> AsyncIterator[pb.ExportMemoryResponse]:
        yield pb.ExportMemoryResponse()
        await self.behave(request)


REQUESTS: dict[str, Any] = {
    "GetMemory": pb.GetMemoryRequest(memory="maya"),
    "ImportMessages": pb.ImportMessagesRequest(memory="maya"),
    "ExportMemory": pb.ExportMemoryRequest(memory="maya"),
}


class Probed:
    """The probe, its server, and a caller."""

    def __init__(self, probe: Probe, server: Server, draining: Draining, caller: Caller) -> None:
        self.probe = probe
        self.server = server
        self.draining = draining
        self.caller = caller

    async def call(self, rpc: str = "GetMemory", **options: Any) -> Any:
        """Call the probe."""
        return await self.caller(rpc, REQUESTS[rpc], **options)


@asynccontextmanager
async def probing(
    *, max_calls: int = 8, tokens: dict[str, tuple[str, ...]] | None = None, tls: Tls | None = None
) -> AsyncIterator[Probed]:
    """Serve a probe behind the real guards on a free port of loopback."""
    made: Any = Probe
    probe, draining = made(), Draining()
    # To the generated code every method has a default, UNIMPLEMENTED; to the type checker they are abstract.
    rest: tuple[Any, Any] = (KnowledgeServiceServicer, AdminServiceServicer)
    servicers: Any = (probe, *(kind() for kind in rest))
    most = 16 * 1024 * 1024
    server = Server("127.0.0.1:0", Guards(chain(draining, max_calls, tokens), most), max_message_bytes=most, tls=tls)
    await server.start(servicers)
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            yield Probed(probe, server, draining, Caller(channel))
    finally:
        await server.stop(0)
