"""Facts that callers state, held against the contract."""

from __future__ import annotations

from collections.abc import Sequence

from seedbed.v1 import knowledge_service_pb2 as pb
from seedbed_server.errors import InvalidFieldError, TooLargeError
from seedbed_server.log import Statement
from seedbed_server.projections.names import canonical
from seedbed_server.rpc import checks
from seedbed_server.rpc.limits import LIMITS

MOST_SOURCES = 100


def statements(batch: Sequence[pb.TripleStatement], path: str = "triples") -> list[tuple[Statement, list[str]]]:
    """Check a batch of facts; returns each with the ids of the messages it stands on."""
    if not batch:
        raise InvalidFieldError(path, "is empty")
    if len(batch) > LIMITS.batch_messages:
        raise TooLargeError(path, f"holds more than {LIMITS.batch_messages}")
    return [statement(item, f"{path}[{at}]") for at, item in enumerate(batch)]


def statement(value: pb.TripleStatement, path: str) -> tuple[Statement, list[str]]:
    """Check a fact; returns it with the ids of the messages it stands on."""
    ends = [_name(getattr(value, end), f"{path}.{end}") for end in ("subject", "object")]
    predicate = " ".join(checks.identifier(value.predicate, f"{path}.predicate").split())
    if not predicate:
        raise InvalidFieldError(f"{path}.predicate", "is blank")
    if not predicate.isprintable():  # it stands in seeds, between names that are cleaned
        raise InvalidFieldError(f"{path}.predicate", "holds characters that cannot be seen")
    begin, end = (
        checks.timestamp(getattr(value, field), f"{path}.{field}") if value.HasField(field) else None
        for field in ("valid_from", "valid_to")
    )
    if begin and end and end < begin:
        raise InvalidFieldError(f"{path}.valid_to", "is before valid_from")
    sources = checks.identifiers(value.source_ids, f"{path}.source_ids", most=MOST_SOURCES)
    return Statement(ends[0], predicate, ends[1], value.negated, begin, end), sources


def _name(value: str, path: str) -> str:
    if not canonical(checks.identifier(value, path)):
        raise InvalidFieldError(path, "names nothing")
    return value
