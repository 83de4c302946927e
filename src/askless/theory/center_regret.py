"""CC's regret on mixtures with well separated centres.

The paper's assumption B.12: a query is s_i + w with probability p_i, where w is subgaussian with parameter sigma,
E exp(<l, w>) <= exp(sigma^2 |l|^2 / 2); labels are the Voronoi cells of the s_i; and the squared smallest distance
between two of the s_i is at least c sigma^2 d. Here `separation` is c and `rarest` the smallest p_i. CC is
`CenterBased(constant=108, sigma=sigma, horizon=T)`; smaller constants are not covered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from askless.errors import InvalidInput
from askless.inputs import as_costs, as_fraction
from askless.streams.stream import as_whole
from askless.theory.arguments import at_least, from_log
from askless.types import PAPER_COSTS, Costs

LEAST_SEPARATION = 32.0
WIDE_SEPARATION = 80.0


def general_bound(
    n_labels: int,
    dim: int,
    horizon: int,
    rarest: float,
    separation: float = WIDE_SEPARATION,
    costs: Costs | Sequence[float] = PAPER_COSTS,
) -> float:
    """An upper bound on CC's regret for every horizon; assumption B.12 with c >= 32.

        question (log N + 1) / p_min * (1 + 192 (d + 2 log T) / (c d))  +  (question + mistake) N
            +  mistake T (exp(-(c-32) d / 48) + T exp(-(c-8) d / 12))

    The first term is the exploring phase, the last the chance of a wrong guess in the second one and of a query that
    lies in another cell than its component's. [Réveillard et al. 2026, theorem B.13]
    """
    prices, c = as_costs(costs), at_least(separation, LEAST_SEPARATION, "The separation c")
    explored = 1.0 + 192.0 * (as_whole(dim, 1, "dim") + 2.0 * math.log(as_whole(horizon, 1, "horizon"))) / (c * dim)
    slips = from_log(-(c - 32.0) * dim / 48.0) + horizon * from_log(-(c - 8.0) * dim / 12.0)
    first = prices.question * _first_labels(n_labels, rarest) * explored
    return first + (prices.question + prices.mistake) * n_labels + prices.mistake * horizon * slips


def short_horizon_bound(n_labels: int, rarest: float, costs: Costs | Sequence[float] = PAPER_COSTS) -> float:
    """(41/5) question (log N + 1) / p_min + 2 mistake (N + 1): CC's regret is at most this for every T <= e^d.

    Assumes B.12 with c >= 80; `within_short_horizon` says whether T <= e^d. [Réveillard et al. 2026, theorem 4.5]
    """
    prices = as_costs(costs)
    return 8.2 * prices.question * _first_labels(n_labels, rarest) + 2.0 * prices.mistake * (n_labels + 1)


def within_short_horizon(dim: int, horizon: int) -> bool:
    """Whether T <= e^d."""
    return math.log(as_whole(horizon, 1, "horizon")) <= as_whole(dim, 1, "dim")


def longer_horizon_bound(n_labels: int, dim: int, rarest: float, costs: Costs | Sequence[float] = PAPER_COSTS) -> float:
    """CC's regret for T <= e^d sqrt(L) with L = log N / p_min is at most

        question (log N + 1) / p_min * (41/5 + (12/5) log(L) / d)  +  2 mistake (N + L).

    Assumes B.12 with c >= 80, and N >= 2 (the proof uses L >= 1). [Réveillard et al. 2026, remark B.18]
    """
    prices, odds = as_costs(costs), _odds(n_labels, rarest)
    explored = 8.2 + 2.4 * math.log(odds) / as_whole(dim, 1, "dim")
    return prices.question * _first_labels(n_labels, rarest) * explored + 2.0 * prices.mistake * (n_labels + odds)


def within_longer_horizon(n_labels: int, dim: int, horizon: int, rarest: float) -> bool:
    """Whether T <= e^d sqrt(log N / p_min)."""
    longest = as_whole(dim, 1, "dim") + 0.5 * math.log(_odds(n_labels, rarest))
    return math.log(as_whole(horizon, 1, "horizon")) <= longest


def _odds(n_labels: int, rarest: float) -> float:
    return math.log(as_whole(n_labels, 2, "n_labels")) / _rarest(n_labels, rarest)


def _first_labels(n_labels: int, rarest: float) -> float:
    """(log N + 1) / p_min, which bounds the rounds until every label has come up once."""
    return (math.log(as_whole(n_labels, 1, "n_labels")) + 1.0) / _rarest(n_labels, rarest)


def _rarest(n_labels: int, rarest: float) -> float:
    share = as_fraction(rarest, "rarest")
    if not 0.0 < share * n_labels <= 1.0 + 1e-9:
        raise InvalidInput(
            f"rarest is the smallest of {n_labels} probabilities, so above 0 and at most 1/{n_labels}; found {share:g}."
        )
    return share
