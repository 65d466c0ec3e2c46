"""From plain values to the messages of the contract."""

from __future__ import annotations

from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from seedbed import wire
from seedbed.v1 import memory_service_pb2 as pb
from seedbed_server.log import MemoryRecord
from seedbed_server.memories.forgetting import Receipt
from seedbed_server.recall import Found, Ranking


def stamp(time: datetime) -> Timestamp:
    """A UTC datetime as a Timestamp."""
    value = Timestamp()
    value.FromDatetime(time)
    return value


def memory(record: MemoryRecord) -> pb.Memory:
    """A memory's settings and counts."""
    return pb.Memory(
        namespace=record.namespace,
        memory=record.name,
        variant=wire.variant_to_proto(record.variant),
        system=record.system,
        created_at=stamp(record.created_at),
        last_seq=record.last_seq,
        message_count=record.message_count,
        revision=record.revision,
    )


def ranking(found: Ranking, *, explain: bool) -> pb.RecallResponse:
    """The hits of a recall, with the score per leg if asked for."""
    return pb.RecallResponse(
        hits=[_hit(hit, explain=explain) for hit in found.hits],
        applied_seq=found.applied_seq,
        degraded=bool(found.degraded_legs),
        degraded_legs=found.degraded_legs,
        below_floor=found.below_floor,
        best_below_floor=found.best_below_floor,
    )


def receipt(found: Receipt) -> pb.Receipt:
    """The proof of an erasure."""
    return pb.Receipt(
        id=found.id,
        completed_at=stamp(found.completed_at),
        stores=[
            pb.StoreErasure(store=one.store, erased=one.rows, files_rewritten=one.files_rewritten)
            for one in found.stores
        ],
        missing_ids=found.missing,
    )


def _hit(found: Found, *, explain: bool) -> pb.Hit:
    legs = [pb.LegScore(leg=leg.name, raw=leg.raw, contribution=leg.contribution, rank=leg.rank) for leg in found.legs]
    return pb.Hit(message=wire.message_to_proto(found.message), score=found.score, legs=legs if explain else ())
