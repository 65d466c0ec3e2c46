"""Decisions of users about the graph of facts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _long() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Bring the schema here."""
    op.create_table(
        "decision",
        sa.Column("id", _long(), primary_key=True),
        sa.Column("memory_key", _long(), sa.ForeignKey("memory.key", ondelete="CASCADE"), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("last_seq", _long(), nullable=False),
        sa.Column("source", _long(), nullable=False),
        sa.Column("recorded_at", _long(), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("decision_by_memory", "decision", ["memory_key", "id"])
    op.create_index("decision_by_source", "decision", ["memory_key", "source"])
