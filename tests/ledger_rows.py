"""Rows of a ledger for tests: a desk, and its events read back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert

from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.entry import events_after
from askless.ledger.events import Event


def add_desk(database: Database, name: str = "support") -> int:
    row = {"name": name, "embedder": "toy/1", "created_at": datetime.now(UTC)}
    with database.write() as connection:
        key: Any = connection.execute(insert(schema.desks), row).inserted_primary_key
        return int(key[0])


def events_of(database: Database, desk: int) -> list[Event]:
    with database.read() as connection:
        return list(events_after(connection, desk))
