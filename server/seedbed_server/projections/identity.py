"""Who is who: the merges that users decided, and the aliases that are evident.

Nothing stored is rewritten by a merge. Rows keep the id that follows from their
words, and are read through this map, so a split gives back what was there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from seedbed_server.log import Decision, Merge, Split
from seedbed_server.projections.aliases import Alias

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
        self.merges: dict[str, Merged] = {}
        self._root: dict[str, str] = {}
        self._members: defaultdict[str, list[str]] = defaultdict(list)
        self._merge(decisions)
        for name in list(self._root):
            self._members[self.of(name)].append(name)

    def of(self, entity_id: str) -> str:
        """The entity that a name's id belongs to; itself where it was merged into none."""
        while entity_id in self._root:
            entity_id = self._root[entity_id]
        return entity_id

    def members(self, entity_id: str) -> tuple[str, ...]:
        """All ids of names of an entity, its own first."""
        return (entity_id, *self._members.get(entity_id, ()))

    def __bool__(self) -> bool:
        return bool(self._root)

    def _merge(self, decisions: Iterable[Decision]) -> None:
        decided: dict[str, Merged] = {}
        apart: list[tuple[str, str]] = []
        for decision in decisions:
            match decision.content:
                case Merge(merge_id, into, from_):
                    decided[merge_id] = Merged(merge_id, from_, into, DECIDED, decision.recorded_at.timestamp())
                case Split(merge_id):
                    undone = decided.pop(merge_id, None)
                    apart.append((undone.from_id, undone.into_id) if undone else alias_ends(merge_id))
                case _:
                    pass
        for merged in decided.values():
            self._join(merged)
        for alias in self.evident.values():
            # What a user merged goes before evidence; and what a user split is not joined again, by whatever names.
            if self.of(alias.from_id) == alias.from_id and not self._joins(apart, alias):
                self._join(Merged(alias_id(alias), alias.from_id, alias.into_id, alias.reason, None))

    def _join(self, merged: Merged) -> None:
        from_, into = self.of(merged.from_id), self.of(merged.into_id)
        if from_ != into:  # two that are one already, by another way, need no second merge
            self._root[from_] = into
            self.merges[merged.merge_id] = merged

    def _joins(self, apart: Iterable[tuple[str, str]], alias: Alias) -> bool:
        """Whether an alias would join two names that are kept apart."""
        ends = {self.of(alias.from_id), self.of(alias.into_id)}
        return any({self.of(one), self.of(other)} == ends for one, other in apart)


def alias_id(alias: Alias) -> str:
    """The id under which an evident alias can be split."""
    return f"{alias.from_id}-{alias.into_id}"


def alias_ends(merge_id: str) -> tuple[str, str]:
    """The two names of an `alias_id`."""
    from_id, _, into_id = merge_id.partition("-")
    return from_id, into_id
