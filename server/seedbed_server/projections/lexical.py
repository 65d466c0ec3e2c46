"""The lexical projection: every message's analysed terms, so that a memory's index loads without analysing again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from seedbed.messages import Message
from seedbed_server.projections import analysis
from seedbed_server.projections.calendar import day
from seedbed_server.projections.contract import Batch, Prepared, Projection
from seedbed_server.projections.derived import Derived

Row = tuple[int, int, str, str, str, str, float | None]
_RULES = 3  # of what is a message's terms
DAY_TERMS = 3
"""The terms of a message whose time is known end with these of its day."""


class TermRow(NamedTuple):
    """The terms of one message, in order, with repetition: of its text and its day, and of its speaker's name.

    ``time`` is when it was said, in seconds since 1970, if that is known.
    """

    seq: int
    session: str
    role: str
    name: tuple[str, ...]
    terms: tuple[str, ...]
    time: float | None = None


class Lexical(Projection[list[Row]]):
    """Terms by :func:`analysis.terms`, one row per message."""

    names = ("lexical",)
    schema = """
    CREATE TABLE IF NOT EXISTS lexical (
        key INTEGER NOT NULL, seq INTEGER NOT NULL, session TEXT NOT NULL, role TEXT NOT NULL,
        name TEXT NOT NULL, terms TEXT NOT NULL, time REAL,
        PRIMARY KEY (key, seq)
    ) WITHOUT ROWID;
    """
    batch_messages = 256

    def __init__(self, derived: Derived) -> None:
        self._derived = derived

    @property
    def fingerprint(self) -> str:
        """The version of the rules of analysis."""
        return f"{analysis.FINGERPRINT}/{_RULES}"

    async def prepare(self, batches: Sequence[Batch]) -> Prepared[list[Row]]:
        """Analyse the texts, off the event loop."""
        return Prepared(await asyncio.to_thread(_rows, batches))

    def commit(self, db: sqlite3.Connection, prepared: Prepared[list[Row]]) -> None:
        """Replace the messages' rows."""
        db.executemany("INSERT OR REPLACE INTO lexical VALUES (?, ?, ?, ?, ?, ?, ?)", prepared.rows)

    async def forget(self, key: int, seqs: Sequence[int]) -> Mapping[str, int]:
        """Delete the messages' rows."""
        rows = [(key, seq) for seq in seqs]
        return await self._delete(lambda db: db.executemany("DELETE FROM lexical WHERE key = ? AND seq = ?", rows))

    async def drop(self, key: int) -> Mapping[str, int]:
        """Delete the memory's rows."""
        return await self._delete(lambda db: db.execute("DELETE FROM lexical WHERE key = ?", (key,)))

    async def load(self, key: int, after_seq: int = 0) -> list[TermRow]:
        """Return the terms of the memory's messages with a greater seq, by seq."""
        rows = await self._derived.read(
            lambda db: db.execute(
                "SELECT seq, session, role, name, terms, time FROM lexical WHERE key = ? AND seq > ? ORDER BY seq",
                (key, after_seq),
            ).fetchall()
        )
        return [
            TermRow(seq, session, role, _split(name), _split(terms), time)
            for seq, session, role, name, terms, time in rows
        ]

    async def _delete(self, delete: Callable[[sqlite3.Connection], sqlite3.Cursor]) -> Mapping[str, int]:
        return {"lexical": await self._derived.write(lambda db: delete(db).rowcount)}


def term_row(message: Message) -> TermRow:
    """Analyse one message as the projection does: for what it has not applied yet."""
    name = tuple(analysis.terms(message.name))
    said = f"{message.text}\n{day(message.time)}" if message.time else message.text
    when = message.time.timestamp() if message.time else None
    return TermRow(message.seq, message.session, message.role, name, tuple(analysis.terms(said)), when)


def _rows(batches: Sequence[Batch]) -> list[Row]:
    return [_row(batch.key, term_row(message)) for batch in batches for message in batch.messages]


def _row(key: int, row: TermRow) -> Row:
    return (key, row.seq, row.session, row.role, " ".join(row.name), " ".join(row.terms), row.time)


def _split(joined: str) -> tuple[str, ...]:
    return tuple(joined.split(" ")) if joined else ()
