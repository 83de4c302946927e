"""The file behind the cache: one SQLite database, shared by any number of processes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

_BUSY_SECONDS = 30.0  # how long to wait for another process that writes
_PATIENCE = 5.0  # seconds for others who empty the log, or read what it holds
_KEYS_AT_ONCE = 500
_APPLICATION = 0x41534B56  # "ASKV", the mark by which SQLite files say whose they are; a ledger has "ASKL",
_OLD_APPLICATION = 0x41534B4C  # which the first caches had as well
_VERSION = 1
_COLUMNS = {"embedder": {"number", "id", "width"}, "vector": {"embedder", "text", "vector"}}
_DAMAGED = ".damaged-"  # what is put behind the name of a file that was moved aside
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS embedder (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    width INTEGER  -- the bytes of its vectors, once one is stored
);
CREATE TABLE IF NOT EXISTS vector (
    embedder INTEGER NOT NULL REFERENCES embedder (number),
    text BLOB NOT NULL,  -- its SHA-256: the text itself is not kept
    vector BLOB,  -- float32, or null where the embedder knows no token of the text
    UNIQUE (text, embedder)
);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
COMMIT;
"""


class TracesStay(sqlite3.OperationalError):
    """What was erased stands in the log still, which cannot be emptied while another process reads it."""


class ForeignFile(sqlite3.OperationalError):
    """A sound database that is not this version's cache: it is left alone."""


class OldLayout(sqlite3.DatabaseError):
    """A cache of ours from before its tables were what they are: as useless as a damaged one."""


class CacheFile:
    """Vectors by embedder id and by the digest of a text. Every method may raise sqlite3.Error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = _connect(path)
        self.inode = inode(path)
        self.process = os.getpid()  # a connection must not be used on the other side of a fork

    def read(self, embedder_id: str, keys: Sequence[bytes]) -> dict[bytes, bytes | None]:
        """What is stored of these keys."""
        number = self._number(embedder_id)
        found: dict[bytes, bytes | None] = {}
        for start in range(0, len(keys) if number is not None else 0, _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            marks = ",".join("?" * len(some))
            query = f"SELECT text, vector FROM vector WHERE embedder = ? AND text IN ({marks})"
            found.update(self.connection.execute(query, (number, *some)))
        return found

    def write(self, embedder_id: str, vectors: Mapping[bytes, bytes | None]) -> None:
        """Store what is not there yet, all of it or nothing."""
        with self._transaction():
            self.connection.execute("INSERT OR IGNORE INTO embedder (id) VALUES (?)", (embedder_id,))
            number = self._number(embedder_id)
            rows = ((number, key, vector) for key, vector in vectors.items())
            self.connection.executemany("INSERT OR IGNORE INTO vector VALUES (?, ?, ?)", rows)
            width = next((len(vector) for vector in vectors.values() if vector is not None), None)
            query = "UPDATE embedder SET width = ? WHERE number = ? AND width IS NULL"
            self.connection.execute(query, (width, number))

    def width(self, embedder_id: str) -> int | None:
        """The bytes of one of this embedder's vectors, where one is or was stored."""
        row = self.connection.execute("SELECT width FROM embedder WHERE id = ?", (embedder_id,)).fetchone()
        return None if row is None else row[0]

    def erase_texts(self, keys: Iterable[bytes]) -> int:
        """Erase these keys for every embedder, from the disk as well; the number of vectors erased."""
        with self._transaction():
            before = self.connection.total_changes
            self.connection.executemany("DELETE FROM vector WHERE text = ?", ((key,) for key in keys))
            erased = self.connection.total_changes - before
        self._empty_log()
        return erased

    def erase_embedder(self, embedder_id: str | None) -> int:
        """Erase one embedder's vectors, or everything; the file shrinks."""
        with self._transaction():
            chosen = "(SELECT number FROM embedder WHERE ?1 IS NULL OR id = ?1)"
            query = f"DELETE FROM vector WHERE embedder IN {chosen}"
            erased = self.connection.execute(query, (embedder_id,)).rowcount
            self.connection.execute("DELETE FROM embedder WHERE ?1 IS NULL OR id = ?1", (embedder_id,))
        self.connection.execute("VACUUM")
        self._empty_log()
        return erased

    def _empty_log(self) -> None:
        """Write the log into the database: it holds pages as they were before. Damaged files of old go as well."""
        for path in self.path.parent.glob(f"{self.path.name}{_DAMAGED}*"):
            path.unlink(missing_ok=True)
        until = time.monotonic() + _PATIENCE
        while self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:  # not while another does it
            if time.monotonic() > until:
                raise TracesStay("the log of the cache is being read")
            time.sleep(0.02)

    def counts(self) -> dict[str, int]:
        """Stored texts by embedder id."""
        query = (
            "SELECT id, count(*) FROM vector JOIN embedder ON embedder.number = vector.embedder GROUP BY id ORDER BY id"
        )
        return dict(self.connection.execute(query).fetchall())

    def size(self) -> int:
        """Bytes on the disk, the log included."""
        return sum(part.stat().st_size for part in _parts(self.path) if part.exists())

    def close(self) -> None:
        """Let go of the file."""
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()

    def _number(self, embedder_id: str) -> int | None:
        row = self.connection.execute("SELECT number FROM embedder WHERE id = ?", (embedder_id,)).fetchone()
        return None if row is None else int(row[0])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:  # on a full disk SQLite has rolled back itself
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is no database, a broken one, or a cache whose tables cannot be used."""
    if isinstance(error, OldLayout):
        return True
    code = getattr(error, "sqlite_errorcode", None)  # errors of the sqlite3 module itself have none
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def inode(path: Path) -> int | None:
    """Tells a file from another that took its name."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def move_aside(path: Path, found: int | None) -> Path | None:
    """Rename the damaged database, if it is still the one with the inode `found`; the new name.

    Another process may have met the same damage, moved the file and begun a new one, which must stay.
    """
    if found is None or inode(path) != found:
        return None
    aside = path.with_name(f"{path.name}{_DAMAGED}{time.time_ns()}")
    with contextlib.suppress(FileNotFoundError):
        for part in reversed(_parts(path)):  # the log first: a new database must never meet it
            if part.exists():
                part.rename(part.with_name(part.name.replace(path.name, aside.name, 1)))
        return aside
    return None


def _parts(path: Path) -> list[Path]:
    """The database, its log and the index of its log."""
    return [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]


def _connect(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # vectors tell of their texts: for the user's eyes
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _check_owner(connection, path)
        _use_log(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # what is forgotten leaves no trace in the file
        if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_owner(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN")  # one view of the file, so that its mark and its tables belong together
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = {table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")} for table in _COLUMNS}
    connection.execute("COMMIT")
    old = application == _OLD_APPLICATION and tables == {"embedder", "vector"}  # the schema gives it the new mark
    if not tables:
        return
    if application == _APPLICATION and (version < _VERSION or (version == _VERSION and columns != _COLUMNS)):
        raise OldLayout("its tables are those of an older askless")
    if not (version == _VERSION and (application == _APPLICATION or old)):
        raise ForeignFile(f"{path} is a database, but not a cache of this version of askless")


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log, in which readers and a writer do not wait for each other.

    The switch itself does not wait for a process that holds the file, so it is tried again.
    """
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
