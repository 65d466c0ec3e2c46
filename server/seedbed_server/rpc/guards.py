"""What stands around every call, in a fixed order.

    statuses    an exception becomes a status; nothing else leaves
    journal     one log line per call: method, code, milliseconds; no content
    draining    no new calls once the server stops
    admission   at most so many calls at once; more are refused at once
    deadline    the caller's deadline bounds the work
    access      the token says which namespaces are open

Health checks and reflection tell nothing of what is stored: they need no token,
and take no place from calls that do. A request is read inside the guards too: one
that cannot be read is its caller's mistake.

A guard is an asynchronous context manager around the call, so one text serves
unary and streaming methods alike.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_status import rpc_status

from seedbed_server.errors import (
    InvalidFieldError,
    MemoryNotFoundError,
    OverloadedError,
    ShuttingDownError,
    UnauthenticatedError,
)
from seedbed_server.rpc.status import look_up, to_status

log = logging.getLogger(__name__)

DEFAULT_NAMESPACE = "default"
_OPEN_METHODS = ("/grpc.health.", "/grpc.reflection.")


@dataclass(slots=True)
class Call:
    """One call under way."""

    method: str
    request_id: str
    token: str
    context: grpc.aio.ServicerContext[Any, Any]
    started: float = field(default_factory=time.perf_counter)
    namespaces: tuple[str, ...] | None = None
    """The namespaces that are open to the caller; None opens all."""


Guard = Callable[[Call], AbstractAsyncContextManager[None]]
_current: ContextVar[Call] = ContextVar("call")


def open_namespace(requested: str) -> str:
    """Return the namespace that a request means.

    Raises MemoryNotFoundError for one that is not open to the caller: a foreign
    namespace and a missing memory must look the same. Raises InvalidFieldError
    when none is named and the token opens several.
    """
    opened = _current.get().namespaces
    if opened is None:
        return requested or DEFAULT_NAMESPACE
    if not requested:
        if len(opened) != 1:
            raise InvalidFieldError("namespace", "is required: the token opens several")
        return opened[0]
    if requested not in opened:
        raise MemoryNotFoundError
    return requested


def current_namespaces() -> tuple[str, ...] | None:
    """The namespaces that are open to the caller; None opens all."""
    return _current.get().namespaces


@asynccontextmanager
async def statuses(call: Call) -> AsyncIterator[None]:
    """Turn every exception into a status of the contract."""
    try:
        yield
    except asyncio.CancelledError:
        raise
    except grpc.aio.AbortError:
        raise
    except Exception as error:  # noqa: BLE001 - the one place where everything is caught
        if look_up(error)[0] is grpc.StatusCode.INTERNAL:
            # The type and the place only: the text of an exception may hold a user's words.
            log.error("fault", extra={"fault": _where(error), "request_id": call.request_id})  # noqa: TRY400
        status = rpc_status.to_status(to_status(error, call.request_id))
        await call.context.abort_with_status(status)


def _where(error: BaseException) -> str:
    """Name an exception's type and the place it came from, and nothing of its text."""
    trace = error.__traceback__
    place = "unknown"
    while trace is not None:
        place = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {place}"


@asynccontextmanager
async def journal(call: Call) -> AsyncIterator[None]:
    """Log one line per call."""
    code = "OK"
    try:
        yield
    except BaseException as error:
        code = look_up(error)[1]
        raise
    finally:
        took = (time.perf_counter() - call.started) * 1000
        log.info(
            "call",
            extra={"method": call.method, "code": code, "ms": round(took, 2), "request_id": call.request_id},
        )


class Draining:
    """Refuses new calls once the server stops."""

    def __init__(self) -> None:
        self.stopping = False

    @asynccontextmanager
    async def __call__(self, call: Call) -> AsyncIterator[None]:  # noqa: ARG002
        """Raise ShuttingDownError once ``stopping`` is set."""
        if self.stopping:
            raise ShuttingDownError
        yield


