"""Which runs each of the paper's synthetic tables is made of."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from askless.errors import InvalidInput
from askless.reproduce.jobs import Job, SyntheticStream
from askless.reproduce.paper import PaperCell, Setting, synthetic_cells

# name: the algorithms of the paper's table, its space, its title
_SYNTHETIC = {
    "cube-hull": (("CHC", "GHC", "SKM"), "cube", "GHC and SKM on the cube"),
    "sphere-hull": (("CHC", "GHC", "SKM", "AMP"), "sphere", "GHC, SKM and AMP on the sphere"),
    "cube-center": (("CC",), "cube", "CC on the cube"),
    "sphere-center": (("CC",), "sphere", "CC on the sphere"),
    "cube-nearest": (("GHC-nearest",), "cube", "GHC with the nearest-query distance on the cube"),
    "sphere-nearest": (("GHC-nearest",), "sphere", "GHC with the nearest-query distance on the sphere"),
}
SUMMARY = "summary"
SUMMARY_TITLE = "Regret of all algorithms, each at its best parameter"
SYNTHETIC_TABLES = tuple(_SYNTHETIC)
FILE_TABLES = {
    "qqg": "GHC with three distances at ten thresholds, on a labelled file",
    "qqg-baselines": "CC at five constants and SKM, on a labelled file",
    "qqg-algorithms": "All algorithms at their best thresholds, on a labelled file",
}
AMP_THRESHOLDS = tuple(round(0.05 * k, 2) for k in range(21))


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a synthetic table: the paper's figures, and the policies whose best run stands beside them."""

    table: str
    column: str
    paper: PaperCell
    policies: tuple[str, ...]

    @property
    def setting(self) -> Setting:
        """The line of the table."""
        return self.paper.setting

    def jobs(self, rounds: int, draws: int, data_sets: int) -> Iterable[Job]:
        """The runs of this cell."""
        for policy in self.policies:
            for draw in range(draws):
                for data_set in range(data_sets):
                    yield Job(policy, SyntheticStream(self.setting, rounds, draw, data_set))


def title_of(table: str) -> str:
    """What a table shows."""
    if table == SUMMARY:
        return SUMMARY_TITLE
    return FILE_TABLES[table] if table in FILE_TABLES else _SYNTHETIC[table][2]


def cells_of(table: str) -> list[Cell]:
    """The cells of a synthetic table, in the paper's order; the summary needs those of all six."""
    if table == SUMMARY:
        return [cell for name in SYNTHETIC_TABLES for cell in cells_of(name)]
    algorithms, space, _ = _SYNTHETIC[table]
    return [
        Cell(table, _column(cell), cell, _policies(cell))
        for cell in synthetic_cells()
        if cell.setting.space == space and cell.algorithm in algorithms
    ]


def known_table(name: str) -> str:
    """The name, where a table has it."""
    names = [*SYNTHETIC_TABLES, SUMMARY, *FILE_TABLES]
    if name in names:
        return name
    close = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InvalidInput(f"No table is named {name!r}.{hint} The tables are {', '.join(names)}.")


def _column(cell: PaperCell) -> str:
    if cell.algorithm in ("SKM", "AMP"):
        return cell.algorithm
    return f"{'C' if cell.algorithm == 'CC' else 'tau'}={float(cell.parameter or 0.0):g}"


def _policies(cell: PaperCell) -> tuple[str, ...]:
    if cell.algorithm == "AMP":
        return tuple(f"amp:{tau:g}" for tau in AMP_THRESHOLDS)
    if cell.algorithm in ("SKM", "CHC"):
        return (cell.algorithm.lower(),)
    return (f"{cell.algorithm.lower()}:{float(cell.parameter or 0.0):g}",)
