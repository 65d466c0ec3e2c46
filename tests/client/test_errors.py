"""The exception tree: total over the contract's reasons, and sensible where an answer has none."""

from __future__ import annotations

import inspect
import pickle
import re
import typing

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status

from seedbed import errors
from seedbed.v1 import error_reason_pb2

REASONS = [name.removeprefix("ERROR_REASON_") for name, number in error_reason_pb2.ErrorReason.items() if number]
TREE = {
    name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.SeedbedError)
}


class Answer(grpc.RpcError):
    """An error as gRPC raises it: a status, and trailing metadata."""

    def __init__(
        self, code: grpc.StatusCode, details: str = "", *packed: typing.Any, trailing: typing.Any = None
    ) -> None:
        self._code, self._details = code, details
        status = Status(code=code.value[0], message=details)
        for detail in packed:
            any_ = Any()
            any_.Pack(detail)
            status.details.append(any_)
        binary = status.SerializeToString() if packed else None
        self._trailing = trailing or ((("grpc-status-details-bin", binary),) if packed else ())

    def code(self) -> typing.Any:
        return self._code

    def details(self) -> typing.Any:
        return self._details

    def trailing_metadata(self) -> typing.Any:
        return self._trailing


def test_every_reason_has_a_class_of_its_own() -> None:
    """The table holds exactly the reasons of error_reason.proto, one class each."""
    assert sorted(errors.BY_REASON) == sorted(REASONS)
    assert len(set(errors.BY_REASON.values())) == len(REASONS)


def test_the_tree_drawn_in_the_docstring_is_the_tree() -> None:
    """Each class stands in the drawing under its parent, beside its reason."""
    drawn, parents = {}, {-1: "Exception"}
    for line in str(errors.__doc__).splitlines():
        if found := re.match(r"^    ([│├└─ ]*)(\w+Error)\b *(\w*)$|^    ([│├└─ ]*)(\w+Error) +\(", line):
            depth = len(found[1] or found[4] or "") // 4
            name = found[2] or found[5]
            drawn[name] = (parents[depth - 1], found[3] or "")
            parents[depth] = name
    reasons = {kind.__name__: reason for reason, kind in errors.BY_REASON.items()}
    assert drawn == {name: (kind.__mro__[1].__name__, reasons.get(name, "")) for name, kind in TREE.items()}


def test_the_server_has_the_same_words() -> None:
    """A class of the server's tree is here under the same name, and no finer or coarser."""
    from seedbed_server import errors as server_errors

    own = [
        kind
        for _, kind in inspect.getmembers(server_errors, inspect.isclass)
        if kind.__module__ == server_errors.__name__
    ]
    assert own
    for kind in own:
        name = kind.__name__
        assert {base.__name__ for base in kind.__mro__} <= {base.__name__ for base in TREE[name].__mro__}


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_is_decoded_to_its_class(reason: str) -> None:
    """Class, reason, code and `stored` come from the rich details."""
    info = ErrorInfo(domain="seedbed", reason=reason, metadata={"stored": "no"})
    error = errors.from_rpc_error(Answer(grpc.StatusCode.ABORTED, "words", info), "id-1")
    assert type(error) is errors.BY_REASON[reason]
    assert (error.code, error.reason, error.stored, error.request_id) == ("ABORTED", reason, "no", "id-1")
    assert str(error) == f"{reason}: words"


def test_fields_are_decoded_with_their_paths() -> None:
    """A BadRequest names each field and why it was refused, in any order among the details."""
    bad = BadRequest(field_violations=[BadRequest.FieldViolation(field="messages[2].role", description="is empty")])
    info = ErrorInfo(domain="seedbed", reason="INVALID_FIELD", metadata={"stored": "no"})
    error = errors.from_rpc_error(Answer(grpc.StatusCode.INVALID_ARGUMENT, "a field", bad, info))
    assert error.fields == (errors.FieldViolation("messages[2].role", "is empty"),)
    assert str(error) == "INVALID_FIELD: a field; messages[2].role: is empty"


def test_an_unknown_reason_falls_back_on_the_code_and_keeps_its_name() -> None:
    """A later server's reason is still an error of the right family."""
    info = ErrorInfo(domain="seedbed", reason="QUOTA_EMPTY", metadata={"stored": "no"})
    error = errors.from_rpc_error(Answer(grpc.StatusCode.NOT_FOUND, "", info))
    assert type(error) is errors.NotFoundError
    assert (error.reason, error.stored) == ("QUOTA_EMPTY", "no")


def test_a_reason_of_another_domain_is_not_ours() -> None:
    """A proxy's ErrorInfo cannot pass as the server's word that nothing was stored."""
    info = ErrorInfo(domain="proxy.example", reason="MEMORY_NOT_FOUND", metadata={"stored": "no"})
    error = errors.from_rpc_error(Answer(grpc.StatusCode.UNAVAILABLE, "", info))
    assert type(error) is errors.UnavailableError
    assert (error.reason, error.stored) == ("", "unknown")


@pytest.mark.parametrize("code", list(grpc.StatusCode))
def test_a_plain_code_gives_an_error_that_claims_nothing(code: grpc.StatusCode) -> None:
    """Without details, the class follows the code and `stored` is unknown."""
    error = errors.from_rpc_error(Answer(code, "words"))
    assert type(error) is errors.BY_CODE.get(code.name, errors.SeedbedError)
    assert (error.code, error.reason, error.stored, error.fields) == (code.name, "", "unknown", ())
    assert str(error) == f"{code.name}: words"


@pytest.mark.parametrize("binary", [b"\xff\xff", Status(code=5, message="other").SerializeToString()])
def test_details_that_cannot_be_trusted_count_as_absent(binary: bytes) -> None:
    """Broken bytes, or a status that contradicts the one it came with."""
    answer = Answer(grpc.StatusCode.UNAVAILABLE, "", trailing=(("grpc-status-details-bin", binary),))
    assert type(errors.from_rpc_error(answer)) is errors.UnavailableError


def test_errors_survive_pickling() -> None:
    """An error crosses a process pool with everything it says."""
    error = errors.TooLargeError("words", code="RESOURCE_EXHAUSTED", reason="TOO_LARGE", stored="no", request_id="7")
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is errors.TooLargeError
    assert (str(back), back.__dict__) == (str(error), error.__dict__)
