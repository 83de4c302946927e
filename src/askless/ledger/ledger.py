"""The ledger in one SQLite file: opened, appended to, read back."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, insert, select
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError
from sqlalchemy.pool import NullPool, StaticPool

from askless.errors import InvalidInput, UnreadableFile, UnwritableFile
from askless.ledger import schema
from askless.ledger.events import RECEIVED, Event
from askless.ledger.upgrade import make_current


@dataclass(frozen=True, slots=True)
class DeskRow:
    """One desk of the ledger."""

    id: int
    name: str
    embedder: str


@dataclass(frozen=True, slots=True)
class Query:
    """One query: its text, and its vector, which is None where the embedder knows nothing of the text."""

    id: int
    key: str
    text: str | None
    vector: NDArray[np.float32] | None


class Ledger:
    """Events in the order they happened, and the queries they are about.

    What `commit` returned from is on the disk (write-ahead log, full synchronous commits), whatever happens to the
    process or the power; what was appended since the last commit is gone after a crash, all of it. With `exclusive` no
    other process can open the file until this one closes it or dies. Without a path the ledger lives in memory.
    """

    def __init__(self, path: Path | None = None, *, exclusive: bool = True) -> None:
        self.path = path
        self._engine = _engine(path, exclusive)
        with self._errors("Cannot open the ledger"):
            self._connection = self._open()
        self.last_event = 0

    def _open(self) -> Connection:
        connection = self._engine.connect()
        try:
            make_current(connection, str(self.path))
            connection.commit()
            raw: Any = connection.connection.driver_connection
            raw.execute("PRAGMA journal_mode=WAL")  # which SQLite changes outside of transactions only
            raw.execute("PRAGMA synchronous=FULL")
        except BaseException:
            connection.close()
            self._engine.dispose()
            raise
        return connection

    # -- desks and queries ----------------------------------------------------------------------------------
    def desk(self, name: str) -> DeskRow | None:
        """The desk of that name, or None."""
        rows = self._read(select(schema.desks).where(schema.desks.c.name == name))
        return DeskRow(rows[0].id, rows[0].name, rows[0].embedder) if rows else None

    def add_desk(self, name: str, embedder: str) -> DeskRow:
        """A new desk; its embedder is named once and for all."""
        row = {"name": name, "embedder": embedder, "created_at": _now()}
        with self._errors("Cannot write to the ledger"):
            result = self._connection.execute(insert(schema.desks), row)
        return DeskRow(_key(result), name, embedder)

    def add_queries(
        self, desk: DeskRow, keys: Sequence[str], texts: Sequence[str], vectors: NDArray[np.float32], embedder: str
    ) -> list[Query]:
        """New queries in this order, each with its event; a row of NaN is kept as no vector at all."""
        if embedder != desk.embedder:
            raise InvalidInput(
                f"The vectors of this desk come from {desk.embedder}, these from {embedder}. Use the desk's embedder, "
                "or start a new desk."
            )
        kept = [None if np.isnan(x).any() else np.array(x, dtype=np.float32) for x in vectors]
        rows = [
            {"desk": desk.id, "key": key, "text": text, "vector": x if x is None else x.tobytes(), "embedder": embedder}
            for key, text, x in zip(keys, texts, kept, strict=True)
        ]
        ids = self._insert_many(schema.queries, rows)
        at = _now()
        received = {"desk": desk.id, "kind": RECEIVED, "at": at, "who": None, "seen": None, "payload": {}}
        numbers = self._insert_many(schema.events, [received | {"query": id} for id in ids])
        self.last_event = max([self.last_event, *numbers])
        return [Query(*row) for row in zip(ids, keys, texts, kept, strict=True)]

    def _insert_many(self, table: Table, rows: list[dict[str, Any]]) -> list[int]:
        """Many rows at once; their ids, in the same order."""
        if not rows:
            return []
        statement = insert(table).returning(table.c.id, sort_by_parameter_order=True)
        with self._errors("Cannot write to the ledger"):
            return [int(id) for id in self._connection.execute(statement, rows).scalars()]

    def queries(self, desk: DeskRow) -> list[Query]:
        """All queries of a desk in the order they came."""
        table = schema.queries
        rows = self._read(select(table).where(table.c.desk == desk.id).order_by(table.c.id))
        return [
            Query(r.id, r.key, r.text, None if r.vector is None else np.frombuffer(r.vector, dtype=np.float32))
            for r in rows
        ]

    # -- events -----------------------------------------------------------------------------------------------
    def append(
        self,
        desk: DeskRow,
        kind: str,
        query: int | None = None,
        payload: dict[str, Any] | None = None,
        *,
        who: str | None = None,
        seen: int | None = None,
    ) -> Event:
        """Add an event; it is durable once `commit` has returned."""
        at = _now()
        row = {
            "desk": desk.id,
            "kind": kind,
            "query": query,
            "at": at,
            "who": who,
            "seen": seen,
            "payload": payload or {},
        }
        with self._errors("Cannot write to the ledger"):
            id = _key(self._connection.execute(insert(schema.events), row))
        self.last_event = id
        return Event(id, kind, query, payload or {}, seen, who, at)

    def events(self, desk: DeskRow, kind: str | None = None) -> list[Event]:
        """The events of a desk in their order: all, or those of one kind."""
        table = schema.events
        query = select(table).where(table.c.desk == desk.id).order_by(table.c.id)
        rows = self._read(query if kind is None else query.where(table.c.kind == kind))
        if rows:
            self.last_event = max(self.last_event, rows[-1].id)
        return [Event(r.id, r.kind, r.query, r.payload, r.seen, r.who, r.at) for r in rows]

    def commit(self) -> None:
        """Return once everything appended so far is on the disk."""
        with self._errors("The last entry was not saved"):
            self._connection.commit()

    def rollback(self) -> None:
        """Drop what was appended since the last commit."""
        self._connection.rollback()

    def close(self) -> None:
        """Commit what was appended, and let the file go."""
        try:
            self.commit()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let the file go without what was appended since the last commit."""
        self._connection.close()
        self._engine.dispose()

    def remove(self) -> None:
        """Let the file go and delete it: for a ledger that was just made, and that nothing has come of."""
        self.abandon()
        if self.path is not None:
            for end in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def _read(self, query: Any) -> Sequence[Any]:
        alone = not self._connection.in_transaction()
        with self._errors("Cannot read the ledger"):
            rows = self._connection.execute(query).fetchall()
            if alone:  # hold no lock for a read
                self._connection.rollback()
        return rows

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OperationalError, sqlite3.OperationalError) as error:  # a full disk, no permission, another process
            cause = str(getattr(error, "orig", error))
            if "locked" in cause:
                raise InvalidInput(
                    f"Another askless is at work on {self.path}. Finish or close that one first; nothing was changed."
                ) from error
            raise UnwritableFile(
                f"{what} {self.path}: {cause}. All that was saved before is kept; mend the cause and run the same "
                "command again."
            ) from error
        except IntegrityError as error:
            raise InvalidInput(f"Two queries of one desk cannot have the same key ({error.orig}).") from error
        except (DatabaseError, sqlite3.DatabaseError, json.JSONDecodeError) as error:
            raise UnreadableFile(
                f"{self.path} is no ledger of askless, or a damaged one ({getattr(error, 'orig', error)}). Nothing was "
                "changed; put a copy of it back, or move it away to start over."
            ) from error


def _engine(path: Path | None, exclusive: bool) -> Engine:
    if path is not None and path.exists() and not os.access(path, os.W_OK):
        raise UnwritableFile(f"The ledger {path} cannot be written to. Change its permissions, or name another.")
    url = URL.create("sqlite", database=None if path is None else str(path))
    engine = create_engine(url, poolclass=StaticPool if path is None else NullPool)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # sqlite3 opens no transaction of its own: the next listener does
        connection.execute("PRAGMA busy_timeout=1000")
        if exclusive:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _key(result: Any) -> int:
    return int(result.inserted_primary_key[0])


def _now() -> datetime:
    return datetime.now(UTC)
