"""The summaries of a memory's sessions as they are stored, and what was asked for.

A checkpoint is made of the one before it and a block of messages; a leaf, on
demand, ends where it was asked to, and nothing is built on it. A message is
folded when a summary was made of it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from seedbed.messages import Message
from seedbed_server.projections.summarisers import Draft, Line

MAX_SEQ = 2**63 - 1
LEAVES = 4  # summaries on demand kept per session, the newest made, besides the checkpoints
SOURCE_BLOCKS = 32  # newest checkpoints whose sources are named where a summary stands on all messages before it

Session = tuple[int, str]
"""A memory's key, and the name of the session."""

SCHEMA = """
    CREATE TABLE IF NOT EXISTS summary (
        key INTEGER NOT NULL, session TEXT NOT NULL, upto_seq INTEGER NOT NULL, leaf INTEGER NOT NULL,
        text TEXT NOT NULL, sources TEXT NOT NULL, lines TEXT NOT NULL,
        PRIMARY KEY (key, session, leaf, upto_seq)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS folded (
        key INTEGER NOT NULL, seq INTEGER NOT NULL, session TEXT NOT NULL, PRIMARY KEY (key, seq)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS asked (
        key INTEGER NOT NULL, session TEXT NOT NULL, leaf_seq INTEGER NOT NULL, PRIMARY KEY (key, session, leaf_seq)
    ) WITHOUT ROWID;
    """
"""What was asked for is kept until it is made; ``folded`` says in which summaries a message had a part."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The summary of a session's messages up to ``upto_seq``.

    ``source_ids`` are the messages its words stand on: of a language model's, the newest of them.
    """

    text: str
    upto_seq: int
    source_ids: tuple[str, ...]


def ask(db: sqlite3.Connection, sessions: Sequence[Session], leaf_seq: int = 0) -> None:
    """Note that sessions are to be folded, and a leaf that ends at ``leaf_seq``."""
    db.executemany(
        "INSERT OR IGNORE INTO asked VALUES (?, ?, ?)",
        [(key, session, leaf_seq) for key, session in sessions],
    )


def find(db: sqlite3.Connection, key: int, session: str, covering: int, upto: int) -> Checkpoint | None:
    """The shortest-reaching summary that covers a message, else the furthest-reaching; none reaches past ``upto``."""
    query = "SELECT text, upto_seq, sources, lines FROM summary WHERE key = ? AND session = ? AND upto_seq <= ? "
    row: tuple[str, int, str, str] | None = None
    if covering:
        enough = query + "AND upto_seq >= ? ORDER BY upto_seq, leaf LIMIT 1"
        row = db.execute(enough, (key, session, upto, covering)).fetchone()
    row = row or db.execute(query + "ORDER BY upto_seq DESC, leaf LIMIT 1", (key, session, upto)).fetchone()
    if row is None:
        return None
    text, ends, own, lines = row
    blocks = [own]
    if lines == "[]":  # its sources are those of its block; it also stands on what the checkpoints before it do
        earlier = (
            "SELECT sources FROM summary WHERE key = ? AND session = ? AND leaf = 0 AND upto_seq < ? "
            "ORDER BY upto_seq DESC LIMIT ?"
        )
        blocks += [block for (block,) in db.execute(earlier, (key, session, ends, SOURCE_BLOCKS))]
    sources = sorted({(seq, i) for block in blocks for seq, i in json.loads(block)})
    return Checkpoint(text, ends, tuple(i for _, i in sources))


def newest(db: sqlite3.Connection, key: int, session: str, upto: int = MAX_SEQ) -> tuple[int, Draft | None]:
    """The newest checkpoint that ends at ``upto`` or before, and where it ends."""
    query = (
        "SELECT upto_seq, text, sources, lines FROM summary WHERE key = ? AND session = ? AND leaf = 0 "
        "AND upto_seq <= ? ORDER BY upto_seq DESC LIMIT 1"
    )
    row = db.execute(query, (key, session, upto)).fetchone()
    if row is None:
        return 0, None
    upto, text, sources, lines = row
    return upto, Draft(
        text, tuple((seq, i) for seq, i in json.loads(sources)), tuple(Line(*line) for line in json.loads(lines))
    )


def has_leaf(db: sqlite3.Connection, key: int, session: str, upto_seq: int) -> bool:
    """Whether a leaf ends exactly there."""
    query = "SELECT 1 FROM summary WHERE key = ? AND session = ? AND leaf > 0 AND upto_seq = ?"
    return db.execute(query, (key, session, upto_seq)).fetchone() is not None


def save(db: sqlite3.Connection, session: Session, block: Sequence[Message], draft: Draft, *, leaf: bool) -> None:
    """Store what a block was folded to, as a checkpoint or as a leaf; of leaves the newest few are kept."""
    key, name = session
    lines = json.dumps([(line.seq, line.id, line.who, line.text) for line in draft.lines])
    number = 0  # of a checkpoint; leaves count up
    if leaf:
        last = "SELECT COALESCE(MAX(leaf), 0) FROM summary WHERE key = ? AND session = ?"
        number = db.execute(last, (key, name)).fetchone()[0] + 1
    row = (key, name, block[-1].seq, number, draft.text, json.dumps(draft.sources), lines)
    db.execute("INSERT OR REPLACE INTO summary VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    db.executemany("INSERT OR IGNORE INTO folded VALUES (?, ?, ?)", [(key, m.seq, name) for m in block])
    if leaf:
        old = "DELETE FROM summary WHERE key = ? AND session = ? AND leaf > 0 AND leaf <= ?"
        db.execute(old, (key, name, number - LEAVES))


def forget(db: sqlite3.Connection, key: int, seqs: Sequence[int]) -> tuple[int, list[Session]]:
    """Delete what messages had a part in, and ask for it again: how many summaries, and of which sessions."""
    first: dict[str, int] = {}
    for seq in seqs:
        row = db.execute("SELECT session FROM folded WHERE key = ? AND seq = ?", (key, seq)).fetchone()
        if row is not None:
            first[row[0]] = min(seq, first.get(row[0], seq))
    erased = 0
    for session, seq in first.items():
        where = "WHERE key = ? AND session = ? AND"
        erased += db.execute(f"DELETE FROM summary {where} upto_seq >= ?", (key, session, seq)).rowcount  # noqa: S608
        db.execute(f"DELETE FROM folded {where} seq >= ?", (key, session, seq))  # noqa: S608
    sessions = [(key, session) for session in first]
    ask(db, sessions)
    return erased, sessions


def drop(db: sqlite3.Connection, key: int, *, alive: bool) -> tuple[int, list[tuple[str, int]]]:
    """Delete a memory's summaries, and ask for them again where it is ``alive``.

    Returns how many there were, and their sessions, with where a leaf ended.
    """
    query = "SELECT DISTINCT session, CASE WHEN leaf > 0 THEN upto_seq ELSE 0 END FROM summary WHERE key = ?"
    lost = db.execute(query, (key,)).fetchall()
    erased = db.execute("DELETE FROM summary WHERE key = ?", (key,)).rowcount
    db.execute("DELETE FROM folded WHERE key = ?", (key,))
    if alive:
        for session, leaf_seq in lost:
            ask(db, [(key, session)], leaf_seq)
    else:
        db.execute("DELETE FROM asked WHERE key = ?", (key,))
    return erased, lost
