"""Which rows count: those whose supposed names the memory knows.

"bill called" is about Bill only where somebody is surely called Bill, anywhere in
the memory, before or after. Worked out when rows are read, like all that follows
from several messages: so the order of arrival does not matter, and what rested on
a message goes with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from seedbed_server.projections.rows import ClaimRow, Known, MentionRow, Standing


class Beliefs:
    """Holds back the rows of one memory that do not count yet, by the id of a name that they wait for."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._mentions: defaultdict[str, list[MentionRow]] = defaultdict(list)
        self._claims: defaultdict[str, list[ClaimRow]] = defaultdict(list)

    def admit(self, known: Known) -> Known:
        """Return those of the rows that count, and of earlier ones those that count from now on."""
        certain = {row.entity_id for row in known.mentions if row.standing == Standing.CERTAIN} - self._names
        self._names |= certain
        if not certain and all(row.standing for row in known.mentions) and not any(r.rests_on for r in known.claims):
            return known  # as nearly always
        released = sorted(certain)
        mentions = [row for name in released for row in self._mentions.pop(name, ())]
        claims = [row for name in released for row in self._claims.pop(name, ())]
        return replace(
            known,
            mentions=self._of_mentions((*mentions, *known.mentions)),
            claims=self._of_claims((*claims, *known.claims)),
        )

    def _of_mentions(self, rows: Iterable[MentionRow]) -> list[MentionRow]:
        counting = []
        for row in rows:
            if row.standing == Standing.SUPPOSED and row.entity_id not in self._names:
                self._mentions[row.entity_id].append(row)
            else:
                counting.append(row)
        return counting

    def _of_claims(self, rows: Iterable[ClaimRow]) -> list[ClaimRow]:
        counting = []
        for row in rows:
            unknown = next((name for name in row.rests_on.split() if name not in self._names), None)
            if unknown is None:
                counting.append(row)
            else:
                self._claims[unknown].append(row)
        return counting
