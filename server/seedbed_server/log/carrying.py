"""Decisions on their way from one memory to another, where messages have other seqs.

A copy has the messages of the original under their ids, so that is how decisions
name them. Each has an id of its own, which a copy keeps: an import that is
repeated finds it there. In rows of older releases, which have none, it follows
from what they say, and from how many before them say the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from seedbed_server.log import deciding, queries
from seedbed_server.log.connection import Connection
from seedbed_server.log.decisions import Content, Retraction, Statement, to_columns
from seedbed_server.log.places import Place


@dataclass(frozen=True, slots=True)
class Carried:
    """A decision with messages by their ids; ``source`` is "" where it is no statement.

    It takes back, or joins, what was recorded up to the message ``after``, "" for
    nothing. ``recorded_at`` is of the original, and None on the way in.
    """

    id: str
    content: Content
    after: str
    source: str
    witnesses: tuple[tuple[str, ...], ...]
    recorded_at: datetime | None = None


def carried(c: Connection, key: int) -> list[Carried]:
    """Return a memory's decisions, in order; messages that are gone are left out."""
    decisions = deciding.read(c, key)
    if not decisions:
        return []
    alive = queries.seqs(c, key, 0)
    after = {made.id: alive[at - 1] if (at := bisect_right(alive, made.last_seq)) else 0 for made in decisions}
    named = {seq for made in decisions for seq in (made.source, *(seq for group in made.witnesses for seq in group))}
    ids = queries.alive(c, key, sorted(named.union(after.values())))
    seen: Counter[str] = Counter()
    found: list[Carried] = []
    for made in decisions:
        source = ids.get(made.source, "")
        name = made.name
        if not name:
            kind, body = to_columns(made.content)
            said = sha256(b"\x00".join((kind.encode(), body, source.encode()))).hexdigest()[:24]
            seen[said] += 1
            name = f"{said}-{seen[said]}"
        witnesses = tuple(tuple(ids[seq] for seq in group if seq in ids) for group in made.witnesses)
        earlier = ids.get(after[made.id], "")
        found.append(Carried(name, made.content, earlier, source, witnesses, made.recorded_at))
    return found


def take_in(c: Connection, place: Place, given: Sequence[Carried]) -> int:
    """Store decisions that the memory does not have; returns how many.

    Passed over are those that speak of messages which the memory does not have.
    """
    have = {one.id for one in carried(c, place.key)}
    wanted = {
        one.encode()
        for made in given
        for one in (made.after, made.source, *(witness for group in made.witnesses for witness in group))
    }
    seqs = {one.decode(): seq for one, seq in queries.seqs_by_id(c, place.key, sorted(wanted - {b""})).items()}
    fresh: dict[str, Carried] = {}
    for made in given:
        if made.id not in have:
            fresh.setdefault(made.id, made)
    rows = [row for made in fresh.values() if (row := _row(made, seqs)) is not None]
    if rows:
        deciding.append(c, place, rows)
    return len(rows)


def _row(made: Carried, seqs: Mapping[str, int]) -> deciding.Row | None:
    witnesses = tuple(tuple(sorted(seqs[one] for one in group if one in seqs)) for group in made.witnesses)
    stated = isinstance(made.content, Statement)
    # Nobody could call witnesses for a fact that has none: it would outlive what it was about.
    lost = isinstance(made.content, Retraction) and (not witnesses or (made.after and made.after not in seqs))
    if (stated and made.source not in seqs) or lost or not all(witnesses):
        return None
    return deciding.Row(made.content, seqs[made.source] if stated else 0, witnesses, seqs.get(made.after, 0), made.id)
