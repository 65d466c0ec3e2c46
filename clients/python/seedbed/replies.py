"""From a server's replies to the values of `seedbed.results`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from seedbed.results import (
    EntityDetails,
    EntityMerge,
    Hit,
    Imported,
    KnownEntity,
    LegScore,
    MemoryInfo,
    Mention,
    Merged,
    ModelInfo,
    PartStatus,
    ProjectionStatus,
    Recall,
    RecallEntry,
    Receipt,
    ServerStatus,
    ShownItem,
    StoreErasure,
    Subgraph,
    Triple,
    Written,
)
from seedbed.v1 import admin_service_pb2 as admin_pb2
from seedbed.v1 import knowledge_service_pb2 as knowledge_pb2
from seedbed.v1 import memory_service_pb2 as memory_pb2
from seedbed.wire import message_from_proto, time_from_proto, variant_from_proto


def _time(stamp: Timestamp, present: bool) -> datetime | None:
    return time_from_proto(stamp) if present else None


def memory_info(proto: memory_pb2.Memory) -> MemoryInfo:
    """A memory's settings and counts."""
    return MemoryInfo(
        proto.namespace,
        proto.memory,
        variant_from_proto(proto.variant),
        proto.system,
        time_from_proto(proto.created_at, "created_at"),
        proto.last_seq,
        proto.message_count,
        proto.revision,
    )


def written(proto: memory_pb2.WriteResponse) -> Written:
    """What a write stored."""
    return Written(tuple(proto.message_ids), proto.first_seq, proto.last_seq, proto.memory_created)


def imported(proto: memory_pb2.ImportMessagesResponse) -> Imported:
    """What an import stored."""
    return Imported(proto.imported, proto.skipped, proto.last_seq, proto.decisions_imported, proto.decisions_skipped)


def recall(proto: memory_pb2.RecallResponse) -> Recall:
    """The hits of a search, and how whole the answer is."""
    legs = tuple(proto.degraded_legs) or (("unknown",) if proto.degraded else ())
    hits = tuple(_hit(hit) for hit in proto.hits)
    return Recall(hits, proto.applied_seq, legs, proto.below_floor, proto.best_below_floor)


def _hit(proto: memory_pb2.Hit) -> Hit:
    return Hit(message_from_proto(proto.message), proto.score, _legs(proto.legs))


def _legs(protos: Iterable[memory_pb2.LegScore]) -> tuple[LegScore, ...]:
    return tuple(LegScore(leg.leg, leg.raw, leg.contribution, leg.rank) for leg in protos)


def recall_entry(proto: memory_pb2.RecallEntry) -> RecallEntry:
    """An entry of the recall log."""
    return RecallEntry(
        time=time_from_proto(proto.time, "time"),
        call=proto.call,
        request_id=proto.request_id,
        session=proto.session,
        query=proto.query,
        query_cut=proto.query_cut,
        max_tokens=proto.max_tokens if proto.HasField("max_tokens") else None,
        k=proto.k,
        valid_at=_time(proto.as_of.valid_at, proto.as_of.HasField("valid_at")),
        known_at=_time(proto.as_of.known_at, proto.as_of.HasField("known_at")),
        tokens=proto.tokens,
        truncated=proto.truncated,
        degraded=tuple(proto.degraded),
        below_floor=proto.below_floor,
        shown=tuple(_shown(item) for item in proto.shown),
        more_shown=proto.more_shown,
        messages=tuple(message_from_proto(message) for message in proto.messages),
    )


def _shown(proto: memory_pb2.ShownItem) -> ShownItem:
    return ShownItem(proto.origin, proto.kind, proto.score, proto.tokens, tuple(proto.message_ids), _legs(proto.legs))


