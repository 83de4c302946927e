"""`askless reproduce`: the paper's tables and figures, made again and set beside what it reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from askless.cli.reproduce_figures import add_figure, draw_all
from askless.errors import InvalidInput

if TYPE_CHECKING:
    from askless.reproduce.jobs import Labelled
    from askless.reproduce.run import Outcome, Size

Plots: TypeAlias = list[tuple[str, Path]]  # titles and files

app = typer.Typer(
    help="The paper's tables and figures, made again and set beside what it reports.",
    epilog="Examples:\n\naskless reproduce list\n\naskless reproduce table cube-hull --draws 1 --jobs 2\n\n"
    "askless reproduce all --quick",
    no_args_is_help=True,
)
add_figure(app)

_Draws = Annotated[
    int | None, typer.Option(help="Draws of the label seeds, each with data sets of its own.", show_default="5")
]
_Seeds = Annotated[
    int | None,
    typer.Option(help="Data sets of each draw; on a labelled file, runs.", show_default="5; on a file 3"),
]
_Rounds = Annotated[
    int | None, typer.Option(help="Queries in a run.", show_default="5000; on a file all that are left")
]
_Jobs = Annotated[int, typer.Option(help="Runs at a time on this machine; -1 uses every core.")]
_Dask = Annotated[
    str | None, typer.Option(help="The address of a Dask scheduler, such as tcp://127.0.0.1:8786, to run there.")
]
_Quick = Annotated[bool, typer.Option("--quick", help="One draw, two data sets, 500 rounds: a minute, no verdicts.")]
_Out = Annotated[Path, typer.Option(help="The folder for the rows, the report and its files.")]
_File = Annotated[
    Path | None, typer.Option(help="A labelled file of yours: .csv, .tsv or .jsonl with texts, .npz or .npy.")
]
_Text = Annotated[str | None, typer.Option(help="The file's column of texts.")]
_Label = Annotated[
    str | None, typer.Option(help="The file's column or array of labels; for .npy, a file with one label a row.")
]
_Vectors = Annotated[str, typer.Option(help="The array of vectors in a .npz file.")]
_OUT = Path("askless-reproduce")


@app.command(
    name="table",
    epilog="Examples:\n\naskless reproduce table sphere-hull --draws 1 --jobs 2\n\n"
    "askless reproduce table qqg --file questions.csv --text question --label group",
)
def table(
    name: Annotated[str, typer.Argument(help="The table; `askless reproduce list` names them.")],
    draws: _Draws = None,
    seeds: _Seeds = None,
    rounds: _Rounds = None,
    jobs: _Jobs = 1,
    dask: _Dask = None,
    quick: _Quick = False,
    out: _Out = _OUT,
    file: _File = None,
    text: _Text = None,
    label: _Label = None,
    vectors: _Vectors = "X",
) -> None:
    """Make one table, and a report on it in a folder of its name.

    Interrupt it, and the same command goes on where it was.
    """
    from askless.reproduce.tables import FILE_TABLES, known_table

    if known_table(name) not in FILE_TABLES and file is not None:
        raise InvalidInput(f"--file is for {', '.join(FILE_TABLES)}; the table {name!r} is not made from a file.")
    size, data = _size(rounds, draws, seeds, quick), _data(file, text, label, vectors)
    _make([name], out, out / name, size, jobs, dask, data)


@app.command(
    name="all", epilog="Examples:\n\naskless reproduce all --quick\n\naskless reproduce all --draws 20 --jobs 2"
)
def all_tables(
    draws: _Draws = None,
    seeds: _Seeds = None,
    rounds: _Rounds = None,
    jobs: _Jobs = 1,
    dask: _Dask = None,
    quick: _Quick = False,
    out: _Out = _OUT,
    file: _File = None,
    text: _Text = None,
    label: _Label = None,
    vectors: _Vectors = "X",
) -> None:
    """Make every synthetic table, the summary and all figures, and with --file the tables on it, in one report.

    Interrupt it, and the same command goes on where it was.
    """
    from askless.reproduce.tables import FILE_TABLES, SUMMARY, SYNTHETIC_TABLES

    size, data = _size(rounds, draws, seeds, quick), _data(file, text, label, vectors)
    names = [SUMMARY, *SYNTHETIC_TABLES, *(FILE_TABLES if data is not None else ())]
    _make(names, out, out, size, jobs, dask, data, lambda: draw_all(out, quick, jobs, file, data, label))


@app.command(name="list", epilog="Example:\n\naskless reproduce list")
def list_tables() -> None:
    """Name the tables, with what each one shows."""
    from askless.reproduce.tables import FILE_TABLES, SUMMARY, SYNTHETIC_TABLES, title_of

    for name in (*SYNTHETIC_TABLES, SUMMARY, *FILE_TABLES):
        typer.echo(f"{name:<16}{title_of(name)}")


def _size(rounds: int | None, draws: int | None, seeds: int | None, quick: bool) -> Size:
    """What is asked for, and the rest as in a quick or a full run."""
    from askless.reproduce.run import QUICK, Size

    usual = QUICK if quick else Size()
    return Size(
        usual.rounds if rounds is None else rounds,
        usual.draws if draws is None else draws,
        usual.data_sets if seeds is None else seeds,
    )


def _data(file: Path | None, text: str | None, label: str | None, vectors: str) -> Labelled | None:
    if file is None:
        if text is not None or label is not None:
            raise InvalidInput("--text and --label are columns of a labelled file; name it with --file.")
        return None
    from askless.reproduce.labelled import read_labelled

    return read_labelled(file, text=text, label=label, vectors=vectors)


def _make(
    names: list[str],
    store: Path,
    folder: Path,
    size: Size,
    jobs: int,
    dask: str | None,
    data: Labelled | None,
    figures: Callable[[], Plots] = list,
) -> None:
    """Run what is missing, print the tables, draw the figures, and write the report."""
    from askless.cli.common import console, output_folder
    from askless.cli.reproduce_screen import print_tables, shown_progress
    from askless.reproduce.run import jobs_of, reproduce

    jobs_of(names, size, data)  # a table that cannot be made is refused before a folder is
    output_folder(store)
    output_folder(folder)
    with shown_progress(store) as progress:
        outcome = reproduce(names, store, size=size, workers=jobs, dask=dask, data=data, progress=progress)
    if outcome.damaged:
        typer.echo(f"askless: {outcome.damaged} rows of {store} were damaged; those needed were run again.", err=True)
    print_tables(console(), outcome)
    typer.echo(f"\nReport: {_report(folder, outcome, size, data, figures())}")


def _report(folder: Path, outcome: Outcome, size: Size, data: Labelled | None, figures: Plots) -> Path:
    import shlex
    import sys

    from askless.reproduce.overview import draw_curves, draw_ratios
    from askless.reproduce.report import save_plot, write_report
    from askless.reproduce.tables import SUMMARY

    rounds, draws, data_sets = size.synthetic
    facts, plots = {}, []
    if outcome.cells:
        facts["size"] = f"{rounds:,} rounds; draws of the label seeds: {draws}; data sets of each: {data_sets}"
    single = [cell for cell in outcome.cells if cell.table != SUMMARY]  # the summary repeats them, and has no points
    if single:
        plots.append(("Regret beside the paper's", save_plot(draw_ratios(single), folder / "ratios.svg")))
    if data is not None and outcome.results:
        played = min(data.rounds, size.rounds or data.rounds)
        runs = "1 run" if size.file_runs == 1 else f"{size.file_runs} runs"
        facts["file"] = f"{len(data.labels):,} rows, {data.n_labels:,} labels, {runs} of {played:,} rounds"
    curves = [result for result in outcome.results if result.cell.table == "qqg-algorithms"]
    if curves:
        plots.append(("Regret against the round", save_plot(draw_curves(curves), folder / "curves.svg")))
    return write_report(
        folder,
        cells=outcome.cells,
        results=outcome.results,
        rows=outcome.rows,
        command=shlex.join(["askless", *sys.argv[1:]]),
        facts=facts,
        plots=[*plots, *figures],
    )
