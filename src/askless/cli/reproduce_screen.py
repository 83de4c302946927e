"""What `askless reproduce` shows on the terminal: how far it is, and the tables."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from askless.reproduce.compare import HIGHER, LOWER, WITHIN, Compared
from askless.reproduce.paper import Figure
from askless.reproduce.tables import SUMMARY, title_of

if TYPE_CHECKING:
    from rich.console import Console

    from askless.reproduce.file_tables import FileResult
    from askless.reproduce.run import Outcome

_SECONDS_BETWEEN_LINES = 30.0
_WIDE = 116  # columns of the terminal from which on deviations are shown
_MARKS = {WITHIN: "", LOWER: "▼", HIGHER: "▲"}


@contextmanager
def shown_progress(folder: Path) -> Iterator[Callable[[int, int], None]]:
    """A function that shows rows done and to do on the standard error: a bar on a terminal, else a line now and then.

    After Ctrl-C it says what is kept.
    """
    state = {"done": 0, "todo": 0}
    show = _bar if sys.stderr.isatty() else _lines
    try:
        with show() as shown:

            def progress(done: int, todo: int) -> None:
                state.update(done=done, todo=todo)
                shown(done, todo)

            yield progress
    except KeyboardInterrupt:
        if state["todo"]:
            typer.echo(
                f"askless: interrupted with {state['done']:,} of {state['todo']:,} new rows made, which are kept in "
                f"{folder}; the same command goes on from there.",
                err=True,
            )
        raise


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("rows"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=600.0) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda done, todo: bar.update(task, completed=done, total=todo)


@contextmanager
def _lines() -> Iterator[Callable[[int, int], None]]:
    start, first, last = 0.0, 0, time.monotonic()

    def show(done: int, todo: int) -> None:
        nonlocal start, first, last
        now = time.monotonic()
        if done and not start:  # with the first row: what came before it may have been the compiler
            start, first = now, done
        if done > first and now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            left = (now - start) / (done - first) * (todo - done)
            typer.echo(f"{done:,} of {todo:,} rows, about {max(left / 60.0, 0.1):.1f} minutes left", err=True)

    yield show


def print_tables(console: Console, outcome: Outcome) -> None:
    """The regrets of every table: ours, and below it the paper's."""
    for name in dict.fromkeys(cell.table for cell in outcome.cells):
        _print_cells(console, [cell for cell in outcome.cells if cell.table == name])
    for name in dict.fromkeys(result.cell.table for result in outcome.results):
        _print_results(console, [result for result in outcome.results if result.cell.table == name])
    _print_verdicts(console, outcome.cells)


def _print_cells(console: Console, cells: Sequence[Compared]) -> None:
    columns = list(dict.fromkeys(cell.column for cell in cells))
    grid = {(cell.setting, cell.column): cell for cell in cells}
    lines = []
    for setting in dict.fromkeys(cell.setting for cell in cells):
        found = [grid.get((setting, column)) for column in columns]
        ours = ["" if c is None else _short(console, c.regret.ours) + _MARKS.get(c.verdict, "") for c in found]
        paper = ["" if c is None else f"[dim]{_short(console, c.regret.paper)}[/dim]" for c in found]
        place = f"d={setting.dim} {setting.distribution}"
        lines.append([f"{setting.space} {place}" if cells[0].table == SUMMARY else place, *ours])
        lines.append(["[dim]paper[/dim]", *paper])
    _print(console, cells[0].table, columns, lines)


def _print_results(console: Console, results: Sequence[FileResult]) -> None:
    columns = list(dict.fromkeys(result.cell.column for result in results))
    lines = []
    for line in dict.fromkeys(result.cell.line for result in results):
        own = {result.cell.column: result for result in results if result.cell.line == line}
        lines.append([line or "this file", *(_short(console, own[column].regret) for column in columns)])
        if any(len(result.cell.policies) > 1 for result in own.values()):
            lines.append(["[dim]best at[/dim]", *(f"[dim]{own[column].policy}[/dim]" for column in columns)])
        for model in own[columns[0]].cell.paper:
            values = [own[column].cell.paper.get(model) for column in columns]
            shown = ["" if value is None else f"[dim]{value:.0f}[/dim]" for value in values]
            lines.append([f"[dim]paper, QQG, {model}[/dim]", *shown])
    _print(console, results[0].cell.table, columns, lines)


def _print(console: Console, name: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(title=f"{name}: {title_of(name)}. Regret", title_justify="left", title_style="bold", box=box.SIMPLE)
    table.padding = (0, 1, 0, 0)
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    for line in lines:
        table.add_row(*line)
    console.print(table)


def _short(console: Console, figure: Figure) -> str:
    spread = f"±{figure.deviation:.0f}" if figure.several and console.width >= _WIDE else ""
    return f"{figure.mean:.0f}{spread}"


def _print_verdicts(console: Console, cells: Sequence[Compared]) -> None:
    from askless.reproduce.report import counts

    found = counts(cells)
    total = sum(found.values())
    if total:
        share = 100.0 * (found[WITHIN] + found[LOWER]) / total
        console.print(
            f"{total} cells: {found[WITHIN]} within, {found[LOWER]} lower (▼), {found[HIGHER]} higher (▲) than the "
            f"paper; {share:.1f} per cent within or lower."
        )
    elif cells and any(cell.table != SUMMARY for cell in cells):
        console.print("No verdicts: the paper's figures are of 5,000 rounds.")
