"""What `askless replay` shows on the terminal: how far it is, and the table."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from askless.replay.data import Vectored
    from askless.replay.run import Entry

_SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def shown_progress(folder: Path) -> Iterator[Callable[[int, int], None]]:
    """A function that shows runs done and to do on the standard error; after Ctrl-C it says what is kept."""
    from askless.cli.progress import bar

    state = {"done": 0, "todo": 0, "said": time.monotonic()}
    try:
        with bar("runs") as show:

            def progress(done: int, todo: int) -> None:
                state.update(done=done, todo=todo)
                show(done, todo)
                if not sys.stderr.isatty() and time.monotonic() - state["said"] > _SECONDS_BETWEEN_LINES:
                    state["said"] = time.monotonic()
                    typer.echo(f"askless: {done:,} of {todo:,} runs", err=True)

            yield progress
    except KeyboardInterrupt:
        typer.echo(
            f"askless: interrupted with {state['done']:,} of {state['todo']:,} new runs made, which are kept in "
            f"{folder}; the same command goes on from there.",
            err=True,
        )
        raise


def table(data: Vectored, entries: Sequence[Entry]) -> Table:
    """The entries, one line each."""
    from rich.markup import escape
    from rich.table import Table

    from askless.replay.report import show_figure

    first = entries[0].runs
    runs = f"{len(first)} x " if len(first) > 1 else ""
    rounds = first[0].trace.rounds
    length = f"{rounds:,} round{'' if rounds == 1 else 's'}"
    title = f"{data.name}, {data.embedder}: {runs}{length}, {len(data.classes):,} labels"
    shown = Table(title=escape(title), title_justify="left", title_style="bold")
    costs = first[0].trace.costs
    spread = "mean ± standard deviation over the orders; " if len(first) > 1 else ""
    shown.caption = f"{spread}a question costs {costs.question:g}, a wrong guess {costs.mistake:g}"
    shown.caption_justify = "left"
    shown.add_column("policy", overflow="fold")
    columns = {
        "calls": "calls",
        "mistakes": "mistakes",
        "share_automated": "automated",
        "regret": "regret",
        "seconds": "seconds",
    }
    for heading in columns.values():
        shown.add_column(heading, justify="right", no_wrap=True)
    for entry in entries:
        name = escape(entry.title) + (f"\n[dim]{entry.choice}[/dim]" if entry.choice else "")
        shown.add_row(name, *(show_figure(entry, key) for key in columns))
    return shown
