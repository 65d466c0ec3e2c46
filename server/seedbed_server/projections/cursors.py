"""How far each projection is with each memory: the rows of tables ``projection`` and ``cursor``."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Cursors:
    """One projection's place in the log, as committed.

    ``applied`` and ``skipped`` are per memory; ``erasure_id`` is the last erasure
    carried out. Rows that a lost or outdated store may have left behind belong to
    memories with a key up to ``clean_after``: those are dropped before their first
    batch, later ones cannot have any.
    """

    fingerprint: str
    erasure_id: int = 0
    clean_after: int = 0
    applied: dict[int, int] = field(default_factory=dict)
    skipped: dict[int, int] = field(default_factory=dict)


def load(db: sqlite3.Connection, name: str) -> Cursors | None:
    """Read a projection's place; None when it never began."""
    row = db.execute("SELECT fingerprint, erasure_id, clean_after FROM projection WHERE name = ?", (name,)).fetchone()
    if row is None:
        return None
    cursors = Cursors(*row)
    for key, applied, skipped in db.execute(
        "SELECT key, applied_seq, skipped FROM cursor WHERE projection = ?", (name,)
    ):
        cursors.applied[key] = applied
        if skipped:
            cursors.skipped[key] = skipped
    return cursors


def begin(db: sqlite3.Connection, name: str, cursors: Cursors) -> None:
    """Set a projection back to the start of the log."""
    db.execute("DELETE FROM cursor WHERE projection = ?", (name,))
    db.execute(
        "INSERT OR REPLACE INTO projection VALUES (?, ?, ?, ?)",
        (name, cursors.fingerprint, cursors.erasure_id, cursors.clean_after),
    )


def advance(db: sqlite3.Connection, name: str, positions: Mapping[int, int], skipped: Mapping[int, int]) -> None:
    """Move memories' cursors to ``positions``, and add to what was skipped."""
    db.executemany(
        "INSERT INTO cursor VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "applied_seq = max(applied_seq, excluded.applied_seq), skipped = skipped + excluded.skipped",
        [(name, key, seq, skipped.get(key, 0)) for key, seq in positions.items()],
    )


def erased(db: sqlite3.Connection, name: str, erasure_id: int) -> None:
    """Note that all erasures up to this one are carried out."""
    db.execute("UPDATE projection SET erasure_id = ? WHERE name = ?", (erasure_id, name))


def remove(db: sqlite3.Connection, name: str, key: int, *, distrust: bool = False) -> None:
    """Forget where a memory stood; with ``distrust`` its rows are dropped before its next batch."""
    db.execute("DELETE FROM cursor WHERE projection = ? AND key = ?", (name, key))
    if distrust:
        db.execute("UPDATE projection SET clean_after = max(clean_after, ?) WHERE name = ?", (key, name))
