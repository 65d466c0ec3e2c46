"""What a graph of facts costs in processor time: to load, to grow by a message, and to ask. No model, no server."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from statistics import median

from benchmarks.outcome import Bar, Outcome
from seedbed_server.projections.graph import MemoryGraph, made_of
from seedbed_server.projections.names import canonical, entity_id
from seedbed_server.projections.nearness import facts_around
from seedbed_server.projections.rows import ClaimRow, Known, MentionRow

_PREDICATES = ("live in", "moved to", "work at", "like", "visit", "have", "know")
_PERSONS = 3_000
_ASKED = "What do you know about Person 5 and Person 7?"
_FACTS = 20  # as many as a KnowledgeGraph shows


def run(*, facts: int, rounds: int) -> Outcome:
    """Ask and grow a graph of about ``facts`` facts of many persons, and one in which all are of a single person."""
    found = {
        kind: _measured(_known(facts, hub=hub), rounds) for kind, hub in (("many persons", False), ("one person", True))
    }
    asks = [ask for _, _, ask in found.values()]
    return Outcome(
        (Bar(f"facts for a query from {facts} facts, processor time", "≤", 5, max(asks), "ms"),),
        tuple(
            (
                f"graph of {facts} facts of {kind}",
                f"loaded in {load:.2f} s, grows in {grow:.2f} ms, asked in {ask:.2f} ms",
            )
            for kind, (load, grow, ask) in found.items()
        ),
    )


def _measured(known: Known, rounds: int) -> tuple[float, float, float]:
    """Seconds to load, and milliseconds to grow and to ask, at the median."""
    began = time.process_time()
    graph = made_of(known)
    loaded = time.process_time() - began
    grow = median(_milliseconds(lambda: _grow(graph)) for _ in range(rounds))
    return loaded, grow, median(_milliseconds(lambda: _ask(graph)) for _ in range(rounds))


def _ask(graph: MemoryGraph) -> None:
    """What a seed asks of a graph: whom the query names, the facts around them, and what was before."""
    asked = [entity.id for entity in graph.entities.named_in(_ASKED)]
    at = graph.present()
    for ranked in facts_around(graph, asked, _FACTS, at=at):
        graph.before(ranked.fact, at)


def _grow(graph: MemoryGraph) -> None:
    seq = graph.applied_seq + 1
    assert graph.add(Known([], [_claim(seq, "Person 5", "like", f"Thing {seq}")], seq))


def _known(facts: int, *, hub: bool) -> Known:
    """A message for each fact, which names its subject."""
    chance = random.Random(7)
    mentions, claims = [], []
    for seq in range(1, facts + 1):
        subject = "Person 5" if hub else f"Person {chance.randrange(_PERSONS)}"
        predicate = chance.choice(_PREDICATES[3:] if hub else _PREDICATES)
        object_ = (
            f"Person {chance.randrange(_PERSONS)}" if predicate == "know" else f"Thing {seq if hub else seq % 2000}"
        )
        form = canonical(subject)
        mentions.append(MentionRow(1, seq, 0, 8, entity_id(form), form, "person", subject, float(seq)))
        claims.append(_claim(seq, subject, predicate, object_))
    return Known(mentions, claims, facts)


def _claim(seq: int, subject: str, predicate: str, object_: str) -> ClaimRow:
    kind = "person" if object_.startswith("Person") else "other"
    ends = [(entity_id(canonical(name)), name) for name in (subject, object_)]
    told = (1, seq, 0, *ends[0], "person", predicate, *ends[1], kind)
    return ClaimRow(*told, negated=0, modality="asserted", surface="", said_at=float(seq), recorded_at=float(seq))


def _milliseconds(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1_000
