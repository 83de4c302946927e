"""The `askless` command: what all its commands share, and the one place where an error becomes a message."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from askless.cli.bounds import bounds
from askless.cli.datasets import app as datasets
from askless.cli.demo import demo
from askless.cli.desk import app as desk
from askless.cli.keys import app as keys
from askless.cli.label import label
from askless.cli.ledger import app as ledger
from askless.cli.replay import replay
from askless.cli.reproduce import app as reproduce
from askless.cli.serve import serve
from askless.cli.simulate import simulate
from askless.errors import AsklessError

app = typer.Typer(
    name="askless",
    help="Label a stream of queries while asking a human expert as rarely as possible.",
    epilog="Example:\n\naskless demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog="Examples:\n\naskless demo\n\naskless demo --policy ghc:0.7 --seed 3 --out my-demo --no-animation")(
    demo
)
app.command(
    epilog="Examples:\n\naskless simulate --policy ghc:0.6 --policy chc --policy amp:0.95 --runs 5\n\n"
    "askless simulate --policy my_module:MyPolicy --space euclidean --dim 2 --rounds 1000 --out results"
)(simulate)
app.command(
    epilog="Examples:\n\naskless bounds --space sphere --dim 4 --labels 5 --horizon 5000\n\n"
    "askless bounds --space euclidean --dim 1 --labels 5 --horizon 10000 --runs 20 --out line"
)(bounds)
app.command(
    epilog="Examples:\n\naskless label tickets.csv\n\n"
    "askless label tickets.csv --text body --costs=-1,1,-20 --audit-rate 0.05 --out labelled.csv\n\n"
    "askless label answered.csv --oracle label --shuffle 0"
)(label)
app.command(
    epilog="Examples:\n\naskless replay tickets.csv --text question --label topic --out replayed\n\n"
    "askless replay banking77 --rounds 6000 --first-examples --known-labels --peers --jobs 2 --out banking77"
)(replay)
app.command(
    epilog="Examples:\n\naskless serve --sample\n\n"
    "askless serve --database postgresql://askless@db/askless --host 0.0.0.0 --workers 4"
)(serve)
app.add_typer(desk, name="desk")
app.add_typer(keys, name="keys")
app.add_typer(ledger, name="ledger")
app.add_typer(reproduce, name="reproduce")
app.add_typer(datasets, name="datasets")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"askless {version('askless')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and leave.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code: 2 after a mistake of the caller, 130 after Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a sign gets a question mark instead
            stream.reconfigure(errors="replace")
    try:
        app(args=arguments, prog_name="askless")
    except AsklessError as error:
        typer.echo(f"askless: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
