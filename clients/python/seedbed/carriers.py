"""What carries calls to a server and brings back results: once blocking, once for asyncio.

The two classes differ in nothing but waiting; all that is decided about errors,
deadlines, pages and missing memories is decided here, side by side.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message as Proto

from seedbed.calls import Call, Page
from seedbed.connection import Connection
from seedbed.errors import MemoryExistsError, MemoryNotFoundError, SeedbedError, from_rpc_error
from seedbed.memory_calls import MemoryCalls
from seedbed.v1.admin_service_pb2_grpc import AdminServiceStub
from seedbed.v1.knowledge_service_pb2_grpc import KnowledgeServiceStub
from seedbed.v1.memory_service_pb2_grpc import MemoryServiceStub
from seedbed.wire import sendable

R = TypeVar("R")
T = TypeVar("T")


def _stubs(channel: grpc.Channel | grpc.aio.Channel) -> dict[str, Any]:
    return {
        "MemoryService": MemoryServiceStub(channel),
        "KnowledgeService": KnowledgeServiceStub(channel),
        "AdminService": AdminServiceStub(channel),
    }


def _begin(stubs: dict[str, Any], connection: Connection, call: Call[Any]) -> Any:
    rpc = getattr(stubs[call.service], call.rpc)
    if isinstance(call.request, Proto):  # a stream's elements are looked at as they are made
        sendable(call.request, call.request_id)
    return rpc(call.request, timeout=_timeout(connection, call), metadata=connection.metadata(call.request_id))


def _timeout(connection: Connection, call: Call[Any]) -> float:
    return connection.timeout if call.timeout is None else call.timeout


def _typed(error: grpc.RpcError, connection: Connection, call: Call[Any]) -> SeedbedError:
    """The error as it is raised. Of a deadline gRPC says only that it passed, even where nobody listens."""
    late = f"no answer from {connection.address} within {_timeout(connection, call):g} s"
    return from_rpc_error(error, call.request_id, late=late)


class Carrier:
    """Carries calls and blocks until they are answered; safe to share between threads."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        credentials, options = connection.credentials(), connection.options()
        if credentials is None:
            self._channel = grpc.insecure_channel(connection.address, options)
        else:
            self._channel = grpc.secure_channel(connection.address, credentials, options)
        self._stubs = _stubs(self._channel)

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def run(self, call: Call[R]) -> R:
        """Make one call. Raises a `SeedbedError`."""
        try:
            reply = _begin(self._stubs, self.connection, call)
        except grpc.RpcError as error:
            raise _typed(error, self.connection, call) from error
        return call.parse(reply)

    def run_creating(self, call: Call[R], memory: MemoryCalls) -> R:
        """Make one call; when the memory is missing and it is known how it is to be, create it and repeat."""
        try:
            return self.run(call)
        except MemoryNotFoundError:
            if not memory.creates:
                raise
        # Another client may be as quick; either way the memory is there now.
        with suppress(MemoryExistsError):
            self.run(memory.create())
        return self.run(call)

    def items(self, first: Call[Page[T]], memory: MemoryCalls | None = None) -> Iterator[T]:
        """Make the calls for one page after the other, as the items are taken."""
        page = self.run_creating(first, memory) if memory else self.run(first)
        yield from page.items
        while page.next is not None:
            page = self.run(page.next)
            yield from page.items

    def stream(self, call: Call[R | None]) -> Iterator[R]:
        """Make one call whose replies come as a stream; those that read as None are left out."""
        replies = _begin(self._stubs, self.connection, call)
        try:
            for reply in replies:
                if (item := call.parse(reply)) is not None:
                    yield item
        except grpc.RpcError as error:
            raise from_rpc_error(error, call.request_id) from error
        finally:
            # A caller that stops early must not leave the server sending.
            replies.cancel()


class AsyncCarrier:
    """Carries calls and awaits their answers, in one event loop."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._channel: grpc.aio.Channel | None = None
        self._stubs: dict[str, Any] = {}

    def _opened(self) -> dict[str, Any]:
        """The stubs; opened at first use, for a channel of grpc.aio belongs to the running loop."""
        if self._channel is None:
            credentials, options = self.connection.credentials(), self.connection.options()
            if credentials is None:
                self._channel = grpc.aio.insecure_channel(self.connection.address, options)
            else:
                self._channel = grpc.aio.secure_channel(self.connection.address, credentials, options)
            self._stubs = _stubs(self._channel)
        return self._stubs

    async def close(self) -> None:
        """Close the connection; a later call opens it again."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def run(self, call: Call[R]) -> R:
        """Make one call. Raises a `SeedbedError`."""
        try:
            reply = await _begin(self._opened(), self.connection, call)
        except grpc.RpcError as error:
            raise _typed(error, self.connection, call) from error
        return call.parse(reply)

    async def run_creating(self, call: Call[R], memory: MemoryCalls) -> R:
        """Make one call; when the memory is missing and it is known how it is to be, create it and repeat."""
        try:
            return await self.run(call)
        except MemoryNotFoundError:
            if not memory.creates:
                raise
        # Another client may be as quick; either way the memory is there now.
        with suppress(MemoryExistsError):
            await self.run(memory.create())
        return await self.run(call)

    async def items(self, first: Call[Page[T]], memory: MemoryCalls | None = None) -> AsyncIterator[T]:
        """Make the calls for one page after the other, as the items are taken."""
        page = await (self.run_creating(first, memory) if memory else self.run(first))
        for item in page.items:
            yield item
        while page.next is not None:
            page = await self.run(page.next)
            for item in page.items:
                yield item

    async def stream(self, call: Call[R | None]) -> AsyncIterator[R]:
        """Make one call whose replies come as a stream; those that read as None are left out."""
        replies = _begin(self._opened(), self.connection, call)
        try:
            async for reply in replies:
                if (item := call.parse(reply)) is not None:
                    yield item
        except grpc.RpcError as error:
            raise from_rpc_error(error, call.request_id) from error
        finally:
            # A caller that stops early must not leave the server sending.
            replies.cancel()
