"""The projection into entities and triples: what messages name, and what they say.

One reading by the tagger serves both, so they share one cursor and are reported
under two names. Only what each message itself says is stored, one row per
mention and per claim; entities, facts and which fact supersedes which are
worked out when read. So an erasure deletes rows and leaves nothing behind, and
order of arrival does not matter. Rows that count only where the memory knows a
name are stored too; `believing` says which of them do.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from seedbed_server.models.contract import Reader
from seedbed_server.projections.contract import Batch, Prepared, Projection
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.rows import (
    REACH,
    ClaimRow,
    Known,
    MentionRow,
    Standing,
    claims_of,
    mentions_of,
    turns,
)

RULES = "knowledge-4"
TABLES = {"entities": "mention", "triples": "claim"}


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows of a batch, and the messages that they replace all rows of."""

    places: list[tuple[int, int]]
    mentions: list[MentionRow]
    claims: list[ClaimRow]


class Knowledge(Projection[Reading]):
    """Mentions and claims of every message."""

    names = ("entities", "triples")
    schema = """
    CREATE TABLE IF NOT EXISTS mention (
        key INTEGER NOT NULL, seq INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
        entity_id TEXT NOT NULL, form TEXT NOT NULL, type TEXT NOT NULL, text TEXT NOT NULL, said_at REAL NOT NULL,
        standing INTEGER NOT NULL,
        PRIMARY KEY (key, seq, start, entity_id)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS mention_entity ON mention (key, entity_id, seq, standing);
    CREATE TABLE IF NOT EXISTS claim (
        key INTEGER NOT NULL, seq INTEGER NOT NULL, place INTEGER NOT NULL,
        subject_id TEXT NOT NULL, subject TEXT NOT NULL, subject_type TEXT NOT NULL, predicate TEXT NOT NULL,
        object_id TEXT NOT NULL, object TEXT NOT NULL, object_type TEXT NOT NULL,
        negated INTEGER NOT NULL, modality TEXT NOT NULL, surface TEXT NOT NULL,
        said_at REAL NOT NULL, recorded_at REAL NOT NULL, valid_from REAL, valid_to REAL,
        rests_on TEXT NOT NULL,
        PRIMARY KEY (key, seq, place)
    ) WITHOUT ROWID;
    """
    reach = REACH

    def __init__(self, derived: Derived, tagger: Reader) -> None:
        self._derived = derived
        self._tagger = tagger
        self._rewritten: Counter[int] = Counter()
        self._erased: Counter[int] = Counter()
        self._rewriting: set[int] = set()

    @property
    def fingerprint(self) -> str:
        """The tagger's, and the version of the rules here."""
        return f"{self._tagger.fingerprint}/{RULES}"

    @property
    def batch_messages(self) -> int:
        """As many as the tagger reads at once."""
        return self._tagger.at_once

    def rewritten(self, key: int) -> int:
        """Grows whenever rows of the memory are erased or replaced: what was loaded before is out of date."""
        return self._rewritten[key]

    def erased(self, key: int) -> int:
        """Grows whenever messages of the memory are erased: what was loaded before may not be shown any more."""
        return self._erased[key]

    async def prepare(self, batches: Sequence[Batch]) -> Prepared[Reading]:
        """Let the tagger read all messages in one go."""
        places = [(batch.key, message) for batch in batches for message in batch.messages]
        found = await self._tagger.extract([turn for batch in batches for turn in turns(batch.messages, batch.before)])
        reading = Reading([(key, message.seq) for key, message in places], [], [])
        skipped: Counter[int] = Counter()
        for (key, message), extraction in zip(places, found, strict=True):
            if extraction is None:
                skipped[key] += 1
            reading.mentions.extend(mentions_of(key, message, extraction))
            reading.claims.extend(claims_of(key, message, extraction))
        return Prepared(reading, skipped)

    async def probe(self) -> None:
        """Ask the tagger, which knows what may go down over a message. Raises PartUnavailableError."""
        await self._tagger.probe()

    def commit(self, db: sqlite3.Connection, prepared: Prepared[Reading]) -> None:
        """Replace the rows of the messages."""
        for key, first in _first_seqs(prepared.rows.places).items():
            if first <= _applied(db, key):  # read again, after an erasure near it
                self._rewriting.add(key)
        _delete(db, prepared.rows.places)
        _insert(db, "mention", prepared.rows.mentions)
        _insert(db, "claim", prepared.rows.claims)

    async def committed(self, prepared: Prepared[Reading]) -> None:  # noqa: ARG002 - part of the contract
        """Note what is out of date where earlier rows were replaced."""
        self._rewritten.update(self._rewriting)
        self._rewriting.clear()

    async def forget(self, key: int, seqs: Sequence[int]) -> Mapping[str, int]:
        """Delete the messages' mentions and claims: what has no other source is gone with them."""
        self._erased[key] += 1
        self._rewritten[key] += 1
        counts = await self._derived.write(lambda db: _delete(db, [(key, seq) for seq in seqs]))
        self._erased[key] += 1  # also for what was loaded meanwhile
        self._rewritten[key] += 1
        return counts

    async def drop(self, key: int) -> Mapping[str, int]:
        """Delete the memory's mentions and claims."""
        self._rewritten[key] += 1
        counts = await self._derived.write(
            lambda db: {
                name: db.execute(f"DELETE FROM {table} WHERE key = ?", (key,)).rowcount  # noqa: S608
                for name, table in TABLES.items()
            }
        )
        self._rewritten[key] += 1
        return counts

    async def load(self, key: int, after_seq: int = 0) -> Known:
        """Return the memory's mentions and claims in messages with a greater seq, in order."""
        return await self._derived.read(lambda db: _load(db, key, after_seq))

    async def naming(self, key: int, name: str, *, but: Collection[int] = ()) -> list[int]:
        """Return the seqs of the messages, but for some, that mention an id of a name or claim something of it."""
        query = (
            "SELECT seq FROM mention WHERE key = :key AND entity_id = :name UNION "
            "SELECT seq FROM claim WHERE key = :key AND :name IN (subject_id, object_id) ORDER BY seq"
        )
        found = await self._derived.read(lambda db: db.execute(query, {"key": key, "name": name}).fetchall())
        return [seq for (seq,) in found if seq not in but]

    async def mentions_of(self, key: int, names: Sequence[str], limit: int = 100) -> list[MentionRow]:
        """Return the newest mentions that count, newest first, under any of these ids of names."""
        query = (
            "SELECT * FROM mention WHERE key = ? AND entity_id = ? AND start >= 0 AND standing >= ? "
            "ORDER BY seq DESC, start LIMIT ?"
        )

        def newest(db: sqlite3.Connection) -> list[MentionRow]:
            least = {name: Standing.SUPPOSED if _is_known(db, key, name) else Standing.READ for name in names}
            return [MentionRow(*row) for name in names for row in db.execute(query, (key, name, least[name], limit))]

        rows = await self._derived.read(newest)
        return sorted(rows, key=lambda row: (-row.seq, row.start))[:limit]


