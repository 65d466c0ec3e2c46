"""The ids of facts: those of the words that they were first said in, whatever is merged or split.

Within a graph a fact has the id that its merged ends give it. Outside it has the
id of its first claim as that was said, which no merge changes; the ids of its
other claims name it too. So an id that was given once names the fact for as long
as the log has a message that says it in these words.
"""

from __future__ import annotations

from collections import defaultdict

from seedbed_server.projections.identity import Identity
from seedbed_server.projections.rows import ClaimRow
from seedbed_server.projections.triples import claim_fact_id

Place = tuple[int, int]  # seq and place of a claim


class FactIds:
    """The ids of facts whose ends have several names; of all others the one id is theirs everywhere."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._fact: dict[str, str] = {}
        self._said: defaultdict[str, dict[str, Place]] = defaultdict(dict)

    def within(self, stated: ClaimRow) -> ClaimRow:
        """Return a claim with the ends that it has in the graph."""
        subject, object_ = self._identity.of(stated.subject_id), self._identity.of(stated.object_id)
        if (subject, object_) == (stated.subject_id, stated.object_id):
            return stated
        return stated._replace(subject_id=subject, object_id=object_)

    def add(self, stated: ClaimRow) -> None:
        """Take a claim in as it was said."""
        ends = [self._identity.of(end) for end in (stated.subject_id, stated.object_id)]
        if not any(len(self._identity.members(end)) > 1 for end in ends):
            return
        said, fact = claim_fact_id(stated), claim_fact_id(self.within(stated))
        place = (stated.seq, stated.place)
        self._fact[said] = fact
        known = self._said[fact]
        known[said] = min(place, known.get(said, place))

    def fact(self, given: str) -> str:
        """The id within the graph of the fact that has this id, if there is one."""
        return self._fact.get(given, given)

    def said(self, fact_id: str) -> tuple[str, ...]:
        """All ids by which a fact of the graph was said, the first one first."""
        known = self._said.get(fact_id)
        return (fact_id,) if known is None else tuple(sorted(known, key=known.__getitem__))
