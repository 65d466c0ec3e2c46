"""What the facts of a memory say to a question: from which messages those stem that answer it.

Who asks where Maya lives is answered by "we moved to Porto on Saturday!!", which
shares no word with the question, and less of its sense than "I live in Lisbon",
which is over. The graph knows both, and which of them holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from seedbed_server.errors import PartUnavailableError
from seedbed_server.log import Log, MemoryRecord
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.names import canonical
from seedbed_server.projections.nearness import RELEVANT, VALUE, stating
from seedbed_server.recall.asker import asker

FACTS = 20
"""Facts whose sources are looked at, the best."""
PATIENCE = 2.0
"""Seconds that a search waits for a graph: 10,000 facts load in 1.3. The loading goes on for the next search."""

_WHOLE = VALUE + RELEVANT  # of a fact about whom was asked, which holds every word asked for, and of which there is one


@dataclass(frozen=True, slots=True)
class Stated:
    """The messages that a fact stems from, how relevant it is (up to 1), and whether it answers by itself."""

    seqs: Sequence[int]
    relevance: float
    answers: bool


class FactSources:
    """Looks facts up in the graphs of memories."""

    def __init__(self, graphs: Graphs, log: Log) -> None:
        self._graphs = graphs
        self._log = log

    async def asked_for(
        self, record: MemoryRecord, query: str, session: str, terms: Sequence[str], at: float | None
    ) -> Sequence[Stated] | None:
        """The facts that hold ``at`` a time (now, if none) around those whom a query names; None if not to be had.

        The one who asks, in ``session``, is named by "I" and "my".
        """
        asking = await asker(self._log, record.key, query, session, record.last_seq)
        loading = asyncio.ensure_future(self._graphs.get(record.key, record.decided))
        try:
            async with asyncio.timeout(PATIENCE):
                graph = await asyncio.shield(loading)
        except (TimeoutError, PartUnavailableError):
            loading.add_done_callback(asyncio.Future.exception)  # nobody else asks how it went
            return None
        oneself = graph.entities.by_form.get(canonical(asking))
        named = {entity.id: None for entity in (*graph.entities.named_in(query), oneself) if entity}
        return _stated(graph, [*named], terms, at)


def _stated(graph: MemoryGraph, named: Sequence[str], terms: Sequence[str], at: float | None) -> list[Stated]:
    found = stating(graph, named, FACTS, terms, at) if named else []
    return [Stated(each.fact.seqs, min(1.0, each.score / _WHOLE), each.score >= _WHOLE) for each in found]
