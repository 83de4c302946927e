"""Our rows beside the paper's figures: means, deviations, percentiles, and a verdict on the regret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askless.reproduce.jobs import Job, SyntheticStream
from askless.reproduce.paper import MEASURES, ROUNDS, Figure, Setting
from askless.reproduce.store import Row
from askless.reproduce.tables import SUMMARY, Cell

WITHIN, LOWER, HIGHER, NOT_COMPARED = "within", "lower", "higher", "-"
_DEVIATIONS, _SHARE = 3.0, 0.1

_SUMMARY_COLUMNS = {
    "CC": "CC",
    "CHC": "CHC",
    "GHC": "GHC",
    "GHC-nearest": "nearest-query GHC",
    "SKM": "SKM",
    "AMP": "AMP",
}


@dataclass(frozen=True, slots=True)
class Beside:
    """One of the paper's figures, ours, and the percentile of the paper's mean among the means of our draws."""

    paper: Figure
    ours: Figure
    percentile: float


@dataclass(frozen=True, slots=True)
class Compared:
    """A cell of a table, filled."""

    table: str
    setting: Setting
    column: str
    calls: Beside | None
    mistakes: Beside | None
    regret: Beside
    verdict: str
    seconds: float  # of all its runs

    def flat(self) -> dict[str, str | int | float | None]:
        """The cell as one line of a file."""
        line: dict[str, str | int | float | None] = {
            "table": self.table,
            "space": self.setting.space,
            "dim": self.setting.dim,
            "distribution": self.setting.distribution,
            "column": self.column,
            "verdict": self.verdict,
        }
        for measure in MEASURES:
            beside: Beside | None = getattr(self, measure)
            line |= {
                f"{measure}_paper": None if beside is None else beside.paper.mean,
                f"{measure}_paper_deviation": None if beside is None else beside.paper.deviation,
                f"{measure}_ours": None if beside is None else round(beside.ours.mean, 3),
                f"{measure}_ours_deviation": None if beside is None else round(beside.ours.deviation, 3),
                f"{measure}_percentile": None if beside is None else round(beside.percentile, 1),
            }
        return line | {"seconds": round(self.seconds, 3)}


def verdict(paper: Figure, ours: Figure) -> str:
    """Within three of the larger deviation or 10 per cent of the paper's mean; otherwise lower or higher."""
    allowed = max(_DEVIATIONS * max(paper.deviation, ours.deviation), _SHARE * paper.mean)
    difference = ours.mean - paper.mean
    if abs(difference) <= allowed:
        return WITHIN
    return LOWER if difference < 0.0 else HIGHER


def compare(cell: Cell, rows: Mapping[str, Row], rounds: int, draws: int, data_sets: int) -> Compared:
    """A synthetic cell, from the rows of its jobs.

    Where the paper reports the best of several thresholds, ours is the best of each draw, as the paper's is the best
    of its one. The deviation is over all runs. The paper's figures belong to 5,000 rounds: with any other number there
    is no verdict.
    """
    runs = _runs(cell, rows, rounds, draws, data_sets)
    calls, mistakes, regret = (_beside(getattr(cell.paper, measure), runs[measure]) for measure in MEASURES)
    said = verdict(regret.paper, regret.ours) if rounds == ROUNDS else NOT_COMPARED
    seconds = float(runs["seconds"].sum())
    return Compared(cell.table, cell.setting, cell.column, calls, mistakes, regret, said, seconds)


def summary(cells: Iterable[Cell], rows: Mapping[str, Row], rounds: int, draws: int, data_sets: int) -> list[Compared]:
    """The summary: each algorithm at the parameter of its lowest mean regret, the paper's and, draw by draw, ours."""
    groups: dict[tuple[Setting, str], list[Cell]] = {}
    for cell in cells:
        names = ("CHC", "GHC") if cell.paper.algorithm == "CHC" else (cell.paper.algorithm,)
        for name in names:
            groups.setdefault((cell.setting, name), []).append(cell)
    found = []
    for (setting, name), group in sorted(groups.items(), key=lambda item: _place(*item[0])):
        paper = min((cell.paper.regret for cell in group), key=lambda figure: figure.mean)
        runs = [_runs(cell, rows, rounds, draws, data_sets) for cell in group]
        regret = _best_of_each_draw([run["regret"] for run in runs], [run["regret"] for run in runs])
        beside = _beside(paper, regret)
        said = verdict(paper, beside.ours) if rounds == ROUNDS else NOT_COMPARED
        found.append(Compared(SUMMARY, setting, _SUMMARY_COLUMNS[name], None, None, beside, said, 0.0))
    return found


def _place(setting: Setting, name: str) -> tuple[str, int, bool, int]:
    return setting.space, setting.dim, setting.distribution == "mixture", list(_SUMMARY_COLUMNS).index(name)


def _runs(
    cell: Cell, rows: Mapping[str, Row], rounds: int, draws: int, data_sets: int
) -> dict[str, NDArray[np.float64]]:
    """Each measure as an array of draws by data sets, at the best policy of each draw; the seconds are of all runs."""
    taken = {"calls": "all_calls" if cell.paper.algorithm == "AMP" else "calls"}
    by_policy = {
        name: [
            np.array(
                [
                    [
                        float(rows[Job(policy, SyntheticStream(cell.setting, rounds, draw, k)).key()][name])
                        for k in range(data_sets)
                    ]
                    for draw in range(draws)
                ]
            )
            for policy in cell.policies
        ]
        for name in ("calls", "all_calls", "mistakes", "regret", "seconds")
    }
    found = {m: _best_of_each_draw(by_policy[taken.get(m, m)], by_policy["regret"]) for m in MEASURES}
    return found | {"seconds": np.array(by_policy["seconds"])}


def _best_of_each_draw(values: list[NDArray[np.float64]], regrets: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    best = np.array(regrets).mean(axis=2).argmin(axis=0)
    return np.array([values[k][draw] for draw, k in enumerate(best)])


def _figure(values: NDArray[np.float64]) -> Figure:
    return Figure(float(values.mean()), float(values.std()), values.size > 1)


def _beside(paper: Figure, values: NDArray[np.float64]) -> Beside:
    means = values.mean(axis=1)
    # Half of those that are equal count as below: among draws that all agree with the paper it stands in the middle.
    percentile = 100.0 * float((means < paper.mean).mean() + 0.5 * (means == paper.mean).mean())
    return Beside(paper, _figure(values), percentile)
