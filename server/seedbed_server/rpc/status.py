"""From an exception to a status: one table, total over the server's errors.

What leaves is a code, a reason, and the path of a bad field. The text of an
exception never does: it may hold a user's words.
"""

from __future__ import annotations

import asyncio

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from seedbed.wire import WireError
from seedbed_server import errors
from seedbed_server.errors import SeedbedError

DOMAIN = "seedbed"

# Most specific first does not matter: a class is looked up along its own bases.
TABLE: dict[type[BaseException], tuple[grpc.StatusCode, str, str]] = {
    errors.InvalidFieldError: (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", "a field is not acceptable"),
    errors.TooLargeError: (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE", "a field is over its size limit"),
    errors.MemoryNotFoundError: (grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND", "no such memory"),
    errors.MessageNotFoundError: (grpc.StatusCode.NOT_FOUND, "MESSAGE_NOT_FOUND", "no such message"),
    errors.EntityNotFoundError: (grpc.StatusCode.NOT_FOUND, "ENTITY_NOT_FOUND", "no such entity"),
    errors.TripleNotFoundError: (grpc.StatusCode.NOT_FOUND, "TRIPLE_NOT_FOUND", "no such fact"),
    errors.MergeNotFoundError: (grpc.StatusCode.NOT_FOUND, "MERGE_NOT_FOUND", "no such merge is in effect"),
    errors.ModelNotFoundError: (grpc.StatusCode.NOT_FOUND, "MODEL_NOT_FOUND", "no such model"),
    errors.MemoryExistsError: (grpc.StatusCode.ALREADY_EXISTS, "MEMORY_EXISTS", "the memory exists"),
    errors.MessageIdExistsError: (grpc.StatusCode.ALREADY_EXISTS, "MESSAGE_ID_EXISTS", "a message id is taken"),
    errors.RequestIdReusedError: (
        grpc.StatusCode.ALREADY_EXISTS,
        "REQUEST_ID_REUSED",
        "the request_id was used with another payload",
    ),
    errors.RevisionChangedError: (grpc.StatusCode.ABORTED, "REVISION_CHANGED", "the memory has changed"),
    errors.StorageFullError: (grpc.StatusCode.RESOURCE_EXHAUSTED, "STORAGE_FULL", "the disk is full"),
    errors.StorageUnavailableError: (
        grpc.StatusCode.UNAVAILABLE,
        "STORAGE_UNAVAILABLE",
        "the log cannot be used just now",
    ),
    errors.PartUnavailableError: (grpc.StatusCode.UNAVAILABLE, "PART_UNAVAILABLE", "a part is not running"),
    errors.OverloadedError: (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", "too many calls are under way"),
    errors.ShuttingDownError: (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN", "the server is stopping"),
    errors.UnauthenticatedError: (
        grpc.StatusCode.UNAUTHENTICATED,
        "UNAUTHENTICATED",
        "no access token, or one that is not known",
    ),
    errors.OperatorOnlyError: (grpc.StatusCode.PERMISSION_DENIED, "OPERATOR_ONLY", "an operator's token is needed"),
    errors.NotServedError: (grpc.StatusCode.UNIMPLEMENTED, "NOT_SERVED", "planned, not served yet"),
    errors.VariantNotRegisteredError: (
        grpc.StatusCode.FAILED_PRECONDITION,
        "VARIANT_NOT_REGISTERED",
        "no custom variant of this name is registered",
    ),
    errors.ModelUnavailableError: (
        grpc.StatusCode.FAILED_PRECONDITION,
        "MODEL_UNAVAILABLE",
        "files of the model are missing; `seedbed models pull` with its name fetches those of the manifest",
    ),
    errors.ReembedRunningError: (
        grpc.StatusCode.FAILED_PRECONDITION,
        "REEMBED_RUNNING",
        "the server is changing to another model",
    ),
    # The client's own checks of what goes over the wire; the server meets them where its checks are not stricter.
    WireError: (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", "a field is not acceptable"),
    TimeoutError: (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE", "the deadline has passed"),
    asyncio.CancelledError: (grpc.StatusCode.CANCELLED, "CANCELLED", "the call was given up"),
}
INTERNAL = (grpc.StatusCode.INTERNAL, "INTERNAL", "a fault of the server's own; see its log")

# After these, work handed to the log may have gone on and been committed.
_OUTCOME_UNKNOWN = frozenset({"DEADLINE", "CANCELLED", "INTERNAL", "STORAGE_UNAVAILABLE"})


def look_up(error: BaseException) -> tuple[grpc.StatusCode, str, str]:
    """Return the code, the reason and the fixed words for an exception."""
    for kind in type(error).__mro__:
        if kind in TABLE:
            return TABLE[kind]
    return INTERNAL


def to_status(error: BaseException, request_id: str) -> status_pb2.Status:
    """Build the rich status of an exception; well under the 1 KB that metadata should take."""
    code, reason, words = look_up(error)
    info = error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN)
    info.metadata["stored"] = "unknown" if reason in _OUTCOME_UNKNOWN or _stored_some(error) else "no"
    info.metadata["request_id"] = request_id
    if isinstance(error, errors.PartUnavailableError):
        info.metadata["part"] = error.part
    details = [info]
    bad = bad_request(error)
    packed = [any_pb2.Any() for _ in range(len(details) + (bad is not None))]
    packed[0].Pack(info)
    if bad is not None:
        packed[1].Pack(bad)
    return status_pb2.Status(code=code.value[0], message=words, details=packed)


def _stored_some(error: BaseException) -> bool:
    return isinstance(error, SeedbedError) and error.after_storing


def bad_request(error: BaseException) -> error_details_pb2.BadRequest | None:
    """Name the bad field, if the error is about one."""
    if isinstance(error, (errors.InvalidFieldError, errors.VariantNotRegisteredError, WireError)):
        path, why = error.path, error.why
    elif isinstance(error, errors.MessageIdExistsError):
        path, why = error.path, "is taken"
    elif isinstance(error, errors.ModelNotFoundError):
        path, why = error.path, "names no model"
    else:
        return None
    violation = error_details_pb2.BadRequest.FieldViolation(field=path, description=why)
    return error_details_pb2.BadRequest(field_violations=[violation])


def all_errors() -> set[type[SeedbedError]]:
    """Every concrete error class of the server: the leaves and the bases that are raised themselves."""
    found: set[type[SeedbedError]] = set()
    todo: list[type[SeedbedError]] = [SeedbedError]
    while todo:
        kind = todo.pop()
        todo.extend(kind.__subclasses__())
        found.add(kind)
    return found
