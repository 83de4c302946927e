"""Write the figures of docs/reproduction.md from a finished run: python docs/reproduction.py FOLDER

FOLDER is what `askless reproduce all --draws 20 --out FOLDER` wrote.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "reproduction.md"
BEGIN, END = "<!-- figures -->", "<!-- /figures -->"
COLUMNS = ("CC", "CHC", "GHC", "nearest-query GHC", "SKM", "AMP")


def main(folder: Path) -> None:
    """Replace the section between the markers."""
    cells, rows = (json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("cells", "rows"))
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{section(cells, rows)}{END}{after}", encoding="utf-8")


def section(cells: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """The verdicts by table, the summary table, and every cell that is higher."""
    synthetic = [row for row in rows if row["kind"] == "synthetic"]
    draws, data_sets = (1 + max(row[name] for row in synthetic) for name in ("draw", "data_set"))
    own = [cell for cell in cells if cell["table"] != "summary"]
    found = Counter(cell["verdict"] for cell in own)
    share = 100.0 * (found["within"] + found["lower"]) / len(own)
    minutes = sum(row["seconds"] for row in synthetic) / 60
    said = (
        f"From {draws} draws of the label seeds with {data_sets} data sets each, {len(synthetic):,} runs of "
        f"{synthetic[0]['rounds']:,} rounds, {minutes:,.0f} minutes of computing on "
        f"one core. Of {len(own)} cells {share:.1f} per cent are within or lower."
    )
    return "\n".join(
        [
            textwrap.fill(said, 120),
            "",
            *_verdicts(own),
            "",
            "The summary table: our mean regret ± the deviation over all runs, and the paper's in brackets.",
            "",
            *_summary([cell for cell in cells if cell["table"] == "summary"]),
            "",
            *_higher([cell for cell in own if cell["verdict"] == "higher"]),
            "",
        ]
    )


def _verdicts(cells: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| table | cells | within | lower | higher | minutes of computing |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for table in dict.fromkeys(cell["table"] for cell in cells):
        own = [cell for cell in cells if cell["table"] == table]
        found = Counter(cell["verdict"] for cell in own)
        minutes = sum(cell["seconds"] for cell in own) / 60
        lines.append(
            f"| `{table}` | {len(own)} | {found['within']} | {found['lower']} | {found['higher']} | {minutes:.1f} |"
        )
    return lines


def _summary(cells: list[dict[str, Any]]) -> list[str]:
    grid = {(place(cell), cell["column"]): cell for cell in cells}
    lines = [f"| setting | {' | '.join(COLUMNS)} |", "| --- |" + " --- |" * len(COLUMNS)]
    for setting in dict.fromkeys(place(cell) for cell in cells):
        shown = [_regret(grid[setting, column]) if (setting, column) in grid else "" for column in COLUMNS]
        lines.append(f"| {setting} | {' | '.join(shown)} |")
    return lines


def _higher(cells: list[dict[str, Any]]) -> list[str]:
    if not cells:
        return ["No cell is higher."]
    lines = ["Cells that are higher, with the percentile of the paper's mean regret among our draws:", ""]
    lines += ["| table | setting | column | regret | percentile |", "| --- | --- | --- | --- | --- |"]
    return lines + [
        f"| `{cell['table']}` | {place(cell)} | {cell['column']} | {_regret(cell)} | {cell['regret_percentile']:.0f} |"
        for cell in cells
    ]


def _regret(cell: dict[str, Any]) -> str:
    return f"{cell['regret_ours']:,.0f} ± {cell['regret_ours_deviation']:,.0f} ({cell['regret_paper']:,.0f})"


def place(cell: dict[str, Any]) -> str:
    """The line of the table that a cell stands in."""
    return f"{cell['space']} d={cell['dim']} {cell['distribution']}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
