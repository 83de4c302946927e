"""`askless keys`: who may call the service."""

from __future__ import annotations

from typing import Annotated

import typer

from askless.cli.database import DEFAULT_DATABASE, DatabaseOption

app = typer.Typer(
    help="API keys of the service: make, list and revoke them.",
    epilog="Examples:\n\naskless keys create website --role client --desk support\n\naskless keys list\n\n"
    "askless keys revoke website",
    no_args_is_help=True,
)


@app.command(
    epilog="Examples:\n\naskless keys create website --role client --desk support\n\n"
    "askless keys create anna --role expert\n\nKEY=$(askless keys create script --role admin)"
)
def create(
    name: Annotated[str, typer.Argument(help="Whose key it is; stands in the ledger beside what they do.")],
    role: Annotated[
        str,
        typer.Option(help="client: submits queries; expert: answers tickets as well; admin: everything."),
    ] = "client",
    desk: Annotated[
        str | None, typer.Option(help="The only desk that the key opens.", show_default="all desks")
    ] = None,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Make a key and print it, this once: only a hash of it is kept.

    The key alone goes to the standard output, so that a script can take it.
    """
    from askless.cli.database import opened_database
    from askless.cli.serve_run import starting
    from askless.ledger.database import Database
    from askless.service.keys import create_key

    with Database(database) as named:
        path = named.path
    new = path is not None and not path.exists()
    with starting(), opened_database(database, create=desk is None) as opened:
        made = create_key(opened, name, role, desk)
    if new:
        typer.echo(f"Made the database {path}: there was none. --database names another.", err=True)
    where = "all desks" if made.row.desk is None else f"the desk {made.row.desk}"
    typer.echo(f"Key {made.row.name}: {made.row.role} of {where}. It is shown only now; keep it.", err=True)
    typer.echo(made.secret)


@app.command(name="list", epilog="Example:\n\naskless keys list")
def list_all(database: DatabaseOption = DEFAULT_DATABASE) -> None:
    """Name the keys, with their roles and whether they are in force; never the keys themselves."""
    from rich.table import Table
    from rich.text import Text

    from askless.cli.common import console
    from askless.cli.database import opened_database
    from askless.service.keys import list_keys

    with opened_database(database) as opened:
        rows = list_keys(opened)
    if not rows:
        typer.echo("There are no keys. Make one with `askless keys create NAME --role admin`.")
        return
    table = Table("name", "role", "desk", "made", "in force")
    for row in rows:
        state = "yes" if row.revoked_at is None else f"revoked {row.revoked_at:%Y-%m-%d %H:%M}"
        made = f"{row.created_at:%Y-%m-%d %H:%M}"
        table.add_row(Text(row.name), row.role.value, Text(row.desk or "all"), made, state)
    console().print(table)


@app.command(epilog="Example:\n\naskless keys revoke website")
def revoke(
    name: Annotated[str, typer.Argument(help="The key; `askless keys list` names them.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, though it is the last admin's key.")] = False,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Revoke a key: within a second it opens nothing any more, and its logins end.

    Asks first where no other admin of all desks would be left.
    """
    from askless.cli.database import opened_database
    from askless.service.keys import find_key, is_last_admin, revoke_key

    with opened_database(database) as opened:
        row = find_key(opened, name)
        if row.revoked_at is not None:
            typer.echo(f"The key {row.name} was revoked already, on {row.revoked_at:%Y-%m-%d %H:%M} UTC.")
            return
        if is_last_admin(opened, row) and not yes:
            typer.echo(
                f"{row.name} is the last key of an admin of all desks. The way back is to make another one here, with "
                "`askless keys create NAME --role admin`."
            )
            typer.confirm(f"Revoke the key {row.name} all the same?", abort=True)
        revoke_key(opened, name)
    typer.echo(f"Revoked the key {row.name}.")
