"""One row for each figure: what was measured, the two measurements behind it, and on what."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from askless.errors import InvalidInput

AT_MOST, AT_LEAST = "at most", "at least"


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


@dataclass(frozen=True)
class Row:
    """A measured figure and the bound it should reach.

    `ours` and `other` are the two measurements (in `unit`) that `value` comes from, each over `repeats`
    repetitions. `quick` marks small sizes, for which the bound is not meant.
    """

    name: str
    size: str
    measure: str
    value: float
    sense: str
    bound: float
    ours: float
    other: float
    unit: str
    repeats: int
    detail: str = ""
    quick: bool = False
    numpy: str = field(default_factory=lambda: version("numpy"))
    numba: str = field(default_factory=lambda: version("numba"))
    scipy: str = field(default_factory=lambda: version("scipy"))
    python: str = field(default_factory=platform.python_version)
    cpus: int = field(default_factory=lambda: os.cpu_count() or 0)
    date: str = field(default_factory=_today)

    @property
    def reached(self) -> str:
        """'yes' or 'no', and nothing where the sizes are not those of the bound."""
        if self.quick:
            return ""
        good = self.value <= self.bound if self.sense == AT_MOST else self.value >= self.bound
        return "yes" if good else "no"

    def as_text(self) -> dict[str, str]:
        """The columns of the row as they stand in the file."""
        cells: dict[str, Any] = asdict(self) | {"reached": self.reached}
        return {name: _text(cells[name]) for name in COLUMNS}


COLUMNS = [f.name for f in fields(Row)]
COLUMNS.insert(COLUMNS.index("bound") + 1, "reached")


def _text(cell: object) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def read_rows(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a file by name; none where there is no file."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            raise InvalidInput(
                f"{path} does not have the columns of benchmark rows. Move it away, or give another --out."
            )
        return {row["name"]: row for row in reader}


def save_rows(path: Path, rows: Iterable[Row]) -> None:
    """Put the rows into the file, each in the place of an older one of its name; the others stay."""
    kept = read_rows(path) | {row.name: row.as_text() for row in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept.values())
    fresh.replace(path)


def table(rows: Sequence[Row]) -> str:
    """The rows for a reader, one line each, and the detail of each under it."""
    titles = ("name", "size", "value", "reach", "reached", "ours", "other", "repeats")
    body = [_cells(row) for row in rows]
    details = [row.detail for row in rows]
    widths = [max(len(line[i]) for line in [titles, *body]) for i in range(len(titles))]
    lines = [_line(titles, widths), _line(["-" * width for width in widths], widths)]
    for cells, detail in zip(body, details, strict=True):
        lines.append(_line(cells, widths))
        if detail:
            lines.append(f"    {detail}")
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    reached = {"yes": "yes", "no": "MISSED", "": "-"}[row.reached]
    pair = (_scaled(row.ours, row.unit), _scaled(row.other, row.unit))
    reach = f"{row.sense} {row.bound:g}"
    return (row.name, row.size, f"{row.value:.3g}", reach, reached, *pair, str(row.repeats))


def _scaled(amount: float, unit: str) -> str:
    if unit == "s":
        return f"{amount:.2f} s" if amount >= 1.0 else f"{amount * 1e3:.3f} ms"
    return f"{amount / 1e6:.1f} MB" if unit == "bytes" else f"{amount:g} {unit}"


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
