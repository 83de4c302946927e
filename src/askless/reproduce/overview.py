"""Two plots for the report: every cell's regret beside the paper's, and regret against the round on a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from askless.reproduce.compare import HIGHER, LOWER, NOT_COMPARED, WITHIN, Compared
from askless.reproduce.file_tables import FileResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours of Okabe and Ito, which colour-blind readers tell apart; the markers say the same again.
_LOOKS = {
    WITHIN: ("#0072B2", "o"),
    LOWER: ("#009E73", "v"),
    HIGHER: ("#D55E00", "^"),
    NOT_COMPARED: ("#6b6b6b", "s"),
}
_LINES = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", "-."), ("#CC79A7", ":"))


def draw_ratios(cells: Sequence[Compared]) -> Figure:
    """Our regret over the paper's, one point a cell, one row a table; `cells` are of the tables, not of the summary."""
    import numpy as np
    from matplotlib.figure import Figure

    tables = list(dict.fromkeys(cell.table for cell in cells))
    figure = Figure(figsize=(8.2, 1.1 + 0.52 * len(tables)), layout="constrained")
    axes = figure.add_subplot()
    for mark, (colour, marker) in _LOOKS.items():
        chosen = [cell for cell in cells if cell.verdict == mark]
        if not chosen:
            continue
        ratios = [max(cell.regret.ours.mean, 1.0) / max(cell.regret.paper.mean, 1.0) for cell in chosen]
        rng = np.random.default_rng(0)  # spreads points of one table that would hide each other
        heights = [tables.index(cell.table) + rng.uniform(-0.28, 0.28) for cell in chosen]
        name = "not compared" if mark == NOT_COMPARED else mark
        axes.scatter(
            ratios, heights, s=22, c=colour, marker=marker, alpha=0.75, linewidths=0, label=f"{name} ({len(chosen)})"
        )
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5, 10], ["0.1", "0.2", "0.5", "1", "2", "5", "10"])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(tables)), tables)
    axes.invert_yaxis()
    axes.set_xlabel("our mean regret over the paper's")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.legend(loc="outside upper right", ncols=4, frameon=False, fontsize=9)
    return figure


def draw_curves(results: Sequence[FileResult]) -> Figure:
    """Mean regret against the round, one line an algorithm, each at its best threshold."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for result, (colour, dashes) in zip(results, _LINES, strict=False):
        rounds, regrets = zip(*result.curve, strict=True)
        name = f"{result.cell.column} ({result.policy})"
        axes.plot(rounds, regrets, color=colour, linestyle=dashes, linewidth=1.8, label=name)
    axes.set_xlabel("round")
    axes.set_ylabel("mean regret so far")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False)
    return figure
