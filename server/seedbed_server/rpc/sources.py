"""Which messages that are in the log now an entity or a fact stands on: what stands on none is not there any more."""

from __future__ import annotations

from collections.abc import Sequence

from seedbed_server.log import Log
from seedbed_server.projections.entities import Entity
from seedbed_server.projections.triples import Fact
from seedbed_server.rpc.knowledge_answers import SOURCES

Known = Fact | Entity


async def sources(log: Log, key: int, known: Sequence[Known]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the newest SOURCES messages, oldest first, by the id of what stands on them.

    What no message in the log supports is left out. Older sources are looked for only where the newest are gone, which
    is as long as an erasure is under way.
    """
    found = await _alive(log, key, {one.id: _newest(one, SOURCES) for one in known})
    gone = {one.id: _newest(one, len(one.seqs)) for one in known if one.id not in found and len(one.seqs) > SOURCES}
    return found | await _alive(log, key, gone) if gone else found


def _newest(known: Known, n: int) -> Sequence[int]:
    return known.seqs[-n:] if isinstance(known, Fact) else known.newest(n)


async def _alive(log: Log, key: int, wanted: dict[str, Sequence[int]]) -> dict[str, tuple[str, ...]]:
    alive = await log.alive(key, sorted({seq for seqs in wanted.values() for seq in seqs}))
    ids = {one: tuple(alive[seq] for seq in seqs if seq in alive)[-SOURCES:] for one, seqs in wanted.items()}
    return {one: found for one, found in ids.items() if found}
