"""How many rounds pass until every label has come up once: exactly, and by the paper's two bounds.

All assume independent rounds, each with label i at probability p_i.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.theory.arguments import as_shares

_FEW_LABELS = 12  # up to here 2^N terms are summed; their cancellation costs at most four digits


def expected_rounds(shares: ArrayLike) -> float:
    """The expected number of rounds until every label has come up once, to about ten digits.

    For few labels by inclusion and exclusion, sum over sets S of (-1)^(|S|+1) / p(S); else from

        integral over t > 0 of  1 - prod_i (1 - exp(-p_i t)),

    the same figure when rounds come as a Poisson process of rate 1. [Réveillard et al. 2026, remark B.19; Ross 2010,
    example 5.17]
    """
    p = as_shares(shares)
    return _by_sets(p) if p.size <= _FEW_LABELS else _by_integral(p)


def bound_by_rarest(shares: ArrayLike) -> float:
    """(log N + 1) / p_min, at least `expected_rounds`: the k-th new label comes with probability (N-k+1) p_min or
    more. [Réveillard et al. 2026, proposition B.16]"""
    p = as_shares(shares)
    return (math.log(p.size) + 1.0) / float(p.min())


def bound_by_sum(shares: ArrayLike) -> float:
    """sum_i 1 / p_i, at least `expected_rounds`: the last of N waiting times is at most their sum.

    Sharper than `bound_by_rarest` where few labels are rare. [Réveillard et al. 2026, remark B.19]
    """
    return float((1.0 / as_shares(shares)).sum())


def _by_sets(p: NDArray[np.float64]) -> float:
    sums, signs = np.zeros(1), np.full(1, -1.0)
    for share in p:
        sums, signs = np.append(sums, sums + share), np.append(signs, -signs)
    return math.fsum(signs[1:] / sums[1:])


def _by_integral(p: NDArray[np.float64]) -> float:
    """The integral over u = log t, in which shares of very different size each get their own stretch."""
    from scipy.integrate import quad

    values, counts = np.unique(p, return_counts=True)

    def integrand(u: float) -> float:
        t = math.exp(u)
        return -t * math.expm1(float(counts @ np.log(-np.expm1(-values * t))))

    first = 1.0 / float(values[-1])
    low, high = math.log(first) - 45.0, math.log((math.log(p.size) + 45.0) / float(values[0]))
    kinks = np.unique(np.clip(np.log(1.0 / np.quantile(values, np.linspace(0.0, 1.0, 9))), low, high))
    total, _ = quad(integrand, low, high, points=kinks, limit=2000, epsabs=0.0, epsrel=1e-11)
    return float(total)
