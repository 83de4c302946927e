"""Write the figures of docs/benchmarks.md from finished replays: python docs/benchmarks.py FOLDER

FOLDER holds the four folders that the commands on that page write, banking77-minilm and so on.
"""

from __future__ import annotations

import csv
import sys
import textwrap
from pathlib import Path

PAGE = Path(__file__).parent / "benchmarks.md"
BEGIN, END = "<!-- figures -->", "<!-- /figures -->"
PAIRS = {
    "banking77-minilm": "BANKING77 MiniLM",
    "banking77-wordllama": "BANKING77 wordllama",
    "clinc150-minilm": "CLINC150 MiniLM",
    "clinc150-wordllama": "CLINC150 wordllama",
}
# family in summary.csv: what the page calls it, and its parameter
NAMES = {
    "self-tuning": ("**SelfTuning, the default**", ""),
    "GHC": ("GHC", "tau"),
    "always-ask": ("asking every time", ""),
    "similarity": ("similarity threshold (semantic-router, GPTCache)", "threshold"),
    "river": ("river: EntropySampler, 5 neighbours", "discount"),
    "skactiveml-variable": ("scikit-activeml: VariableUncertainty", "budget"),
    "skactiveml-split": ("scikit-activeml: Split", "budget"),
    "skactiveml-fixed": ("scikit-activeml: FixedUncertainty", "budget"),
    "mapie": ("MAPIE: split conformal", "level"),
    "sgd": ("scikit-learn: SGD logistic regression", "threshold"),
}
Line = dict[str, str]


def main(folder: Path) -> None:
    """Replace the section between the markers."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    summaries = {pair: read(folder / pair / "summary.csv") for pair in PAIRS}
    rows = [row for pair in PAIRS for row in read(folder / pair / "rows.csv")]
    PAGE.write_text(f"{before}{BEGIN}\n{section(summaries, rows)}{END}{after}", encoding="utf-8")


def read(path: Path) -> list[Line]:
    """The lines of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def section(summaries: dict[str, list[Line]], rows: list[Line]) -> str:
    """The table of regrets, and one table of details for each pair."""
    seeds = len({row["seed"] for row in rows})
    orders = "one order" if seeds == 1 else f"{seeds} orders"
    said = f"{len(rows)} runs, with {orders} of the rows."
    families = list(dict.fromkeys(line["family"] for lines in summaries.values() for line in lines))
    found = {(pair, line["family"]): line for pair, lines in summaries.items() for line in lines}
    table = [f"| regret | {' | '.join(PAIRS.values())} |", "| --- |" + " ---: |" * len(PAIRS)]
    for family in families:
        cells = [regret(found.get((pair, family))) for pair in PAIRS]
        table.append(f"| {title(family, found)} | {' | '.join(cells)} |")
    lines = [textwrap.fill(said, 120), "", *table, ""]
    lines += [
        f"\\* The best value is the first or the last of those that were tried{edges(found)}.",
        "",
    ]
    for pair, name in PAIRS.items():
        lines += [f"### {name}", "", *details(summaries[pair]), ""]
    return "\n".join(lines)


def title(family: str, found: dict[tuple[str, str], Line]) -> str:
    """What the table calls a family, with how many values were tried."""
    name, parameter = NAMES.get(family, (f"`{family}`", ""))
    best_of = next(line["best_of"] for (_, own), line in found.items() if own == family)
    return name if best_of == "1" else f"{name}, best {parameter} of {best_of} in hindsight"


def regret(line: Line | None) -> str:
    """The mean regret, its deviation over several orders, and the value it was reached with."""
    if line is None:
        return ""
    value = f" ({float(line['value']):g})" if line["value"] else ""
    spread = f" ± {float(line['regret_deviation']):,.0f}" if int(line["seeds"]) > 1 else ""
    mark = "\\*" if line["at_end_of_range"] == "True" else ""
    return f"{float(line['regret']):,.0f}{spread}{value}{mark}"


def edges(found: dict[tuple[str, str], Line]) -> str:
    """Nothing more where no best value is at the end of its range."""
    return "" if any(line["at_end_of_range"] == "True" for line in found.values()) else ": here none is"


def details(lines: list[Line]) -> list[str]:
    """Calls, mistakes and the rest for one pair."""
    table = [
        "| | value | calls | mistakes | automated | guesses wrong | regret |",
        "| --- |" + " ---: |" * 6,
    ]
    for line in lines:
        name, _ = NAMES.get(line["family"], (f"`{line['family']}`", ""))
        value = f"{float(line['value']):g}" if line["value"] else ""
        table.append(
            f"| {name} | {value} | {float(line['calls']):,.0f} | {float(line['mistakes']):,.0f} | "
            f"{100 * float(line['share_automated']):.1f} % | {100 * float(line['error_rate']):.1f} % | "
            f"{float(line['regret']):,.0f} |"
        )
    return table


if __name__ == "__main__":
    main(Path(sys.argv[1]))
