"""Who calls, and what is open to them: what a servicer may ask about the call that it serves."""

from __future__ import annotations

import random
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import grpc

from seedbed_server.errors import InvalidFieldError, MemoryNotFoundError, OperatorOnlyError

DEFAULT_NAMESPACE = "default"
_OPEN_METHODS = ("/grpc.health.", "/grpc.reflection.")


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


_current: ContextVar[Call] = ContextVar("call")


def begun(method: str, context: grpc.aio.ServicerContext[Any, Any], *, streaming: bool) -> Call:
    """Note a call that begins, and return it: from here on it is the current one."""
    found = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
    given = found.get("x-request-id", "")
    usable = given.isascii() and given.isprintable() and 0 < len(given) <= 128
    scheme, _, token = found.get("authorization", "").partition(" ")
    call = Call(
        method=method,
        request_id=given if usable else f"{random.getrandbits(64):016x}",
        token=token.strip() if scheme.lower() == "bearer" else "",
        context=context,
        streaming=streaming,
    )
    _current.set(call)
    return call


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
