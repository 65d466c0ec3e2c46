"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _long() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _owner() -> "sa.Column[int]":
    owner = sa.ForeignKey("memory.key", ondelete="CASCADE")
    return sa.Column("memory_key", _long(), owner, primary_key=True, autoincrement=False)


def upgrade() -> None:
    """Bring the schema here."""
    op.create_table(
        "memory",
        sa.Column("key", _long(), primary_key=True),
        sa.Column("namespace", sa.LargeBinary, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("variant", sa.LargeBinary, nullable=False),
        sa.Column("system", sa.LargeBinary, nullable=False),
        sa.Column("created_at", _long(), nullable=False),
        sa.Column("revision", _long(), nullable=False),
        sa.UniqueConstraint("namespace", "name", name="memory_by_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "head",
        _owner(),
        sa.Column("last_seq", _long(), nullable=False),
        sa.Column("message_count", _long(), nullable=False),
        sa.Column("recorded_at", _long(), nullable=False),
    )
    op.create_table(
        "message",
        _owner(),
        sa.Column("seq", _long(), primary_key=True, autoincrement=False),
        sa.Column("id", sa.LargeBinary, nullable=False),
        sa.Column("session", sa.LargeBinary, nullable=False),
        sa.Column("time", _long(), nullable=False),
        sa.Column("recorded_at", _long(), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("message_by_id", "message", ["memory_key", "id"], unique=True)
    op.create_index("message_by_session", "message", ["memory_key", "session", "seq"])
    op.create_table(
        "request",
        _owner(),
        sa.Column("request_id", sa.LargeBinary, primary_key=True),
        sa.Column("recorded_at", _long(), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("answer", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "erasure",
        sa.Column("id", _long(), primary_key=True),
        sa.Column("memory_key", _long(), nullable=False),
        sa.Column("whole", sa.Boolean, nullable=False),
        sa.Column("seqs", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
