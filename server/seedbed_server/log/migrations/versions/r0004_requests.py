"""Requests that know their messages, and keep no digest of what was erased, nor ids that callers gave."""

import re

import sqlalchemy as sa
from alembic import op

from seedbed.v1.memory_service_pb2 import WriteResponse

revision = "0004"
down_revision = "0003"

_MADE = re.compile("[0-9a-f]{32}")
_DAY_MS = 86_400_000


def _long() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Bring the schema here.

    What was erased before is not known but for how much: a request loses its digest where not all of its messages are
    there any more, one of statements where any message of its memory is missing.
    """
    op.rename_table("request", "request_before")
    op.create_table(
        "request",
        sa.Column(
            "memory_key",
            _long(),
            sa.ForeignKey("memory.key", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("request_id", sa.LargeBinary, primary_key=True),
        sa.Column("recorded_at", _long(), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("answer", sa.LargeBinary, nullable=False),
        sa.Column("first_seq", _long(), nullable=False),
        sa.Column("last_seq", _long(), nullable=False),
    )
    connection = op.get_bind()
    names = ("memory_key", "request_id", "recorded_at", "digest", "answer")
    before = sa.table("request_before", *map(sa.column, names))
    after = sa.table("request", *map(sa.column, (*names, "first_seq", "last_seq")))
    counts = sa.table("head", *map(sa.column, ("memory_key", "last_seq", "message_count")))
    whole = {key: last == count for key, last, count in connection.execute(sa.select(counts))}
    for some in connection.execute(sa.select(before)).partitions(500):
        connection.execute(sa.insert(after), [_moved(connection, *row, whole=whole[row.memory_key]) for row in some])
    op.drop_table("request_before")
    op.create_index("request_by_seq", "request", ["memory_key", "last_seq"])


def _moved(
    connection: sa.Connection, key: int, name: bytes, recorded_at: int, digest: bytes, answer: bytes, *, whole: bool
) -> dict[str, object]:
    first = WriteResponse.FromString(answer)
    if first.first_seq and not whole:
        message = sa.table("message", sa.column("memory_key"), sa.column("seq"))
        of_request = (message.c.memory_key == key, message.c.seq.between(first.first_seq, first.last_seq))
        there = connection.execute(sa.select(sa.func.count()).select_from(message).where(*of_request)).scalar()
        whole = there == first.last_seq - first.first_seq + 1
    first.message_ids[:] = [one if _is_made(one, recorded_at) else "" for one in first.message_ids]
    return {
        "memory_key": key,
        "request_id": name,
        "recorded_at": recorded_at,
        "digest": digest if whole else b"",
        "answer": first.SerializeToString(),
        "first_seq": first.first_seq,
        "last_seq": first.last_seq,
    }


def _is_made(one: str, recorded_at: int) -> bool:
    """Whether a server made the id of a message: its first digits are the time, in milliseconds."""
    return _MADE.fullmatch(one) is not None and abs(int(one[:12], 16) - recorded_at // 1000) < _DAY_MS
