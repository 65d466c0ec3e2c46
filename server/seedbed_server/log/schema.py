"""The tables of the log, the same on every database.

Ids, names and sessions are stored as their UTF-8 bytes, not as text: bytes
compare byte for byte and hold NUL on every database, whatever its collation.
Times are microseconds since 1970 in UTC. A message's body and a memory's
variant are protobuf of the contract, which stays readable across releases;
what has a column of its own (id, seq, session, times) is not in the body.

``head`` is apart from ``memory`` because it changes with every write, and a
row is rewritten whole: a long system prompt must not be written again each time.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

# The newest revision in migrations/versions: what a fresh database is stamped with.
REVISION = "0004"

metadata = MetaData()

# SQLite makes only "INTEGER PRIMARY KEY" the row id; its integers have 64 bits anyway.
_Long = BigInteger().with_variant(Integer(), "sqlite")


def _owner() -> Column[int]:
    return Column(
        "memory_key", _Long, ForeignKey("memory.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )


memory = Table(
    "memory",
    metadata,
    Column("key", _Long, primary_key=True),
    Column("namespace", LargeBinary, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("variant", LargeBinary, nullable=False),
    Column("system", LargeBinary, nullable=False),
    Column("created_at", _Long, nullable=False),
    Column("revision", _Long, nullable=False),
    UniqueConstraint("namespace", "name", name="memory_by_name"),
    sqlite_autoincrement=True,  # a key is never used again
)

head = Table(
    "head",
    metadata,
    _owner(),
    Column("last_seq", _Long, nullable=False),
    Column("message_count", _Long, nullable=False),
    Column("recorded_at", _Long, nullable=False),
)

message = Table(
    "message",
    metadata,
    _owner(),
    Column("seq", _Long, primary_key=True, autoincrement=False),
    Column("id", LargeBinary, nullable=False),
    Column("session", LargeBinary, nullable=False),
    Column("time", _Long, nullable=False),
    Column("recorded_at", _Long, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("message_by_id", "memory_key", "id", unique=True),
    Index("message_by_session", "memory_key", "session", "seq"),
)

request = Table(
    "request",
    metadata,
    _owner(),
    Column("request_id", LargeBinary, primary_key=True),
    Column("recorded_at", _Long, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("answer", LargeBinary, nullable=False),  # seedbed.v1.WriteResponse, without ids that callers gave
    Column("first_seq", _Long, nullable=False),  # of the messages that it stored; 0 where it stored statements
    Column("last_seq", _Long, nullable=False),
    Index("request_by_seq", "memory_key", "last_seq"),
)

erasure = Table(
    "erasure",
    metadata,
    Column("id", _Long, primary_key=True),
    Column("memory_key", _Long, nullable=False),  # the memory itself may be gone
    Column("whole", Boolean, nullable=False),
    Column("seqs", Text, nullable=False),  # ranges: "1-5 7 9-12"
    sqlite_autoincrement=True,  # cursors of projections rely on ids that only grow
)

# What users decided about the graph of facts: it cannot be made again from messages.
decision = Table(
    "decision",
    metadata,
    Column("id", _Long, primary_key=True),
    Column("memory_key", _Long, ForeignKey("memory.key", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("last_seq", _Long, nullable=False),  # the memory's newest message then
    Column("source", _Long, nullable=False),  # seq of the message that it stands on; 0 where it stands by itself
    Column("recorded_at", _Long, nullable=False),
    Column("body", LargeBinary, nullable=False),  # JSON
    Index("decision_by_source", "memory_key", "source"),
    Index("decision_by_memory", "memory_key", "id"),
    sqlite_autoincrement=True,  # an id is never used again: the newest one names a state of the graph
)

# What was decided about the server itself, such as its embedding model: it cannot be made again from messages.
setting = Table(
    "setting",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
