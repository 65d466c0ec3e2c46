"""Entities and facts as messages of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from seedbed.v1 import knowledge_service_pb2 as pb
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.identity import Merged
from seedbed_server.projections.timeline import Spell
from seedbed_server.projections.triples import Fact
from seedbed_server.rpc.answers import stamp


def entity(graph: MemoryGraph, found: Entity) -> pb.Entity:
    """An entity, with the merges that it came of."""
    return pb.Entity(
        id=found.id,
        name=found.name,
        type=found.type,
        aliases=found.aliases,
        mention_count=found.mention_count,
        first_seen=_stamp(found.first_seen),
        last_seen=_stamp(found.last_seen),
        merges=[_merge(merged) for merged in graph.identity.merges_of(found.id)],
    )


def triple(graph: MemoryGraph, fact: Fact, spell: Spell, ids: Mapping[int, str]) -> pb.Triple:
    """A fact in one of its spells; ``ids`` are those of its sources that are alive, by seq."""
    said = graph.spoken(fact)
    return pb.Triple(
        id=graph.ids.said(fact.id)[0],
        subject_id=fact.subject_id,
        subject=said.subject,
        predicate=fact.predicate,
        object_id=fact.object_id,
        object=said.object,
        negated=fact.negated,
        modality=fact.modality,
        surface=fact.surface,
        valid_from=_stamp(spell.valid_from),
        valid_to=_stamp(spell.valid_to),
        known_from=_stamp(spell.known_from),
        known_to=_stamp(spell.known_to),
        source_ids=[ids[seq] for seq in fact.seqs if seq in ids],
    )


def _merge(merged: Merged) -> pb.EntityMerge:
    return pb.EntityMerge(
        merge_id=merged.merge_id,
        from_entity_id=merged.from_id,
        reason=merged.reason,
        decided_at=_stamp(merged.since),
    )


def _stamp(seconds: float | None) -> Timestamp | None:
    return None if seconds is None else stamp(datetime.fromtimestamp(seconds, UTC))
