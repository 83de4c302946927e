"""The rows that are done, each under the digest of what it depends on, in one SQLite file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from askless.errors import UnreadableFile, UnwritableFile

Row: TypeAlias = dict[str, Any]
_SECONDS_TO_WAIT = 60.0  # for another process that writes at the same time


class RowStore:
    """Rows by key. A row is written whole or not at all, whatever happens to the process.

    Several processes may write to one store: SQLite orders them, and two rows of one key are one row. Every row
    carries a digest of its text; one that does not match is left out, counted in `damaged`, and replaced when it is
    put again. A file that SQLite cannot read is refused and left as it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        with self._errors():
            self._connection = sqlite3.connect(path, timeout=_SECONDS_TO_WAIT, isolation_level=None)
            try:
                # A commit reaches the log in one piece; a power cut may undo the last ones, a killed process none.
                self._write_ahead()
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS rows (key TEXT PRIMARY KEY, row TEXT NOT NULL, digest TEXT NOT NULL)"
                )
            except sqlite3.Error:
                self._connection.close()
                raise
            self._connection.text_factory = bytes  # a damaged text may not be UTF-8

    def _write_ahead(self) -> None:
        """Turn the log on; SQLite does not wait by itself for another process that does so at the same moment."""
        end = time.monotonic() + _SECONDS_TO_WAIT
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def put(self, key: str, row: Row) -> None:
        """Keep a row under its key."""
        text = json.dumps(row, sort_keys=True)
        with self._errors():
            self._connection.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", (key, text, _digest(key, text)))

    def rows(self) -> dict[str, Row]:
        """All rows that are whole."""
        found: dict[str, Row] = {}
        with self._errors():
            records = self._connection.execute("SELECT key, row, digest FROM rows").fetchall()
        for record in records:
            key, text, digest = (_text(value) for value in record)
            if _digest(key, text) == digest:
                found[key] = json.loads(text)
        self.damaged = len(records) - len(found)
        return found

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, a folder without permission, a lock held too long
            raise UnwritableFile(
                f"Cannot use the row store {self.path}: {error}. The rows in it are kept; mend the cause and run the "
                "same command again."
            ) from error
        except sqlite3.DatabaseError as error:
            raise UnreadableFile(
                f"The row store {self.path} is damaged ({error}). Nothing was changed; put a copy of it back, or move "
                "it away to make every row again."
            ) from error


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _digest(key: str, text: str) -> str:
    return hashlib.sha256(f"{key} {text}".encode()).hexdigest()
