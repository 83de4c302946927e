"""Numbers that callers keep are not given a second time: what is under way for the old one would reach the new one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import delete, insert

from askless.ledger import schema
from askless.ledger.database import Database

NOW = datetime.now(UTC)


@pytest.mark.parametrize("table", [schema.webhooks, schema.jobs, schema.keys])
def test_the_number_of_a_deleted_row_is_not_given_again(database: Database, table: object) -> None:
    values = {
        "webhooks": {"url": "http://127.0.0.1", "secret": "s", "kinds": [], "created_at": NOW},
        "jobs": {
            "kind": "k",
            "status": "s",
            "payload": {},
            "done": 0,
            "total": 0,
            "created_at": NOW,
            "updated_at": NOW,
        },
        "keys": {"name": "n", "role": "admin", "hash": "h", "created_at": NOW},
    }[table.name]  # type: ignore[attr-defined]
    with database.write() as connection:
        desk = {"name": "d", "embedder": "e", "created_at": NOW}
        id = connection.execute(insert(schema.desks).returning(schema.desks.c.id), desk).scalar_one()
        numbers = []
        for _ in range(2):
            made = connection.execute(insert(table).returning(table.c.id), values | {"desk": id})  # type: ignore
            numbers.append(made.scalar_one())
            connection.execute(delete(table))  # type: ignore[arg-type]
    assert numbers[0] < numbers[1]