class Admission:
    """At most ``limit`` calls at once; one more is refused at once, never queued."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._under_way = 0

    @asynccontextmanager
    async def __call__(self, call: Call) -> AsyncIterator[None]:
        """Raise OverloadedError when too many calls are under way; health checks and reflection always pass."""
        if call.method.startswith(_OPEN_METHODS):
            yield
            return
        if self._under_way >= self._limit:
            raise OverloadedError
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1


@asynccontextmanager
async def deadline(call: Call) -> AsyncIterator[None]:
    """Bound the work by the caller's deadline."""
    async with asyncio.timeout(call.context.time_remaining()):
        yield


class Access:
    """Opens the namespaces that the caller's token names.

    ``tokens`` maps the SHA-256 of a token, in hexadecimal, to its namespaces.
    Without any, every namespace is open: the server then listens on loopback only.
    """

    def __init__(self, tokens: Mapping[str, Sequence[str]]) -> None:
        self._tokens = {digest: tuple(namespaces) for digest, namespaces in tokens.items()}

    @asynccontextmanager
    async def __call__(self, call: Call) -> AsyncIterator[None]:
        """Raise UnauthenticatedError without a known token; health checks and reflection need none."""
        if self._tokens and not call.method.startswith(_OPEN_METHODS):
            call.namespaces = self._opened_by(call.token)
        yield

    def _opened_by(self, token: str) -> tuple[str, ...]:
        digest = hashlib.sha256(token.encode()).hexdigest()
        for known, namespaces in self._tokens.items():
            if hmac.compare_digest(known, digest):
                return namespaces
        raise UnauthenticatedError


def chain(draining: Draining, max_calls: int, tokens: Mapping[str, Sequence[str]]) -> tuple[Guard, ...]:
    """All guards, the outermost first."""
    return (statuses, journal, draining, Admission(max_calls), deadline, Access(tokens))


class Guards(grpc.aio.ServerInterceptor):
    """Puts the guards around every method, the first one outermost."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        self.guards = tuple(guards)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wrap the method's handler; an unknown method has none, and is answered by gRPC itself."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return handler
        method = handler_call_details.method
        wrap = self._stream if handler.response_streaming else self._unary
        return _REBUILD[handler.request_streaming, handler.response_streaming](
            wrap(method, _reading(handler)),
            request_deserializer=None,
            response_serializer=handler.response_serializer,
        )

    def _unary(self, method: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def behave(request: Any, context: Any) -> Any:
            async with self._around(method, context):
                return await inner(request, context)

        return behave

    def _stream(self, method: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def behave(request: Any, context: Any) -> AsyncIterator[Any]:
            async with self._around(method, context):
                async for response in inner(request, context):
                    yield response

        return behave

    @asynccontextmanager
    async def _around(self, method: str, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[None]:
        call = _call(method, context)
        _current.set(call)
        async with AsyncExitStack() as stack:
            for guard in self.guards:
                await stack.enter_async_context(guard(call))
            yield


def _call(method: str, context: grpc.aio.ServicerContext[Any, Any]) -> Call:
    found = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
    given = found.get("x-request-id", "")
    usable = given.isascii() and given.isprintable() and 0 < len(given) <= 128
    scheme, _, token = found.get("authorization", "").partition(" ")
    return Call(
        method=method,
        request_id=given if usable else secrets.token_hex(8),
        token=token.strip() if scheme.lower() == "bearer" else "",
        context=context,
    )


def _reading(handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[[Any, Any], Any]:
    """Return the one function that a handler holds, made to take requests as they came: bytes, or a stream of them."""
    found = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    parse = handler.request_deserializer
    assert found is not None
    assert parse is not None
    behave: Callable[..., Any] = found
    parsed = _parsed(parse)
    if not handler.request_streaming:
        return lambda request, context: behave(parsed(request), context)

    async def each(requests: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        async for request in requests:
            yield parsed(request)

    return lambda requests, context: behave(each(requests), context)


def _parsed(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def parsed(request: bytes) -> Any:
        try:
            return parse(request)
        except DecodeError:
            raise InvalidFieldError("request", "cannot be read: not this message, not UTF-8, or too deep") from None

    return parsed


_REBUILD: dict[tuple[bool, bool], Callable[..., grpc.RpcMethodHandler[Any, Any]]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}
