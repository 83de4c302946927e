"""Rows of a desk written many at a time, under ids that are known before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, Connection, Dialect, Table, func, insert, select, text

from askless.ledger import schema
from askless.ledger.entry import Entry
from askless.ledger.events import Event

_LAST_EVENT = text("SELECT seq FROM sqlite_sequence WHERE name = 'events'")


def new_ids(connection: Connection, table: Table, count: int) -> list[int]:
    """Ids for so many new rows, in growing order.

    In SQLite the transaction holds the only lock to write, so the next ids are its own. PostgreSQL gives them from the
    sequence, and never twice.
    """
    if not count:
        return []
    if connection.dialect.name == "postgresql":
        sequence = func.nextval(func.pg_get_serial_sequence(table.name, "id"))
        return sorted(connection.execute(select(sequence).select_from(func.generate_series(1, count))).scalars())
    if table is schema.events:  # whose ids are never used again, those of deleted desks included
        last = connection.execute(_LAST_EVENT).scalar()
    else:
        last = connection.execute(select(func.max(table.c.id))).scalar()
    return list(range((last or 0) + 1, (last or 0) + 1 + count))


def insert_events(entry: Entry, events: Sequence[Event]) -> None:
    """Write events that have their ids."""
    rows = [
        {
            "id": e.id,
            "desk": entry.desk,
            "kind": e.kind,
            "query": e.query,
            "at": entry.at,
            "who": e.who,
            "seen": e.seen,
            "payload": e.payload,
        }
        for e in events
    ]
    insert_rows(entry.connection, schema.events, rows)


def insert_rows(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Write rows that have all the same columns, past what SQLAlchemy does anew for each of them."""
    if not rows:
        return
    names = list(rows[0])
    columns = [_bound(connection.dialect, table.c[name], [row[name] for row in rows]) for name in names]
    statement, order = _statement(connection.dialect, table, tuple(names))
    lines: list[Any]
    if order is None:
        lines = [dict(zip(names, line, strict=True)) for line in zip(*columns, strict=True)]
    else:
        lines = list(zip(*(columns[names.index(name)] for name in order), strict=True))
    connection.exec_driver_sql(statement, lines)


@lru_cache(maxsize=64)
def _statement(dialect: Dialect, table: Table, names: tuple[str, ...]) -> tuple[str, tuple[str, ...] | None]:
    """The statement as the driver takes it, and the order of its parameters where they have no names."""
    compiled: Any = insert(table).inline().compile(dialect=dialect, column_keys=list(names))
    return str(compiled), tuple(compiled.positiontup) if compiled.positional else None


def _bound(dialect: Dialect, column: Column[Any], values: list[Any]) -> list[Any]:
    """The values of a column as the driver takes them; one that many rows share is made so once."""
    process = column.type.dialect_impl(dialect).bind_processor(dialect)
    if process is None:
        return values
    made: dict[int, Any] = {}
    for value in values:
        if id(value) not in made:
            made[id(value)] = process(value)
    return [made[id(value)] for value in values]
