"""CHC's regret in dimension two and more: leading terms for a long horizon, from above and below.

`flags` is the sum of F(C_i), the flags of the cells (askless.theory.flags). `density_ratio` is C / c, the largest over
the smallest density of the queries (1 where they are uniform). `stretch` is the paper's K (askless.theory.pole), the
largest over the cells. The paper gives the leading term only: what is left out grows slower by log T / log log T, with
a constant that nobody knows, so none of these holds at a finite horizon for certain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from askless.errors import InvalidInput
from askless.inputs import as_costs
from askless.streams.stream import as_whole
from askless.theory.arguments import at_least, from_log
from askless.theory.flags import cell_dimension, voronoi_flags_log
from askless.types import PAPER_COSTS, Costs


def missing_measure(
    space: str, dim: int, n: int, flags: float, density_ratio: float = 1.0, stretch: float = 1.0
) -> float:
    """The leading term of the measure of a polytope that the hull of n points in it misses on average.

        K (C/c) F(P) / ((k+1)^(k-1) (k-1)!) * log(n)^(k-1) / n        k = d in the cube, d - 1 on the sphere

    In the cube and with uniform points the term is exact, and K = 1; else it bounds from above. On the sphere the last
    display of the paper's proof repeats the exponents of the cube (k = d); the statement and the line before it have
    k = d - 1, as here. [Bárány and Buchta 1993, theorem 2; Réveillard et al. 2026, proposition B.2, corollaries B.3
    and B.4]
    """
    k = cell_dimension(space, dim)
    log_n = math.log(as_whole(n, 2, "n"))
    scale = _scale(space, flags, density_ratio, stretch)
    return from_log(scale - (k - 1) * math.log(k + 1) - math.lgamma(k) + (k - 1) * math.log(log_n) - log_n)


def leading_term(
    space: str,
    dim: int,
    horizon: int,
    flags: float,
    density_ratio: float = 1.0,
    stretch: float = 1.0,
    costs: Costs | Sequence[float] = PAPER_COSTS,
) -> float:
    """The leading term of the upper bound on CHC's regret.

        cube     question   (C/c) sum F(C_i) / ((d+1)^(d-1) d!)   log(T)^d
        sphere   question K (C/c) sum F(C_i) / (d^(d-2) (d-1)!)   log(T)^(d-1)

    Assumes cells that are convex polytopes, on the sphere each inside an open half-sphere, and a density between c > 0
    and C. K is the largest over the cells; a remark of the paper says the smallest, but its proof gives the largest.
    [Réveillard et al. 2026, theorem 4.1]
    """
    question, k = as_costs(costs).question, cell_dimension(space, dim)
    scale = _scale(space, flags, density_ratio, stretch)
    return question * from_log(scale - (k - 1) * math.log(k + 1) - math.lgamma(k + 1) + k * _log_log(horizon))


def voronoi_leading_term(
    space: str,
    dim: int,
    horizon: int,
    n_labels: int,
    density_ratio: float = 1.0,
    stretch: float = 1.0,
    costs: Costs | Sequence[float] = PAPER_COSTS,
) -> float:
    """The same for Voronoi cells, with the bound on their flags in place of the flags.

        cube     8 question   (C/c) N / (3 (d+1)^(d-1)) * (2e (N+2d) / (d-1))^(d/2)     log(T)^d
        sphere   4 question K (C/c) N / d^(d-2)         * (2e N / (d-2))^((d-1)/2)      log(T)^(d-1)

    Assumes what `leading_term` does. [Réveillard et al. 2026, corollary 4.2]
    """
    question, k = as_costs(costs).question, cell_dimension(space, dim)
    scale = _scale(space, 1.0, density_ratio, stretch) + voronoi_flags_log(space, dim, n_labels) - math.lgamma(k + 1)
    return question * from_log(scale - (k - 1) * math.log(k + 1) + k * _log_log(horizon))


def lower_leading_term(
    space: str, dim: int, horizon: int, flags: float, costs: Costs | Sequence[float] = PAPER_COSTS
) -> float:
    """question sum F(C_i) / (4 k! k^k) log(T)^k, with k = d in the cube and d - 1 on the sphere.

    CHC's regret over log(T)^k has no smaller limit, whatever the distribution: its density need only be continuous
    and positive. So CHC gains nothing from queries that keep near the seeds, as T grows. It is a bound on CHC, not on
    other policies. Assumes the cells of `leading_term`. [Réveillard et al. 2026, theorem E.2]
    """
    question, k = as_costs(costs).question, cell_dimension(space, dim)
    scale = math.log(at_least(flags, 1.0, "flags"))
    return question * from_log(scale - math.log(4.0) - math.lgamma(k + 1) - k * math.log(k) + k * _log_log(horizon))


def _scale(space: str, flags: float, density_ratio: float, stretch: float) -> float:
    """log(K (C/c) F), with the arguments checked."""
    if space == "euclidean" and stretch != 1.0:
        raise InvalidInput(f"The stretch K belongs to the sphere; in the cube it is 1, found {stretch:g}.")
    ratio = at_least(density_ratio, 1.0, "density_ratio, C / c,")
    return math.log(at_least(flags, 1.0, "flags")) + math.log(ratio) + math.log(at_least(stretch, 1.0, "stretch, K,"))


def _log_log(horizon: int) -> float:
    return math.log(math.log(as_whole(horizon, 2, "horizon")))
