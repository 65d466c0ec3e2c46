"""Who is meant by "Maya's father", where it was said who that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TypeVar

from seedbed_server.projections.names import canonical, entity_id
from seedbed_server.projections.rows import ClaimRow

T = TypeVar("T")

COUPLE = frozenset(("wife", "husband", "spouse", "partner", "fiancé", "fiancée", "girlfriend", "boyfriend"))
KIN = COUPLE | frozenset("mother father stepmother stepfather sister brother son daughter twin".split())  # noqa: SIM905
"""Relations that are mostly told of one: friends and uncles are many, and bosses change without a word."""

PARTED = frozenset(("divorce", "be divorced from", "be separated from", "used to be married to", "leave"))


class Kinship:
    """The relatives that a memory speaks of, by name and without one."""

    def __init__(self) -> None:
        self._unnamed: dict[str, tuple[int, str, str]] = {}  # links, owner and relation, by the id of "maya's father"
        self._named: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._denied: set[tuple[str, str, str]] = set()
        self._parted: set[tuple[str, str]] = set()

    def add_name(self, i: str, form: str) -> bool:
        """Take in a name; says whether it is one of a relative without a name."""
        owner, _, kind = form.rpartition("'s ")
        if owner and kind in KIN:
            self._unnamed[i] = (form.count("'s "), entity_id(owner), kind)
        return i in self._unnamed

    def add_claim(self, claim: ClaimRow) -> bool:
        """Take in a claim; says whether it is news of relatives."""
        if claim.modality != "asserted":
            return False
        owner, kind, relative = claim.subject_id, claim.predicate, claim.object_id
        if kind in KIN and claim.negated:
            return _is_new(self._denied, (owner, kind, relative))
        if kind in KIN:
            return "'s " not in canonical(claim.object) and _is_new(self._named[owner, kind], relative)
        if (kind in PARTED or kind.startswith("ex-")) and not claim.negated:
            return _is_new(self._parted, (owner, relative))
        return False

    def meant(self, end: Callable[[str], str]) -> Iterator[tuple[str, str]]:
        """(relative without a name, the only one who was called that); ``end`` is the entity of a name by now.

        "Maya's sister" comes before "Maya's sister's son", whose owner may be found by then.
        """
        for (_, owner, kind), i in sorted((said, i) for i, said in self._unnamed.items()):
            whose = end(owner)
            meant = {
                end(relative)
                for (one, its), relatives in self._named.items()
                if its == kind and end(one) == whose
                for relative in relatives
                if (one, kind, relative) not in self._denied
            }
            name = meant.pop() if len(meant) == 1 else ""
            if name and not (kind in COUPLE and self._are_parted(whose, name, end)):
                yield i, name

    def _are_parted(self, one: str, other: str, end: Callable[[str], str]) -> bool:
        return any({end(a), end(b)} == {one, other} for a, b in self._parted)


def _is_new(known: set[T], one: T) -> bool:
    before = len(known)
    known.add(one)
    return len(known) > before
