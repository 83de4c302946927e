"""Whether a folder may take a replay's files: what others put there is not written over."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from askless.errors import InvalidInput
from askless.replay.report import FILES
from askless.replay.run import STORE


def refuse_foreign_files(folder: Path) -> None:
    """Refuse a folder with files of a replay's names, unless the store of an earlier one lies beside them."""
    tables = _tables(folder / STORE)
    if tables is None or "rows" in tables:
        return
    there = [name for name in FILES if (folder / name).exists()]
    if tables:
        there.append(STORE)
    if there:
        raise InvalidInput(
            f"The folder {str(folder)!r} has {_listed(there)}, which no replay wrote: choose another with --out, or "
            "write over what is there with --force."
        )


def _tables(path: Path) -> set[str] | None:
    """The tables of a database, none where there is no file; None where it cannot be read, which its owner will say."""
    if not path.exists():
        return set()
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return None


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
