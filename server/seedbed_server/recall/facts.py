"""What the facts of a memory say to a question: from which messages those stem that answer it.

Who asks where Maya lives is answered by "we moved to Porto on Saturday!!", which
shares no word with the question, and less of its sense than "I live in Lisbon",
which is over. The graph knows both, and which of them holds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from seedbed_server.errors import PartUnavailableError
from seedbed_server.log import MemoryRecord
from seedbed_server.projections.graph import MemoryGraph
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.names import canonical
from seedbed_server.projections.nearness import RELEVANT, VALUE, stating

log = logging.getLogger(__name__)

FACTS = 20
"""Facts whose sources are looked at, the best."""
TERMS = 16
"""Terms of the longest query that is held against facts: no fact answers more, and each costs time."""
CHARACTERS = 2000
"""Of a query that are looked at for names."""
PATIENCE = 2.0
"""Seconds that a search waits for a graph: 10,000 facts load in 1.3. The loading goes on for the searches after it."""


@dataclass(frozen=True, slots=True)
class Stated:
    """The messages that a fact stems from, how relevant it is (up to 1), and whether it answers by itself."""

    seqs: Sequence[int]
    relevance: float
    answers: bool


@dataclass(frozen=True, slots=True)
class Said:
    """What facts say, the best first; not ``complete`` where they could not be had, or messages are not read yet."""

    stated: Sequence[Stated]
    complete: bool


NOTHING = Said((), complete=True)


class FactSources:
    """Looks facts up in the graphs of memories. For one event loop."""

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        self._late: set[int] = set()  # memories whose graphs are loading for longer than a search waits

    async def asked_for(
        self, record: MemoryRecord, query: str, terms: Sequence[str], *, asked_by: str, at: datetime | None
    ) -> Said:
        """What the facts say that hold ``at`` a time (now, if none) of those whom a query names.

        The one who asks in the first person, ``asked_by``, counts as named.
        """
        if len(terms) > TERMS:
            return NOTHING
        if record.key in self._late:
            return Said((), complete=False)
        looking = asyncio.create_task(self._look(record, query[:CHARACTERS], asked_by, terms, at))
        await asyncio.wait([looking], timeout=PATIENCE)
        if looking.done():
            return looking.result()
        self._late.add(record.key)
        looking.add_done_callback(lambda _: self._late.discard(record.key))
        return Said((), complete=False)

    async def _look(
        self, record: MemoryRecord, query: str, asked_by: str, terms: Sequence[str], at: datetime | None
    ) -> Said:
        try:
            graph = await self._graphs.get(record.key, record.decided)
            # Read before anything is awaited: the graph may grow.
            return _said(graph, query, asked_by, terms, at, current=graph.applied_seq >= record.last_seq)
        except PartUnavailableError:
            return Said((), complete=False)
        except Exception as error:  # noqa: BLE001 - facts are an aid: without them the words and vectors still answer
            log.error("facts cannot be looked up: %s", type(error).__name__)  # noqa: TRY400 - the text may be a user's
            return Said((), complete=False)


def _said(
    graph: MemoryGraph, query: str, asked_by: str, terms: Sequence[str], at: datetime | None, *, current: bool
) -> Said:
    """Nothing answers in a graph that is not ``current``: what was said last may have ended what seems to hold."""
    oneself = graph.entities.by_form.get(canonical(asked_by))
    named = {entity.id: None for entity in (*graph.entities.named_in(query), oneself) if entity}
    found = stating(graph, [*named], FACTS, terms, None if at is None else at.timestamp()) if named else []
    stated = [
        Stated(each.fact.seqs, min(1.0, each.score / (VALUE + RELEVANT)), each.answers and current) for each in found
    ]
    return Said(stated, complete=current)
