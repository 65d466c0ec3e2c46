"""The guards around every method of the server, and the reading of requests inside them.

A request is received inside the guards, so that none is in memory before its
caller is known and has a place; one that cannot be read is its caller's mistake.
So is an answer that is too large to be sent.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from seedbed_server.errors import InvalidFieldError, TooLargeError
from seedbed_server.rpc.caller import begun
from seedbed_server.rpc.guards import Guard


class Guards(grpc.aio.ServerInterceptor):
    """Puts the guards around every method, the first one outermost."""

    def __init__(self, guards: Sequence[Guard], most_bytes: int) -> None:
        self.guards = tuple(guards)
        self._most_bytes = most_bytes

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wrap the method's handler; an unknown method has none, and is answered by gRPC itself.

        Every handler takes its requests as a stream: one that takes a single
        request is called by gRPC only after the request is in memory.
        """
        handler = await continuation(handler_call_details)
        if handler is None:
            return handler
        method = handler_call_details.method
        if handler.response_streaming:
            behave = self._stream(method, _reading(handler))
            return grpc.stream_stream_rpc_method_handler(behave, None, handler.response_serializer)
        return grpc.stream_unary_rpc_method_handler(self._unary(method, handler))

    def _unary(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Any]:
        inner, serialize = _reading(handler), handler.response_serializer
        assert serialize is not None

        async def behave(requests: AsyncIterator[bytes], context: Any) -> bytes:
            async with self._around(method, context, streaming=handler.request_streaming):
                response = serialize(await (await inner(requests, context)))
                if len(response) > self._most_bytes:
                    raise TooLargeError("response", f"is larger than {self._most_bytes} bytes: ask for less")
                return response
            raise AssertionError  # no guard swallows an error

        return behave

    def _stream(self, method: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def behave(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[Any]:
            async with self._around(method, context, streaming=True):
                answers = await inner(requests, context)
                if inspect.isawaitable(answers):
                    # It writes its answers itself, as the health service's Watch does.
                    await answers
                    return
                async for response in answers:
                    yield response

        return behave

    @asynccontextmanager
    async def _around(
        self, method: str, context: grpc.aio.ServicerContext[Any, Any], *, streaming: bool
    ) -> AsyncIterator[None]:
        call = begun(method, context, streaming=streaming)
        async with AsyncExitStack() as stack:
            for guard in self.guards:
                await stack.enter_async_context(guard(call))
            yield


def _reading(handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[[AsyncIterator[bytes], Any], Awaitable[Any]]:
    """Return the one function that a handler holds, made to take its requests as bytes from a stream."""
    found = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    parse = handler.request_deserializer
    assert found is not None
    assert parse is not None
    behave: Callable[..., Any] = found
    parsed = _parsed(parse)

    async def each(requests: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        async for request in requests:
            yield parsed(request)

    async def reading(requests: AsyncIterator[bytes], context: Any) -> Any:
        if handler.request_streaming:
            return behave(each(requests), context)
        async for request in requests:
            return behave(parsed(request), context)
        raise InvalidFieldError("request", "is missing")

    return reading


def _parsed(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def parsed(request: bytes) -> Any:
        try:
            return parse(request)
        except DecodeError:
            raise InvalidFieldError("request", "cannot be read: not this message, not UTF-8, or too deep") from None

    return parsed
