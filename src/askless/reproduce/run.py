"""From the names of tables to their cells, with the rows kept on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from askless.errors import InvalidInput
from askless.reproduce.compare import Compared, compare, summary
from askless.reproduce.execute import Progress, run_jobs
from askless.reproduce.file_tables import FileResult, file_cells, fill
from askless.reproduce.jobs import Job, Labelled
from askless.reproduce.paper import DATA_SETS, FILE_RUNS, ROUNDS
from askless.reproduce.store import Row, RowStore
from askless.reproduce.tables import FILE_TABLES, SUMMARY, cells_of, known_table
from askless.streams.synthetic import as_whole

DEFAULT_DRAWS = 5
QUICK_ROUNDS, QUICK_DATA_SETS = 500, 2
STORE = "rows.sqlite"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run: rounds (None: the paper's, or all rows of a file), draws of the label seeds, and data sets a
    draw (on a file: runs)."""

    rounds: int | None = None
    draws: int = DEFAULT_DRAWS
    data_sets: int | None = None

    def __post_init__(self) -> None:
        as_whole(self.draws, 1, "--draws")
        for value, name in ((self.rounds, "--rounds"), (self.data_sets, "--seeds")):
            if value is not None:
                as_whole(value, 1, name)

    @property
    def synthetic(self) -> tuple[int, int, int]:
        """Rounds, draws and data sets of a synthetic cell."""
        return self.rounds or ROUNDS, self.draws, self.data_sets or DATA_SETS

    @property
    def file_runs(self) -> int:
        """Runs of a policy on a labelled file."""
        return self.data_sets or FILE_RUNS


QUICK = Size(QUICK_ROUNDS, 1, QUICK_DATA_SETS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The tables of a run: synthetic cells beside the paper's, cells on a labelled file, and the rows of both."""

    cells: list[Compared]
    results: list[FileResult]
    rows: list[Row]
    damaged: int  # rows of the store that could not be read, and were run again


def jobs_of(names: Sequence[str], size: Size, data: Labelled | None = None) -> list[Job]:
    """The jobs that these tables need; one that several tables share comes once."""
    jobs: dict[Job, None] = {}
    for name in map(known_table, names):
        if name in FILE_TABLES:
            if data is None:
                raise InvalidInput(
                    f"The table {name!r} is made from a labelled file of yours; name it with --file, and its columns "
                    "with --text and --label."
                )
            for file_cell in file_cells(name):
                jobs.update(dict.fromkeys(file_cell.jobs(data, size.rounds, size.file_runs)))
        else:
            for cell in cells_of(name):
                jobs.update(dict.fromkeys(cell.jobs(*size.synthetic)))
    return list(jobs)


def reproduce(
    names: Sequence[str],
    folder: Path,
    *,
    size: Size | None = None,
    workers: int = 1,
    dask: str | None = None,
    data: Labelled | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """The tables of these names. Rows are kept in `folder`, and those that are there already are not run again."""
    size = size or Size()
    jobs = jobs_of(names, size, data)
    with RowStore(folder / STORE) as store:
        rows = run_jobs(jobs, store, workers=workers, dask=dask, data=data, progress=progress)
        damaged = store.damaged
    cells: list[Compared] = []
    results: list[FileResult] = []
    for name in names:
        if name == SUMMARY:
            cells += summary(cells_of(name), rows, *size.synthetic)
        elif name in FILE_TABLES and data is not None:
            results += [fill(cell, rows, data, size.rounds, size.file_runs) for cell in file_cells(name)]
        else:
            cells += [compare(cell, rows, *size.synthetic) for cell in cells_of(name)]
    return Outcome(cells, results, list(rows.values()), damaged)
