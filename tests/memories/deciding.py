"""All that decisions about a graph need, on a real log, with a tagger that reads "Maya | likes | rain"."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from seedbed.messages import Message
from seedbed.variants import Buffer
from seedbed_server.errors import MemoryExistsError
from seedbed_server.log import Log, MemoryRecord, NewMemory, Statement
from seedbed_server.memories.correcting import Corrections
from seedbed_server.memories.finding import Finding
from seedbed_server.memories.forgetting import Forgetting, Receipt
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.knowledge import Knowledge
from seedbed_server.projections.names import canonical, entity_id
from seedbed_server.projections.projector import Projector
from seedbed_server.recall_log import RecallLog
from tests.projections.script import Script

START = datetime(2026, 1, 1, tzinfo=UTC)
AT = ("n", "m")


@dataclass(frozen=True)
class Desk:
    """One memory, "m" of "n", and those who decide about it."""

    log: Log
    projector: Projector
    graphs: Graphs
    finding: Finding
    corrections: Corrections
    forgetting: Forgetting

    async def say(self, *texts: str, name: str = "Teller") -> list[str]:
        """Write messages, a day apart by their seqs, and wait until they are read; returns their ids."""
        last = (await self.log.get(*AT)).last_seq
        said = [Message("user", (text,), name, time=START + timedelta(days=last + n)) for n, text in enumerate(texts)]
        written = await self.log.append(*AT, "s", said)
        assert await self.projector.wait_applied(written.key, written.last_seq, timeout=60)
        return [*written.ids]

    async def record(self) -> MemoryRecord:
        return await self.log.get(*AT)

    async def graph(self) -> MemoryGraph:
        return await self.finding.graph(await self.record())

    async def state(self, source: str, *words: str, **fields: datetime) -> list[str]:
        """State "subject | predicate | object" on a message; returns the ids of the facts."""
        given = [(Statement(*said.split(" | "), **fields), [source]) for said in words]  # type: ignore[arg-type]
        _, graph, found = await self.corrections.state(*AT, given, "")
        return [graph.ids.said(one[0].id)[0] for one in found if one is not None]

    async def merge(self, into: str, from_: str) -> str:
        return (await self.corrections.merge(*AT, name_id(into), name_id(from_), preview=False)).merge_id

    async def split(self, merge_id: str) -> None:
        await self.corrections.split(*AT, merge_id)

    async def retract(self, *ids: str) -> int:
        return await self.corrections.retract(*AT, ids)

    async def forget(self, *ids: str) -> Receipt:
        return await self.forgetting.forget(*AT, ids)


def name_id(name: str) -> str:
    return entity_id(canonical(name))


def picture(graph: MemoryGraph) -> object:
    """What a graph says of the world, in an order of its own, under the ids that it shows."""
    facts = []
    for fact in graph.facts.values():
        spells = [(spell.valid_from, spell.valid_to) for spell in fact.spells]
        said = replace(graph.spoken(fact), id=graph.ids.said(fact.id)[0], surface="", spells=(), retracted_at=None)
        facts.append((astuple(said), spells, fact.retracted_at is None))
    entities = sorted(graph.entities.by_id.values(), key=lambda entity: entity.id)
    return sorted(facts), [(one.id, one.name, one.type, one.aliases, one.mention_count, one.seqs) for one in entities]


@asynccontextmanager
async def desk(folder: Path) -> AsyncIterator[Desk]:
    """Open one; in an empty folder, on an empty memory."""
    log = await Log.open(f"sqlite:///{folder / 'log.db'}")
    with suppress(MemoryExistsError):
        await log.create(*AT, NewMemory(Buffer(), ""))
    derived = await Derived.open(folder / "derived", [Knowledge.schema])
    knowledge = Knowledge(derived, Script())
    projector = Projector(log, derived, [knowledge])
    log.on_change = [projector.changed]
    graphs = Graphs(knowledge, log, lambda key: projector.applied(key)["entities"])
    finding = Finding(log, graphs, projector)
    recall_log = await RecallLog.open(log, folder, kept=0, most_bytes=0)
    await projector.start()
    try:
        forgetting = Forgetting(log, graphs, projector, derived, recall_log)
        yield Desk(log, projector, graphs, finding, Corrections(log, graphs, finding), forgetting)
    finally:
        await recall_log.close()
        await projector.stop()
        await log.close()
        await derived.close()
