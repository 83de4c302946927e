"""The figures that the paper reports, as data. [Réveillard et al. 2026, appendix F]"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

N_LABELS = 5
ROUNDS = 5000
DATA_SETS = 5  # of each synthetic setting
FILE_RUNS = 3  # of each policy on real data
VARIANCE = 0.01  # of each Gaussian of a mixture
MEASURES = ("calls", "mistakes", "regret")


class Figure(NamedTuple):
    """A mean and the standard deviation around it, which says nothing where there was no more than one run."""

    mean: float
    deviation: float
    several: bool = True


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of a synthetic table: where the queries lie, and how they are drawn."""

    space: str  # cube or sphere
    dim: int
    distribution: str  # uniform or mixture

    def __str__(self) -> str:
        return f"{self.space} d={self.dim} {self.distribution}"


@dataclass(frozen=True, slots=True)
class PaperCell:
    """What the paper reports for one setting and one column."""

    setting: Setting
    algorithm: str
    parameter: float | str | None
    calls: Figure
    mistakes: Figure
    regret: Figure


@cache
def synthetic_cells() -> tuple[PaperCell, ...]:
    """The 376 cells of the six synthetic tables, in the paper's order."""
    return tuple(
        PaperCell(
            Setting(row["space"], row["dim"], row["dist"]),
            row["algorithm"],
            row["param"],
            *(Figure(float(row[measure][0]), float(row[measure][1])) for measure in MEASURES),
        )
        for row in _contents()["synthetic"]
    )


def qqg() -> dict[str, Any]:
    """The regrets on Quora Question Groups: by distance, embedding model and threshold; of CC and SKM."""
    found: dict[str, Any] = _contents()["qqg"]
    return found


@cache
def _contents() -> dict[str, Any]:
    text = (files("askless.reproduce") / "paper.json").read_text(encoding="utf-8")
    contents: dict[str, Any] = json.loads(text)
    return contents
