"""One self-contained page of a run, and its cells and rows as files beside it."""

from __future__ import annotations

import base64
import csv
import io
import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askless.datasets.whole import write_whole
from askless.errors import InvalidInput
from askless.reproduce.compare import HIGHER, LOWER, WITHIN, Beside, Compared
from askless.reproduce.file_tables import FileResult
from askless.reproduce.paper import Figure
from askless.reproduce.store import Row
from askless.reproduce.tables import SUMMARY, title_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_KINDS = {".svg": "image/svg+xml", ".png": "image/png"}
_PACKAGES = ("askless", "numpy", "scipy", "numba", "joblib")


def write_report(
    folder: Path,
    *,
    cells: Sequence[Compared] = (),
    results: Sequence[FileResult] = (),
    rows: Iterable[Row] = (),
    command: str,
    facts: Mapping[str, str],
    plots: Sequence[tuple[str, Path]] = (),
) -> Path:
    """Write report.html, cells.csv, cells.json, rows.csv and rows.json, and return the page's path.

    The page holds everything it shows: `plots` are titles and .svg or .png files, which are put into it. `facts` are
    lines about the run for its head. Every file is written whole or not at all.
    """
    page = _page(cells, results, command, facts, plots)
    lines: list[dict[str, Any]] = [cell.flat() for cell in cells] + [result.flat() for result in results]
    records = sorted(({k: v for k, v in row.items() if k != "curve"} for row in rows), key=_place)
    for name, table in (("cells", lines), ("rows", records)):
        write_whole(folder / f"{name}.csv", _csv(table).encode())
        write_whole(folder / f"{name}.json", (json.dumps(table, indent=1) + "\n").encode())
    return write_whole(folder / "report.html", page.encode())


def save_plot(drawing: Drawing, path: Path) -> Path:
    """Save a figure as SVG, whole or not at all; the same figure gives the same bytes."""
    import matplotlib

    contents = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "askless"}):  # else the names inside differ from run to run
        drawing.savefig(contents, format="svg", metadata={"Date": None})
    return write_whole(path, contents.getvalue())


def counts(cells: Iterable[Compared]) -> dict[str, int]:
    """How many cells have each verdict; the summary, which repeats cells, is left out."""
    found = Counter(cell.verdict for cell in cells if cell.table != SUMMARY)
    return {mark: found[mark] for mark in (WITHIN, LOWER, HIGHER)}


def _page(
    cells: Sequence[Compared],
    results: Sequence[FileResult],
    command: str,
    facts: Mapping[str, str],
    plots: Sequence[tuple[str, Path]],
) -> str:
    from jinja2 import Environment, StrictUndefined

    source = (files("askless.reproduce") / "report.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["figure"] = show_figure
    return environment.from_string(source).render(
        command=command,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        facts=facts,
        versions={"Python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        verdicts=counts(cells) if any(cell.verdict in (WITHIN, LOWER, HIGHER) for cell in cells) else {},
        tables=[*_tables(cells), *_file_tables(results)],
        plots=[(title, _inline(path)) for title, path in plots],
        synthetic=bool(cells),
        on_file=bool(results),
        several=any(c.regret.ours.several for c in cells) or any(result.regret.several for result in results),
    )


def show_figure(figure: Figure) -> str:
    """A mean and, of several runs, its deviation, to whole numbers."""
    return f"{figure.mean:,.0f}" + (f" ± {figure.deviation:,.0f}" if figure.several else "")


def _tables(cells: Sequence[Compared]) -> list[dict[str, Any]]:
    """The synthetic tables as the page shows them: one line a setting, one column a parameter."""
    shown = []
    for name in dict.fromkeys(cell.table for cell in cells):
        own = [cell for cell in cells if cell.table == name]
        columns = list(dict.fromkeys(cell.column for cell in own))
        grid = {(cell.setting, cell.column): _view(cell) for cell in own}
        lines = [
            (str(setting), [grid.get((setting, column)) for column in columns])
            for setting in dict.fromkeys(cell.setting for cell in own)
        ]
        shown.append(
            {
                "name": name,
                "title": title_of(name),
                "columns": columns,
                "lines": lines,
                "verdicts": {} if name == SUMMARY or own[0].verdict == "-" else counts(own),
                "seconds": sum(cell.seconds for cell in own),
            }
        )
    return shown


def _view(cell: Compared) -> dict[str, Any]:
    more: list[tuple[str, Beside]] = [
        (letter, beside) for letter, beside in (("C", cell.calls), ("M", cell.mistakes)) if beside is not None
    ]
    return {"verdict": cell.verdict, "regret": cell.regret, "more": more, "models": {}, "policy": ""}


def _file_tables(results: Sequence[FileResult]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for name in dict.fromkeys(result.cell.table for result in results):
        own = [result for result in results if result.cell.table == name]
        columns = list(dict.fromkeys(result.cell.column for result in own))
        grid = {(result.cell.line, result.cell.column): _file_view(result) for result in own}
        lines = [
            (line or "this file", [grid.get((line, column)) for column in columns])
            for line in dict.fromkeys(result.cell.line for result in own)
        ]
        seconds = sum(result.seconds for result in own)
        title = title_of(name)
        shown.append(
            {"name": name, "title": title, "columns": columns, "lines": lines, "verdicts": {}, "seconds": seconds}
        )
    return shown


def _file_view(result: FileResult) -> dict[str, Any]:
    more = [("C", result.calls), ("M", result.mistakes)]
    several = result.policy if len(result.cell.policies) > 1 else ""
    return {"verdict": "", "regret": result.regret, "more": more, "models": result.cell.paper, "policy": several}


def _inline(path: Path) -> str:
    """The image as an address that holds it."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise InvalidInput(f"A plot for the report is an .svg or .png file; found {path.name!r}.")
    try:
        image = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"Cannot read the plot {path}: {error.strerror or error}.") from error
    return f"data:{kind};base64,{base64.b64encode(image).decode()}"


def _csv(lines: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    names = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _place(row: Row) -> tuple[str, ...]:
    """A fixed order of the rows, whichever came first."""
    names = ("kind", "space", "dim", "distribution", "policy", "draw", "data_set", "run")
    return tuple(f"{row.get(name, ''):0>8}" for name in names)
