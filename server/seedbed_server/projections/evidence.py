"""What a memory's claims say for and against two names being one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from seedbed_server.models.predicates import SINGLE
from seedbed_server.projections.rows import UNPLACED, ClaimRow, MentionRow

CLOSE = frozenset(
    """
    mother father wife husband spouse partner fiancé fiancée girlfriend boyfriend sister brother daughter son twin
    grandmother grandfather mother-in-law father-in-law boss manager landlord landlady
    """.split()  # noqa: SIM905 - one word after another reads best
)
"""Relations of which one has few: whoever shares one is likelier the same."""

Tie = tuple[bool, str, str]
"""Whether the name is the subject; the predicate, or the relation with one value that it speaks of; the other end."""


class Evidence:
    """The ties of each name, by id, and the messages it stands in."""

    def __init__(self) -> None:
        self._ties: defaultdict[str, set[Tie]] = defaultdict(set)
        self._values: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._seqs: defaultdict[str, set[int]] = defaultdict(set)

    def add_mention(self, mention: MentionRow) -> None:
        """Take in a mention."""
        if mention.start != UNPLACED:
            self._seqs[mention.entity_id].add(mention.seq)

    def add_claim(self, claim: ClaimRow) -> Sequence[str]:
        """Take in a claim; returns the ids of its ends for which it is news."""
        subject, object_ = claim.subject_id, claim.object_id
        self._seqs[subject].add(claim.seq)
        self._seqs[object_].add(claim.seq)
        if claim.modality != "asserted" or claim.negated:
            return ()
        predicate = SINGLE.get(claim.predicate, claim.predicate)
        news = []
        for end, tie in ((subject, (True, predicate, object_)), (object_, (False, predicate, subject))):
            known = self._ties[end]
            if tie not in known:
                known.add(tie)
                news.append(end)
        if predicate in SLOTS:
            self._values[subject][predicate].add(object_)
        return news

    def shared(self, one: str, other: str) -> int:
        """How much the two names have in common: 1 for a tie to the same, 2 for a relation of which one has few."""
        return sum(
            2 if not subject and predicate in CLOSE else 1
            for subject, predicate, _ in self._ties[one] & self._ties[other]
        )

    def conflict(self, one: str, other: str) -> bool:
        """Whether a message holds both names, or they never had the same home, employer, spouse or birthplace."""
        if not self._seqs[one].isdisjoint(self._seqs[other]):
            return True
        values, its_values = self._values[one], self._values[other]
        return any(values[slot].isdisjoint(its_values[slot]) for slot in values.keys() & its_values.keys())

    def times(self, i: str) -> int:
        """In how many messages a name stands."""
        return len(self._seqs[i])


SLOTS = frozenset(SINGLE.values())
