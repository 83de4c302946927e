"""Rows of a desk written many at a time, under ids that are known before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect, Table, func, insert, select, text

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


class _Way(NamedTuple):
    """How rows of some columns go to the driver: the statement, its columns in order, and what each value becomes."""

    statement: str
    names: tuple[str, ...]
    processes: tuple[Callable[[Any], Any] | None, ...]
    positional: bool  # parameters have places, and not names


def insert_rows(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Write rows that have all the same columns, past what SQLAlchemy does anew for each of them."""
    if not rows:
        return
    way = _way(connection.dialect, table, tuple(rows[0]))
    named = zip(way.names, way.processes, strict=True)
    lines: list[Any] = list(
        zip(*(_bound(process, [row[name] for row in rows]) for name, process in named), strict=True)
    )
    if not way.positional:
        lines = [dict(zip(way.names, line, strict=True)) for line in lines]
    connection.exec_driver_sql(way.statement, lines)


@lru_cache(maxsize=64)
def _way(dialect: Dialect, table: Table, names: tuple[str, ...]) -> _Way:
    compiled: Any = insert(table).inline().compile(dialect=dialect, column_keys=list(names))
    order = tuple(compiled.positiontup) if compiled.positional else names
    processes = [table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in order]
    return _Way(str(compiled), order, tuple(processes), compiled.positional)


def _bound(process: Callable[[Any], Any] | None, values: list[Any]) -> list[Any]:
    """The values of a column as the driver takes them; one that many rows share is made so once."""
    if process is None:
        return values
    made: dict[int, Any] = {}
    for value in values:
        if id(value) not in made:
            made[id(value)] = process(value)
    return [made[id(value)] for value in values]
