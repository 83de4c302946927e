"""`askless desk`: make desks, look at them and change them, also while a server runs on the same database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from askless.cli.database import DEFAULT_DATABASE, DatabaseOption
from askless.cli.desk_data import DeskArgument, erase, export_desk, import_examples, statistics
from askless.cli.desk_reembed import reembed

if TYPE_CHECKING:
    from collections.abc import Callable

    from askless.desk.live.desk import LiveDesk

app = typer.Typer(
    help="The desks of the service: make, list, change, pause and delete them; examples in, labels out.",
    epilog="Examples:\n\naskless desk create support\n\naskless desk set support --audit-rate 0.05\n\n"
    "askless desk show support",
    no_args_is_help=True,
)

_Policy = Annotated[str | None, typer.Option(help="The policy, such as ghc:0.9 or module:Class.")]
_Costs = Annotated[str | None, typer.Option(help="Rewards of a call, a right and a wrong guess, such as -1,1,-10.")]
_AuditRate = Annotated[float | None, typer.Option(help="The share of guesses that an expert checks, blind.")]
_Mode = Annotated[str | None, typer.Option(help="live: guesses are the answer; shadow: all is asked.")]
_WhenAble = Annotated[
    str | None, typer.Option(help="A waiting ticket that could be guessed by now: withdraw it, or offer the guess.")
]
_Lease = Annotated[int | None, typer.Option(help="Seconds that a claimed ticket is kept for its expert.")]
_Retention = Annotated[
    int | None, typer.Option(help="Erase queries after so many days; 0 keeps them for ever.", show_default="keep")
]
_RetainExamples = Annotated[
    bool | None,
    typer.Option("--retain-examples/--erase-examples", help="Whether --retention-days spares what experts labelled."),
]
_ShareExamples = Annotated[
    bool | None,
    typer.Option(
        "--share-examples/--hide-examples", help="Whether clients' keys see the texts of the examples behind a guess."
    ),
]


@app.command(
    epilog="Examples:\n\naskless desk create support\n\n"
    "askless desk create returns --mode shadow --audit-rate 0.05 --costs=-1,1,-20"
)
def create(
    name: Annotated[str, typer.Argument(help="A name for it: letters, digits, dots, hyphens and underscores.")],
    embedder: Annotated[str, typer.Option(help="What turns texts into vectors.")] = "wordllama",
    policy: _Policy = None,
    costs: _Costs = None,
    audit_rate: _AuditRate = None,
    mode: _Mode = None,
    when_able: _WhenAble = None,
    lease_seconds: _Lease = None,
    retention_days: _Retention = None,
    retain_examples: _RetainExamples = None,
    share_examples: _ShareExamples = None,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Make a desk: a stream of questions with labels, a policy and an embedder of its own."""
    from askless.cli.common import allow_own_modules
    from askless.cli.database import opened_desks
    from askless.cli.label_open import user
    from askless.desk.live.settings import LiveSettings

    allow_own_modules()
    flags = {"retain_examples": retain_examples, "share_examples": share_examples}
    wanted = _wanted(policy, costs, audit_rate, mode, when_able, lease_seconds, retention_days, **flags)
    settings = LiveSettings(embedder=embedder).changed(**wanted)
    with opened_desks(database, create=True) as desks:
        desks.create(name, settings, user())
    typer.echo(f"Made the desk {name}. Give it examples known before with `askless desk import {name} FILE`.")


@app.command(name="list", epilog="Example:\n\naskless desk list")
def list_desks(database: DatabaseOption = DEFAULT_DATABASE) -> None:
    """Name the desks, with what each is set to and how much waits there."""
    from askless.cli.common import console
    from askless.cli.database import opened_desks
    from askless.cli.desk_read import figures_of, settings_of
    from askless.cli.desk_screen import print_desks

    with opened_desks(database) as desks:
        found = [(row.name, settings_of(desks, row.name)) for row in desks.rows()]
        print_desks(console(), [(name, settings, figures_of(desks, name, settings)) for name, settings in found])


@app.command(epilog="Example:\n\naskless desk show support")
def show(desk: DeskArgument, database: DatabaseOption = DEFAULT_DATABASE) -> None:
    """Show a desk's settings, its counts and the error rate that its audits measured."""
    from askless.cli.common import console
    from askless.cli.database import opened_desks
    from askless.cli.desk_read import figures_of, labels_of, settings_of
    from askless.cli.desk_screen import print_desk

    with opened_desks(database) as desks:
        settings = settings_of(desks, desk)
        print_desk(console(), desk, settings, figures_of(desks, desk, settings), labels_of(desks, desk))