def _is_known(db: sqlite3.Connection, key: int, name: str) -> bool:
    query = "SELECT 1 FROM mention WHERE key = ? AND entity_id = ? AND standing = ? LIMIT 1"
    return db.execute(query, (key, name, Standing.CERTAIN)).fetchone() is not None


def _load(db: sqlite3.Connection, key: int, after_seq: int) -> Known:
    mentions = db.execute("SELECT * FROM mention WHERE key = ? AND seq > ? ORDER BY seq, start", (key, after_seq))
    claims = db.execute("SELECT * FROM claim WHERE key = ? AND seq > ? ORDER BY seq, place", (key, after_seq))
    return Known([MentionRow(*row) for row in mentions], [ClaimRow(*row) for row in claims], _applied(db, key))


def _applied(db: sqlite3.Connection, key: int) -> int:
    row = db.execute("SELECT applied_seq FROM cursor WHERE projection = 'entities' AND key = ?", (key,)).fetchone()
    return int(row[0]) if row else 0


def _first_seqs(places: Sequence[tuple[int, int]]) -> dict[int, int]:
    first: dict[int, int] = {}
    for key, seq in places:
        first[key] = min(seq, first.get(key, seq))
    return first


def _insert(db: sqlite3.Connection, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)  # noqa: S608


def _delete(db: sqlite3.Connection, places: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Delete the rows of messages (key, seq); returns how many by reported name."""
    return {
        name: db.executemany(f"DELETE FROM {table} WHERE key = ? AND seq = ?", places).rowcount  # noqa: S608
        for name, table in TABLES.items()
    }
