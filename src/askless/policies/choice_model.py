"""Two small models that turn scores into probabilities: which of the known labels, and whether it is a new one.

Both are maximum-a-posteriori fits by damped Newton steps from the prior: convex problems in a handful of weights, so
the answer depends on the rows alone. The prior keeps a fit on few rows near to weights that ask.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_STEPS = 50
_HALVINGS = 30


def fit_choice(features: Floats, valid: NDArray[np.bool_], target: NDArray[np.intp], weights: Floats, prior: Floats,
               precision: float) -> Floats:  # fmt: skip
    """The weights b of P(candidate c) = exp(b.x_c) / sum over the valid candidates, a conditional logit.

    `features` has a row's candidates along its second axis, `valid` says which of them there are, `target` which one
    was right. [McFadden 1974]
    """
    rows = np.arange(len(features))

    def parts(b: Floats) -> tuple[float, Floats, Floats]:
        p, log_p = _softmax(features @ b, valid)
        mean = np.einsum("nk,nkp->np", p, features)
        loss = -float(weights @ log_p[rows, target]) + 0.5 * precision * float((b - prior) @ (b - prior))
        gradient = -weights @ (features[rows, target] - mean) + precision * (b - prior)
        spread = np.einsum("n,nk,nkp,nkq->pq", weights, p, features, features, optimize=True)
        hessian = spread - (mean * weights[:, None]).T @ mean + precision * np.eye(len(b))
        return loss, gradient, hessian

    return _newton(parts, prior)


def fit_binary(features: Floats, target: Floats, weights: Floats, prior: Floats, precision: Floats) -> Floats:
    """The weights b of P(yes) = 1 / (1 + exp(-b.x)), a logistic regression; each has a precision in the prior."""

    def parts(b: Floats) -> tuple[float, Floats, Floats]:
        z = features @ b
        p = 1.0 / (1.0 + np.exp(-np.clip(z, -700.0, 700.0)))
        loss = float(weights @ (np.logaddexp(0.0, z) - target * z)) + 0.5 * float(precision @ (b - prior) ** 2)
        gradient = features.T @ (weights * (p - target)) + precision * (b - prior)
        hessian = (features * (weights * p * (1.0 - p))[:, None]).T @ features + np.diag(precision)
        return loss, gradient, hessian

    return _newton(parts, prior)


def _softmax(z: Floats, valid: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    z = np.where(valid, z, -np.inf)
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1, keepdims=True)
    return e / total, z - np.log(total)


def _newton(parts: Callable[[Floats], tuple[float, Floats, Floats]], start: Floats) -> Floats:
    b = start.astype(np.float64)
    loss, gradient, hessian = parts(b)
    for _ in range(_STEPS):
        step = np.linalg.solve(hessian, gradient)
        drop = float(gradient @ step)
        if drop <= 1e-12 * (1.0 + abs(loss)):
            break
        size = 1.0
        for _ in range(_HALVINGS):
            there = parts(b - size * step)
            if there[0] <= loss - 1e-4 * size * drop:
                break
            size /= 2.0
        else:
            break
        b = b - size * step
        loss, gradient, hessian = there
    return b