@app.command(
    name="set",
    epilog="Examples:\n\naskless desk set support --mode live --audit-rate 0.05\n\n"
    "askless desk set support --policy ghc:0.8 --costs=-1,1,-20",
)
def change(
    desk: DeskArgument,
    policy: _Policy = None,
    costs: _Costs = None,
    audit_rate: _AuditRate = None,
    mode: _Mode = None,
    when_able: _WhenAble = None,
    lease_seconds: _Lease = None,
    retention_days: _Retention = None,
    retain_examples: _RetainExamples = None,
    share_examples: _ShareExamples = None,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Change a desk's settings; no example is lost. Another embedder: `askless desk reembed`."""
    from askless.cli.label_open import user
    from askless.desk.live.configure import configure
    from askless.errors import InvalidInput

    flags = {"retain_examples": retain_examples, "share_examples": share_examples}
    wanted = _wanted(policy, costs, audit_rate, mode, when_able, lease_seconds, retention_days, **flags)
    if not wanted:
        raise InvalidInput("Nothing to set. Name a setting, such as --audit-rate 0.05; --help lists them.")
    _run(database, desk, lambda live: configure(live, wanted, user()))
    typer.echo(f"Set {', '.join(sorted(wanted))} of the desk {desk}.".replace("_", " "))


@app.command(epilog="Example:\n\naskless desk pause support")
def pause(desk: DeskArgument, database: DatabaseOption = DEFAULT_DATABASE) -> None:
    """Let a desk take no new queries; tickets can still be answered."""
    from askless.cli.label_open import user
    from askless.desk.live.configure import pause as paused

    _run(database, desk, lambda live: paused(live, user()))
    typer.echo(f"The desk {desk} takes no new queries until `askless desk resume {desk}`.")


@app.command(epilog="Example:\n\naskless desk resume support")
def resume(desk: DeskArgument, database: DatabaseOption = DEFAULT_DATABASE) -> None:
    """Let a paused desk take queries again."""
    from askless.cli.label_open import user
    from askless.desk.live.configure import resume as resumed

    _run(database, desk, lambda live: resumed(live, user()))
    typer.echo(f"The desk {desk} takes queries.")


@app.command(epilog="Example:\n\naskless desk delete support")
def delete(
    desk: DeskArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether you are sure.")] = False,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Delete a desk with all its queries, examples and events. There is no way back but a backup."""
    from askless.cli.database import opened_desks
    from askless.cli.label_open import user

    with opened_desks(database) as desks:
        desks.row(desk)
        if not yes:
            typer.confirm(f"Delete the desk {desk} with everything in it?", abort=True)
        desks.delete(desk, user())
    typer.echo(f"Deleted the desk {desk}.")


def _wanted(
    policy: str | None,
    costs: str | None,
    audit_rate: float | None,
    mode: str | None,
    when_able: str | None,
    lease_seconds: int | None,
    retention_days: int | None,
    **flags: bool | None,
) -> dict[str, Any]:
    """The settings that were named, as `LiveSettings.changed` takes them."""
    named: dict[str, Any] = {
        "policy": policy,
        "costs": costs,
        "audit_rate": audit_rate,
        "mode": mode,
        "when_able": when_able,
        "lease_seconds": lease_seconds,
        **flags,
    }
    wanted = {name: value for name, value in named.items() if value is not None}
    if retention_days is not None:
        wanted["retention_days"] = retention_days or None
    return wanted


def _run(database: str, desk: str, operation: Callable[[LiveDesk], object]) -> None:
    from askless.cli.database import opened_desks

    with opened_desks(database) as desks:
        desks.run(desk, operation).result()


app.command(
    name="import",
    epilog="Examples:\n\naskless desk import support answered.csv\n\n"
    "askless desk import support answered.csv --text question --label topic",
)(import_examples)
app.command(
    name="export",
    epilog="Examples:\n\naskless desk export support labels.csv\n\naskless desk export support labels.parquet --force",
)(export_desk)
app.command(
    epilog="Examples:\n\naskless desk statistics support\n\n"
    "askless desk statistics support --call-price 4 --mistake-price 40"
)(statistics)
app.command(epilog="Example:\n\naskless desk reembed support minilm")(reembed)
app.command(epilog="Example:\n\naskless desk erase support order-17 order-18")(erase)
