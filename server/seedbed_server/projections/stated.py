"""Decisions about facts, as the graph reads them: what users stated, and what they took back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from seedbed_server.log import Decision, Retraction, Statement
from seedbed_server.projections.names import canonical, entity_id
from seedbed_server.projections.rows import ClaimRow, seconds
from seedbed_server.projections.triples import claim_fact_id

# Places of claims in a message, from here on, are those of statements: this much plus the id of the decision.
STATED = 1 << 20


def stated_claims(decisions: Iterable[Decision]) -> list[ClaimRow]:
    """Return the claims of statements, as if the message that each stands on had made them."""
    found: list[ClaimRow] = []
    for decision in decisions:
        said = decision.content
        if not isinstance(said, Statement) or decision.said_at is None:
            continue
        subject, object_ = canonical(said.subject), canonical(said.object)
        if not (subject and object_):  # stated under rules that took it for a name
            continue
        row = ClaimRow(
            *(0, decision.source, STATED + decision.id),
            *(entity_id(subject), said.subject, "other"),
            " ".join(said.predicate.split()),
            *(entity_id(object_), said.object, "other"),
            *(int(said.negated), "asserted", ""),
            *(seconds(decision.said_at), seconds(decision.recorded_at)),
            *(seconds(time) if time else None for time in (said.valid_from, said.valid_to)),
        )
        found.append(row)
    return found


class Retractions:
    """What was taken back, and when. A fact that is said again afterwards is believed again."""

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self._by_fact: defaultdict[str, list[Decision]] = defaultdict(list)
        for decision in decisions:
            if isinstance(decision.content, Retraction):
                for fact in decision.content.fact_ids:
                    self._by_fact[fact].append(decision)

    def of(self, claim: ClaimRow) -> float | None:
        """When a claim was taken back, in seconds since 1970; None where it was not. Its ids are those of its words."""
        if not self._by_fact:
            return None
        for decision in self._by_fact.get(claim_fact_id(claim), ()):
            before = decision.id > claim.place - STATED if claim.place >= STATED else claim.seq <= decision.last_seq
            if before:
                return seconds(decision.recorded_at)
        return None


def recorded_by(decisions: Iterable[Decision], at: float) -> list[Decision]:
    """Return the decisions that had been made by then; ``at`` is in seconds since 1970."""
    return [decision for decision in decisions if seconds(decision.recorded_at) <= at]
