"""All bounds on one setting: what each one says, whether it applies there, and whether it says anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askless.errors import InvalidInput
from askless.inputs import as_costs
from askless.streams.partitions import Voronoi
from askless.streams.stream import as_whole
from askless.theory import center_regret, dimension_one, hull_regret, wet_part
from askless.theory.flags import count_flags
from askless.theory.pole import best_pole
from askless.theory.polytopes import Polytope, voronoi_cells
from askless.types import PAPER_COSTS, Costs


@dataclass(frozen=True)
class Bound:
    """One of the paper's results on a policy's regret, for one setting.

    `about` is the policy, `sense` one of upper, lower and exact; `needs` is what it assumes, `place` where it stands in
    the paper. `why_not` says why it does not apply, and is empty where it does. With `in_the_limit` it is a leading
    term. `at` gives its value at a horizon, or is None where it has none.
    """

    name: str
    about: str
    sense: str
    place: str
    needs: str
    at: Callable[[int], float] | None
    why_not: str = ""
    in_the_limit: bool = False

    def value(self, horizon: int) -> float | None:
        """The bound on the regret after that many rounds."""
        return None if self.at is None else self.at(horizon)

    def is_vacuous(self, horizon: int, costs: Costs | Sequence[float] = PAPER_COSTS) -> bool:
        """Whether it says nothing: above what asking every time costs, or for a lower bound not above zero."""
        value = self.value(horizon)
        if value is None or self.sense == "exact":
            return False
        return value >= as_costs(costs).question * horizon if self.sense == "upper" else value <= 0.0


@dataclass(frozen=True, eq=False)
class Setting:
    """Voronoi cells of `seeds`, a horizon and the costs. For CHC queries are uniform; for CC they come from a mixture
    around the seeds with equal weights and this separation (askless.theory.separated)."""

    seeds: NDArray[np.float64]
    space: str
    horizon: int
    separation: float = center_regret.WIDE_SEPARATION
    costs: Costs = PAPER_COSTS

    def __post_init__(self) -> None:
        Voronoi(self.seeds, self.space)
        as_whole(self.horizon, 2, "horizon")
        object.__setattr__(self, "costs", as_costs(self.costs))

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.seeds)

    @property
    def dim(self) -> int:
        """The dimension of the queries."""
        return int(self.seeds.shape[1])

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The lengths of the cells in dimension one, in the order of the seeds on the line."""
        if (self.space, self.dim) != ("euclidean", 1):
            raise InvalidInput(f"Lengths of cells are for the interval; found {self.space} in dimension {self.dim}.")
        s = np.sort(self.seeds[:, 0])
        return np.diff(np.concatenate(([0.0], (s[1:] + s[:-1]) / 2.0, [1.0])))

    @cached_property
    def cells(self) -> list[Polytope]:
        """The cells with their vertices; empty where `cells_missing` says why they cannot be had."""
        if self._too_few_dimensions or self._too_few_labels:
            return []
        try:
            return voronoi_cells(self.seeds, self.space)
        except InvalidInput:
            return []

    @property
    def cells_missing(self) -> str:
        """Why there are no cells, in a few words; empty where there are."""
        if self.cells:
            return ""
        if self._too_few_dimensions:
            return "needs dimension 3 or more"
        if self._too_few_labels:
            return f"needs {self.dim + 1} labels or more"
        flat = ", or a cell in no open half-sphere" if self.space == "sphere" else ""
        return f"too many vertices to list{flat}"

    @cached_property
    def flags(self) -> int:
        """The flags of all cells together."""
        return sum(count_flags(cell) for cell in self.cells)

    @cached_property
    def stretch(self) -> float:
        """The paper's K, with the best pole for each cell; 1 in the cube."""
        return max(best_pole(cell.vertices).stretch for cell in self.cells) if self.space == "sphere" else 1.0

    @property
    def too_early(self) -> str:
        """Whether leading terms say nothing yet, in a few words: where log(T)^(k-1) / T still grows with T.

        Up to T = e^(k-1), for cells of dimension k, that share of missed points would grow with the points seen.
        """
        power = self.dim - (1 if self.space == "euclidean" else 2)
        return f"T is below e^{power}" if math.log(self.horizon) < power else ""

    @property
    def _too_few_dimensions(self) -> bool:
        return self.space == "sphere" and self.dim < 3

    @property
    def _too_few_labels(self) -> bool:
        return self.space == "sphere" and self.n_labels < self.dim + 1


def bounds_of(setting: Setting) -> list[Bound]:
    """All bounds of the paper that speak of this space, those that do not apply here included; CHC's come first."""
    on_the_line = (setting.space, setting.dim) == ("euclidean", 1)
    hull = _on_the_line(setting) if on_the_line else _leading_terms(setting)
    if setting.space == "euclidean":
        hull.append(_one_cell(setting))
    return hull + _center_bounds(setting)


