"""`askless datasets`: the data sets that askless knows, fetched and described."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askless.cli.tables import DelimiterOption, EncodingOption, SheetOption
from askless.errors import InvalidInput

if TYPE_CHECKING:
    from askless.datasets.catalogue import Dataset

app = typer.Typer(
    help="Labelled texts to try things on: list them, fetch them, look at them.",
    epilog="Examples:\n\naskless datasets list\n\naskless datasets fetch banking77\n\n"
    "askless datasets describe banking77",
    no_args_is_help=True,
)

_DataDir = Annotated[
    Path | None,
    typer.Option(help="The folder of the data sets.", show_default="the one that ASKLESS_DATA names, or your own"),
]


@app.command(name="list", epilog="Example:\n\naskless datasets list")
def list_datasets(data_dir: _DataDir = None) -> None:
    """Name the data sets, with their sizes and whether they are here."""
    from askless.cli.common import console
    from askless.cli.datasets_screen import print_list
    from askless.datasets.folder import data_folder

    print_list(console(), data_folder(data_dir))


@app.command(
    epilog="Examples:\n\naskless datasets fetch banking77 clinc150\n\naskless datasets fetch comqa --data-dir my-data"
)
def fetch(
    name: Annotated[list[str], typer.Argument(help="The data sets; `askless datasets list` names them.")],
    data_dir: _DataDir = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is here.")] = False,
) -> None:
    """Fetch data sets from where their makers publish them, with a checksum.

    Interrupt it, and no half file is left; the same command goes on with the files that are missing.
    """
    from askless.datasets.catalogue import known_dataset

    wanted = [known_dataset(one) for one in dict.fromkeys(name)]  # a wrong name stops all before the first
    try:
        _fetch(wanted, data_dir, force)
    except KeyboardInterrupt:
        typer.echo("askless: interrupted; whole files are kept, and the same command fetches the rest.", err=True)
        raise


def _fetch(wanted: list[Dataset], data_dir: Path | None, force: bool) -> None:
    from askless.cli.progress import bar
    from askless.datasets.catalogue import fetch_dataset
    from askless.datasets.folder import data_folder

    folder = data_folder(data_dir)
    for dataset in wanted:
        typer.echo(f"{dataset.name}: {dataset.what}. Licence: {dataset.licence}.")
        with bar(f"fetching {dataset.name}, kB") as show:
            fetched = fetch_dataset(
                dataset,
                data_dir,
                force=force,
                progress=lambda done, total: show(done / 1000, None if total is None else total / 1000),
            )
        trusted = {folder / file.path for file in dataset.files if file.sha256 is None}
        for path in fetched:
            checked = "no published checksum; later fetches must equal it" if path in trusted else "checksum right"
            typer.echo(f"  fetched {path} ({checked})")
        if not fetched:
            typer.echo(f"  here already, in {folder}" if dataset.files else "  comes with askless; nothing to fetch")


@app.command(
    epilog="Examples:\n\naskless datasets describe banking77\n\n"
    "askless datasets describe questions.csv --text question --label group --plot sizes.png"
)
def describe(
    name: Annotated[str, typer.Argument(help="A data set, or a file: .csv, .tsv, .jsonl, .parquet or .xlsx.")],
    text: Annotated[str | None, typer.Option(help="The file's column of texts.")] = None,
    label: Annotated[
        str | None, typer.Option(help="The file's column of labels.", show_default="the one called label")
    ] = None,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    sheet: SheetOption = None,
    plot: Annotated[
        Path | None, typer.Option(help="A .png, .svg or .pdf file for a plot of the labels' sizes.")
    ] = None,
    data_dir: _DataDir = None,
) -> None:
    """Count the texts and labels of a data set or a file, and show a few."""
    from askless.cli.common import console
    from askless.cli.datasets_screen import print_description, print_origin, save_sizes
    from askless.cli.progress import working
    from askless.datasets.catalogue import DATASETS
    from askless.datasets.delimited import separator_named
    from askless.datasets.folder import data_folder
    from askless.datasets.source import read_source

    with working(f"reading {name}"):
        found = read_source(
            name,
            text=text,
            label=label,
            data_dir=data_dir,
            encoding=encoding,
            separator=separator_named(delimiter),
            sheet=sheet,
            to_replay=False,
        )
    if plot is not None and not found.labels:
        raise InvalidInput(f"{found.name} has no labels whose sizes --plot could draw; name their column with --label.")
    print_description(console(), found)
    if found.name in DATASETS:
        print_origin(console(), DATASETS[found.name], data_folder(data_dir))
    if plot is not None:
        save_sizes(found, plot)
        typer.echo(f"Saved {plot}")
