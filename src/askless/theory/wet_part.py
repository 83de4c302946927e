"""The wet part of a distribution, and what it says about the hull of random points.

A point is in the wet part W(t) of nu if some half-space that contains it has nu-measure at most t: the trace that a
volume t of water leaves in a vessel that is rolled about. w(t) is its measure. What n independent points' hull misses
lies between two values of w, for every distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from askless.inputs import as_costs
from askless.streams.stream import as_whole
from askless.theory.arguments import at_least, blocks
from askless.types import PAPER_COSTS, Costs


def cube_wet_part_bound(dim: int, t: float) -> float:
    """An upper bound on w(t) for the uniform distribution on a cube, and on any box or parallelepiped.

        2t sum_{k<d} log(1 / (2t))^k / k!    for t <= 1/2, and 1 above

    Why: v, the least volume that a half-space through x cuts off, is at least half that of the Macbeath region, the
    cube and its mirror image in x. Where that is at most 2t, the product of d uniform numbers is at most 2t: a tail of
    the Gamma(d) distribution at log(1 / (2t)). Exact in the plane (and on an interval), where the two volumes are in
    proportion. [Réveillard et al. 2026, proposition E.5]
    """
    return float(_cube_wet_part_bound(as_whole(dim, 1, "dim"), np.array(at_least(t, 0.0, "t"))))


def missing_measure_bound(n: int, dim: int, wet_part: Callable[[float], float]) -> float:
    """An upper bound on the measure that the hull of n >= 2 independent points misses on average.

        w((d+2) log(n) / n)  +  2^(d+3) e ceil(log n)^d / n^2,   and never more than 1

    `wet_part` is t -> w(t), or an upper bound on it. Holds for every distribution on R^d. [Bárány et al. 2020, theorem
    1.2; Réveillard et al. 2026, appendix E.3]
    """
    n, dim = as_whole(n, 2, "n"), as_whole(dim, 1, "dim")
    return min(1.0, wet_part((dim + 2) * math.log(n) / n) + float(_rest(dim, np.array(float(n)))))


def missing_measure_lower_bound(n: int, wet_part: Callable[[float], float]) -> float:
    """w(1/n) / 4, at most the measure that the hull of n >= 2 independent points misses on average.

    A point of W(t) is missed when no point falls into its half-space: with probability (1-t)^n or more, and
    (1 - 1/n)^n >= 1/4. `wet_part` must be w itself or a lower bound on it. [Bárány et al. 2020, theorem 1.2;
    Réveillard et al. 2026, proof of lemma E.3]
    """
    return 0.25 * wet_part(1.0 / as_whole(n, 2, "n"))


def one_cell_regret_bound(dim: int, horizon: int, costs: Costs | Sequence[float] = PAPER_COSTS) -> float:
    """An upper bound on CHC's regret at every horizon where one label fills the cube and queries are uniform.

    Round t asks where the hull of the t-1 earlier queries misses; the bounds above are summed over the rounds. For
    cells that are no boxes the paper has no explicit bound on the wet part, so none on the regret at a finite horizon.
    """
    dim, horizon = as_whole(dim, 1, "dim"), as_whole(horizon, 1, "horizon")
    question = as_costs(costs).question
    missed = math.fsum(  # n are the earlier queries, from round 3 on; rounds 1 and 2 ask
        float(np.minimum(1.0, _cube_wet_part_bound(dim, (dim + 2) * np.log(n) / n) + _rest(dim, n)).sum())
        for n in blocks(2, horizon)
    )
    return question * (min(horizon, 2) + missed)


def _cube_wet_part_bound(dim: int, t: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import gammaincc

    with np.errstate(divide="ignore"):  # t = 0 is infinitely far in the tail
        return np.asarray(gammaincc(dim, np.maximum(0.0, -np.log(2.0 * t))))


def _rest(dim: int, n: NDArray[np.float64]) -> NDArray[np.float64]:
    """The second term of `missing_measure_bound`, by its logarithm: in high dimensions no float holds its factors."""
    with np.errstate(over="ignore"):
        log_n = np.log(n)
        return np.asarray(np.exp((dim + 3) * math.log(2.0) + 1.0 + dim * np.log(np.ceil(log_n)) - 2.0 * log_n))
