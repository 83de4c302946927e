"""The tables of figures, made from the rows: `python -m benchmarks.readme` rewrites those sections.

All rows stand in this folder's README; the project's README has the headlines and every bound that is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from askless.errors import AsklessError, InvalidInput
from benchmarks.rows import read_rows
from benchmarks.run import OUT

README, EVERY = Path(__file__).parents[1] / "README.md", Path(__file__).parent / "README.md"
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
HEADLINES = (
    "decision-sphere-d1024", "nnls-equal-decisions", "memory-peak-d768", "reproduce-all-tables", "self-tuning-cold",
    "self-tuning-wrong-answers", "service-requests", "service-start",
)  # fmt: skip
Cells = Mapping[str, str]  # one row of the file, by column


def main() -> int:
    """Rewrite the sections; without rows they become empty, and a message says why."""
    try:
        rows = list(read_rows(OUT).values())
        new = {
            path: replaced(path.read_text(encoding="utf-8"), section(rows, chosen), path)
            for path, chosen in ((README, HEADLINES), (EVERY, None))
        }
        for path, text in new.items():
            path.write_text(text, encoding="utf-8")
    except AsklessError as problem:
        print(f"benchmarks: {problem}", file=sys.stderr)
        return 2
    if not rows:
        print(f"benchmarks: no rows in {OUT.name}, so the tables are empty. Run `make bench` first.")
    return 0


def section(rows: Iterable[Cells], chosen: Sequence[str] | None = None) -> str:
    """What stands between the two markers: on what the rows were measured, which bounds they miss, and a table.

    Of the rows in the table those that are chosen, where some are, and all that miss their bound. Rows of a quick run
    are left out, because the bounds are not meant for their sizes.
    """
    full = [row for row in rows if row["quick"] == "False"]
    if not full:
        return ""
    shown = [row for row in full if chosen is None or row["name"] in chosen or row["reached"] == "no"]
    lines = [_measured_on(full), _missed(full), ""]
    lines += ["| row | what | size | measured | to reach | |", "| --- | --- | --- | --- | --- | --- |"]
    return "\n".join([*lines, *map(_line, shown)]) + "\n"


def replaced(text: str, new: str, path: Path = README) -> str:
    """The text with another section between the markers."""
    before, begin, rest = text.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InvalidInput(f"{path} has no section between {BEGIN} and {END}, each on a line of its own; add them.")
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
    if not other:
        return ""
    between = "of" if unit == "decisions" else "against"
    return f" ({_figure(ours)} {between} {_figure(other)}{unit and f' {unit}'})"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{seconds * 1e3:.3g} ms"


if __name__ == "__main__":
    sys.exit(main())
