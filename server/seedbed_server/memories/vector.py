"""Vector: the past messages that answer the query."""

from __future__ import annotations

from dataclasses import dataclass

from seedbed.seeds import Item, Shown
from seedbed.value import by_value
from seedbed.variants import Vector
from seedbed_server.memories.view import Answer, View
from seedbed_server.recall import Found, Recall, Search

# The most messages that a seed recalls, whatever its variant says.
MOST_HITS = 1000


@dataclass(frozen=True, slots=True)
class VectorPart:
    """Shows what recall finds, over all sessions, by value per token; the packer puts it in the order of time.

    What was said again and again comes once: a question that was asked ten times must not crowd out its answer.
    """

    recall: Recall

    def begin(self, query: str) -> None:
        """Let the encoder work on the query, before ``show`` asks for it; returns at once."""
        self.recall.begin(query)

    async def show(self, view: View, part: Vector, known: frozenset[str]) -> Answer:
        """Recall ``k`` messages besides those in ``known``, which the seed shows anyway."""
        k = min(part.k or Vector().k, MOST_HITS)
        ask = view.ask
        search = Search(
            ask.query,
            k + len(known),
            upto_seq=view.upto_seq,
            distinct=True,
            asked_at=ask.valid_at,
            asked_by=view.asked_by,
            as_known=ask.known_at is not None,
        )
        ranking = await self.recall.search(view.record, search)
        hits = [hit for hit in ranking.hits if hit.message.id not in known][:k]
        below = {"vector": min(ranking.below_floor, k)} if ranking.below_floor else {}
        shown = Shown(
            "vector", by_value([*map(_item, hits)]), degraded="dense" in ranking.degraded_legs, below_floor=below
        )
        return Answer(shown, ranking.applied_seq)


def _item(hit: Found) -> Item:
    message = hit.message
    return Item(
        origin="vector",
        kind="recalled",
        text=message.text,
        name=message.name,
        role=message.role,
        time=message.time,
        score=hit.score,
        source_ids=(message.id,),
        seq=message.seq,
    )
