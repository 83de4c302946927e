"""The README's table of figures, made from the rows: `python -m benchmarks.readme` rewrites that section."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from askless.errors import AsklessError, InvalidInput
from benchmarks.rows import read_rows
from benchmarks.run import OUT

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
Cells = Mapping[str, str]  # one row of the file, by column


def main() -> int:
    """Rewrite the section; without rows it becomes empty, and a message says why."""
    try:
        rows = list(read_rows(OUT).values())
        text = README.read_text(encoding="utf-8")
        README.write_text(replaced(text, section(rows)), encoding="utf-8")
    except AsklessError as problem:
        print(f"benchmarks: {problem}", file=sys.stderr)
        return 2
    if not rows:
        print(f"benchmarks: no rows in {OUT.name}, so the section of the README is empty. Run `make bench` first.")
    return 0


def section(rows: Iterable[Cells]) -> str:
    """What stands between the two markers: on what the rows were measured, which bounds they miss, and a table.

    Rows of a quick run are left out, because the bounds are not meant for their sizes.
    """
    full = [row for row in rows if row["quick"] == "False"]
    if not full:
        return ""
    lines = [_measured_on(full), _missed(full), ""]
    lines += ["| row | what | size | measured | to reach | |", "| --- | --- | --- | --- | --- | --- |"]
    return "\n".join([*lines, *map(_line, full)]) + "\n"


def replaced(text: str, new: str) -> str:
    """The text with another section between the markers."""
    before, begin, rest = text.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InvalidInput(f"README.md has no section between {BEGIN} and {END}, each on a line of its own; add them.")
    return f"{before}{begin}{new}{end}{after}"


def _measured_on(rows: Sequence[Cells]) -> str:
    cores, python, numpy, numba, scipy, date = (
        " and ".join(sorted({row[column] for row in rows}))
        for column in ("cpus", "python", "numpy", "numba", "scipy", "date")
    )
    return f"Measured on {cores} cores, {date}: Python {python}, numpy {numpy}, numba {numba}, scipy {scipy}."


def _missed(rows: Sequence[Cells]) -> str:
    names = [f"`{row['name']}`" for row in rows if row["reached"] == "no"]
    if not names:
        return f"Every one of {len(rows)} bounds is reached."
    return f"Of {len(rows)} bounds, {len(names)} {'is' if len(names) == 1 else 'are'} missed: {', '.join(names)}."


def _line(row: Cells) -> str:
    value, bound = float(row["value"]), float(row["bound"])
    cells = (
        f"`{row['name']}`",
        row["measure"],
        row["size"],
        f"**{value:.3g}**{_pair(row)}",
        f"{row['sense']} {bound:g}",
        "**missed**" if row["reached"] == "no" else "reached",
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _pair(row: Cells) -> str:
    """The two measurements behind the value, in a unit that suits their size."""
    ours, other, unit = float(row["ours"]), float(row["other"]), row["unit"]
    if unit == "s":
        return f" ({_time(ours)} against {_time(other)})"
    if unit == "bytes":
        return f" ({ours / 1e6:,.0f} MB against {other / 1e6:,.0f} MB)"
    return f" ({ours:g} of {other:g} {unit})" if other else ""


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{seconds * 1e3:.3g} ms"


if __name__ == "__main__":
    sys.exit(main())
