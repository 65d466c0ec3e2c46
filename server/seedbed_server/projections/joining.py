"""Names joined to names, each with a reason: a forest, in which every name leads to the one that stays."""

from __future__ import annotations

from typing import NamedTuple


class Alias(NamedTuple):
    """``from_id`` is another name of ``into_id``."""

    from_id: str
    into_id: str
    reason: str


class Roots:
    """A forest of names: each one's parent, up to the name that an entity is called by.

    Paths are shortened as they are walked, so n joins take little more than n steps, however they are chained.
    """

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._parents)

    def names(self) -> tuple[str, ...]:
        """The names that have a parent, in the order in which they got one."""
        return tuple(self._parents)

    def of(self, name: str) -> str:
        """The name that the entity of a name is called by; itself where it has no parent."""
        root = name
        while root in self._parents:
            root = self._parents[root]
        while name != root:
            self._parents[name], name = root, self._parents[name]
        return root

    def put(self, root: str, into: str) -> None:
        """Put a name that has no parent under another root."""
        self._parents[root] = into

    def join(self, one: str, into: str) -> bool:
        """Make one of two, wherever they stand; False where they are one already."""
        from_, to = self.of(one), self.of(into)
        if from_ != to:
            self._parents[from_] = to
        return from_ != to


class Joined:
    """Aliases, in the order in which they were found."""

    def __init__(self) -> None:
        self._roots = Roots()
        self._reasons: dict[str, str] = {}

    def end(self, i: str) -> str:
        """The name that a name leads to; itself where it was joined to none."""
        return self._roots.of(i)

    def join(self, from_id: str, to: str, reason: str) -> None:
        """Note an alias, and lead to its end what led to it; what is an alias already stays as it is."""
        into = self.end(to)
        if from_id != into and from_id not in self._reasons:
            self._roots.put(from_id, into)
            self._reasons[from_id] = reason

    def aliases(self) -> dict[str, Alias]:
        """All of them, each with the name that it leads to at last."""
        return {i: Alias(i, self.end(i), reason) for i, reason in self._reasons.items()}
