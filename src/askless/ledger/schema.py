"""The tables of a ledger. Events are only ever appended; texts and vectors can be blanked beside them.

`events` is the truth. What stands about a query, a label or a ticket is kept beside it as the sum of the events, in
the same transaction, so that it can be read without a replay; `askless ledger verify` compares the two.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from askless.errors import InvalidInput

APPLICATION_ID = 0x41534B4C  # "ASKL", in the header of every SQLite file that is a ledger
SCHEMA_VERSION = 2

metadata = MetaData()

# What may be counted beyond two thousand million; in SQLite every integer may, and a key must be of the plain kind.
Number = BigInteger().with_variant(Integer(), "sqlite")


class Moment(TypeDecorator[datetime]):
    """A time with its zone, which is UTC when it is read; SQLite itself keeps no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        """In UTC; a time without a zone is refused, since it could mean any."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise InvalidInput(f"The time {value} has no zone; expected one, such as datetime.now(UTC).")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        """In UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# One stream of queries with an embedder of its own: the vectors of another are refused. The id of a desk that was
# deleted is never used again, so that no process can take a new one for it.
desks = Table(
    "desks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("embedder", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    sqlite_autoincrement=True,
)

# `key` is the caller's own name for the query, unique at its desk. `vector` is float32, or null where the embedder
# knows nothing of the text. Text and vector may be blanked; the row stays, since events refer to it.
# From `received_at` on: what stands, for the desks of the service (null at a desk of `askless label`).
queries = Table(
    "queries",
    metadata,
    Column("id", Number, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("key", String, nullable=False),
    Column("text", Text),
    Column("vector", LargeBinary),
    Column("embedder", String),
    Column("received_at", Moment),
    Column("asker", String),  # the name of the key that submitted it
    Column("status", String),  # askless.desk.live.types.QueryStatus
    Column("label", String),  # that stands now: the guess, or the expert's word
    Column("probability", Float),  # of a guess that stands
    Column("decided", Number),  # the event of the decision that stands, or of the expert's word
    Column("example", Boolean),  # whether the policy has it as an example
    Column("erased_at", Moment),
    UniqueConstraint("desk", "key", name="uq_queries_desk_key"),
    Index("ix_queries_desk_status", "desk", "status", "id"),
    Index("ix_queries_desk_label", "desk", "label", "id"),
    Index("ix_queries_desk_received", "desk", "received_at"),
)

# Ids grow and are never used twice: a decision names the last one it had seen. At one desk they grow in the order in
# which their transactions end, since each transaction holds the lock of its desk.
events = Table(
    "events",
    metadata,
    Column("id", Number, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("query", ForeignKey("queries.id")),
    Column("at", Moment, nullable=False),
    Column("who", String),
    Column("seen", Number),
    Column("payload", JSON, nullable=False),
    Index("ix_events_desk_id", "desk", "id"),
    Index("ix_events_query", "query"),
    sqlite_autoincrement=True,
)

# A label and the answer that is sent to who asked.
labels = Table(
    "labels",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("answer", Text),
    Column("created_at", Moment, nullable=False),
    UniqueConstraint("desk", "name", name="uq_labels_desk_name"),
)

# A query that waits, or waited, for an expert; at most one for each query, opened again where need be. Leases are not
# events: who holds a ticket until when is forgotten once the lease ends.
tickets = Table(
    "tickets",
    metadata,
    Column("id", Number, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("query", ForeignKey("queries.id"), nullable=False, unique=True),
    Column("status", String, nullable=False),  # askless.desk.live.types.TicketStatus
    Column("why", String, nullable=False),  # askless.desk.live.types.Why
    Column("priority", Float, nullable=False),
    Column("opened_at", Moment, nullable=False),
    Column("opened", Number, nullable=False),  # the event that opened it
    Column("guess", String),  # what the policy guessed, or would have: audits, shadow mode, offers, feedback
    Column("probability", Float),  # of that guess
    Column("suggested", String),  # the label that the asker says is right
    Column("lease_by", String),  # the name of the expert's key
    Column("lease_until", Moment),
    Column("skipped_by", JSON, nullable=False),  # names of experts
    Column("closed_at", Moment),
    Column("closed", Number),  # the event that closed it
    Column("closed_by", String),
    Index("ix_tickets_desk_status", "desk", "status", "priority", "id"),
)

# The state of a desk as of an event, so that a start need not replay everything. A cache: it may be deleted.
snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Number, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("event", Number, nullable=False),
    Column("made_at", Moment, nullable=False),
    Column("header", JSON, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("ix_snapshots_desk_event", "desk", "event"),
)

# Work in the background that goes on after a restart: embedding all texts with another embedder.
jobs = Table(
    "jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("status", String, nullable=False),  # running, done, failed, cancelled
    Column("payload", JSON, nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("error", Text),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    sqlite_autoincrement=True,
)

# Vectors of an embedder that the desk has not been switched to yet.
new_vectors = Table(
    "new_vectors",
    metadata,
    Column("job", ForeignKey("jobs.id"), primary_key=True),
    Column("query", ForeignKey("queries.id"), primary_key=True),
    Column("vector", LargeBinary),
)

# Who may call: the secret itself is never kept. A key without a desk is for all desks.
keys = Table(
    "keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("role", String, nullable=False),  # client, expert, admin
    Column("desk", ForeignKey("desks.id")),
    Column("hash", String, nullable=False, unique=True),
    Column("created_at", Moment, nullable=False),
    Column("revoked_at", Moment),
    sqlite_autoincrement=True,
)

# A browser that logged in with a key.
sessions = Table(
    "sessions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", ForeignKey("keys.id"), nullable=False),
    Column("hash", String, nullable=False, unique=True),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("url", String, nullable=False),
    Column("secret", String, nullable=False),
    Column("kinds", JSON, nullable=False),  # askless.desk.live.types.Happening
    Column("created_at", Moment, nullable=False),
    sqlite_autoincrement=True,
)

# What is to be sent to a webhook. Names the query, never holds its text: that is read when it is sent.
deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Number, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("webhook", ForeignKey("webhooks.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("event", Number, nullable=False),
    Column("query", ForeignKey("queries.id"), nullable=False),
    Column("status", String, nullable=False),  # pending, sent, dead
    Column("attempts", Integer, nullable=False),
    Column("next_at", Moment, nullable=False),
    Column("last_error", Text),
    Column("created_at", Moment, nullable=False),
    Column("sent_at", Moment),
    Index("ix_deliveries_status", "status", "next_at"),
    Index("ix_deliveries_query", "query"),
    sqlite_autoincrement=True,
)
