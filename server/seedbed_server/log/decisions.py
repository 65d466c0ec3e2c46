"""What users decide about the graph of facts, as values and as rows.

Decisions are only ever appended: a merge is undone by a split, a fact is taken
back by a retraction, and both stay, because what was known when stays
answerable. They go with the messages that they stand on, and with the memory.

A statement stands on one message. The other decisions hold ids that are digests
of names, which somebody who has the database could guess. So each has
*witnesses*: for every name or fact in it, messages that say it. Where none of
these is left, the decision is erased with the last of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from seedbed_server.log import rows


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact as a user states it; without ``valid_from`` it holds from the time of the message it stands on."""

    subject: str
    predicate: str
    object: str
    negated: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """Two entities are one from now on: ``from_id`` is an alias of ``into_id``."""

    merge_id: str
    into_id: str
    from_id: str


@dataclass(frozen=True, slots=True)
class Split:
    """A merge is undone, or names that were taken for one are not one."""

    merge_id: str


@dataclass(frozen=True, slots=True)
class Retraction:
    """Facts are no longer believed, as far as they stand on what was recorded before."""

    fact_ids: tuple[str, ...]


Content = Statement | Merge | Split | Retraction

# Seqs of messages that say a name or a fact, for each of those in a decision.
Witnesses = tuple[tuple[int, ...], ...]

# The most witnesses kept for one name or fact, the newest.
MOST_WITNESSES = 64

_KINDS: dict[str, type[Content]] = {"state": Statement, "merge": Merge, "split": Split, "retract": Retraction}
_NAMES = {kind: name for name, kind in _KINDS.items()}
STATEMENT = _NAMES[Statement]
_TIMES = ("valid_from", "valid_to")


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision as it is stored.

    ``id`` grows with every decision of the server, ``last_seq`` was the memory's
    newest message then. A statement stands on the message ``source``, said at
    ``said_at``, or when that was recorded if its writer's clock was ahead; the
    others have 0 and None there, and ``witnesses``. ``name`` is what an export
    calls it and an import knows it by; "" in rows of older releases.
    """

    id: int
    content: Content
    last_seq: int
    source: int
    recorded_at: datetime
    said_at: datetime | None
    witnesses: Witnesses = ()
    name: str = ""


def to_columns(content: Content, witnesses: Witnesses = (), name: str = "") -> tuple[str, bytes]:
    """Return kind and body."""
    fields = asdict(content)
    if name:
        fields["name"] = name
    if witnesses:
        fields["witnesses"] = witnesses
    for time in _TIMES:
        if fields.get(time) is not None:
            fields[time] = rows.to_micros(fields[time])
    return _NAMES[type(content)], json.dumps(fields).encode()


def from_row(row: Sequence[Any]) -> Decision:
    """Return the decision of a row.

    It holds id, kind, last_seq, source, recorded_at, body, and of its source the time and recorded_at.
    """
    number, kind, last_seq, source, recorded_at, body, *times = row
    content, witnesses, name = from_body(kind, body)
    said_at = None if None in times else rows.from_micros(min(times))
    return Decision(number, content, last_seq, source, rows.from_micros(recorded_at), said_at, witnesses, name)


def from_body(kind: str, body: bytes) -> tuple[Content, Witnesses, str]:
    """Return what a kind and a body say: content, witnesses and name."""
    fields = json.loads(body)
    name = fields.pop("name", "")
    witnesses = tuple(map(tuple, fields.pop("witnesses", ())))
    for time in _TIMES:
        if fields.get(time) is not None:
            fields[time] = rows.from_micros(fields[time])
    if "fact_ids" in fields:
        fields["fact_ids"] = tuple(fields["fact_ids"])
    return _KINDS[kind](**fields), witnesses, name


def digest(statements: Sequence[tuple[Statement, Sequence[bytes]]]) -> bytes:
    """Return the SHA-256 of statements with their sources: two batches share it only if they say the same."""
    said = [[*to_columns(statement)[1:], *sources] for statement, sources in statements]
    return sha256(b"statements" + repr(said).encode()).digest()
