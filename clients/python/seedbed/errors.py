"""The errors of a Seedbed server, as its clients raise them.

    SeedbedError
    ├── InvalidFieldError             INVALID_FIELD
    │   └── TooLargeError             TOO_LARGE
    ├── NotFoundError
    │   ├── MemoryNotFoundError       MEMORY_NOT_FOUND
    │   ├── MessageNotFoundError      MESSAGE_NOT_FOUND
    │   ├── EntityNotFoundError       ENTITY_NOT_FOUND
    │   ├── TripleNotFoundError       TRIPLE_NOT_FOUND
    │   ├── MergeNotFoundError        MERGE_NOT_FOUND
    │   └── ModelNotFoundError        MODEL_NOT_FOUND
    ├── ConflictError
    │   ├── MemoryExistsError         MEMORY_EXISTS
    │   ├── MessageIdExistsError      MESSAGE_ID_EXISTS
    │   ├── RequestIdReusedError      REQUEST_ID_REUSED
    │   └── RevisionChangedError      REVISION_CHANGED
    ├── UnavailableError              (no connection)
    │   ├── OverloadedError           OVERLOADED
    │   ├── StorageFullError          STORAGE_FULL
    │   ├── StorageUnavailableError   STORAGE_UNAVAILABLE
    │   ├── PartUnavailableError      PART_UNAVAILABLE
    │   └── ShuttingDownError         SHUTTING_DOWN
    ├── UnauthenticatedError          UNAUTHENTICATED
    ├── OperatorOnlyError             OPERATOR_ONLY
    ├── DeadlineError                 DEADLINE
    ├── CallCancelledError            CANCELLED
    ├── NotServedError                NOT_SERVED
    ├── VariantNotRegisteredError     VARIANT_NOT_REGISTERED
    ├── ModelUnavailableError         MODEL_UNAVAILABLE
    ├── ReembedRunningError           REEMBED_RUNNING
    └── InternalError                 INTERNAL

The reasons are those of error_reason.proto. An answer without a reason, such as
one from a proxy or from gRPC itself, becomes the nearest class by its code; a
reason that this version does not know does too, and keeps its name in `reason`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status

if TYPE_CHECKING:
    import grpc

Stored = Literal["no", "unknown"]

DOMAIN = "seedbed"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """A field that was refused: its ``path`` in the request, such as ``messages[2].role``, and ``why``."""

    path: str
    why: str


class SeedbedError(Exception):
    """Base of all errors that a server answers with, or that stand for the lack of an answer.

    ``code`` is the name of the gRPC status code, ``reason`` the name of the
    reason in error_reason.proto ("" when the answer gave none). ``stored`` is
    "no" when nothing was stored, and "unknown" when that cannot be told: then
    repeat the call with the same request id. ``request_id`` is the id under
    which the server's log has the call; for a write that was given no request
    id of its own it is the one to repeat it with.
    """

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        stored: Stored = "unknown",
        fields: tuple[FieldViolation, ...] = (),
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.stored: Stored = stored
        self.fields = fields
        self.request_id = request_id

    def __str__(self) -> str:
        """The reason, what the server said, and each refused field."""
        said = [part for part in (self.reason or self.code, *self.args[:1]) if part]
        return ": ".join(said) + "".join(f"; {field.path}: {field.why}" for field in self.fields)


class InvalidFieldError(SeedbedError):
    """A field of the request is not acceptable; ``fields`` says which, and why."""


class TooLargeError(InvalidFieldError):
    """A message, batch or query is over a size limit."""


class NotFoundError(SeedbedError):
    """Something addressed is not there, or is not the caller's to see."""


class MemoryNotFoundError(NotFoundError):
    """There is no such memory in the namespaces that the token opens."""


class MessageNotFoundError(NotFoundError):
    """The memory exists, the message does not."""


class EntityNotFoundError(NotFoundError):
    """The memory exists, the entity does not."""


class TripleNotFoundError(NotFoundError):
    """The memory exists, the fact does not."""


class MergeNotFoundError(NotFoundError):
    """The memory exists, and no such merge is in effect."""


class ModelNotFoundError(NotFoundError):
    """The server knows no such model."""


class ConflictError(SeedbedError):
    """What is stored already stands against the call."""


class MemoryExistsError(ConflictError):
    """A memory of this name exists."""


class MessageIdExistsError(ConflictError):
    """A message id of the batch is taken in this memory."""


class RequestIdReusedError(ConflictError):
    """The request id was used before with another payload."""


class RevisionChangedError(ConflictError):
    """The memory was changed since the revision that the call names."""


class UnavailableError(SeedbedError):
    """The server cannot be reached, or cannot do it now; the same call may succeed later."""


class OverloadedError(UnavailableError):
    """Too many calls are under way."""


class StorageFullError(UnavailableError):
    """The server's disk is full, or below its free-space floor."""


class StorageUnavailableError(UnavailableError):
    """The log cannot be read or written just now."""


class PartUnavailableError(UnavailableError):
    """The answer needs a part that is not running just now."""


