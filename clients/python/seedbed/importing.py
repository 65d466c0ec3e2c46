"""The stream of an import: messages and decisions in elements of a size that any server takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from seedbed.decisions import Decision, decision_to_proto
from seedbed.messages import Message, transcript
from seedbed.v1 import decision_pb2, message_pb2
from seedbed.v1 import memory_service_pb2 as memory_pb2
from seedbed.wire import message_to_proto, sendable

# An element of an import stream holds at most 1000 messages or decisions (the
# contract's limit), and about this many bytes: far under the limit of any server.
IMPORT_MESSAGES = 1_000
IMPORT_BYTES = 2**20

_Proto = message_pb2.Message | decision_pb2.Decision


def import_elements(
    items: Iterable[Message | Decision], address: Mapping[str, Any], session: str
) -> Iterator[memory_pb2.ImportMessagesRequest]:
    """The elements of the stream, in the order of the items.

    The first one carries the address and the spec, even with nothing else. A
    message without a session gets ``session``.
    """
    first = dict(address)
    for batch in _batches(_proto(item, session) for item in transcript(items, (Message, Decision))):
        element = memory_pb2.ImportMessagesRequest(**first)
        for proto in batch:
            if isinstance(proto, decision_pb2.Decision):
                element.decisions.append(proto)
            else:
                element.messages.append(proto)
        sendable(element)
        yield element
        first = {}
    if first:
        yield memory_pb2.ImportMessagesRequest(**first)


def _proto(item: Message | Decision, session: str) -> _Proto:
    if isinstance(item, Decision):
        return decision_to_proto(item)
    proto = message_to_proto(item)
    proto.session = proto.session or session
    return proto


def _batches(protos: Iterable[_Proto]) -> Iterator[list[_Proto]]:
    """Cut into batches; within one, no message comes after a decision."""
    batch: list[_Proto] = []
    size = 0
    try:
        for proto in protos:
            grown = size + proto.ByteSize()
            turns = bool(batch) and isinstance(batch[-1], decision_pb2.Decision) > isinstance(
                proto, decision_pb2.Decision
            )
            if batch and (grown > IMPORT_BYTES or len(batch) == IMPORT_MESSAGES or turns):
                yield batch
                batch, grown = [], proto.ByteSize()
            batch.append(proto)
            size = grown
    except Exception:  # what came before it is stored all the same
        if batch:
            yield batch
        raise
    if batch:
        yield batch


class ImportRequests:
    """The request iterator of an import, which ends where the caller's messages fail and keeps the failure.

    gRPC would swallow the exception: it iterates out of the caller's sight.
    The first element is made at once, so an early failure is raised in place.
    """

    def __init__(self, elements: Iterator[memory_pb2.ImportMessagesRequest]) -> None:
        self._first: memory_pb2.ImportMessagesRequest | None = next(elements)
        self._rest = elements
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[memory_pb2.ImportMessagesRequest]:
        return self

    def __next__(self) -> memory_pb2.ImportMessagesRequest:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            return next(self._rest)
        except StopIteration:
            raise
        except Exception as failure:
            self.failure = failure
            raise StopIteration from failure
