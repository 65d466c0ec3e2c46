"""What stands around every call, in a fixed order.

    statuses    an exception becomes a status; nothing else leaves
    journal     one log line per call: method, code, milliseconds; no content
    draining    no new calls once the server stops
    admission   at most so many calls at once; more are refused at once
    deadline    the caller's deadline bounds the work
    access      the token says which namespaces are open

Health checks and reflection tell nothing of what is stored: they need no token,
and take no place from calls that do. A request is received inside the guards, so
that none is in memory before its caller is known and has a place; one that cannot
be read is its caller's mistake. So is an answer that is too large to be sent.

A guard is an asynchronous context manager around the call, so one text serves
unary and streaming methods alike.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import inspect
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
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
    OperatorOnlyError,
    OverloadedError,
    ShuttingDownError,
    TooLargeError,
    UnauthenticatedError,
)
from seedbed_server.rpc.status import look_up, to_status

log = logging.getLogger(__name__)

DEFAULT_NAMESPACE = "default"
_OPEN_METHODS = ("/grpc.health.", "/grpc.reflection.")
# Places for those: a client that watches the health holds one for as long as it lives.
_OPEN_PLACES = 1024
# Seconds that a call with one request and one answer may take, however patient its caller.
_LONGEST = 600.0


@dataclass(slots=True)
class Call:
    """One call under way."""

    method: str
    request_id: str
    token: str
    context: grpc.aio.ServicerContext[Any, Any]
    streaming: bool = False
    """Requests or answers are a stream, of any length."""
    started: float = field(default_factory=time.perf_counter)
    namespaces: tuple[str, ...] | None = None
    """The namespaces that are open to the caller; None opens all."""
    operator: bool = True
    """The caller may do what concerns the whole server."""

    @property
    def open(self) -> bool:
        """Whether it tells nothing of what is stored."""
        return self.method.startswith(_OPEN_METHODS)


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


def current_request_id() -> str:
    """The id of the call: its caller's, or one made here."""
    return _current.get().request_id


def require_operator() -> None:
    """Raise OperatorOnlyError unless the caller may do what concerns the whole server."""
    if not _current.get().operator:
        raise OperatorOnlyError


@asynccontextmanager
async def statuses(call: Call) -> AsyncIterator[None]:
    """Turn every exception into a status of the contract."""
    try:
        yield
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
        log.log(
            # Orchestrators ask for the health all the time.
            logging.DEBUG if call.open else logging.INFO,
            "call",
            extra={"method": call.method, "code": code, "ms": round(took, 2), "request_id": call.request_id},
        )


class Draining:
    """Refuses new calls once the server stops, and ends those that would never end by themselves."""

    def __init__(self) -> None:
        self.stopping = False
        self._watching: set[asyncio.Timeout] = set()

    def begin(self) -> None:
        """Refuse new calls, and end the open health checks: one that watches has no end of its own."""
        self.stopping = True
        for watch in self._watching:
            watch.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def __call__(self, call: Call) -> AsyncIterator[None]:
        """Raise ShuttingDownError once ``stopping`` is set."""
        if self.stopping:
            raise ShuttingDownError
        if not call.open:
            yield
            return
        watch = asyncio.timeout(None)
        try:
            async with watch:
                self._watching.add(watch)
                try:
                    yield
                finally:
                    self._watching.discard(watch)
        except TimeoutError:
            if watch.expired():
                raise ShuttingDownError from None
            raise


class Admission:
    """At most ``limit`` calls at once; one more is refused at once, never queued."""

    def __init__(self, limit: int) -> None:
        self._free = {False: limit, True: _OPEN_PLACES}

    @asynccontextmanager
    async def __call__(self, call: Call) -> AsyncIterator[None]:
        """Raise OverloadedError when too many calls are under way; health checks and reflection are counted apart."""
        if self._free[call.open] <= 0:
            raise OverloadedError
        self._free[call.open] -= 1
        try:
            yield
        finally:
            self._free[call.open] += 1


@asynccontextmanager
async def deadline(call: Call) -> AsyncIterator[None]:
    """Bound the work by the caller's deadline, and by the server's own."""
    left = call.context.time_remaining()
    if not call.streaming:
        left = _LONGEST if left is None else min(left, _LONGEST)
    async with asyncio.timeout(left):
        yield


class Access:
    """Opens the namespaces that the caller's token names.

    ``tokens`` maps the SHA-256 of a token, in hexadecimal, to its namespaces.
    None opens every namespace: the server then listens on loopback only, or knows
    its callers by their certificates. A mapping without tokens opens none.
    ``operators`` are those that may do what concerns the whole server.
    """

    def __init__(self, tokens: Mapping[str, Sequence[str]] | None, operators: Collection[str] = ()) -> None:
        self._tokens = None if tokens is None else {digest: tuple(opened) for digest, opened in tokens.items()}
        self._operators = frozenset(operators)

    @asynccontextmanager
    async def __call__(self, call: Call) -> AsyncIterator[None]:
        """Raise UnauthenticatedError without a known token; health checks and reflection need none."""
        if self._tokens is not None and not call.open:
            known = _known(call.token, self._tokens)
            call.namespaces, call.operator = self._tokens[known], known in self._operators
        yield


def _known(token: str, tokens: Iterable[str]) -> str:
    """Return the digest of a token that is known; UnauthenticatedError."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    for known in tokens:
        if hmac.compare_digest(known, digest):
            return known
    raise UnauthenticatedError


def chain(
    draining: Draining,
    max_calls: int,
    tokens: Mapping[str, Sequence[str]] | None,
    operators: Collection[str] = (),
) -> tuple[Guard, ...]:
    """All guards, the outermost first."""
    return (statuses, journal, draining, Admission(max_calls), deadline, Access(tokens, operators))


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
        call = _call(method, context, streaming=streaming)
        _current.set(call)
        async with AsyncExitStack() as stack:
            for guard in self.guards:
                await stack.enter_async_context(guard(call))
            yield


def _call(method: str, context: grpc.aio.ServicerContext[Any, Any], *, streaming: bool) -> Call:
    found = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
    given = found.get("x-request-id", "")
    usable = given.isascii() and given.isprintable() and 0 < len(given) <= 128
    scheme, _, token = found.get("authorization", "").partition(" ")
    return Call(
        method=method,
        request_id=given if usable else f"{random.getrandbits(64):016x}",
        token=token.strip() if scheme.lower() == "bearer" else "",
        context=context,
        streaming=streaming,
    )


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