def _on_the_line(setting: Setting) -> list[Bound]:
    n, costs = setting.n_labels, setting.costs
    stated = dimension_one.minimax_lower_bound(n, setting.horizon, costs)
    proved = stated <= dimension_one.minimax_lower_bound_mended(n, setting.horizon, costs)
    return [
        Bound(
            "exact regret",
            "CHC",
            "exact",
            "remark B.9, mended",
            "intervals, no atoms",
            lambda t: dimension_one.exact_regret(setting.shares, t, costs),
        ),
        Bound(
            "upper bound",
            "CHC",
            "upper",
            "theorem 4.3",
            "intervals, no atoms, N ≥ 2",
            lambda t: dimension_one.upper_bound(n, t, costs),
            "" if dimension_one.upper_bound_holds(n, setting.horizon) else "needs two labels from T = 6 on",
        ),
        Bound(
            "minimax lower bound",
            "CHC",
            "lower",
            "theorem 4.4",
            "uniform queries; for the worst seeds, and any policy",
            lambda t: dimension_one.minimax_lower_bound(n, t, costs),
            "" if proved else f"with {n} labels proved for longer horizons only",
        ),
    ]


def _leading_terms(setting: Setting) -> list[Bound]:
    space, dim, n, costs = setting.space, setting.dim, setting.n_labels, setting.costs
    cells = "convex cells" + (" in open half-spheres" if space == "sphere" else "")
    reason = setting.cells_missing
    corollary = "" if space == "euclidean" else reason  # in the cube it needs neither the vertices nor K
    early = setting.too_early
    always = costs.question * setting.horizon  # CHC never costs more
    above = not reason and hull_regret.lower_leading_term(space, dim, setting.horizon, setting.flags, costs) > always
    return [
        Bound(
            "leading term",
            "CHC",
            "upper",
            "theorem 4.1",
            f"{cells}, bounded density",
            None
            if reason
            else lambda t: hull_regret.leading_term(space, dim, t, setting.flags, stretch=setting.stretch, costs=costs),
            reason or early,
            in_the_limit=True,
        ),
        Bound(
            "leading term, Voronoi",
            "CHC",
            "upper",
            "corollary 4.2",
            f"{cells}, bounded density",
            None
            if corollary
            else lambda t: hull_regret.voronoi_leading_term(space, dim, t, n, 1.0, setting.stretch, costs),
            corollary or early,
            in_the_limit=True,
        ),
        Bound(
            "lower bound",
            "CHC",
            "lower",
            "theorem E.2",
            f"{cells}, continuous density above 0",
            None if reason else lambda t: hull_regret.lower_leading_term(space, dim, t, setting.flags, costs),
            reason or early or ("T is small: it exceeds asking every time" if above else ""),
            in_the_limit=True,
        ),
    ]


def _one_cell(setting: Setting) -> Bound:
    alone = setting.n_labels == 1
    return Bound(
        "wet part",
        "CHC",
        "upper",
        "appendix E.3",
        "one label, uniform queries",
        (lambda t: wet_part.one_cell_regret_bound(setting.dim, t, setting.costs)) if alone else None,
        "" if alone else "needs one label",
    )


def _center_bounds(setting: Setting) -> list[Bound]:
    n, dim, c, costs = setting.n_labels, setting.dim, setting.separation, setting.costs
    rarest, enough = 1.0 / n, n >= 2
    wide = "" if c >= center_regret.WIDE_SEPARATION else f"the separation is {c:g}"
    if not enough:
        wide = "needs two labels"
    short = center_regret.within_short_horizon(dim, setting.horizon)
    longer = enough and center_regret.within_longer_horizon(n, dim, setting.horizon, rarest)
    return [
        Bound(
            "general",
            "CC",
            "upper",
            "theorem B.13",
            f"mixture with gap² ≥ {c:g} d sigma²",
            lambda t: center_regret.general_bound(n, dim, t, rarest, c, costs),
            "" if enough else wide,
        ),
        Bound(
            "short horizon",
            "CC",
            "upper",
            "theorem 4.5",
            "mixture with gap² ≥ 80 d sigma², T ≤ e^d",
            lambda t: center_regret.short_horizon_bound(n, rarest, costs),
            wide or ("" if short else f"T exceeds e^{dim}"),
        ),
        Bound(
            "longer horizon",
            "CC",
            "upper",
            "remark B.18",
            "the same, T ≤ e^d sqrt(N log N)",
            (lambda t: center_regret.longer_horizon_bound(n, dim, rarest, costs)) if enough else None,
            wide or ("" if longer else f"T exceeds e^{dim} sqrt({n} log {n})"),
        ),
    ]
