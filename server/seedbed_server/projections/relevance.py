"""Which facts share words with a query: an inverted index over what facts say."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from seedbed_server.models.predicates import SINGLE
from seedbed_server.projections import analysis
from seedbed_server.projections.triples import Fact

# What is asked for in other words than it was said: who moved to Porto lives there.
_ASKED_BY = {
    "residence": "live home reside move",
    "employer": "work job employer company",
    "spouse": "married husband wife spouse",
    "birthplace": "born",
}

MOST = 500  # facts of one term that are looked at, the newest: what very many hold says little


class FactWords:
    """The words of facts: of what is said of a subject, and not of the subject, who is asked for by name."""

    def __init__(self) -> None:
        self._holding: dict[str, dict[str, None]] = defaultdict(dict)  # ids of facts, oldest first
        self._known: set[str] = set()

    def add(self, fact: Fact) -> None:
        """Take a fact in, if it is not yet known: its words never change."""
        if fact.id in self._known:
            return
        self._known.add(fact.id)
        asked_by = _ASKED_BY[SINGLE[fact.predicate]] if fact.predicate in SINGLE else ""
        for term in analysis.terms(f"{fact.predicate} {fact.object} {asked_by}"):
            self._holding[term][fact.id] = None

    def holds(self, fact: Fact, terms: Sequence[str]) -> bool:
        """Whether a fact holds every one of some terms."""
        return all(fact.id in self._holding.get(term, ()) for term in terms)

    def shares(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the ids of facts that hold some of a query's terms, and which share of the terms' weight they hold.

        A term weighs the more the fewer facts hold it, as in BM25; one that no fact
        holds weighs nothing.
        """
        held = {term: self._holding[term] for term in terms if term in self._holding}
        weights = {term: self._weight(len(ids)) for term, ids in held.items()}
        whole = sum(weights.values())
        shares: dict[str, float] = defaultdict(float)
        for term, ids in held.items():
            for fact_id in islice(reversed(ids), MOST):
                shares[fact_id] += weights[term] / whole
        return shares

    def _weight(self, holding: int) -> float:
        return math.log1p((len(self._known) - holding + 0.5) / (holding + 0.5))
