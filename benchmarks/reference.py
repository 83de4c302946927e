"""The same decisions by scipy, label by label: what that costs, and a reference with certificates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

Doubles: TypeAlias = NDArray[np.float64]
ZERO = 1e-9  # a distance up to this much of the data's scale counts as zero
WIDE = 1e-9  # an interval wider than this is worth another solver


def as_held(X: NDArray[Any]) -> Doubles:
    """Rows as a float32 store on the sphere has them: of norm 1, rounded to float32, and of norm 1 again."""
    return _unit(_unit(np.asarray(X, np.float64)).astype(np.float32).astype(np.float64))


class LabelByLabel:
    """GHC as one would write it with scipy: one nonnegative least-squares problem for each label.

    On the sphere nnls projects q onto the cone of a label's examples; with r the length of the projection,
    d^2 = 2 - 2r, and if r = 0 the nearest example gives d. In euclidean space the columns are (p_j - q, 1)
    and the right side is (0, 1): the weights of the nearest point of the hull, times some A, solve this too, and
    the squared residual is d^2 / (1 + d^2), so both distances are exact. Rows of X have norm 1 on the sphere.
    Each label's examples are rows of an array, whose transpose goes to nnls, which makes a copy; `laid_out`
    keeps them as nnls wants them, at twice the memory for whoever appends examples as rows.
    """

    def __init__(self, X: NDArray[Any], y: NDArray[Any], space: str, laid_out: bool = False) -> None:
        X = np.asarray(X, np.float64)
        self.space = space
        self.labels = np.unique(y)
        transposed = [rows.T for rows in _by_label(X, y, self.labels)]
        self.columns = [np.ascontiguousarray(A) for A in transposed] if laid_out else transposed
        self._zero = ZERO * (1.0 if space == "sphere" else float(np.linalg.norm(X, axis=1).max()))
        if space == "euclidean":
            self._systems = [np.vstack([A, np.ones(A.shape[1])]) for A in self.columns]
            self._right = np.append(np.zeros(X.shape[1]), 1.0)

    def distances(self, q: Doubles) -> Doubles:
        """The distance of q to each label's hull."""
        to_hull = self._to_cone if self.space == "sphere" else self._to_hull
        return np.array([to_hull(i, q) for i in range(len(self.columns))])

    def decide(self, q: Doubles, tau: float) -> Any:
        """The guessed label, or None to ask."""
        d = self.distances(q)
        order = np.argsort(d)
        inside = int((d <= self._zero).sum())
        is_clear = inside == 0 and tau > 0.0 and d[order[0]] <= tau * d[order[1]]
        return self.labels[order[0]] if inside == 1 or is_clear else None

    def _to_cone(self, i: int, q: Doubles) -> float:
        A = self.columns[i]
        weights, residual = nnls(A, q)
        if not weights.any():
            return float(np.sqrt(2.0 - 2.0 * (q @ A).max()))
        r = np.sqrt(max(0.0, 1.0 - residual * residual))
        return float(residual * np.sqrt(2.0 / (1.0 + r)))

    def _to_hull(self, i: int, q: Doubles) -> float:
        A = self._systems[i]
        np.subtract(self.columns[i], q[:, None], out=A[:-1])
        residual = nnls(A, self._right)[1]
        return float(residual / np.sqrt(1.0 - residual * residual))


@dataclass(frozen=True)
class Verdict:
    """What the reference decided: a label, or None to ask; `certain` False where its intervals do not tell."""

    label: int | None
    certain: bool = True

    def agrees(self, guessed: object) -> bool:
        """Whether this was certain, and a guess of that label (None for a question) says the same."""
        return self.certain and guessed == self.label


class CertifiedCones:
    """GHC on the sphere from intervals that contain each distance, whatever the solver returned.

    Let a >= 0 be the solver's answer, p = P'a, u = q - p and e = max(0, max_j <u, p_j>). The cone's unit
    vectors are x = P'w with w >= 0, and 1 = ||P'w|| >= m sum(w) where m is the least norm in the hull of P. So
    <q, x> = <p, x> + <u, x> <= ||p|| + e / m for all of them, and r = max <q, x> lies between <q, p> / ||p|| and
    that. m^2 = min w'Gw over weights that sum to one is at least the smallest entry of G, and at least its
    smallest eigenvalue over n. Where nnls leaves an interval wider than 1e-9, bvls solves the problem again.
    """

    def __init__(self, X: Doubles, y: NDArray[Any]) -> None:
        self.labels = np.unique(y)
        self._cones = [(rows.T.copy(), _least_norm(rows)) for rows in _by_label(X, y, self.labels)]
        self.widest = 0.0  # of all intervals so far
        self.solved_again = 0

    def decide(self, q: Doubles, tau: float) -> Verdict:
        """Guess, or ask, where the intervals settle which."""
        low, high = np.array([self._interval(A, least, q) for A, least in self._cones]).T
        self.widest = max(self.widest, float((high - low).max()))
        best, second = np.argsort(high)[:2]
        if high[best] <= tau * np.delete(low, best).min():
            return Verdict(int(self.labels[best]))
        others = np.where(np.arange(len(high)) == best, high[second], high[best])
        return Verdict(None, certain=bool((low > tau * others).all()))

    def _interval(self, A: Doubles, least: float, q: Doubles) -> tuple[float, float]:
        low, high = interval(A, least, q, nnls(A, q)[0])
        if high - low > WIDE:
            self.solved_again += 1
            again = lsq_linear(A, q, bounds=(0.0, np.inf), method="bvls", tol=1e-15).x
            other_low, other_high = interval(A, least, q, np.maximum(again, 0.0))
            low, high = max(low, other_low), min(high, other_high)
        return low, high


def interval(A: Doubles, least: float, q: Doubles, weights: Doubles) -> tuple[float, float]:
    """Bounds of the distance from q to the cone of A's columns, from any weights >= 0."""
    rounding = 1e-14
    p = A @ weights
    length = float(np.linalg.norm(p))
    if length == 0.0:
        top = float((q @ A).max())
        if top > 0.0:
            return 0.0, float(np.sqrt(2.0 - 2.0 * top))
        d = float(np.sqrt(2.0 - 2.0 * top))
        return d - rounding, d + rounding
    excess = max(0.0, float(((q - p) @ A).max()))
    low = np.sqrt(max(0.0, 2.0 - 2.0 * (length + excess / least + rounding)))
    high = np.sqrt(max(0.0, 2.0 - 2.0 * (float(q @ p) / length - rounding)))
    return float(low), float(high)


def _least_norm(rows: Doubles) -> float:
    """A lower bound of the least norm in the hull of some rows of norm 1."""
    G = rows @ rows.T
    square = max(float(G.min()), float(np.linalg.eigvalsh(G)[0]) / len(rows), 1e-300)
    return float(np.sqrt(square))


def _by_label(X: Doubles, y: NDArray[Any], labels: NDArray[Any]) -> Iterator[Doubles]:
    order = np.argsort(y, kind="stable")
    bounds = np.searchsorted(y[order], labels)
    yield from np.split(X[order], bounds[1:])


def _unit(X: Doubles) -> Doubles:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))
