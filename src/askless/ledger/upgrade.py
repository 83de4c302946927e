"""The one place that decides what schema a database has, and brings it to the newest.

An SQLite file says whose it is and of which version in its header (`application_id`, `user_version`); a PostgreSQL
database says so in the table `askless_version`, which Alembic keeps in both. An empty database is made from the
declared tables; an older one goes through the migrations, which lead to the same tables.
"""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from askless.errors import UnreadableFile
from askless.ledger import schema

VERSION_TABLE = "askless_version"  # not Alembic's own name for it, which another program's may have

_NEWEST = f"{schema.SCHEMA_VERSION:04}"
_one_at_a_time = threading.Lock()  # Alembic's environment belongs to the process, not to a connection


def make_current(connection: Connection, where: str) -> None:
    """Create the tables, or bring them to the newest schema, in the transaction that is open and holds the lock.

    What belongs to another program or to a newer askless is refused and left as it is.
    """
    version = version_of(connection, where)
    if version == 0:
        _create(connection)
    elif version < schema.SCHEMA_VERSION:
        upgrade(connection, version)


def version_of(connection: Connection, where: str) -> int:
    """The version of the schema, 0 where there is nothing yet; one that this askless cannot read is refused."""
    found = _found_in_file if connection.dialect.name == "sqlite" else _found_in_server
    version = found(connection, where)
    refuse_newer(version, where)
    return version


def refuse_newer(version: int, where: str) -> None:
    """Refuse a version of the schema that this askless does not know."""
    if version > schema.SCHEMA_VERSION:
        raise UnreadableFile(
            f"{where} was written by a newer askless (ledger version {version}; this one reads up to "
            f"{schema.SCHEMA_VERSION}). Upgrade askless to go on with it."
        )


def _found_in_file(connection: Connection, where: str) -> int:
    app, version, tables = (
        int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
        for name in ("application_id", "user_version", "schema_version")
    )
    if not tables:
        return 0
    # An early embedding cache has the same mark, and other tables.
    if app != schema.APPLICATION_ID or not inspect(connection).has_table("events"):
        raise UnreadableFile(
            f"{where} is an SQLite file of another program, no ledger of askless; it was left as it is. Name another "
            "file for the ledger."
        )
    return version


def _found_in_server(connection: Connection, where: str) -> int:
    names = set(inspect(connection).get_table_names())
    if VERSION_TABLE in names:
        version = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
        if version is not None and version.isdecimal():
            return int(version)
    taken = sorted(names & set(schema.metadata.tables))
    if taken:
        raise UnreadableFile(
            f"{where} has tables of another program that are named as the ledger's ({', '.join(taken)}); they were "
            "left as they are. Give the ledger a database of its own."
        )
    return 0


def _create(connection: Connection) -> None:
    schema.metadata.create_all(connection)
    connection.execute(text(_VERSION_TABLE))
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:version)"), {"version": _NEWEST})
    mark(connection, _NEWEST)


# As Alembic makes it, so that it need not be loaded for a new ledger.
_VERSION_TABLE = (
    f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
    f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
)


def mark(connection: Connection, version: str) -> None:
    """Write the version into the header of an SQLite file; in PostgreSQL the table says it."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id={schema.APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version={int(version)}")


def upgrade(connection: Connection, version: int, to: str = "head") -> None:
    """Run the migrations after `version`, 0 for all of them, in the transaction that is open."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    with _one_at_a_time:
        if version == 1 and not inspect(connection).has_table(VERSION_TABLE):
            command.stamp(config, "0001")  # a file of `askless label` before there were migrations
        command.upgrade(config, to)
