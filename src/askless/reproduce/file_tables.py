"""The paper's tables on real data, in the same form on any labelled file. [Réveillard et al. 2026, appendix F.2]"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from askless.reproduce.jobs import FileStream, Job, Labelled
from askless.reproduce.paper import Figure, qqg
from askless.reproduce.store import Row

NEAREST_THRESHOLDS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0)
AMP_THRESHOLDS = tuple(sorted((*NEAREST_THRESHOLDS, 0.92, 0.94, 0.96, 0.98)))
_DISTANCES = {
    "nearest-query": ("ghc-nearest", "sphere"),
    "spherical hull": ("ghc", "sphere"),
    "euclidean hull": ("ghc", "euclidean"),
}


@dataclass(frozen=True, slots=True)
class FileCell:
    """One cell of a table on a labelled file; `paper` has the regret on QQG by embedding model, where it is known."""

    table: str
    line: str
    column: str
    policies: tuple[str, ...]
    space: str
    paper: Mapping[str, float]

    def jobs(self, data: Labelled, rounds: int | None, runs: int) -> Iterable[Job]:
        """The runs of this cell."""
        for policy in self.policies:
            for run in range(runs):
                yield Job(policy, FileStream(data.digest, self.space, run, rounds))


@dataclass(frozen=True, slots=True)
class FileResult:
    """A cell of a table on a labelled file, filled: the figures of its best policy, and where its regret went."""

    cell: FileCell
    policy: str
    calls: Figure
    mistakes: Figure
    regret: Figure
    seconds: float
    curve: tuple[tuple[float, float], ...]  # rounds, and the mean regret up to each

    def flat(self) -> dict[str, str | float]:
        """The cell as one line of a file."""
        line: dict[str, str | float] = {
            "table": self.cell.table,
            "line": self.cell.line,
            "column": self.cell.column,
            "policy": self.policy,
        }
        for name in ("calls", "mistakes", "regret"):
            figure: Figure = getattr(self, name)
            line |= {name: round(figure.mean, 3), f"{name}_deviation": round(figure.deviation, 3)}
        line |= {f"regret_paper_{model}": value for model, value in self.cell.paper.items()}
        return line | {"seconds": round(self.seconds, 3)}


def file_cells(table: str) -> list[FileCell]:
    """The cells of one of the tables on real data."""
    paper = qqg()
    models = list(paper["skm"])
    if table == "qqg":
        return [
            FileCell(
                table,
                line,
                f"tau={tau:g}",
                (f"{name}:{tau:g}",),
                space,
                {m: paper["regret"][line][m][k] for m in models},
            )
            for line, (name, space) in _DISTANCES.items()
            for k, tau in enumerate(paper["taus"])
        ]
    centers = [
        FileCell(table, "", f"CC C={c:g}", (f"cc:{c:g}",), "sphere", {m: paper["cc"][m][k] for m in models})
        for k, c in enumerate(paper["cc"]["C"])
    ]
    kmeans = FileCell(table, "", "SKM", ("skm",), "sphere", paper["skm"])
    if table == "qqg-baselines":
        return [*centers, kmeans]
    best = {m: min(paper["regret"]["nearest-query"][m]) for m in models}
    nearest = tuple(f"ghc-nearest:{tau:g}" for tau in NEAREST_THRESHOLDS)
    perceptron = tuple(f"amp:{tau:g}" for tau in AMP_THRESHOLDS)
    return [
        FileCell(table, "", "nearest-query GHC", nearest, "sphere", best),
        centers[0],
        kmeans,
        FileCell(table, "", "AMP", perceptron, "sphere", {}),
    ]


def fill(cell: FileCell, rows: Mapping[str, Row], data: Labelled, rounds: int | None, runs: int) -> FileResult:
    """A cell from the rows of its jobs, at the policy of the lowest mean regret."""
    by_policy = {
        policy: [rows[Job(policy, FileStream(data.digest, cell.space, run, rounds)).key()] for run in range(runs)]
        for policy in cell.policies
    }
    policy = min(by_policy, key=lambda name: sum(row["regret"] for row in by_policy[name]))
    best = by_policy[policy]
    # Every label has its example before the first round, so all calls come after every label was seen.
    calls, mistakes, regret = (_figure([row[name] for row in best]) for name in ("all_calls", "mistakes", "regret"))
    seconds = sum(row["seconds"] for found in by_policy.values() for row in found)
    curve = np.mean([row["curve"] for row in best], axis=0)
    points = tuple((float(t), float(regret_so_far)) for t, regret_so_far in curve)
    return FileResult(cell, policy, calls, mistakes, regret, seconds, points)


def _figure(values: list[float]) -> Figure:
    return Figure(float(np.mean(values)), float(np.std(values)), len(values) > 1)
