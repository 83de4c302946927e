"""The database that the commands of the service work on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from askless.errors import InvalidInput

if TYPE_CHECKING:
    from askless.desk.live.desks import Desks
    from askless.ledger.database import Database

DEFAULT_DATABASE = "askless.db"
DatabaseOption = Annotated[
    str,
    typer.Option(
        "--database",
        envvar="ASKLESS_DATABASE",
        help="An SQLite file, or the URL of a PostgreSQL database (postgresql://user@host/name).",
    ),
]


@contextmanager
def opened_database(where: str, *, create: bool = False) -> Iterator[Database]:
    """The database with the newest schema; closed when the block ends.

    Without `create` an SQLite file must be there, so that a slip in its name makes no empty one.
    """
    from askless.cli.progress import working
    from askless.ledger.database import Database

    database = Database(where)
    if not create and database.path is not None and not database.path.exists():
        raise InvalidInput(
            f"There is no database {str(database.path)!r}. Name another with --database or the variable "
            "ASKLESS_DATABASE, or make it with `askless serve` or `askless desk create NAME`."
        )
    with database:
        with working(f"opening {database.name}"):
            database.prepare()
        yield database


@contextmanager
def opened_desks(where: str, *, create: bool = False) -> Iterator[Desks]:
    """The desks of a database. A server that runs on it sees what is done here at its next transaction."""
    from askless.cli.common import allow_own_modules
    from askless.desk.live.desks import Desks

    allow_own_modules()
    with opened_database(where, create=create) as database, Desks(database, listen=False) as desks:
        yield desks
