"""From an exception to a status: total, decodable, and without a word of anybody's."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status

from seedbed import errors as client_errors
from seedbed.v1.error_reason_pb2 import DESCRIPTOR, ErrorReason
from seedbed.wire import WireError
from seedbed_server import errors
from seedbed_server.errors import SeedbedError
from seedbed_server.rpc.status import INTERNAL, TABLE, all_errors, bad_request, look_up, to_status

from .calling import failure
from .probe import REQUESTS, probing

CANARY = "kanarienvogel"
PROTOS = Path(__file__).parents[2] / "protos"


def examples() -> list[BaseException]:
    """One error of every class that the server can raise, a canary where a text goes in."""
    made: list[BaseException] = []
    for kind in raised():
        needed = inspect.signature(kind.__init__).parameters.keys() - {"self", "args", "kwargs"}
        made.append(kind(*(f"path.of.{name}" for name in sorted(needed))))
    return [*made, WireError("path.of.path", "lies"), TimeoutError(CANARY), RuntimeError(CANARY), ValueError(CANARY)]


def raised() -> set[type[SeedbedError]]:
    """The classes that are raised: those in the table's own right, and every leaf."""
    return {kind for kind in all_errors() if not kind.__subclasses__()} | {
        kind for kind in TABLE if issubclass(kind, SeedbedError)
    }


def test_every_error_of_the_server_stands_in_the_table() -> None:
    """A class that is added without a code and a reason fails here; only bases that are never raised have none."""
    defined = {kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, SeedbedError)}
    assert all_errors() == defined
    without = defined - TABLE.keys()
    assert without == {
        errors.SeedbedError, errors.NotFoundError, errors.ConflictError, errors.UnavailableError,
    }  # fmt: skip
    assert all(kind.__subclasses__() for kind in without)


def test_reasons_are_those_of_the_contract_one_for_one() -> None:
    """Every reason has exactly one class, with the code that its comment in the contract begins with."""
    told = [INTERNAL[1], *(reason for kind, (_, reason, _) in TABLE.items() if kind is not WireError)]
    promised = {name.removeprefix("ERROR_REASON_") for name in ErrorReason.keys()} - {"UNSPECIFIED"}  # noqa: SIM118
    assert sorted(told) == sorted(promised)
    assert promised == client_errors.BY_REASON.keys()


def test_codes_are_those_of_the_contract() -> None:
    """The comment of each reason in the contract begins with its code."""
    contract = (PROTOS / DESCRIPTOR.name).read_text(encoding="utf-8")
    promised = set(re.findall(r"  // ([A-Z_]+)\..*\n(?:  //.*\n)*  ERROR_REASON_(\w+) =", contract))
    assert {(code.name, reason) for code, reason, _ in [*TABLE.values(), INTERNAL]} == promised


@pytest.mark.parametrize("error", [*examples(), asyncio.CancelledError()], ids=lambda error: type(error).__name__)
def test_a_status_decodes_to_the_clients_error_of_the_same_name(error: BaseException) -> None:
    """Code, reason, stored, path and request id arrive; words are fixed; the whole is small."""
    status = to_status(error, "request-7")
    code, reason, words = look_up(error)
    decoded = client_errors.from_rpc_error(_on_the_wire(status))
    assert type(decoded) is client_errors.BY_REASON[reason]
    if isinstance(error, SeedbedError):
        assert type(decoded).__name__ == type(error).__name__
    assert (decoded.code, decoded.reason, decoded.request_id) == (code.name, reason, "request-7")
    assert decoded.args == (words,)
    assert [field.path for field in decoded.fields] == ([error.path] if hasattr(error, "path") else [])
    unknown = reason in {"DEADLINE", "CANCELLED", "INTERNAL", "STORAGE_UNAVAILABLE"}
    assert decoded.stored == ("unknown" if unknown else "no")
    assert CANARY not in str(status)
    assert status.ByteSize() < 1024


def test_an_error_after_storing_does_not_say_that_nothing_was_stored() -> None:
    """Whatever its class: the caller must know that a part is there."""
    error = errors.InvalidFieldError("messages[3].role", "is required")
    error.after_storing = True
    (info,) = _details(to_status(error, ""), ErrorInfo)
    assert info.metadata["stored"] == "unknown"


def test_a_part_that_is_missing_is_named() -> None:
    """So that an operator knows which one."""
    (info,) = _details(to_status(errors.PartUnavailableError("encoder"), ""), ErrorInfo)
    assert info.metadata["part"] == "encoder"


def test_a_longest_path_still_fits() -> None:
    """Metadata over 8 KB fails a call; paths are built of names and numbers of the contract, and plain keys."""
    path = 'variant.hybrid.parts[15].custom.options["' + "k" * 64 + '"][63]'
    status = to_status(errors.InvalidFieldError(path, "x" * 100), "r" * 128)
    assert [v.field for v in _details(status, BadRequest)[0].field_violations] == [path]
    assert status.ByteSize() < 1024


def test_only_errors_about_fields_have_a_bad_request() -> None:
    """Others name no field."""
    with_field = {type(error) for error in examples() if bad_request(error) is not None}
    assert with_field == {
        errors.InvalidFieldError, errors.TooLargeError, errors.MessageIdExistsError, errors.ModelNotFoundError, WireError,
        errors.VariantNotRegisteredError,
    }  # fmt: skip


@pytest.mark.parametrize("rpc", REQUESTS)
@pytest.mark.parametrize("error", examples(), ids=lambda error: type(error).__name__)
async def test_no_exception_leaves_but_as_a_status(
    rpc: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever a handler raises, for each shape of call: the table's status, and no text of it anywhere."""
    caplog.set_level(logging.DEBUG)
    async with probing() as probed:

        async def raising(_: Any) -> None:
            raise error

        probed.probe.behave = raising
        seen = await failure(probed.call(rpc, headers=[("x-request-id", "request-9")]))
    code, reason, words = look_up(error)
    assert (seen.code(), seen.details()) == (code, words)
    assert client_errors.from_rpc_error(seen).reason == reason
    everywhere = [repr(seen), repr(seen.trailing_metadata()), caplog.text, *(str(r.__dict__) for r in caplog.records)]
    assert CANARY not in "".join(everywhere)
    (line,) = [r for r in caplog.records if r.msg == "call"]
    assert (line.__dict__["code"], line.__dict__["request_id"]) == (reason, "request-9")
    faults = [r.__dict__["fault"] for r in caplog.records if r.msg == "fault"]
    assert [fault.partition(" at ")[0] for fault in faults] == ([type(error).__name__] if reason == "INTERNAL" else [])


class _Ended:
    """An error of a call, as far as a client looks at it."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def code(self) -> grpc.StatusCode:
        return next(code for code in grpc.StatusCode if code.value[0] == self._status.code)

    def details(self) -> str:
        message: str = self._status.message
        return message

    def trailing_metadata(self) -> tuple[tuple[str, bytes], ...]:
        return (("grpc-status-details-bin", self._status.SerializeToString()),)


def _on_the_wire(status: Status) -> Any:
    return _Ended(status)


def _details(status: Status, kind: type[Any]) -> list[Any]:
    found: list[Message] = []
    for detail in status.details:
        packed: Packed = detail
        target = kind()
        if packed.Unpack(target):
            found.append(target)
    return found
