"""CHC on an interval: its regret exactly, an upper bound, and what no policy can beat.

Costs: `question` is beta - alpha, what one question adds to the regret. Cells are intervals; queries come from any
distribution without atoms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from askless.inputs import as_costs
from askless.streams.stream import as_whole
from askless.theory.arguments import as_shares, blocks
from askless.types import PAPER_COSTS, Costs


def exact_regret(shares: ArrayLike, horizon: int, costs: Costs | Sequence[float] = PAPER_COSTS) -> float:
    """CHC's expected regret after `horizon` rounds; `shares` are the probabilities of the cells.

        R(T) = question * sum_i sum_{t=1..T} [ 2 (1 - (1 - p_i)^t) / t  -  p_i (1 - p_i)^(t-1) ]

    Assumes dimension one, cells that are intervals, independent queries from one distribution without atoms, and an
    expert who is right. Nothing else about the distribution counts.

    Why: CHC errs never, so its regret counts questions. Round t asks when the query lies outside the span of the
    earlier queries of its cell; guessed ones lie inside, so all earlier queries count. Of those, n ~ Bin(t-1, p) are in
    the cell. n uniform points leave 2 / (n+1) of it uncovered on average for n >= 1, and all of it for n = 0, where
    2 / (n+1) would say 2. With E[1 / (n+1)] = (1 - (1-p)^t) / (t p) the term above follows.

    The paper lets round t see t earlier queries, where it has t-1: its formula is the sum of the rounds 2 to T+1, and
    so R(T+1) - question, as the first round always asks. [Réveillard et al. 2026, remark B.9, equation (exact regret)]
    """
    question, p = as_costs(costs).question, as_shares(shares)
    logs, horizon = [_log1m(share) for share in p], as_whole(horizon, 1, "horizon")
    # The first term in blocks of rounds; the second is a geometric sum, 1 - (1 - p)^T.
    first = math.fsum(float((-np.expm1(t * log) / t).sum()) for t in blocks(1, horizon + 1) for log in logs)
    return question * (2.0 * first + math.fsum(math.expm1(horizon * log) for log in logs))


def upper_bound(n_labels: int, horizon: int, costs: Costs | Sequence[float] = PAPER_COSTS) -> float:
    """2 question N log(T + 1): at least CHC's regret in dimension one where `upper_bound_holds`.

    Assumes what `exact_regret` does. [Réveillard et al. 2026, theorem 4.3]
    """
    n_labels, horizon = as_whole(n_labels, 1, "n_labels"), as_whole(horizon, 1, "horizon")
    return 2.0 * as_costs(costs).question * n_labels * math.log(horizon + 1)


def upper_bound_holds(n_labels: int, horizon: int) -> bool:
    """Whether theorem 4.3 is true for this N and T: for every N >= 2, and for N = 1 up to T = 5.

    The paper's proof sums 2 / (t+1), as if round t saw t earlier queries. With the t-1 it has, the term of a cell in
    `exact_regret` is increasing and concave in p, so the regret is largest for equal shares, N f(1/N, T). For N >= 2
    that is at most N f(1/2, T), where f(1/2, 1) = 1/2 and for T >= 2

        f(1/2, T) <= 2 H_T - 2 (1/2 + 1/8) - 3/4 <= 2 log(T+1) + 2 * 0.5773 - 2  <  2 log(T+1).

    For N = 1 it is 2 H_T - 1, which passes 2 log(T+1) at T = 6 and stays above by up to 0.155.
    """
    n_labels, horizon = as_whole(n_labels, 1, "n_labels"), as_whole(horizon, 1, "horizon")
    return n_labels >= 2 or horizon <= 5


def minimax_lower_bound(n_labels: int, horizon: int, costs: Costs | Sequence[float] = PAPER_COSTS) -> float:
    """question (N-1) / (64 sqrt 2) log((T+1)/2): some placing of the seeds costs every policy this much.

    Assumes uniform queries on [0, 1] and Voronoi cells of N seeds. As stated it cannot hold when N is large against T:
    with N = 1,000 and T = 3 it exceeds what asking every time costs. It certainly holds where it is at most
    `minimax_lower_bound_mended`. [Réveillard et al. 2026, theorem 4.4]
    """
    n_labels, horizon = as_whole(n_labels, 1, "n_labels"), as_whole(horizon, 1, "horizon")
    return as_costs(costs).question * (n_labels - 1) / (64.0 * math.sqrt(2.0)) * math.log((horizon + 1) / 2.0)


def minimax_lower_bound_mended(n_labels: int, horizon: int, costs: Costs | Sequence[float] = PAPER_COSTS) -> float:
    """A lower bound of this kind with a proof for every N and T; where it is at least theorem 4.4's, that one holds.

        question ceil(N/2) / 2 * sum_{t=1..T} 1 / (t - 1 + 4N)    for N >= 2, and 0 for N = 1

    The paper's proof treats boundaries that share a seed as independent, which is exact for N = 2 only. Here the seeds
    of even number stand in the middle of their N-th of [0, 1], and those of odd number are uniform on theirs. The b (1
    or 2) boundaries of an odd seed then share one offset, uniform on a window of width w = 1/(2N); all windows are
    disjoint, and queries outside a seed's windows say nothing of its offset. Let every earlier label be known. With n
    earlier queries in the windows of a seed, the gap around its offset has the mean 2w / (n+2), and a gap g costs the
    best guess an error of g/4 at each boundary. As n is binomial with mean (t-1) b / (2N), the errors at one seed in
    round t have a mean of at least (b / 4N) / (E n + 2) >= 1 / (2 (t - 1 + 4N)), by Jensen. Asking instead costs a
    question, and a mistake costs no less than that. [after Réveillard et al. 2026, theorem 4.4]
    """
    n_labels, horizon = as_whole(n_labels, 1, "n_labels"), as_whole(horizon, 1, "horizon")
    question = as_costs(costs).question
    if n_labels == 1:
        return 0.0
    total = math.fsum(float((1.0 / t).sum()) for t in blocks(4 * n_labels, 4 * n_labels + horizon))
    return question * math.ceil(n_labels / 2) / 2.0 * total


def _log1m(p: float) -> float:
    return math.log1p(-p) if p < 1.0 else -math.inf
