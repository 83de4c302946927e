"""The ledger of `askless label`: desks, queries, events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """From nothing to version 1."""
    op.create_table(
        "desks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String, nullable=False, unique=True),
        sa.Column("embedder", sa.String, nullable=False),
        sa.Column("created_at", _moment, nullable=False),
    )
    op.create_table(
        "queries",
        sa.Column("id", _number, primary_key=True),
        sa.Column("desk", sa.Integer, sa.ForeignKey("desks.id"), nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("text", sa.Text),
        sa.Column("vector", sa.LargeBinary),
        sa.Column("embedder", sa.String),
        sa.UniqueConstraint("desk", "key", name="uq_queries_desk_key"),
    )
    op.create_table(
        "events",
        sa.Column("id", _number, primary_key=True),
        sa.Column("desk", sa.Integer, sa.ForeignKey("desks.id"), nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("query", _number, sa.ForeignKey("queries.id")),
        sa.Column("at", _moment, nullable=False),
        sa.Column("who", sa.String),
        sa.Column("seen", _number),
        sa.Column("payload", sa.JSON, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_desk_id", "events", ["desk", "id"])
