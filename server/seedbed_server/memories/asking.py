"""Whom a question is about: those it names, the one who asks it, or else those who were spoken of last."""

from __future__ import annotations

from collections.abc import Sequence

from seedbed_server.memories.view import View
from seedbed_server.projections.entities import QUERY_WORDS, Entity
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.names import canonical

# Messages in which those who are spoken of are looked for, when the query names nobody.
_LOOK_BACK = 4


async def asked_about(view: View, graph: MemoryGraph) -> list[Entity]:
    """Those whom the query names, and who asks where it says "I"; without either, who was spoken of and spoke last."""
    named = graph.entities.named_in(view.ask.query)
    oneself = graph.entities.by_form.get(canonical(view.asked_by))
    if oneself is not None and oneself not in named:
        named.append(oneself)
    if named:
        return named
    last = await view.tail(_LOOK_BACK)
    return graph.entities.named_in(" ".join(f"{message.text} , {message.name} ," for message in reversed(last)))


def called(asked: Sequence[Entity], query: str) -> dict[str, str]:
    """By entity, the other name by which a query calls it: who asks about Lex must be told of Lex."""
    words = f" {' '.join(map(canonical, query.split()[:QUERY_WORDS]))} "
    found = {}
    for entity in asked:
        used = [name for name in (entity.name, *entity.aliases) if f" {canonical(name)} " in words]
        if used and used[0] != entity.name:
            found[entity.id] = used[0]
    return found
