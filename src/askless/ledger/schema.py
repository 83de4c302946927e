"""The tables of a ledger. Events are only ever appended; texts and vectors can be blanked beside them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

APPLICATION_ID = 0x41534B4C  # "ASKL", in the header of every SQLite file that is a ledger
SCHEMA_VERSION = 1

metadata = MetaData()

# One stream of queries with an embedder of its own: the vectors of another are refused.
desks = Table(
    "desks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("embedder", String, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
)

# `key` is the caller's own name for the query, unique at its desk. `vector` is float32, or null where the embedder
# knows nothing of the text. Text and vector may be blanked; the row stays, since events refer to it.
queries = Table(
    "queries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("key", String, nullable=False),
    Column("text", Text),
    Column("vector", LargeBinary),
    Column("embedder", String),
    UniqueConstraint("desk", "key", name="uq_queries_desk_key"),
)

# Ids grow and are never used twice: a decision names the last one it had seen.
events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("desk", ForeignKey("desks.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("query", ForeignKey("queries.id")),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("who", String),
    Column("seen", Integer),
    Column("payload", JSON, nullable=False),
    Index("ix_events_desk_id", "desk", "id"),
    sqlite_autoincrement=True,
)
