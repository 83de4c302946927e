"""Connections as the ledger needs them: durable, patient with other processes, and quick to notice a lost server."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from askless.errors import InvalidInput, MissingExtra, UnwritableFile

BUSY_MILLISECONDS = 5000  # how long to wait for another that writes, before the caller is told to try again
WRITES = "askless_writes"  # the execution option of connections whose transactions write

_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")
_CONNECTIONS = 10  # kept open; as many again for a rush


def url_of(where: str | Path) -> URL:
    """The address of an SQLite file or of a PostgreSQL database."""
    if isinstance(where, Path) or "://" not in where:
        return _sqlite(str(where))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):  # a port that is no number
        raise InvalidInput(f"A database is a file or postgresql://USER@HOST/NAME; found {_shown(where)!r}.") from None
    if url.drivername == "sqlite":
        return _sqlite(url.database or "")
    if url.drivername in _POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    raise InvalidInput(
        f"The ledger is kept in an SQLite file or in PostgreSQL (postgresql://USER@HOST/NAME); found an address of "
        f"{url.drivername!r}."
    )


def _shown(where: str) -> str:
    """An address that could not be read, up to where a password may begin."""
    return where.split("://")[0] + "://..."


def _sqlite(path: str) -> URL:
    if path in ("", ":memory:"):
        raise InvalidInput("The database needs a file, since several connections share it; name one, as askless.db.")
    return URL.create("sqlite", database=path)


def make_file(path: Path) -> None:
    """An empty file for a new ledger, which only its owner can read; refuse what cannot be written to."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise UnwritableFile(
            f"The ledger {path} cannot be written to: {error.strerror}. Mend that, or name another with --database."
        ) from error


def sqlite_engine(url: URL) -> Engine:
    """Write-ahead log, full synchronous commits, foreign keys; deleted texts are overwritten on the disk.

    A transaction that writes takes the lock when it begins, so that it never fails half way for a writer that came in
    between; one that reads takes none.
    """
    arguments = {"check_same_thread": False, "timeout": BUSY_MILLISECONDS / 1000}
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=_CONNECTIONS,
        max_overflow=_CONNECTIONS,
        connect_args=arguments,
        hide_parameters=True,
        json_serializer=_json,
    )

    @event.listens_for(engine, "connect")
    def _set(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # sqlite3 opens no transaction of its own: the next listener does
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    @event.listens_for(engine, "handle_error")
    def _taken_back(context: ExceptionContext) -> None:
        connection = context.connection
        raw: Any = None if connection is None else connection.connection.driver_connection
        if raw is not None and not raw.in_transaction:
            # On a full disk SQLite ends the transaction by itself; each later statement would be one of its own. So
            # the connection counts as lost: SQLAlchemy refuses all further use of it in this transaction.
            context.is_disconnect, context.invalidate_pool_on_disconnect = True, False

    return engine


def use_log(engine: Engine) -> None:
    """Switch an SQLite file to a write-ahead log, in which readers and a writer do not wait for each other.

    The switch is for good, is made outside of transactions, and does not wait for another process by itself.
    """
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        while raw.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                raw.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


def postgresql_engine(url: URL) -> Engine:
    """psycopg 3; a connection that died while it waited in the pool is replaced before it is used."""
    require_psycopg()
    engine = create_engine(
        url,
        pool_size=_CONNECTIONS,
        max_overflow=_CONNECTIONS,
        pool_pre_ping=True,
        connect_args=connect_arguments(),
        hide_parameters=True,
        json_serializer=_json,
    )

    @event.listens_for(engine, "connect")
    def _set(connection: Any, record: Any) -> None:
        before, connection.autocommit = connection.autocommit, True
        connection.execute(f"SET lock_timeout = {BUSY_MILLISECONDS}")
        connection.autocommit = before

    return engine


def _json(value: Any) -> str:
    """As `json.dumps`, in a sixth of the time where pydantic is there, which comes with the service.

    There the payloads of events are a good part of what a query costs.
    """
    to_json = _pydantic()
    if to_json is not None:
        try:
            return to_json(value, inf_nan_mode="constants").decode()
        except ValueError:  # half of a surrogate pair, which UTF-8 has no bytes for
            pass
    return json.dumps(value)


@cache
def _pydantic() -> Callable[..., bytes] | None:
    try:
        from pydantic_core import to_json
    except ImportError:
        return None
    return to_json


def connect_arguments() -> dict[str, Any]:
    """What every connection to PostgreSQL has: a name, and a few seconds until a server that is gone is noticed."""
    patience = {"connect_timeout": 5, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
    return {"application_name": "askless", **patience}


def require_psycopg() -> None:
    """Refuse where the driver of PostgreSQL is not installed."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtra("PostgreSQL needs psycopg, which is not installed: pip install 'askless[serve]'.") from None
