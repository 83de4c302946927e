"""`askless reproduce figure`: the paper's figures, drawn again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from askless.reproduce.figures.catalogue import Request
    from askless.reproduce.jobs import Labelled

_EXAMPLES = (
    "askless reproduce figure list",
    "askless reproduce figure regions --jobs 2",
    "askless reproduce figure group-sizes --file questions.csv --label group",
    "askless reproduce figure all --quick",
)
_FOLDER = "figures"  # in the folder that --out names


def add_figure(app: typer.Typer) -> None:
    """Put the command into the group of `askless reproduce`."""
    app.command(name="figure", epilog="Examples:\n\n" + "\n\n".join(_EXAMPLES))(figure)


def figure(
    name: Annotated[str, typer.Argument(help="The figure, `all`, or `list` to name them.")],
    seed: Annotated[int, typer.Option(help="Of everything that is drawn at random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Runs at a time on this machine; -1 uses every core.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Coarse grids, 500 rounds, two runs: a preview.")] = False,
    out: Annotated[
        Path, typer.Option(help="The folder for the rows; the figures go into its subfolder figures.")
    ] = Path("askless-reproduce"),
    file: Annotated[
        Path | None,
        typer.Option(help="A labelled file of yours for group-sizes, regret-rounds and regret-tau."),
    ] = None,
    text: Annotated[str | None, typer.Option(help="The file's column of texts.")] = None,
    label: Annotated[
        str | None, typer.Option(help="The file's column or array of labels; for .npy, a file with one label a row.")
    ] = None,
    vectors: Annotated[str, typer.Option(help="The array of vectors in a .npz file.")] = "X",
) -> None:
    """Draw one of the paper's figures, or all of them, each as .svg and .png.

    The same options give the same files. Interrupt it, and the same command goes on where it was.
    """
    from askless.errors import InvalidInput
    from askless.reproduce.figures.catalogue import FIGURES, ON_A_FILE, known_figure

    if name == "list":
        for known, shows in FIGURES.items():
            typer.echo(f"{known:<16}{shows}")
        return
    names = list(FIGURES) if name == "all" else [known_figure(name)]
    if file is None and (text is not None or label is not None):
        raise InvalidInput("--text and --label are columns of a labelled file; name it with --file.")
    if file is not None and not set(names) & set(ON_A_FILE):
        raise InvalidInput(f"--file is for {', '.join(ON_A_FILE)}; the figure {name!r} is not made from a file.")
    request = _request(names, out, seed, quick, jobs, file, text, label, vectors)
    _make(names, request)


def _request(
    names: list[str],
    out: Path,
    seed: int,
    quick: bool,
    jobs: int,
    file: Path | None,
    text: str | None,
    label: str | None,
    vectors: str,
) -> Request:
    """What is asked for, with the file read; a mistake in it is found before anything is made."""
    from askless.reproduce.figures.catalogue import REGRET, Request

    request = Request(out, seed=seed, quick=quick, jobs=jobs)
    if file is None:
        return request
    from dataclasses import replace

    if set(names) & set(REGRET):
        from askless.reproduce.labelled import read_labelled

        request = replace(request, data=read_labelled(file, text=text, label=label, vectors=vectors))
    if "group-sizes" in names:
        from askless.reproduce.figures.group_sizes import read_groups

        request = replace(request, groups=read_groups(file, label))
    return replace(request, source=file.name)


def draw_all(
    folder: Path, quick: bool, jobs: int, file: Path | None, data: Labelled | None, label: str | None
) -> list[tuple[str, Path]]:
    """Draw every figure for a report: a title and an .svg file for each."""
    from askless.reproduce.figures.catalogue import FIGURES, Request

    request = Request(folder, quick=quick, jobs=jobs)
    if file is not None:
        from askless.reproduce.figures.group_sizes import read_groups

        request = Request(folder, 0, quick, jobs, data, read_groups(file, label), file.name)
    made = [(name, path) for name, path in _make(list(FIGURES), request) if path.suffix == ".svg"]
    return [(FIGURES[name] + path.stem.removeprefix(name).replace("-", ": "), path) for name, path in made]


def _make(names: list[str], request: Request) -> list[tuple[str, Path]]:
    """Draw the figures one after the other, and say where each file is as soon as it is there."""
    from dataclasses import replace

    from askless.cli.common import output_folder
    from askless.reproduce.figures.catalogue import make_figure

    folder, made = output_folder(output_folder(request.folder) / _FOLDER), []
    for name in names:
        with _shown(name, request.folder) as progress:
            paths = make_figure(name, replace(request, progress=progress), folder)
        for path in paths:
            typer.echo(str(path))
            made.append((name, path))
    return made


@contextmanager
def _shown(name: str, folder: Path) -> Iterator[Callable[[int, int], None]]:
    """A function that shows steps done and to do as a bar, where the standard error is a terminal.

    The bar comes with the first step, as runs before it may show a bar of their own.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    task = bar.add_task(name, total=None)

    def progress(done: int, todo: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=todo)

    try:
        yield progress
    except KeyboardInterrupt:
        bar.stop()
        typer.echo(
            f"askless: interrupted at {name}; what is finished is kept in {folder}, and the same command goes on "
            "from there.",
            err=True,
        )
        raise
    finally:
        bar.stop()
