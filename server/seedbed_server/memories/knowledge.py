"""Entity and KnowledgeGraph: what is known about those whom the query is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from seedbed.frame import clean_name
from seedbed.seeds import Item, Shown
from seedbed.variants import Entity as EntityVariant
from seedbed.variants import KnowledgeGraph
from seedbed_server.memories.asking import asked_about, called
from seedbed_server.memories.living import Living
from seedbed_server.memories.recency import recent
from seedbed_server.memories.sentences import dated
from seedbed_server.memories.view import Answer, View
from seedbed_server.projections.calendar import day
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.nearness import facts_around
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.triples import Fact, circle, is_value
from seedbed_server.recall.stopwords import query_terms

_FACTS_PER_NOTE = 6
# Messages that a note or a fact is shown with, the newest: who is spoken of every day stands on thousands.
_SOURCES = 16
# Said as an event, where another word for the same says how it is: "moved to" beside "live in".
_EVENTS = frozenset({"moved to", "marry"})
# The most notes and facts that a seed shows, whatever its variant says.
_MOST = 1000
# How long a seed waits for messages written just now to be read, in seconds. Reading a turn takes some milliseconds.
PATIENCE = 0.3


@dataclass(frozen=True, slots=True)
class _Scene:
    """A graph, at a moment of the world in seconds since 1970, and what is asked: its terms, and about whom.

    ``called`` has, by entity, the other name by which the question calls it.
    """

    graph: MemoryGraph
    at: float
    words: Sequence[str]
    asked: Sequence[Entity]
    called: Mapping[str, str]

    def facts_around(self, entity_ids: Sequence[str], k: int, hops: int = 2) -> list[Fact]:
        """The ``k`` nearest facts that hold, nearest first; what two words say alike is there once."""
        found = [ranked.fact for ranked in facts_around(self.graph, entity_ids, 2 * k, hops, self.at, self.words)]
        best: dict[tuple[str, ...], Fact] = {}
        for fact in found:
            name = (*circle(fact), fact.object_id) if is_value(fact) else (fact.id,)
            other = best.get(name)
            if other is None or (other.predicate in _EVENTS and fact.predicate not in _EVENTS):
                best[name] = fact
        return list(best.values())[:k]

    def line(self, fact: Fact) -> str:
        """The fact as a model reads it."""
        spell = fact.spell(self.at)
        assert spell is not None  # as for all facts found at this moment
        before = self.graph.before(fact, self.at)
        spoken = self.graph.spoken(fact)
        subject, object_ = self._also(fact.subject_id, spoken.subject), self._also(fact.object_id, spoken.object)
        return dated(replace(spoken, subject=subject, object=object_), spell, before, self.at)

    def name(self, entity: Entity) -> str:
        """The name of an entity, and the one that the question has for it."""
        return self._also(entity.id, clean_name(entity.name))

    def _also(self, entity_id: str, name: str) -> str:
        alias = self.called.get(entity_id)
        return name if alias is None or alias == name else f"{name} ({alias})"


@dataclass(frozen=True, slots=True)
class KnowledgePart:
    """Shows notes and facts; each stands on messages that are in the log now."""

    living: Living
    graphs: Graphs
    projector: Projector

    async def show(self, view: View, part: EntityVariant | KnowledgeGraph, *, with_facts: bool) -> Answer:
        """Show what is known, and the newest messages of the session after it.

        Notes hold facts only ``with_facts``: where another part shows them, they would stand there twice.
        Messages that were written just now are read first; when that takes too
        long, what is known without them is shown, and the part is degraded.
        """
        await self.projector.caught_up(view.key, view.upto_seq, ("entities", "triples"), PATIENCE)
        scene = await self._scene(view)
        graph = scene.graph
        shown = await recent(view, part.recent)
        behind = graph.applied_seq < view.upto_seq
        if isinstance(part, EntityVariant):
            items = await self._notes(
                view, scene, scene.asked[: min(part.max_entities, _MOST)], _FACTS_PER_NOTE if with_facts else 0
            )
            return Answer(Shown("entity", items, shown, degraded=behind), graph.applied_seq)
        facts = scene.facts_around([entity.id for entity in scene.asked], min(part.max_facts, _MOST))
        items = await self._facts(view, scene, facts)
        return Answer(Shown("knowledge_graph", items, shown, degraded=behind), graph.applied_seq)

    async def _scene(self, view: View) -> _Scene:
        ask, record = view.ask, view.record
        if ask.known_at is None:
            graph = await self.graphs.get(view.key, record.decided)
        else:
            graph = await self.graphs.as_known(view.key, ask.known_at.timestamp(), view.upto_seq)
        at = graph.present() if ask.valid_at is None else ask.valid_at.timestamp()
        asked = await asked_about(view, graph)
        return _Scene(graph, at, query_terms(ask.query), asked, called(asked, ask.query))

    async def _facts(self, view: View, scene: _Scene, facts: Sequence[Fact]) -> tuple[Item, ...]:
        alive = await self._alive(view, facts)
        items = [_fact_item(scene, fact, alive, rank) for rank, fact in enumerate(facts)]
        return tuple(item for item in items if item.source_ids)

    async def _notes(self, view: View, scene: _Scene, entities: Sequence[Entity], facts: int) -> tuple[Item, ...]:
        around = [scene.facts_around([entity.id], facts, hops=1) if facts else [] for entity in entities]
        alive = await self._alive(view, [*entities, *(fact for known in around for fact in known)])
        items = []
        for rank, (entity, known) in enumerate(zip(entities, around, strict=True)):
            said = [scene.line(fact) for fact in known if _ids(fact, alive)]
            if said or entity.mention_count:  # who only speaks is no news
                items.append(_note_item(scene, entity, said, alive, rank))
        return tuple(item for item in items if item.source_ids)

    async def _alive(self, view: View, known: Sequence[Fact | Entity]) -> dict[int, str]:
        """The ids, by seq, of those sources that are shown and in the log."""
        return await self.living.ids(view.record, (seq for one in known for seq in _shown(one)))


def _shown(known: Fact | Entity) -> Sequence[int]:
    """The sources that a fact or a note is shown with, oldest first."""
    return known.seqs[-_SOURCES:] if isinstance(known, Fact) else known.newest(_SOURCES)


def _ids(known: Fact | Entity, alive: dict[int, str]) -> tuple[str, ...]:
    return tuple(alive[seq] for seq in _shown(known) if seq in alive)


def _fact_item(scene: _Scene, fact: Fact, alive: dict[int, str], rank: int) -> Item:
    return Item(
        origin="knowledge_graph",
        kind="fact",
        text=scene.line(fact),
        time=datetime.fromtimestamp(fact.last_said, UTC),
        score=1.0 / (rank + 1),
        source_ids=_ids(fact, alive),
    )


def _note_item(scene: _Scene, entity: Entity, lines: Sequence[str], alive: dict[int, str], rank: int) -> Item:
    said = [*lines]
    if entity.mention_count:
        since = day(datetime.fromtimestamp(entity.first_seen, UTC))
        said.append(
            f"mentioned {entity.mention_count} {'time' if entity.mention_count == 1 else 'times'} since {since}"
        )
    return Item(
        origin="entity",
        kind="note",
        text=f"{scene.name(entity)} ({entity.type}){': ' if said else ''}{'; '.join(said)}",
        time=datetime.fromtimestamp(entity.last_seen, UTC),
        score=1.0 / (rank + 1),
        source_ids=_ids(entity, alive),
    )
