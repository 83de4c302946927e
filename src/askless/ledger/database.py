"""The ledger's database: an SQLite file, or PostgreSQL, behind the same few transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine, func, select, text

from askless.ledger import schema
from askless.ledger.engines import WRITES, make_file, postgresql_engine, sqlite_engine, url_of, use_log
from askless.ledger.entry import Entry
from askless.ledger.failures import taken_back, translated
from askless.ledger.upgrade import make_current

LOCKS = (
    schema.APPLICATION_ID
)  # the first half of every advisory lock that askless takes in PostgreSQL; a desk's id is the other

_PREPARING = 0  # the other half, for a process that creates or upgrades the ledger: no desk has that id
_PREPARING_MILLISECONDS = 60_000


class Database:
    """A ledger for many threads and processes at once.

    `where` is a path, sqlite:///PATH or postgresql://USER@HOST/NAME. What a block of `write` or `desk` wrote is durable
    once the block has ended without an error, and all of it is undone otherwise. Errors of the database come out as
    `Unavailable` (locked, full, not reachable: try again), `Conflicting` (a name that must be unique is taken),
    `InvalidInput` (a value that cannot be stored) or `UnreadableFile` (no ledger, or a damaged one).
    """

    def __init__(self, where: str | Path) -> None:
        self.url = url_of(where)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.path = Path(str(self.url.database)) if self.is_sqlite else None
        shown = self.url.set(drivername="postgresql").render_as_string(hide_password=True)
        self.name = shown if self.path is None else str(self.path)
        self.engine = sqlite_engine(self.url) if self.is_sqlite else postgresql_engine(self.url)
        self._reads = self.engine
        if not self.is_sqlite:
            self._reads = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._writes: Engine = self.engine.execution_options(**{WRITES: True})

    def prepare(self) -> None:
        """Create the ledger, or bring it to the newest schema; several processes may do so at once.

        What belongs to another program or to a newer askless is refused and left as it is.
        """
        if self.path is not None:
            make_file(self.path)
        with translated(self.name), self._writes.connect() as connection, _unchecked(connection), connection.begin():
            if not self.is_sqlite:
                connection.execute(text(f"SET LOCAL lock_timeout = {_PREPARING_MILLISECONDS}"))
                connection.execute(select(func.pg_advisory_xact_lock(LOCKS, _PREPARING)))
            make_current(connection, self.name)
        if self.is_sqlite:
            with translated(self.name):
                use_log(self.engine)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that reads: it sees the ledger as it was at its first statement, and holds up nobody."""
        with translated(self.name), self._reads.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes."""
        with translated(self.name), self._writes.connect() as connection, connection.begin():
            yield connection
            if connection.invalidated:  # never call done what the database has taken back by itself
                raise taken_back(self.name)

    @contextmanager
    def desk(self, desk: int) -> Iterator[Entry]:
        """A transaction that holds the lock of a desk: those of one desk form one line, in all processes."""
        with self.write() as connection:
            if not self.is_sqlite:  # the lock first: each later statement then sees what was committed before it
                connection.execute(select(func.pg_advisory_xact_lock(LOCKS, desk)))
            entry = Entry(connection, desk, self.name)
            yield entry
            if entry.lost is not None:
                raise entry.lost

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _unchecked(connection: Connection) -> Iterator[None]:
    """Without SQLite's checks of references: a migration may put a new table in the place of one referred to."""
    if connection.dialect.name != "sqlite":
        yield
        return
    raw: Any = connection.connection.driver_connection
    raw.execute("PRAGMA foreign_keys=OFF")  # which SQLite changes outside of transactions only
    try:
        yield
    finally:
        if not connection.invalidated:
            raw.execute("PRAGMA foreign_keys=ON")
