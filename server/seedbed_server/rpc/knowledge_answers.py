"""Entities and facts as messages of the contract, each of a bounded size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from seedbed.v1 import knowledge_service_pb2 as pb
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.identity import Merged
from seedbed_server.projections.timeline import Spell
from seedbed_server.projections.triples import Fact
from seedbed_server.rpc.answers import stamp

SOURCES = 16
"""Of the messages that a fact stands on, the newest, that are named: who is spoken of every day stands on thousands."""

MOST = 100
"""Aliases and merges of an entity that are told."""


def entity(graph: MemoryGraph, found: Entity) -> pb.Entity:
    """An entity, with the merges that it came of."""
    aliases, merges = found.aliases, graph.identity.merges_of(found.id)
    return pb.Entity(
        id=found.id,
        name=found.name,
        type=found.type,
        aliases=aliases[:MOST],
        mention_count=found.mention_count,
        first_seen=_stamp(found.first_seen),
        last_seen=_stamp(found.last_seen),
        merges=[_merge(merged) for merged in merges[:MOST]],
        alias_count=len(aliases),
        merge_count=len(merges),
    )


def triple(graph: MemoryGraph, fact: Fact, spell: Spell, ids: Sequence[str]) -> pb.Triple:
    """A fact in one of its spells; ``ids`` are those of its newest sources."""
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
        source_ids=ids,
        source_count=len(fact.seqs),
    )


def fill(
    found: pb.ExploreResponse, graph: MemoryGraph, starts: Sequence[str], triples: Sequence[pb.Triple], most_bytes: int
) -> bool:
    """Put into an answer what goes into so many bytes: where one starts, then each fact with its ends.

    Answers whether that is all.
    """
    given: set[str] = set()
    room = most_bytes
    for ends, fact in (*(((start,), None) for start in starts), *(((t.subject_id, t.object_id), t) for t in triples)):
        ends_given = [entity(graph, graph.entities.by_id[end]) for end in dict.fromkeys(ends) if end not in given]
        room -= sum(part.ByteSize() for part in (*ends_given, *([fact] if fact else ())))
        if room < 0:
            return False
        given.update(ends)
        found.entities.extend(ends_given)
        found.triples.extend([fact] if fact else ())
    return True


def fitting(triples: Sequence[pb.Triple], most_bytes: int) -> Sequence[pb.Triple]:
    """The facts, all of them and in order, but with as little of each as goes into so many bytes."""
    shorter: tuple[Callable[[pb.Triple], pb.Triple], ...] = (_short, _named)
    for shortened in shorter:
        if sum(one.ByteSize() for one in triples) <= most_bytes:
            break
        triples = [shortened(one) for one in triples]
    return triples


def _short(whole: pb.Triple) -> pb.Triple:
    short = pb.Triple()
    short.CopyFrom(whole)
    short.ClearField("surface")
    del short.source_ids[:-1]
    return short


def _named(whole: pb.Triple) -> pb.Triple:
    return pb.Triple(id=whole.id)


def _merge(merged: Merged) -> pb.EntityMerge:
    return pb.EntityMerge(
        merge_id=merged.merge_id,
        from_entity_id=merged.from_id,
        reason=merged.reason,
        decided_at=_stamp(merged.since),
    )


def _stamp(seconds: float | None) -> Timestamp | None:
    return None if seconds is None else stamp(datetime.fromtimestamp(seconds, UTC))
