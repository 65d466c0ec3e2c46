"""Who is who: the merges that users decided, and the aliases that are evident.

Nothing stored is rewritten by a merge. Rows keep the id that follows from their
words, and are read through this map, so a split gives back what was there.

- Decisions count in their order. A merge of two that earlier merges in effect had
  made one is void, and stays so when those are split.
- A split keeps the two names apart: no evidence joins what they belong to. Only
  another merge does.
- What users merged goes before what is evident.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from seedbed_server.log import Decision, Merge, Split
from seedbed_server.projections.joining import Alias, Roots

DECIDED = "merged by a user"


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that is in effect; ``since`` is in seconds since 1970, None for what is evident from the rows."""

    merge_id: str
    from_id: str
    into_id: str
    reason: str
    since: float | None


class Identity:
    """The map from ids of names to ids of entities."""

    def __init__(self, decisions: Iterable[Decision] = (), evident: Mapping[str, Alias] | None = None) -> None:
        self.evident = dict(evident or {})
        decided = _Decided(decisions)
        self.merges = dict(decided.in_effect)
        self._roots = decided.roots
        self._apart: defaultdict[str, set[str]] = defaultdict(set)  # by entity, the names that it is kept apart from
        for one, other in decided.apart:
            self._apart[self.of(one)].add(other)
            self._apart[self.of(other)].add(one)
        for alias in self.evident.values():
            self._join(Merged(alias_id(alias), alias.from_id, alias.into_id, alias.reason, None))
        self._members: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._roots.names():
            self._members[self.of(name)].append(name)
        self._merges_of: defaultdict[str, list[Merged]] = defaultdict(list)
        for merged in self.merges.values():
            self._merges_of[self.of(merged.from_id)].append(merged)

    def of(self, entity_id: str) -> str:
        """The entity that a name's id belongs to; itself where it was merged into none."""
        return self._roots.of(entity_id)

    def members(self, entity_id: str) -> tuple[str, ...]:
        """All ids of names of an entity, its own first."""
        return (entity_id, *self._members.get(entity_id, ()))

    def merges_of(self, entity_id: str) -> Sequence[Merged]:
        """The merges in effect that an entity came of, those of users first."""
        return self._merges_of.get(entity_id, ())

    def __bool__(self) -> bool:
        return bool(self._roots)

    def _join(self, evident: Merged) -> None:
        from_, into = self.of(evident.from_id), self.of(evident.into_id)
        if from_ == into or from_ != evident.from_id:
            return
        if any(self.of(name) == into for name in self._apart[from_]):
            return
        self._roots.put(from_, into)
        self._apart[into] |= self._apart.pop(from_)
        self.merges[evident.merge_id] = evident


class _Decided:
    """The merges in effect after some decisions, by id, and the pairs of names that splits keep apart."""

    def __init__(self, decisions: Iterable[Decision]) -> None:
        self.in_effect: dict[str, Merged] = {}
        self.roots = Roots()
        self.apart: list[tuple[str, str]] = []
        for decision in decisions:
            match decision.content:
                case Merge(merge_id, into, from_):
                    if merge_id not in self.in_effect and self.roots.join(from_, into):
                        since = decision.recorded_at.timestamp()
                        self.in_effect[merge_id] = Merged(merge_id, from_, into, DECIDED, since)
                case Split(merge_id):
                    self._split(merge_id)
                case _:
                    pass

    def _split(self, merge_id: str) -> None:
        merged = self.in_effect.pop(merge_id, None)
        if merged is not None:
            self.apart.append((merged.from_id, merged.into_id))
            self.roots = Roots()
            for other in self.in_effect.values():
                self.roots.join(other.from_id, other.into_id)
        elif (pair := alias_pair(merge_id)) is not None:
            self.apart.append(pair)


def alias_id(alias: Alias) -> str:
    """The id under which an evident alias can be split."""
    return f"{alias.from_id}-{alias.into_id}"


def alias_pair(merge_id: str) -> tuple[str, str] | None:
    """The ids of the two names that such an id is made of; None for the id of a decided merge."""
    from_, dash, into = merge_id.partition("-")
    return (from_, into) if dash else None