def receipt(proto: memory_pb2.Receipt) -> Receipt:
    """The proof of an erasure."""
    stores = tuple(StoreErasure(store.store, store.erased, store.files_rewritten) for store in proto.stores)
    completed = _time(proto.completed_at, proto.HasField("completed_at"))
    return Receipt(proto.id, completed, stores, tuple(proto.missing_ids))


def entity(proto: knowledge_pb2.Entity) -> KnownEntity:
    """An entity of the memory."""
    return KnownEntity(
        proto.id,
        proto.name,
        proto.type,
        tuple(proto.aliases),
        proto.mention_count,
        _time(proto.first_seen, proto.HasField("first_seen")),
        _time(proto.last_seen, proto.HasField("last_seen")),
        tuple(_merge(merge) for merge in proto.merges),
        proto.alias_count,
        proto.merge_count,
    )


def _merge(proto: knowledge_pb2.EntityMerge) -> EntityMerge:
    decided = _time(proto.decided_at, proto.HasField("decided_at"))
    return EntityMerge(proto.merge_id, proto.from_entity_id, proto.reason, decided)


def merged(proto: knowledge_pb2.MergeEntitiesResponse) -> Merged:
    """What a merge did, or would do."""
    return Merged(entity(proto.entity), proto.merge_id, proto.mentions_moved, proto.triples_moved)


def triple(proto: knowledge_pb2.Triple) -> Triple:
    """A fact of the memory."""
    return Triple(
        proto.id,
        proto.subject_id,
        proto.subject,
        proto.predicate,
        proto.object_id,
        proto.object,
        proto.negated,
        proto.modality,
        proto.surface,
        _time(proto.valid_from, proto.HasField("valid_from")),
        _time(proto.valid_to, proto.HasField("valid_to")),
        _time(proto.known_from, proto.HasField("known_from")),
        _time(proto.known_to, proto.HasField("known_to")),
        tuple(proto.source_ids),
        proto.source_count,
    )


def triples(protos: Iterable[knowledge_pb2.Triple]) -> tuple[Triple, ...]:
    """Facts, in their order."""
    return tuple(triple(proto) for proto in protos)


def entity_details(proto: knowledge_pb2.GetEntityResponse) -> EntityDetails:
    """An entity with its mentions and facts."""
    mentions = tuple(Mention(each.message_id, each.start, each.end, each.text) for each in proto.mentions)
    return EntityDetails(entity(proto.entity), mentions, triples(proto.triples))


def subgraph(proto: knowledge_pb2.ExploreResponse) -> Subgraph:
    """The entities and facts around a start."""
    entities = tuple(entity(each) for each in proto.entities)
    return Subgraph(entities, triples(proto.triples), proto.truncated, proto.applied_seq)


def paths(proto: knowledge_pb2.FindPathsResponse) -> tuple[tuple[Triple, ...], ...]:
    """Chains of facts, shortest first."""
    return tuple(triples(path.triples) for path in proto.paths)


def status(proto: admin_pb2.GetStatusResponse) -> ServerStatus:
    """What the server runs, and how far it is."""
    return ServerStatus(
        proto.version,
        _time(proto.started_at, proto.HasField("started_at")),
        tuple(PartStatus(part.part, _state(part.state), part.restarts, part.detail) for part in proto.parts),
        tuple(
            ProjectionStatus(each.projection, each.applied_seq, each.skipped, each.state, each.waiting_for)
            for each in proto.projections
        ),
        proto.last_seq,
    )


def _state(state: int) -> str:
    """The state in one word; a state of a later server keeps its number."""
    if state not in admin_pb2.PartState.values():
        return str(state)
    return admin_pb2.PartState.Name(admin_pb2.PartState.ValueType(state)).removeprefix("PART_STATE_").lower()


def models(proto: admin_pb2.ListModelsResponse) -> tuple[ModelInfo, ...]:
    """The local models of the server."""
    return tuple(
        ModelInfo(each.name, each.role, each.licence, each.dimensions, each.fingerprint, each.available, each.in_use)
        for each in proto.models
    )
