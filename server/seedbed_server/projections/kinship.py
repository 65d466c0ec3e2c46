"""Who is meant by "Maya's father", where it was said who that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from seedbed_server.projections.names import canonical, entity_id
from seedbed_server.projections.rows import ClaimRow

KIN = frozenset(("mother", "father"))
"""Relations of which one has one, for life. A wife may be the one before, a sister another: nobody may say which."""


class Relative(NamedTuple):
    """Somebody's mother or father, told of without a name."""

    owner_id: str
    kind: str


class Kinship:
    """The parents that a memory speaks of, by name and without one.

    Whose they are is taken by name alone: through the other names of an owner, a
    split of these would have to undo what was said of the parent.
    """

    def __init__(self) -> None:
        self._unnamed: dict[str, Relative] = {}
        self._named: defaultdict[Relative, set[str]] = defaultdict(set)
        self._denied: defaultdict[Relative, set[str]] = defaultdict(set)

    def add_name(self, i: str, form: str) -> bool:
        """Take in a name; says whether it is a parent's without a name."""
        owner, _, kind = form.rpartition("'s ")
        if owner and kind in KIN:
            self._unnamed[i] = Relative(entity_id(owner), kind)
        return i in self._unnamed

    def add_claim(self, claim: ClaimRow) -> bool:
        """Take in a claim; says whether it is news of parents."""
        if claim.predicate not in KIN or claim.modality != "asserted" or "'s " in canonical(claim.object):
            return False
        known = (self._denied if claim.negated else self._named)[Relative(claim.subject_id, claim.predicate)]
        before = len(known)
        known.add(claim.object_id)
        return len(known) > before

    def meant(self, end: Callable[[str], str]) -> Iterator[tuple[str, str]]:
        """(parent without a name, the only one who was called that); ``end`` is the entity of a name."""
        for i, relative in sorted(self._unnamed.items()):
            named = set(map(end, self._named.get(relative, ())))
            if len(named) == 1 and named.isdisjoint(map(end, self._denied.get(relative, ()))):
                yield i, named.pop()
