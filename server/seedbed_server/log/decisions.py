"""What users decide about the graph of facts, as values and as rows.

Decisions are only ever appended: a merge is undone by a split, a fact is taken
back by a retraction, and both stay, because what was known when stays
answerable. They go with the messages that they stand on, and with the memory.
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

_KINDS: dict[str, type[Content]] = {"state": Statement, "merge": Merge, "split": Split, "retract": Retraction}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_TIMES = ("valid_from", "valid_to")


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision as it is stored.

    ``id`` grows with every decision of the server, ``last_seq`` was the memory's
    newest message then. A statement stands on the message ``source``, said at
    ``said_at``; the others have 0 and None there.
    """

    id: int
    content: Content
    last_seq: int
    source: int
    recorded_at: datetime
    said_at: datetime | None


def to_columns(content: Content) -> tuple[str, bytes]:
    """Return kind and body."""
    fields = asdict(content)
    for name in _TIMES:
        if fields.get(name) is not None:
            fields[name] = rows.to_micros(fields[name])
    return _NAMES[type(content)], json.dumps(fields).encode()


def from_row(row: Sequence[Any]) -> Decision:
    """Return the decision of a row of (id, kind, last_seq, source, recorded_at, body, time of the source)."""
    number, kind, last_seq, source, recorded_at, body, said = row
    fields = json.loads(body)
    for name in _TIMES:
        if fields.get(name) is not None:
            fields[name] = rows.from_micros(fields[name])
    if "fact_ids" in fields:
        fields["fact_ids"] = tuple(fields["fact_ids"])
    said_at = None if said is None else rows.from_micros(said)
    return Decision(number, _KINDS[kind](**fields), last_seq, source, rows.from_micros(recorded_at), said_at)


def digest(statements: Sequence[tuple[Statement, Sequence[bytes]]]) -> bytes:
    """Return the SHA-256 of statements with their sources: two batches share it only if they say the same."""
    said = [[*to_columns(statement)[1:], *sources] for statement, sources in statements]
    return sha256(b"statements" + repr(said).encode()).digest()