class ShuttingDownError(UnavailableError):
    """The server is stopping."""


class UnauthenticatedError(SeedbedError):
    """There is no access token, or it is not known."""


class OperatorOnlyError(SeedbedError):
    """The call concerns the whole server, and the token is no operator's."""


class DeadlineError(SeedbedError):
    """The call's deadline passed before it could finish."""


class CallCancelledError(SeedbedError):
    """The call was given up."""


class NotServedError(SeedbedError):
    """The call is part of the contract, and this server does not serve it."""


class VariantNotRegisteredError(SeedbedError):
    """The variant names a custom variant that this server does not have."""


class ModelUnavailableError(SeedbedError):
    """Files of the model are missing on the server."""


class ReembedRunningError(SeedbedError):
    """The server is changing to another model."""


class InternalError(SeedbedError):
    """A fault of the server's own; its log has it under ``request_id``."""


BY_REASON: dict[str, type[SeedbedError]] = {
    "INVALID_FIELD": InvalidFieldError,
    "MEMORY_NOT_FOUND": MemoryNotFoundError,
    "MESSAGE_NOT_FOUND": MessageNotFoundError,
    "ENTITY_NOT_FOUND": EntityNotFoundError,
    "TRIPLE_NOT_FOUND": TripleNotFoundError,
    "MERGE_NOT_FOUND": MergeNotFoundError,
    "MODEL_NOT_FOUND": ModelNotFoundError,
    "MEMORY_EXISTS": MemoryExistsError,
    "MESSAGE_ID_EXISTS": MessageIdExistsError,
    "REQUEST_ID_REUSED": RequestIdReusedError,
    "REVISION_CHANGED": RevisionChangedError,
    "TOO_LARGE": TooLargeError,
    "OVERLOADED": OverloadedError,
    "STORAGE_FULL": StorageFullError,
    "STORAGE_UNAVAILABLE": StorageUnavailableError,
    "PART_UNAVAILABLE": PartUnavailableError,
    "SHUTTING_DOWN": ShuttingDownError,
    "UNAUTHENTICATED": UnauthenticatedError,
    "OPERATOR_ONLY": OperatorOnlyError,
    "DEADLINE": DeadlineError,
    "CANCELLED": CallCancelledError,
    "NOT_SERVED": NotServedError,
    "VARIANT_NOT_REGISTERED": VariantNotRegisteredError,
    "MODEL_UNAVAILABLE": ModelUnavailableError,
    "REEMBED_RUNNING": ReembedRunningError,
    "INTERNAL": InternalError,
}

# For answers without a known reason. RESOURCE_EXHAUSTED and PERMISSION_DENIED
# are left out: from gRPC or a proxy they mean too many things to guess at.
BY_CODE: dict[str, type[SeedbedError]] = {
    "INVALID_ARGUMENT": InvalidFieldError,
    "NOT_FOUND": NotFoundError,
    "ALREADY_EXISTS": ConflictError,
    "ABORTED": ConflictError,
    "UNAVAILABLE": UnavailableError,
    "UNAUTHENTICATED": UnauthenticatedError,
    "DEADLINE_EXCEEDED": DeadlineError,
    "CANCELLED": CallCancelledError,
    "UNIMPLEMENTED": NotServedError,
    "INTERNAL": InternalError,
    "UNKNOWN": InternalError,
}


def from_rpc_error(error: grpc.RpcError, request_id: str = "", *, late: str = "") -> SeedbedError:
    """Return the typed error that ``error`` of grpc or grpc.aio stands for.

    ``request_id`` is what the call was sent with; without it the server's word
    is taken. ``late`` is said where the deadline passed and no server says more.
    Details that cannot be decoded count as absent.
    """
    code = error.code().name
    info, bad = _details(error)
    reason = info.reason if info.domain == DOMAIN else ""
    kind = BY_REASON.get(reason) or BY_CODE.get(code, SeedbedError)
    return kind(
        (late if kind is DeadlineError and not reason else "") or error.details() or "",
        code=code,
        reason=reason,
        stored="no" if reason and info.metadata.get("stored") == "no" else "unknown",
        fields=tuple(FieldViolation(field.field, field.description) for field in bad.field_violations),
        request_id=request_id or info.metadata.get("request_id", ""),
    )


def _details(error: grpc.RpcError) -> tuple[ErrorInfo, BadRequest]:
    """The rich details of an error; empty ones where it has none, or none that can be read."""
    info, bad = ErrorInfo(), BadRequest()
    try:
        status = _status(error)
        for detail in status.details if status else ():
            detail.Unpack(info) or detail.Unpack(bad)
    except (ValueError, DecodeError):
        # Details that contradict the status they came with were altered on the way.
        return ErrorInfo(), BadRequest()
    return info, bad


def _status(error: grpc.RpcError) -> Status | None:
    from grpc_status import rpc_status

    # Errors of both grpc and grpc.aio answer code(), details() and trailing_metadata(), all that is asked of a Call.
    return rpc_status.from_call(cast("grpc.Call", error))
