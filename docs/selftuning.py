"""Write the figures of docs/selftuning.md, and its plot: python -m docs.selftuning FOLDER

The table comes from benchmarks/rows.csv, the plot from the runs that `python -m benchmarks.run --only self-tuning
--keep FOLDER` left in FOLDER; without FOLDER the table alone is written.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parent / "selftuning.md"
PICTURE = PAGE.with_suffix(".png")
ROWS = PAGE.parents[1] / "benchmarks" / "rows.csv"
BEGIN, END = "<!-- figures -->", "<!-- /figures -->"
PAIRS = {
    "banking77-minilm": "BANKING77 MiniLM",
    "banking77-wordllama": "BANKING77 wordllama",
    "clinc150-minilm": "CLINC150 MiniLM",
    "clinc150-wordllama": "CLINC150 wordllama",
}
RATIOS = {
    "self-tuning-first": "one example of each label known",
    "self-tuning-cold": "nothing known at the start",
    "self-tuning-mistake-3": "a mistake costs 3 (wrong = -2)",
    "self-tuning-mistake-51": "a mistake costs 51 (wrong = -50)",
    "self-tuning-wrong-answers": "5 per cent of the answers are wrong",
    "self-tuning-late-answers": "answers come 50 rounds late",
    "self-tuning-few-texts-minilm": "300 labels of three texts, MiniLM",
    "self-tuning-few-texts-wordllama": "300 labels of three texts, wordllama",
}
COLOURS = ("#1b6ca8", "#7db8e0", "#b5541c", "#f0a868")
BINS = 15
Rows = dict[str, dict[str, str]]


def main(folder: Path | None) -> None:
    """Replace the section between the markers, and draw the plot where there are runs."""
    if folder is not None:
        draw(folder)
    with ROWS.open(encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{section(rows)}{END}{after}", encoding="utf-8")


def section(rows: Rows) -> str:
    """The tables, of whatever rows there are."""
    return "\n".join([*_ratios(rows), "", *_calibration(rows), "", *_synthetic(rows), "", *_cost(rows), ""])


def _ratios(rows: Rows) -> list[str]:
    lines = [f"| regret over GHC's | all | {' | '.join(PAIRS.values())} | bound |", "| --- |" + " ---: |" * 6]
    for name, title in RATIOS.items():
        if name in rows:
            cells = " | ".join(_each(rows, name, pair) for pair in PAIRS)
            lines.append(f"| {title} | {_mark(rows[name])} | {cells} | {float(rows[name]['bound']):g} |")
    return lines


def _each(rows: Rows, name: str, pair: str) -> str:
    """The figure of one pair: in a row of its own, or in the detail of the row for all."""
    if f"{name}-{pair}" in rows:
        return _mark(rows[f"{name}-{pair}"])
    found = [part.split()[-1] for part in rows[name]["detail"].split(", ") if part.startswith(f"{pair} ")]
    return found[0] if found else ""


def _calibration(rows: Rows) -> list[str]:
    lines = [f"| calibration error of the guesses | {' | '.join(PAIRS.values())} | bound |", "| --- |" + " ---: |" * 5]
    for kind, title in (("first", "one example of each label known"), ("cold", "nothing known at the start")):
        names = [f"self-tuning-calibration-{kind}-{pair}" for pair in PAIRS]
        if all(name in rows for name in names):
            lines.append(f"| {title} | {' | '.join(_mark(rows[name]) for name in names)} | 0.03 |")
    return lines


def _synthetic(rows: Rows) -> list[str]:
    lines = ["| the paper's streams | regret | 1.05 best tau + 60 | difference |", "| --- |" + " ---: |" * 3]
    for name, row in rows.items():
        if name.startswith(("self-tuning-cube", "self-tuning-sphere")):
            title = name.removeprefix("self-tuning-").replace("-d", " d=").replace("-", " ")
            missed = " (missed)" if row["reached"] == "no" else ""
            ours, other = float(row["ours"]), float(row["other"])
            lines.append(f"| {title} | {ours:,.0f} | {other:,.0f} | {ours - other:+,.0f}{missed} |")
    return lines if len(lines) > 2 else ["On the paper's synthetic streams it has not been measured yet."]


def _cost(rows: Rows) -> list[str]:
    lines = ["| cost | size | figure | bound |", "| --- | --- | ---: | ---: |"]
    for name, row in rows.items():
        if name.startswith(("self-tuning-decision", "self-tuning-memory")):
            title = name.removeprefix("self-tuning-")
            lines.append(f"| `{title}` | {row['size']} | {_mark(row)} | {float(row['bound']):g} |")
    return lines


def _mark(row: dict[str, str]) -> str:
    value = f"{float(row['value']):.3f}"
    return f"{value} (missed)" if row["reached"] == "no" else value


def draw(folder: Path) -> None:
    """How often guesses of some probability are right, and the regret beside that of every tau."""
    from benchmarks.self_tuning import sides
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    found = sides("self-tuning-first", False, folder)
    for (pair, side), colour in zip(found.items(), COLOURS, strict=False):
        sure = np.concatenate([run["sure"] for run in side.runs])
        hit = np.concatenate([run["right"] for run in side.runs])
        bins = np.array_split(np.argsort(sure, kind="stable"), BINS)
        left.plot([sure[b].mean() for b in bins], [hit[b].mean() for b in bins], "o-", color=colour, ms=4, lw=1.2,
                  label=PAIRS[pair])  # fmt: skip
        right.plot(list(side.swept), list(side.swept.values()), "o-", color=colour, ms=3, lw=1.2)
        right.axhline(side.ours, color=colour, ls="--", lw=1.4)
    low = min(left.get_xlim()[0], left.get_ylim()[0])
    left.plot([low, 1], [low, 1], color="0.5", lw=0.8, zorder=0)
    left.set(xlabel="probability that came with the guess", ylabel="share of the guesses that were right",
             title="Guesses are right nearly as often as it says", xlim=(low, 1.002), ylim=(low, 1.002))  # fmt: skip
    left.legend(frameon=False, loc="lower right")
    right.set(xlabel="GHC's threshold tau", ylabel="regret", title="No threshold to choose", ylim=(0, None))
    right.plot([], [], "o-", color="0.4", ms=3, lw=1.2, label="GHC at each tau")
    right.plot([], [], "--", color="0.4", lw=1.4, label="SelfTuning, which has none")
    right.legend(frameon=False, loc="upper center")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
