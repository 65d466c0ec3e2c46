"""Decisions as an export gives them and an import takes them."""

from __future__ import annotations

from collections.abc import Sequence

from seedbed.v1 import decision_pb2 as pb
from seedbed.v1 import knowledge_service_pb2
from seedbed_server.errors import InvalidFieldError, TooLargeError
from seedbed_server.log import Carried, Content, Merge, Retraction, Split, Statement
from seedbed_server.rpc import checks
from seedbed_server.rpc.answers import stamp
from seedbed_server.rpc.limits import LIMITS
from seedbed_server.rpc.statements import statement

_MOST_WITNESSES = 1_000_000  # the size of an element is the limit


def to_proto(made: Carried) -> pb.Decision:
    """A decision of an export."""
    found = pb.Decision(
        id=made.id,
        recorded_at=None if made.recorded_at is None else stamp(made.recorded_at),
        after_message_id=made.after,
        witnesses=[pb.DecisionWitnesses(message_ids=group) for group in made.witnesses],
    )
    match made.content:
        case Statement() as said:
            found.statement.CopyFrom(_stated(said, made.source))
        case Merge(merge_id, into, from_):
            found.merge.CopyFrom(pb.DecidedMerge(merge_id=merge_id, into_entity_id=into, from_entity_id=from_))
        case Split(merge_id):
            found.split.merge_id = merge_id
        case Retraction(fact_ids):
            found.retraction.triple_ids.extend(fact_ids)
    return found


def from_protos(batch: Sequence[pb.Decision], path: str = "decisions") -> list[Carried]:
    """Check the decisions of an element of an import."""
    if len(batch) > LIMITS.batch_messages:
        raise TooLargeError(path, f"holds more than {LIMITS.batch_messages}")
    return [_from_proto(item, f"{path}[{at}]") for at, item in enumerate(batch)]


def _from_proto(value: pb.Decision, path: str) -> Carried:
    content, source = _content(value, path)
    return Carried(
        id=checks.identifier(value.id, f"{path}.id"),
        content=content,
        after=checks.optional_identifier(value.after_message_id, f"{path}.after_message_id"),
        source=source,
        witnesses=tuple(
            tuple(
                checks.identifiers(
                    group.message_ids, f"{path}.witnesses[{at}].message_ids", least=0, most=_MOST_WITNESSES
                )
            )
            for at, group in enumerate(value.witnesses)
        ),
    )


def _content(value: pb.Decision, path: str) -> tuple[Content, str]:
    """What was decided, and the message that a statement stands on."""
    kind = value.WhichOneof("kind")
    if kind == "statement":
        said, sources = statement(value.statement, f"{path}.statement")
        if len(sources) > 1:
            raise InvalidFieldError(f"{path}.statement.source_ids", "holds more than one")
        return said, sources[0]
    if kind == "merge":
        fields = ("merge_id", "into_entity_id", "from_entity_id")
        return Merge(*(checks.identifier(getattr(value.merge, one), f"{path}.merge.{one}") for one in fields)), ""
    if kind == "split":
        return Split(checks.identifier(value.split.merge_id, f"{path}.split.merge_id")), ""
    if kind == "retraction":
        ids = checks.identifiers(value.retraction.triple_ids, f"{path}.retraction.triple_ids")
        return Retraction(tuple(ids)), ""
    raise InvalidFieldError(path, "decides nothing that is known here")


def _stated(said: Statement, source: str) -> knowledge_service_pb2.TripleStatement:
    return knowledge_service_pb2.TripleStatement(
        subject=said.subject,
        predicate=said.predicate,
        object=said.object,
        negated=said.negated,
        valid_from=None if said.valid_from is None else stamp(said.valid_from),
        valid_to=None if said.valid_to is None else stamp(said.valid_to),
        source_ids=[source] if source else [],
    )
