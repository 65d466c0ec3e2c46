"""What stands around every call, in a fixed order.

    statuses    an exception becomes a status; nothing else leaves
    journal     one log line per call: method, code, milliseconds; no content
    draining    no new calls once the server stops
    admission   at most so many calls at once; more are refused at once
    deadline    the caller's deadline bounds the work
    access      the token says which namespaces are open

Health checks and reflection tell nothing of what is stored: they need no token,
and take no place from calls that do.

A guard is an asynchronous context manager around the call, so one text serves
unary and streaming methods alike.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import grpc
from grpc_status import rpc_status

from seedbed_server.errors import OverloadedError, ShuttingDownError, UnauthenticatedError
from seedbed_server.rpc.caller import Call
from seedbed_server.rpc.status import look_up, to_status

log = logging.getLogger(__name__)

# Places for health checks and reflection: a client that watches the health holds one for as long as it lives.
_OPEN_PLACES = 1024
# Seconds that a call with one request and one answer may take, however patient its caller.
_LONGEST = 600.0

Guard = Callable[[Call], AbstractAsyncContextManager[None]]


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
