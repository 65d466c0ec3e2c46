"""Decisions that an erasure would orphan, and the messages that may still speak for them.

A decision about names is erased with the last of its witnesses, since its ids
are digests of the names. Witnesses are of the time when it was made: names that
were said again since have others.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import suppress

from seedbed_server.errors import PartUnavailableError
from seedbed_server.log import Content, Log, Merge, Split, Witnesses
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.identity import alias_pair


async def call_witnesses(log: Log, graphs: Graphs, key: int, gone: AbstractSet[int]) -> None:
    """Find witnesses among the other messages for decisions of which all are about to go.

    A name that no message says that has been read is left without; while the
    derived store cannot be read, every one is.
    """
    found: dict[int, Witnesses] = {}
    with suppress(PartUnavailableError):
        for decision in await log.standing(key):
            names = _names(decision.content)
            groups = decision.witnesses if len(decision.witnesses) == len(names) else ((),) * len(names)
            if names and any(gone >= set(group) for group in groups):
                found[decision.id] = tuple(
                    [
                        await graphs.naming(key, name, but=gone) if gone >= set(group) else group
                        for name, group in zip(names, groups, strict=True)
                    ]
                )
    if found:
        await log.testify(key, found)


def _names(content: Content) -> tuple[str, ...]:
    match content:
        case Merge(_, into, from_):
            return (into, from_)
        case Split(merge_id):
            return alias_pair(merge_id) or ()
        case _:
            return ()
