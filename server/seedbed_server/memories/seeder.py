"""From a variant to a seed: every part shows what it would, and one packer fits it to the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seedbed.packing import pack
from seedbed.seeds import Seed, Shown
from seedbed.variants import (
    Buffer,
    Custom,
    Entity,
    Hybrid,
    KnowledgeGraph,
    Summary,
    SummaryBuffer,
    TokenBuffer,
    Variant,
    Vector,
    Window,
)
from seedbed.wire import seed_to_proto
from seedbed_server.errors import PartUnavailableError
from seedbed_server.log import Log, MemoryRecord
from seedbed_server.memories.custom import CustomPart
from seedbed_server.memories.knowledge import KnowledgePart
from seedbed_server.memories.recency import show_recency
from seedbed_server.memories.summaries import SummaryPart
from seedbed_server.memories.vector import VectorPart
from seedbed_server.memories.view import MOST_BYTES, Answer, Ask, View, too_large
from seedbed_server.recall import asker

_RECENCY = (Buffer, Window, TokenBuffer)
_OF_PERSONS = (Vector, Entity, KnowledgeGraph)
_ORIGINS: dict[type[Variant], str] = {
    Summary: "summary",
    SummaryBuffer: "summary_buffer",
    Entity: "entity",
    KnowledgeGraph: "knowledge_graph",
    Vector: "vector",
}


@dataclass(frozen=True, slots=True)
class Seeder:
    """Makes seeds. It holds no state of its own."""

    log: Log
    vector: VectorPart
    knowledge: KnowledgePart
    summary: SummaryPart
    custom: CustomPart

    async def seed(self, record: MemoryRecord, variant: Variant, ask: Ask) -> Seed:
        """Return what the model should see now.

        A part whose models are not running shows nothing and is named in
        ``degraded_parts``; the seed itself never fails for it. Raises
        VariantNotRegisteredError for an unknown custom variant, and TooLargeError
        for a seed that is more than an answer may hold.
        """
        self.custom.require(variant)
        upto = record.last_seq if ask.known_at is None else await self.log.seq_at(record.key, ask.known_at)
        view = View(self.log, record, ask, upto, budget(variant, ask.max_tokens))
        parts = (
            [part for part in variant.parts if isinstance(part, Variant)] if isinstance(variant, Hybrid) else [variant]
        )
        answers = await self._show_all(view, parts)
        # Counting tokens of large texts takes a while: not on the event loop.
        seed = await asyncio.to_thread(pack, record.system, [answer.shown for answer in answers], view.budget)
        if _is_large(seed) and seed_to_proto(seed).ByteSize() > MOST_BYTES:
            raise too_large()
        applied = [answer.applied_seq for answer in answers if answer.applied_seq is not None]
        return replace(seed, applied_seq=min(applied, default=record.last_seq))

    async def _show_all(self, view: View, parts: Sequence[Variant]) -> list[Answer]:
        """Ask the recency parts first: recall need not look for what they show anyway."""
        if any(isinstance(part, Vector) for part in parts):
            self.vector.begin(view.ask.query)
        answers: dict[int, Answer] = {}
        for at, part in enumerate(parts):
            if isinstance(part, _RECENCY):
                answers[at] = await show_recency(view, part)
        if any(isinstance(part, _OF_PERSONS) for part in parts):
            view.asked_by = await asker(view.log, view.key, view.ask.query, view.ask.session, view.upto_seq)
        known = frozenset(message.id for answer in answers.values() for message in answer.shown.recent)
        rest = [at for at in range(len(parts)) if at not in answers]
        alone = not any(isinstance(part, KnowledgeGraph) for part in parts)
        found = await asyncio.gather(*(self._show(view, parts[at], known, notes_with_facts=alone) for at in rest))
        answers.update(zip(rest, found, strict=True))
        return [answers[at] for at in range(len(parts))]

    async def _show(self, view: View, part: Variant, known: frozenset[str], *, notes_with_facts: bool) -> Answer:
        try:
            match part:
                case Vector():
                    return await self.vector.show(view, part, known)
                case Entity() | KnowledgeGraph():
                    return await self.knowledge.show(view, part, with_facts=notes_with_facts)
                case Summary() | SummaryBuffer():
                    return await self.summary.show(view, part)
                case Custom():
                    return await self.custom.show(view, part)
        except PartUnavailableError:
            return Answer(Shown(_ORIGINS[type(part)], degraded=True))
        raise AssertionError(f"no such part: {type(part).__name__}")


def _is_large(seed: Seed) -> bool:
    """Whether it is worth measuring: a cheap sum, at least a quarter of the seed's bytes but for small things."""
    texts = (part if isinstance(part, str) else part.data for entry in seed.entries for part in entry.parts)
    calls = (call.arguments for entry in seed.entries for call in entry.tool_calls)
    items = (item.text for entry in seed.entries for item in entry.items)
    pieces = sum(len(entry.parts) + len(entry.items) + 1 for entry in seed.entries)
    return sum(map(len, (*texts, *calls, *items))) + 100 * pieces > MOST_BYTES // 4


def budget(variant: Variant, asked: int | None) -> int | None:
    """The budget of a seed in tokens: the smaller of what was asked and the variant's own; None without either."""
    given = [limit for limit in (asked, getattr(variant, "max_tokens", None)) if limit is not None]
    return min(given, default=None)
