"""`askless ledger`: replay it and compare, copy it to a file, make one from such a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askless.cli.database import DEFAULT_DATABASE, DatabaseOption
from askless.errors import InvalidInput

if TYPE_CHECKING:
    from askless.desk.live.verify import Verified
    from askless.ledger.database import Database

_SHOWN = 10  # differences of a desk that are printed

app = typer.Typer(
    help="The record behind the desks: verify it, back it up, restore it.",
    epilog="Examples:\n\naskless ledger verify\n\naskless ledger backup monday.backup\n\n"
    "askless ledger restore monday.backup --database restored.db",
    no_args_is_help=True,
)


@app.command(epilog="Examples:\n\naskless ledger verify\n\naskless ledger verify support --database askless.db")
def verify(
    desk: Annotated[list[str] | None, typer.Argument(help="The desks to verify.", show_default="all of them")] = None,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Make every decision again from the events before it, and compare; also while a server runs.

    What stands about queries, tickets and labels is worked out anew as well. Decisions that rest on a query which was
    erased since, or on another embedder's vectors, cannot be made again: they are counted. Leaves with exit code 1
    where something is not as the events say.
    """
    from askless.cli.common import allow_own_modules
    from askless.cli.database import opened_database
    from askless.cli.progress import bar
    from askless.desk.live.verify import verify as replay

    allow_own_modules()
    sound = True
    with opened_database(database) as opened:
        for name in desk or _all_desks(opened):
            try:
                with bar(f"verifying {name}") as show:
                    found = replay(opened, name, progress=show)
            except InvalidInput as error:  # a desk of `askless label`
                if desk:
                    raise
                typer.echo(f"{name}: left out. {error}")
                continue
            for line in _lines(found):
                typer.echo(line)
            sound = sound and found.sound
    if not sound:
        raise typer.Exit(1)


def _all_desks(database: Database) -> list[str]:
    from sqlalchemy import select

    from askless.ledger import schema

    with database.read() as connection:
        names = connection.execute(select(schema.desks.c.name).order_by(schema.desks.c.name)).scalars().all()
    if not names:
        typer.echo(f"{database.name} has no desk yet: there is nothing to verify.")
    return list(names)


def _lines(found: Verified) -> list[str]:
    """What a check found, for a person."""
    from askless.cli.label_screen import counted
    from askless.cli.label_text import visible

    end = counted(found.differing, "difference")
    if found.sound:
        end = "what could be compared is as the events say" if found.skipped else "all as the events say"
    decisions = "no decision yet"
    if found.decisions:
        decisions = f"{found.same:,} of {counted(found.decisions, 'decision')} made again and the same"
    lines = [f"{found.desk}: {counted(found.events, 'event')}; {decisions}; {end}."]
    lines += [f"  not made again: {count:,}, since {why}" for why, count in found.skipped.most_common()]
    lines += [f"  {visible(str(difference), 300)}" for difference in found.differences[:_SHOWN]]
    if found.differing > _SHOWN:
        lines.append(f"  ... and {found.differing - _SHOWN:,} more")
    return lines


@app.command(
    epilog="Examples:\n\naskless ledger backup monday.backup\n\n"
    "askless ledger backup monday.backup --database postgresql://askless@db/askless"
)
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; one that is there is never overwritten.")],
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Copy the ledger to one file, as it is at this moment, also while a server runs on it.

    The copy of an SQLite ledger is an SQLite file; that of one in PostgreSQL is an archive of pg_dump. It is checked
    before it gets its name. It holds texts and hashes of keys: only you can read it, so keep it that way.
    """
    from askless.cli.progress import bar
    from askless.ledger.backup import backup as write
    from askless.ledger.database import Database

    with Database(database) as opened:
        with bar(f"backing up {opened.name}") as show:
            write(opened, file, show)
        typer.echo(f"Saved {file} ({_size(file)}).")
    typer.echo(f"To use it: askless ledger restore {file} --database NEW_FILE_OR_URL")


@app.command(
    epilog="Examples:\n\naskless ledger restore monday.backup --database restored.db\n\n"
    "askless ledger restore monday.backup --database postgresql://askless@db/restored"
)
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `askless ledger backup` wrote.")],
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Make a ledger from a backup, where there is none yet.

    A ledger that is there is never overwritten: restore to another file or an empty database, and start the service
    with that. A backup of an older askless is brought to the newest version on the way.
    """
    from askless.cli.progress import bar
    from askless.ledger.backup import restore as read
    from askless.ledger.database import Database

    with Database(database) as opened:
        with bar(f"restoring {opened.name}") as show:
            read(file, opened, show)
        typer.echo(f"Restored {opened.name}: {_contents(opened)}.")


def _size(file: Path) -> str:
    bytes = file.stat().st_size
    return f"{bytes / 1e6:,.1f} MB" if bytes >= 1e6 else f"{max(1, round(bytes / 1000)):,} kB"


def _contents(database: Database) -> str:
    """What is in a ledger, in numbers."""
    from sqlalchemy import func, select

    from askless.cli.label_screen import counted
    from askless.ledger import schema

    with database.read() as connection:
        desks, queries, events = (
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (schema.desks, schema.queries, schema.events)
        )
    return f"{counted(desks, 'desk')}, {counted(queries, 'query', 'queries')}, {counted(events, 'event')}"
