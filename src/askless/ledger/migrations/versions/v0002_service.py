"""The service: what stands about a query, labels, tickets, snapshots, jobs, keys, webhooks."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """From version 1 to 2."""
    _number_desks_for_good()
    _add_what_stands()
    op.create_index("ix_events_query", "events", ["query"])
    _create_labels_and_tickets()
    _create_snapshots_and_jobs()
    _create_keys()
    _create_webhooks()


def _refers(name: str, to: str, **options: Any) -> sa.Column[Any]:
    kind = _number if to == "queries" else sa.Integer
    return sa.Column(name, kind, sa.ForeignKey(f"{to}.id"), **options)


def _number_desks_for_good() -> None:
    """The ids of deleted desks are not used again; PostgreSQL never did."""
    if op.get_bind().dialect.name != "sqlite":
        return
    before = sa.Table(
        "desks",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String, nullable=False, unique=True),
        sa.Column("embedder", sa.String, nullable=False),
        sa.Column("created_at", _moment, nullable=False),
    )
    with op.batch_alter_table(
        "desks", recreate="always", copy_from=before, table_kwargs={"sqlite_autoincrement": True}
    ):
        pass


def _add_what_stands() -> None:
    with op.batch_alter_table("queries") as table:
        table.add_column(sa.Column("received_at", _moment))
        table.add_column(sa.Column("asker", sa.String))
        table.add_column(sa.Column("status", sa.String))
        table.add_column(sa.Column("label", sa.String))
        table.add_column(sa.Column("probability", sa.Float))
        table.add_column(sa.Column("decided", _number))
        table.add_column(sa.Column("example", sa.Boolean))
        table.add_column(sa.Column("erased_at", _moment))
    op.create_index("ix_queries_desk_status", "queries", ["desk", "status", "id"])
    op.create_index("ix_queries_desk_label", "queries", ["desk", "label", "id"])
    op.create_index("ix_queries_desk_received", "queries", ["desk", "received_at"])


def _create_labels_and_tickets() -> None:
    op.create_table(
        "labels",
        sa.Column("id", sa.Integer, primary_key=True),
        _refers("desk", "desks", nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("created_at", _moment, nullable=False),
        sa.UniqueConstraint("desk", "name", name="uq_labels_desk_name"),
    )
    op.create_table(
        "tickets",
        sa.Column("id", _number, primary_key=True),
        _refers("desk", "desks", nullable=False),
        _refers("query", "queries", nullable=False, unique=True),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("why", sa.String, nullable=False),
        sa.Column("priority", sa.Float, nullable=False),
        sa.Column("opened_at", _moment, nullable=False),
        sa.Column("opened", _number, nullable=False),
        sa.Column("guess", sa.String),
        sa.Column("probability", sa.Float),
        sa.Column("suggested", sa.String),
        sa.Column("lease_by", sa.String),
        sa.Column("lease_until", _moment),
        sa.Column("skipped_by", sa.JSON, nullable=False),
        sa.Column("closed_at", _moment),
        sa.Column("closed", _number),
        sa.Column("closed_by", sa.String),
    )
    op.create_index("ix_tickets_desk_status", "tickets", ["desk", "status", "priority", "id"])


def _create_snapshots_and_jobs() -> None:
    op.create_table(
        "snapshots",
        sa.Column("id", _number, primary_key=True),
        _refers("desk", "desks", nullable=False),
        sa.Column("event", _number, nullable=False),
        sa.Column("made_at", _moment, nullable=False),
        sa.Column("header", sa.JSON, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_snapshots_desk_event", "snapshots", ["desk", "event"])
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer, primary_key=True),
        _refers("desk", "desks", nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("created_at", _moment, nullable=False),
        sa.Column("updated_at", _moment, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "new_vectors",
        _refers("job", "jobs", primary_key=True),
        _refers("query", "queries", primary_key=True),
        sa.Column("vector", sa.LargeBinary),
    )


def _create_keys() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String, nullable=False, unique=True),
        sa.Column("role", sa.String, nullable=False),
        _refers("desk", "desks"),
        sa.Column("hash", sa.String, nullable=False, unique=True),
        sa.Column("created_at", _moment, nullable=False),
        sa.Column("revoked_at", _moment),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Integer, primary_key=True),
        _refers("key", "keys", nullable=False),
        sa.Column("hash", sa.String, nullable=False, unique=True),
        sa.Column("created_at", _moment, nullable=False),
        sa.Column("expires_at", _moment, nullable=False),
    )


def _create_webhooks() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Integer, primary_key=True),
        _refers("desk", "desks", nullable=False),
        sa.Column("url", sa.String, nullable=False),
        sa.Column("secret", sa.String, nullable=False),
        sa.Column("kinds", sa.JSON, nullable=False),
        sa.Column("created_at", _moment, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "deliveries",
        sa.Column("id", _number, primary_key=True),
        _refers("desk", "desks", nullable=False),
        _refers("webhook", "webhooks", nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("event", _number, nullable=False),
        _refers("query", "queries", nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", _moment, nullable=False),
        sa.Column("last_error", sa.Text),
        sa.Column("created_at", _moment, nullable=False),
        sa.Column("sent_at", _moment),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_deliveries_status", "deliveries", ["status", "next_at"])
    op.create_index("ix_deliveries_query", "deliveries", ["query"])
