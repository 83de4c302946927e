"""`askless serve`: the service from one command."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from askless.cli.database import DEFAULT_DATABASE, DatabaseOption

if TYPE_CHECKING:
    import socket

    from askless.cli.serve_greeting import Greeting
    from askless.desk.live.desks import Desks
    from askless.ledger.database import Database
    from askless.service.config import ServiceConfig

_FIRST_KEY = "admin"


def serve(
    database: DatabaseOption = DEFAULT_DATABASE,
    host: Annotated[
        str, typer.Option(help="The address to listen on; one that others can reach needs keys first.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes any free one.", min=0, max=65535)] = 8400,
    workers: Annotated[int, typer.Option(help="Processes; more than one need PostgreSQL.", min=1)] = 1,
    sample: Annotated[
        bool, typer.Option("--sample", help="Make a desk of a shop that knows answers, to play with.")
    ] = False,
    rate: Annotated[float, typer.Option(help="Requests a second that each key may make; 0: no limit.", min=0)] = 200.0,
    log_texts: Annotated[bool, typer.Option("--log-texts", help="Let the logs hold the texts of queries.")] = False,
) -> None:
    """Start the service: texts come in over HTTP, known questions are answered, the rest wait for an expert.

    Makes what it needs at the first start: the database, a desk, and an admin key, which it shows once. Ctrl-C or
    SIGTERM stops it; what was acknowledged is on the disk.
    """
    from askless.cli.common import allow_own_modules
    from askless.cli.serve_greeting import Greeting
    from askless.cli.serve_run import address_of, bound_socket, need_service, starting

    need_service()
    from askless.service.config import ServiceConfig

    config = ServiceConfig(rate=rate or None, log_texts=log_texts, pages=workers == 1)
    with starting():
        name = _refuse(database, host, workers)
    allow_own_modules()
    with closing(bound_socket(host, port)) as taken:
        typer.echo(f"askless: starting on {address_of(taken)}, database {name} ...", err=True)
        with starting():
            desk, key, filled = _prepare(database, sample)
        _run(database, workers, config, taken, Greeting(address_of(taken), name, desk, key, filled, config.pages))
    typer.echo("askless: stopped; nothing was lost.")


def _refuse(where: str, host: str, workers: int) -> str:
    """Refuse what cannot be served before anything is made; the name of the database, without a password."""
    from askless.cli.database import opened_database
    from askless.errors import InvalidInput
    from askless.ledger.database import Database
    from askless.service.config import check_host, database_option, is_loopback

    database = Database(where)
    if workers > 1 and database.is_sqlite:
        raise InvalidInput(
            f"{workers} workers need PostgreSQL; {where!r} is an SQLite file, which one process serves. "
            "Leave --workers out, or give --database postgresql://user@host/name."
        )
    if is_loopback(host):
        return database.name
    if database.path is not None and not database.path.exists():
        raise InvalidInput(
            f"Listening on {host} needs keys, and the database {where!r} is not there yet. "
            f"Make a first key: askless keys create NAME --role admin{database_option(database.name)}"
        )
    with opened_database(where) as opened:
        check_host(host, opened)
    return database.name


def _prepare(where: str, sample: bool) -> tuple[str, str | None, bool]:
    """The database with a desk and a key.

    Gives the name of a desk, the first key where it was made just now, and whether the sample was.
    """
    from askless.cli.database import opened_database
    from askless.service.keys import Role, create_key, has_keys, list_keys

    with opened_database(where, create=True) as database:
        desk, filled = _first_desk(database, sample)
        if has_keys(database):
            return desk, None, filled
        taken = {row.name for row in list_keys(database)}  # a revoked key keeps its name
        names = [_FIRST_KEY, *(f"{_FIRST_KEY}-{number}" for number in range(2, len(taken) + 3))]
        name = next(name for name in names if name not in taken)
        return desk, create_key(database, name, Role.ADMIN).secret, filled


def _first_desk(database: Database, sample: bool) -> tuple[str, bool]:
    """The desk that the lines to paste name, and whether those of the sample go there.

    It is made where there is none, or none of the sample's name. The sample goes into an empty desk only.
    """
    from askless.cli.label_open import user
    from askless.cli.serve_sample import DESK, fill
    from askless.desk.live.desks import Desks
    from askless.desk.live.settings import LiveSettings

    with Desks(database, listen=False) as desks:
        names = [row.name for row in desks.rows()]
        if names and not sample:
            return DESK if DESK in names else names[0], False
        if DESK not in names:
            desks.create(DESK, LiveSettings(), user())
        elif not _is_empty(desks, DESK):
            typer.echo(
                f"askless: --sample changes nothing: the desk {DESK} is in use. To play with the sample: askless serve "
                "--sample --database sample.db",
                err=True,
            )
            return DESK, False
        if sample:
            fill(desks, user())
    return DESK, sample and _has_no_tickets(database)


def _is_empty(desks: Desks, desk: str) -> bool:
    """Whether the desk has no label and was sent nothing yet."""
    from sqlalchemy import func, select

    from askless.ledger import schema

    number = desks.row(desk).id
    with desks.database.read() as connection:
        rows = (select(func.count()).where(table.c.desk == number) for table in (schema.queries, schema.labels))
        return not any(connection.execute(count).scalar_one() for count in rows)


def _has_no_tickets(database: Database) -> bool:
    """Whether the next ticket is number 1, as the sample's lines to paste say."""
    from sqlalchemy import select

    from askless.ledger import schema

    with database.read() as connection:
        return connection.execute(select(schema.tickets.c.id).limit(1)).scalar() is None


def _run(where: str, workers: int, config: ServiceConfig, taken: socket.socket, greeting: Greeting) -> None:
    from askless.cli.serve_run import run_one, run_several

    ready = lambda: typer.echo("\n".join(greeting.lines()))  # noqa: E731
    if workers > 1:
        run_several(where, config, workers, taken, ready)
    else:
        run_one(where, config, taken, ready)
