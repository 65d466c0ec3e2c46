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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import NamedTuple, Protocol

from seedbed.messages import Message
from seedbed_server.models.contract import Extraction, Turn
from seedbed_server.projections.contract import Batch, Prepared, Projection
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.names import canonical, entity_id

RULES = "knowledge-4"
UNPLACED = -1  # start and end of a mention that is not in the text: the speaker's own name
EARLIEST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()
TABLES = {"entities": "mention", "triples": "claim"}


class Tagger(Protocol):
    """What the projection needs of the tagger."""

    @property
    def fingerprint(self) -> str:
        """Names weights and rules."""
        ...

    async def extract(self, turns: Sequence[Turn]) -> list[Extraction | None]:
        """Read turns; None for one that could not be read."""
        ...


class Standing(IntEnum):
    """Whether a word of a message is a name.

    A supposed one is where a certain one with the same form stands anywhere in
    the memory; one that was read is, but certain only where it is written as a name.
    """

    SUPPOSED = 0
    READ = 1
    CERTAIN = 2


class MentionRow(NamedTuple):
    """A name in a message. ``said_at`` is in seconds since 1970, ``standing`` one of `Standing`."""

    key: int
    seq: int
    start: int
    end: int
    entity_id: str
    form: str
    type: str
    text: str
    said_at: float
    standing: int = Standing.READ


class ClaimRow(NamedTuple):
    """A claim in a message; ``place`` is its number there. Times are in seconds since 1970.

    Without ``valid_from`` it holds from ``said_at``; without ``valid_to`` it is open.
    It was said if all names are known whose ids, divided by spaces, it ``rests_on``.
    """

    key: int
    seq: int
    place: int
    subject_id: str
    subject: str
    subject_type: str
    predicate: str
    object_id: str
    object: str
    object_type: str
    negated: int
    modality: str
    surface: str
    said_at: float
    recorded_at: float
    valid_from: float | None = None
    valid_to: float | None = None
    rests_on: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows of a batch, and the messages that they replace all rows of."""

    places: list[tuple[int, int]]
    mentions: list[MentionRow]
    claims: list[ClaimRow]


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored of a memory, up to ``applied_seq``."""

    mentions: list[MentionRow]
    claims: list[ClaimRow]
    applied_seq: int


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
    reach = 8  # how far back those who take part are looked for
    batch_messages = 32

    def __init__(self, derived: Derived, tagger: Tagger) -> None:
        self._derived = derived
        self._tagger = tagger
        self._rewritten: Counter[int] = Counter()
        self._rewriting: set[int] = set()

    @property
    def fingerprint(self) -> str:
        """The tagger's, and the version of the rules here."""
        return f"{self._tagger.fingerprint}/{RULES}"

    def rewritten(self, key: int) -> int:
        """Grows whenever rows of the memory are erased or replaced: what was loaded before is out of date."""
        return self._rewritten[key]

    async def prepare(self, batches: Sequence[Batch]) -> Prepared[Reading]:
        """Let the tagger read all messages in one go."""
        places = [(batch.key, message) for batch in batches for message in batch.messages]
        found = await self._tagger.extract([turn for batch in batches for turn in turns(batch.messages, batch.before)])
        reading = Reading([(key, message.seq) for key, message in places], [], [])
        skipped: Counter[int] = Counter()
        for (key, message), extraction in zip(places, found, strict=True):
            if extraction is None:
                skipped[key] += 1
            reading.mentions.extend(_mentions(key, message, extraction))
            reading.claims.extend(_claims(key, message, extraction))
        return Prepared(reading, skipped)

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
        self._rewritten[key] += 1
        counts = await self._derived.write(lambda db: _delete(db, [(key, seq) for seq in seqs]))
        self._rewritten[key] += 1  # also for what was loaded meanwhile
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


def speaker(message: Message) -> str:
    """Who says a message: the name if there is one, else the role ("user")."""
    return message.name or message.role


def turns(messages: Sequence[Message], before: Sequence[Message] = ()) -> Iterator[Turn]:
    """The messages as the tagger reads them; who is spoken to is the last other speaker of the session.

    ``before`` are messages that stand before the first one; those further back than `Knowledge.reach` do not matter.
    """
    earlier = list(before)
    for message in messages:
        near = [m for m in earlier[-Knowledge.reach :] if m.seq >= message.seq - Knowledge.reach]
        others = [speaker(m) for m in near if m.session == message.session and speaker(m) != speaker(message)]
        listener = others[-1] if others else ""
        yield Turn(message.text, speaker(message), listener, message.time, tuple(dict.fromkeys(others)))
        earlier.append(message)


def _mentions(key: int, message: Message, extraction: Extraction | None) -> Iterator[MentionRow]:
    said_at = seconds(message.time)
    form = canonical(message.name)
    if form:
        here = (UNPLACED, UNPLACED, entity_id(form), form, "person", message.name)
        yield MentionRow(key, message.seq, *here, said_at, Standing.CERTAIN)
    if extraction is None:
        return
    sure = ((span, Standing.CERTAIN if span.certain else Standing.READ) for span in extraction.entities)
    for span, standing in (*sure, *((span, Standing.SUPPOSED) for span in extraction.supposed)):
        form = canonical(span.text)
        if form and span.type != "date":
            place = (span.start, span.end, entity_id(form), form, span.type, span.text)
            yield MentionRow(key, message.seq, *place, said_at, standing)


def _claims(key: int, message: Message, extraction: Extraction | None) -> Iterator[ClaimRow]:
    for place, claim in enumerate((*extraction.claims, *extraction.supposing) if extraction else ()):
        subject, object_ = canonical(claim.subject), canonical(claim.object)
        # What an assistant offers to do is said in passing, many times a day, and tells nothing of anybody's life.
        offer = message.role == "assistant" and claim.modality != "asserted" and claim.subject == speaker(message)
        if subject and object_ and claim.predicate and not offer:
            yield ClaimRow(
                *(key, message.seq, place),
                *(entity_id(subject), claim.subject, claim.subject_type or "other"),
                " ".join(claim.predicate.split()),
                *(entity_id(object_), claim.object, claim.object_type or "other"),
                *(int(claim.negated), claim.modality, claim.surface),
                *(seconds(message.time), seconds(message.recorded_at)),
                seconds(claim.valid_from) if claim.valid_from else None,
                seconds(claim.valid_to) if claim.valid_to else None,
                " ".join(entity_id(canonical(name)) for name in claim.rests_on),
            )


def seconds(time: datetime | None) -> float:
    """Seconds since 1970; an unknown time is 0, one at an end of the calendar the last that is a time again."""
    if time is None:
        return 0.0
    return min(LATEST, max(EARLIEST, (time.replace(tzinfo=UTC) if time.tzinfo is None else time).timestamp()))


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
