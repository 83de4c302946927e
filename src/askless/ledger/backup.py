"""A ledger copied to one file while others work on it, and such a file made into a ledger again."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from askless.errors import InvalidInput, UnreadableFile, UnwritableFile
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.failures import translated
from askless.ledger.postgresql_tools import check, dump, load
from askless.ledger.upgrade import version_of

Progress: TypeAlias = Callable[[int, int], None]  # done, in all

_SQLITE, _POSTGRESQL = b"SQLite format 3\x00", b"PGDMP"  # what the files begin with
_PAGES_AT_ONCE = 1000


def backup(database: Database, path: Path, progress: Progress | None = None) -> None:
    """Write the ledger as it is at this moment to a new file, while others go on reading and writing it.

    SQLite: a copy of the file, made in one read transaction. PostgreSQL: an archive of pg_dump in its custom format.
    The file is checked, reaches the disk, and only then has its name. Only its owner can read it.
    """
    if path.exists():
        raise InvalidInput(f"{path} is there already, and was left as it is. Name another file for the backup.")
    _check_there(database)
    with _whole_or_not(path) as temporary:
        if database.path is not None:
            _copy(database.path, temporary, progress)
            _check(temporary, database.name)
        else:
            dump(database, temporary)
            check(temporary, "The backup just made")


def restore(path: Path, database: Database, progress: Progress | None = None) -> None:
    """Make the ledger of a backup anew where there is none yet, and bring it to the newest schema."""
    kind = _kind(path)
    wanted = _SQLITE if database.is_sqlite else _POSTGRESQL
    if kind != wanted:
        here, there = ("SQLite", "PostgreSQL") if kind == _SQLITE else ("PostgreSQL", "SQLite")
        raise InvalidInput(
            f"{path} is the backup of a ledger in {here}, and {database.name} is a ledger in {there}. Restore it to "
            f"one in {here}."
        )
    if database.path is not None:
        _refuse_file(database.path)
        _check(path, str(path))
        with _whole_or_not(database.path) as temporary:
            _copy(path, temporary, progress)
    else:
        _refuse_tables(database)
        check(path, str(path))
        load(path, database)
    database.prepare()


def _kind(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
    except OSError as error:
        raise UnreadableFile(f"The backup {path} cannot be read: {error.strerror}.") from error
    for kind in (_SQLITE, _POSTGRESQL):
        if start.startswith(kind):
            return kind
    raise UnreadableFile(f"{path} is no backup of a ledger; expected a file that `askless ledger backup` wrote.")


def _check_there(database: Database) -> None:
    """Refuse what holds no ledger, or one of a newer askless."""
    absent = database.path is not None and not database.path.exists()
    if not absent:
        with database.read() as connection:
            absent = not version_of(connection, database.name)
    if absent:
        raise InvalidInput(f"There is no ledger in {database.name} to back up. Name another with --database.")


def _refuse_file(path: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):  # the log of another database must never meet this one
        part = path.with_name(path.name + end)
        if part.exists() and (end or part.stat().st_size):
            raise InvalidInput(
                f"{part} is there already, and was left as it is. Restore to another file, or stop what works on this "
                "ledger and move its files away first."
            )


def _refuse_tables(database: Database) -> None:
    from sqlalchemy import inspect

    with database.read() as connection:
        found = sorted(set(inspect(connection).get_table_names()) & set(schema.metadata.tables))
    if found:
        raise InvalidInput(
            f"{database.name} holds a ledger already (or tables of these names: {', '.join(found)}), and was left as "
            "it is. Restore to an empty database (createdb makes one), and start the service with that."
        )


def _copy(source: Path, target: Path, progress: Progress | None) -> None:
    """Copy an SQLite file. The read transaction keeps the source as it was: writers do not start the copy over."""

    def step(status: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    address = f"{source.absolute().as_uri()}?mode=ro"
    with (
        translated(str(source)),
        contextlib.closing(sqlite3.connect(address, uri=True, isolation_level=None)) as old,
        contextlib.closing(sqlite3.connect(target, isolation_level=None)) as new,
    ):
        old.execute("BEGIN")
        old.execute("SELECT count(*) FROM sqlite_master").fetchone()
        old.backup(new, pages=_PAGES_AT_ONCE, progress=step)
        new.execute("PRAGMA journal_mode=DELETE")  # one file, which can be read where nothing can be written


def _check(path: Path, where: str) -> None:
    """Refuse a file that is damaged, no ledger, or of a newer askless."""
    with Database(path) as copy, translated(where), copy.engine.connect() as connection:
        if not version_of(connection, where):
            raise UnreadableFile(f"{where} is empty; expected a ledger of askless.")
        found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
    if found != "ok":
        raise UnreadableFile(f"{where} is damaged ({' '.join(str(found).split())}); use another backup.")


@contextmanager
def _whole_or_not(path: Path) -> Iterator[Path]:
    """A name for the work beside `path`; what lies there when the block ends without an error gets the name `path`."""
    temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"
    try:
        os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise UnwritableFile(
            f"Cannot write {path}: {error.strerror or error}. Nothing was left behind; mend the cause, or name another "
            "file."
        ) from error
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            temporary.with_name(temporary.name + end).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name reach the disk, where the system can say so of a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
