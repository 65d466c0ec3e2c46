"""Whom a question is about: those it names, the one who asks it, or else those who were spoken of last."""

from __future__ import annotations

import re
from collections.abc import Sequence

from seedbed_server.memories.view import View
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.names import canonical
from seedbed_server.projections.rows import speaker

# Messages in which those who are spoken of are looked for, when the query names nobody.
_LOOK_BACK = 4
# The newest messages, of all sessions, that show who uses a memory.
_USERS_BACK = 50
# How one who asks speaks of oneself; "US" is a country.
_SELF = re.compile(r"\b(?:[Ii]|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|us|[Oo]urs?|[Oo]urselves)\b")


async def asked_about(view: View, graph: MemoryGraph) -> list[Entity]:
    """Those whom the query names, and who asks where it says "I"; without either, who was spoken of and spoke last."""
    named = graph.entities.named_in(view.ask.query)
    asker = graph.entities.by_form.get(canonical(await _asker(view))) if _SELF.search(view.ask.query) else None
    if asker is not None and asker not in named:
        named.append(asker)
    if named:
        return named
    last = await view.tail(_LOOK_BACK)
    return graph.entities.named_in(" ".join(f"{message.text} , {message.name} ," for message in reversed(last)))


def called(asked: Sequence[Entity], query: str) -> dict[str, str]:
    """By entity, the other name by which a query calls it: who asks about Lex must be told of Lex."""
    words = f" {' '.join(map(canonical, query.split()))} "
    found = {}
    for entity in asked:
        used = [name for name in (entity.name, *entity.aliases) if f" {canonical(name)} " in words]
        if used and used[0] != entity.name:
            found[entity.id] = used[0]
    return found


async def _asker(view: View) -> str:
    """The user who spoke last in the session; where none has yet, the only user of late. Empty if nobody can tell."""
    for session, n in ((view.ask.session, _LOOK_BACK), ("", _USERS_BACK)):
        newest = await view.log.tail(view.key, session=session, n=n, upto_seq=view.upto_seq)
        users = [speaker(message) for message in reversed(newest) if message.role == "user"]
        if users and (session or len(set(users)) == 1):
            return users[0]
    return ""
