"""The open transaction of one desk, and its events read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from askless.errors import Unavailable
from askless.ledger import schema
from askless.ledger.events import Event
from askless.ledger.failures import meaning, taken_back

CHANNEL = "askless"  # on which PostgreSQL tells other processes of new events

_table = schema.events
_INSERT = insert(_table)
_NOTIFY = select(func.pg_notify(CHANNEL, bindparam("message")))


class Entry:
    """A transaction that holds the lock of its desk: what it reads, no other process changes until it ends.

    All its events have one time, `at`. It ends with the block of `Database.desk`, which commits it.
    """

    def __init__(self, connection: Connection, desk: int, where: str) -> None:
        self.connection, self.desk, self.where = connection, desk, where
        self.at = datetime.now(UTC)
        self.lost: Unavailable | None = None  # why the transaction cannot be committed any more

    def append(
        self,
        kind: str,
        query: int | None = None,
        payload: dict[str, Any] | None = None,
        *,
        who: str | None = None,
        seen: int | None = None,
    ) -> Event:
        """Add an event; it is durable once the transaction has ended."""
        payload = payload or {}
        row = {
            "desk": self.desk,
            "kind": kind,
            "query": query,
            "at": self.at,
            "who": who,
            "seen": seen,
            "payload": payload,
        }
        key: Any = self.connection.execute(_INSERT, row).inserted_primary_key
        return Event(int(key[0]), kind, query, payload, seen, who, self.at)

    def events_after(self, last: int, *, upto: int | None = None, chunk: int = 5000) -> Iterator[Event]:
        """The events of the desk after the one with the id `last`, up to `upto`."""
        return events_after(self.connection, self.desk, last, upto=upto, chunk=chunk)

    def notify(self, message: dict[str, Any]) -> None:
        """Tell the other processes once this is committed; on SQLite nobody listens."""
        if self.connection.dialect.name == "postgresql":
            self.connection.execute(_NOTIFY, {"message": json.dumps(message)})

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what the block wrote, and that alone, where it raises.

        Errors of the database come out as askless's. After `Unavailable` the whole transaction is lost: SQLite has
        taken it back on a full disk, or the connection is gone. Then no further savepoint is opened, and
        `Database.desk` raises instead of committing.
        """
        if self.lost is not None:
            raise self.lost
        try:
            with self.connection.begin_nested():
                yield
        except SQLAlchemyError as error:
            found = taken_back(self.where) if self.connection.invalidated else meaning(error, self.where)
            if isinstance(found, Unavailable):
                self.lost = found
            raise found from error


def events_after(
    connection: Connection, desk: int, last: int = 0, *, upto: int | None = None, chunk: int = 5000
) -> Iterator[Event]:
    """The events of a desk in their order, read so many at a time: a long ledger need not fit into memory."""
    query = select(_table).where(_table.c.desk == desk).order_by(_table.c.id).limit(chunk)
    if upto is not None:
        query = query.where(_table.c.id <= upto)
    while True:
        rows = connection.execute(query.where(_table.c.id > last)).all()
        for r in rows:
            yield Event(r.id, r.kind, r.query, r.payload, r.seen, r.who, r.at)
        if len(rows) < chunk:
            return
        last = rows[-1].id
