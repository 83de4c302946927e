"""The one place where an error of the database becomes one of askless."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from askless.errors import AsklessError, Conflicting, InvalidInput, Unavailable, UnreadableFile

# What SQLite says of a file that is not what it should be; all else is about the moment: locked, full, gone.
_WRONG_FILE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Errors of the driver come out as askless's, without the values that were written: those may be personal."""
    try:
        yield
    except (exc.SQLAlchemyError, sqlite3.Error, UnicodeEncodeError) as error:
        raise meaning(error, where) from error


def meaning(error: BaseException, where: str) -> AsklessError:
    """What an error of the database at `where` is to the caller."""
    cause = _cause(error)
    if isinstance(error, exc.IntegrityError):
        return Conflicting(f"This contradicts what the ledger holds ({cause}); nothing was changed.")
    if isinstance(error, exc.DataError | UnicodeEncodeError):
        return InvalidInput(f"A value cannot be stored ({cause}); nothing was changed.")
    if isinstance(error, exc.PendingRollbackError):
        return taken_back(where)
    if _is_wrong_file(error):
        return UnreadableFile(
            f"{where} is no ledger of askless, or a damaged one ({cause}). Nothing was changed; put a backup of it "
            "back, or name another."
        )
    return Unavailable(
        f"The database {where} cannot be used now ({cause}). What was not acknowledged was not done; try again."
    )


def taken_back(where: str) -> Unavailable:
    """The error for a transaction that the database has ended by itself."""
    return Unavailable(
        f"The database {where} has taken the transaction back (it may be full, or its connection lost). What was not "
        "acknowledged was not done; try again."
    )


def _is_wrong_file(error: BaseException) -> bool:
    origin = getattr(error, "orig", None) or error
    if isinstance(origin, sqlite3.Error):
        code = getattr(origin, "sqlite_errorcode", None)
        return code is not None and code & 0xFF in _WRONG_FILE
    return isinstance(error, exc.ProgrammingError)


def _cause(error: BaseException) -> str:
    """The first line of what the driver says. PostgreSQL's details, which may repeat values, stand below it."""
    if isinstance(error, UnicodeEncodeError):
        return "a text with half a sign in it, which UTF-8 has no bytes for"
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
