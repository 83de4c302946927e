"""Distances to hulls by exact arithmetic, independent of the package: what the tests compare it with.

A float is a whole number times a power of two, so inner products of float vectors are exact as Python
integers. The active-set method runs on those, so every question it asks (is this column dependent, may that
example enter) has an exact answer, and its solution is checked against the conditions of optimality, again
exactly. mpmath only draws the square roots, to 60 digits. Normalising to the sphere needs no rounding either,
since a cone stays the same when its generators change in length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any, TypeAlias

import mpmath  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

DIGITS = 60
INSIDE = 1e-9  # a distance up to this much of the scale counts as zero
Array: TypeAlias = NDArray[Any]
Real: TypeAlias = Any  # an mpmath number
Gram: TypeAlias = Callable[[int], list[int]]  # i -> row i of a Gram matrix


@dataclass(frozen=True)
class Reference:
    """The true distance, and the weights (those above zero) of the examples that span the nearest point."""

    distance: Real
    weights: dict[int, Real]


@dataclass(frozen=True)
class Solution:
    """The least ||y - sum a_j c_j|| over a >= 0, as fractions: a_j is zero for j outside the support."""

    support: list[int]
    numerators: list[int]
    denominator: int

    def slack(self, gram: Gram, b: list[int]) -> list[int]:
        """denominator * <c_j, residual> for every column, with b_j = <c_j, y>."""
        slack = [self.denominator * value for value in b]
        for j, a in zip(self.support, self.numerators, strict=True):
            slack = [s - a * g for s, g in zip(slack, gram(j), strict=True)]
        return slack

    def fractions(self) -> list[Fraction]:
        return [Fraction(a, self.denominator) for a in self.numerators]


# -- the active-set method ------------------------------------------------------------------------------


class SingularError(ArithmeticError):
    """The column at `position` of the system depends on those before it."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def solve(A: list[list[int]], b: list[int]) -> tuple[list[int], int]:
    """Numerators and denominator of A^-1 b for a Gram matrix A, by Bareiss' elimination without fractions."""
    n = len(b)
    M = [[*A[i], b[i]] for i in range(n)]
    previous = 1
    for k in range(n):
        row, pivot = M[k], M[k][k]
        if pivot == 0:
            raise SingularError(k)
        for i in range(k + 1, n):
            target, factor = M[i], row[i]  # symmetric: only the part right of the diagonal is kept
            for j in range(i, n + 1):
                target[j] = (target[j] * pivot - factor * row[j]) // previous
        previous = pivot
    x = [0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (previous * M[i][n] - sum(M[i][j] * x[j] for j in range(i + 1, n))) // M[i][i]
    return x, previous


def exact_nnls(gram: Gram, b: list[int], guess: list[int]) -> Solution:
    """Lawson and Hanson's method in exact arithmetic, from a guess of the support.

    It ends, as the objective falls with each column that enters and so no support comes twice. A column that
    depends on the support has slack zero and never enters.
    """
    found = _start(gram, b, guess)
    while True:
        slack = found.slack(gram, b)
        entering = max(range(len(b)), key=slack.__getitem__)
        if slack[entering] <= 0:
            break
        weights = [*found.fractions(), Fraction(0)]
        found = _unconstrained(gram, b, [*found.support, entering])
        while min(found.numerators) <= 0:
            target = found.fractions()
            step = min(a / (a - z) for a, z in zip(weights, target, strict=True) if z <= 0)
            weights = [a + step * (z - a) for a, z in zip(weights, target, strict=True)]
            kept = [j for j, a in zip(found.support, weights, strict=True) if a > 0]
            weights = [a for a in weights if a > 0]
            found = _unconstrained(gram, b, kept)
    certify_nnls(gram, b, found)
    return found


def certify_nnls(gram: Gram, b: list[int], found: Solution) -> None:
    """Raise unless the solution is feasible, no column has a positive slack and no used one any: optimal."""
    slack = found.slack(gram, b)
    feasible = found.denominator > 0 and all(a > 0 for a in found.numerators)
    if not (feasible and all(s <= 0 for s in slack) and all(slack[j] == 0 for j in found.support)):
        raise ArithmeticError("the reference did not reach the optimum")


def _unconstrained(gram: Gram, b: list[int], support: list[int]) -> Solution:
    A = [[gram(i)[j] for j in support] for i in support]
    return Solution(support, *solve(A, [b[i] for i in support]))


def _start(gram: Gram, b: list[int], guess: list[int]) -> Solution:
    """A part of the guess that is independent and has positive weights: a valid place to start."""
    while guess:
        try:
            found = _unconstrained(gram, b, guess)
        except SingularError as dependent:
            guess = [j for i, j in enumerate(guess) if i != dependent.position]
            continue
        if min(found.numerators) > 0:
            return found
        guess = [j for j, a in zip(guess, found.numerators, strict=True) if a > 0]
    return Solution([], [], 1)


def _guess(columns: Array, y: Array) -> list[int]:
    """A support to start from; scipy may be wrong, or give up, on the degenerate cases."""
    try:
        support: list[int] = np.flatnonzero(nnls(columns, y)[0] > 0).tolist()
    except RuntimeError:
        return []
    return support


# -- distances ------------------------------------------------------------------------------------------


class ReferenceHull:
    """The hull of the rows of P in one space; keeps the inner products that its queries needed."""

    def __init__(self, P: Array, space: str) -> None:
        self.P, self.space = np.asarray(P), space
        self.rows, self.exponent = whole(self.P)
        self._gram: dict[int, list[int]] = {}

    def gram(self, i: int) -> list[int]:
        if i not in self._gram:
            self._gram[i] = [dot(self.rows[i], row) for row in self.rows]
        return self._gram[i]

    def distance(self, q: Array, distance: str = "hull") -> Reference:
        q = np.asarray(q)
        if self.space == "sphere":
            return self._to_nearest_unit(q) if distance == "nearest" else self._to_cone(q)
        return self._to_hull(q, distance)

    def _to_cone(self, q: Array) -> Reference:
        """The paper's proposition: d^2 = 2 - 2r, r the norm of the projection; if r = 0 the nearest row."""
        (y,), _ = whole(q[None, :])
        b = [dot(row, y) for row in self.rows]
        if max(b) <= 0:
            return self._to_nearest_unit(q)
        found = exact_nnls(self.gram, b, _guess(unit_rows(self.P).T, unit_rows(q[None, :])[0]))
        total = dot(y, y) * found.denominator
        explained = sum(a * b[j] for j, a in zip(found.support, found.numerators, strict=True))
        with mpmath.workdps(DIGITS):
            r = mpmath.sqrt(mpmath.mpf(explained) / total)
            # 2 - 2r = 2 (1 - r^2) / (1 + r), with an exact numerator where r is nearly 1
            d = mpmath.sqrt(2 * (mpmath.mpf(total - explained) / total) / (1 + r))
            length = mpmath.sqrt(mpmath.mpf(explained) * found.denominator)
            pairs = zip(found.support, found.numerators, strict=True)
            return Reference(d, {j: a * mpmath.sqrt(self.gram(j)[j]) / length for j, a in pairs})

    def _to_nearest_unit(self, q: Array) -> Reference:
        (y,), _ = whole(q[None, :])
        with mpmath.workdps(DIGITS):
            norm = mpmath.sqrt(dot(y, y))
            cosines = [dot(row, y) / (mpmath.sqrt(dot(row, row)) * norm) for row in self.rows]
            j = max(range(len(cosines)), key=cosines.__getitem__)
            return Reference(mpmath.sqrt(max(mpmath.mpf(0), 2 - 2 * cosines[j])), {j: mpmath.mpf(1)})

    def _to_hull(self, q: Array, distance: str) -> Reference:
        """The smallest vector in the hull of x_j = p_j - q, from nonnegative least squares.

        With columns (x_j, M) and right side (0, M), weights a = A w with sum w = 1 cost M^2 d^2 / (d^2 + M^2)
        at the best A, where d = ||sum w_j x_j||: the same w is best for both, and d^2 = M^2 (1 - A) / A. Any
        M > 0 does.
        """
        (y,), exponent = whole(q[None, :])
        lowest = min(self.exponent, exponent)
        up, over = self.exponent - lowest, exponent - lowest
        b = [dot(row, y) << (up + over) for row in self.rows]
        squared = dot(y, y) << (2 * over)
        norms = [(dot(row, row) << (2 * up)) - 2 * b[i] + squared for i, row in enumerate(self.rows)]
        if distance == "nearest":
            j = min(range(len(norms)), key=norms.__getitem__)
            return Reference(_root(norms[j], 1, lowest), {j: mpmath.mpf(1)})
        border = max(*norms, 1)  # M^2

        def shifted(i: int) -> list[int]:
            return [(g << (2 * up)) - b[i] - c + squared for g, c in zip(self.gram(i), b, strict=True)]

        def bordered(i: int) -> list[int]:
            return [x + border for x in shifted(i)]

        columns = np.vstack([_scaled(self.P, q), np.ones(len(b))])
        found = exact_nnls(bordered, [border] * len(b), _guess(columns, np.eye(len(columns))[-1]))
        total = sum(found.numerators)
        certify_hull(shifted, found, border * (found.denominator - total))
        with mpmath.workdps(DIGITS):
            weights = {j: mpmath.mpf(a) / total for j, a in zip(found.support, found.numerators, strict=True)}
        return Reference(_root(border * (found.denominator - total), total, lowest), weights)


def certify_hull(shifted: Gram, found: Solution, squared_times_total: int) -> None:
    """Raise unless x = sum w_j x_j is as long as claimed and nearest: <x, x_j> >= ||x||^2 for all j."""
    total = sum(found.numerators)
    products = [-s for s in found.slack(shifted, [0] * len(shifted(0)))]
    squared = sum(a * products[j] for j, a in zip(found.support, found.numerators, strict=True))
    if squared != squared_times_total * total or any(p * total < squared for p in products):
        raise ArithmeticError("the reference's point is not the nearest of the hull")


def reference_distance(q: Array, P: Array, space: str, distance: str = "hull") -> Reference:
    """The distance from q to the hull of the rows of P, or to the nearest of them."""
    return ReferenceHull(P, space).distance(q, distance)


def whole(X: Array) -> tuple[list[list[int]], int]:
    """Rows of whole numbers and an exponent e: X = rows * 2**e."""
    mantissa, exponents = np.frexp(np.asarray(X, dtype=np.float64))
    numbers = (mantissa * 2.0**53).astype(np.int64)
    exponents = exponents.astype(np.int64) - 53
    lowest = int(exponents[numbers != 0].min()) if numbers.any() else 0
    shifts = np.where(numbers == 0, 0, exponents - lowest)
    rows = zip(numbers.tolist(), shifts.tolist(), strict=True)
    return [[n << s for n, s in zip(*pair, strict=True)] for pair in rows], lowest


def dot(x: Sequence[int], y: Sequence[int]) -> int:
    return sum(map(mul, x, y))


def unit_rows(X: Array) -> NDArray[np.float64]:
    """The rows over their norms, in float64."""
    Y = np.asarray(X, dtype=np.float64)
    Y = Y / np.abs(Y).max(axis=1, keepdims=True)
    return np.asarray(Y / np.linalg.norm(Y, axis=1, keepdims=True))


def _scaled(P: Array, q: Array) -> Array:
    largest = max(float(np.abs(P).max()), float(np.abs(q).max()), 1e-300)
    X = (np.asarray(P, dtype=np.float64) / largest - np.asarray(q, dtype=np.float64) / largest).T
    return np.asarray(X / max(float(np.abs(X).max()), 1e-300))


def _root(numerator: int, denominator: int, exponent: int) -> Real:
    with mpmath.workdps(DIGITS):
        return mpmath.ldexp(mpmath.sqrt(mpmath.mpf(numerator) / denominator), exponent)


# -- decisions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReferenceDecision:
    """What the true distances call for, and how far they are from calling for something else.

    `margin` is the least change of a distance, in units of the data's scale, that would alter `guessable`,
    `inside` or a guess's label; tests leave out queries whose margin is under 1e-9. A distance that is zero,
    but for the rounding of the query's own coordinates, lies a whole 1e-9 below the threshold.
    """

    distances: dict[Any, float]
    label: Any
    inside: frozenset[Any]
    guessable: bool
    margin: float

    @property
    def is_conflict(self) -> bool:
        return len(self.inside) > 1


class ReferenceStore:
    """Every label's hull by brute force, from examples with a `label` and an `x`."""

    def __init__(self, examples: Iterable[Any], space: str) -> None:
        rows: dict[Any, list[Array]] = {}
        for example in examples:
            rows.setdefault(example.label, []).append(np.asarray(example.x))
        self.space = space
        self.hulls = {label: ReferenceHull(np.array(group), space) for label, group in rows.items()}
        self.largest = max((max(map(norm, group)) for group in rows.values()), default=0.0)

    def distances(self, q: Array, distance: str = "hull") -> dict[Any, float]:
        return {label: float(hull.distance(q, distance).distance) for label, hull in self.hulls.items()}

    def scale(self, q: Array) -> float:
        return 1.0 if self.space == "sphere" else max(self.largest, norm(q)) or 1.0


def norm(x: Array) -> float:
    return float(np.linalg.norm(np.asarray(x, dtype=np.float64)))


def decide_from(distances: dict[Any, float], tau: float, scale: float) -> ReferenceDecision:
    """Guess when exactly one hull holds the query, or when none does and d_1 <= tau d_2."""
    order = sorted(distances, key=distances.__getitem__)
    relative = [distances[label] / scale for label in order]
    inside = frozenset(label for label, r in zip(order, relative, strict=True) if r <= INSIDE)
    margin = min(abs(r - INSIDE) if r > 1e-3 * INSIDE else INSIDE for r in relative)
    guessable = len(inside) == 1
    if not inside and len(order) > 1:
        guessable = relative[0] <= tau * relative[1]
        margin = min(margin, abs(relative[0] - tau * relative[1]))
    return ReferenceDecision(distances, order[0], inside, guessable, margin)


def reference_decision(
    store_examples: Iterable[Any], q: Array, tau: float, space: str, distance: str = "hull"
) -> ReferenceDecision:
    """The decision on q by the true distances to the labels of these examples."""
    store = ReferenceStore(store_examples, space)
    return decide_from(store.distances(q, distance), tau, store.scale(q))
