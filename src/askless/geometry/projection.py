"""Distances to hulls and cones with certificates, for callers who have points and no store."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.geometry.index import TINY, UP
from askless.geometry.jit import told_of_compiling
from askless.geometry.pricing import LINE
from askless.geometry.project import project
from askless.geometry.work import EUCLIDEAN, SPHERE
from askless.inputs import as_matrix, as_space, as_vector, unit

ROUNDING = 2.0**-52  # of an inner product of unit vectors, per dimension
ZERO = 1e-9  # a distance of at most this, relative to the data's scale, counts as zero


@dataclass(frozen=True, slots=True)
class Projection:
    """The nearest point of a hull, and what proves it.

    `point` is `weights @ P` (rows of norm 1 on the sphere), `distance` its distance from the query, and the true
    distance lies in [distance - gap, distance].
    """

    distance: float
    weights: NDArray[np.float64]
    gap: float
    point: NDArray[np.float64]

    @property
    def low(self) -> float:
        """A certified lower bound of the distance."""
        return max(0.0, self.distance - self.gap)


def distance_to_hull(q: ArrayLike, P: ArrayLike) -> Projection:
    """Distance from a point to the convex hull of the rows of P.

        min ||q - sum_j a_j p_j||   over   a >= 0, sum_j a_j = 1

    Solved by an active set over an orthonormal basis with column generation (`project`). Certified: the hyperplane
    through the nearest point separates q from the hull up to `gap`.
    """
    point, points, power = _euclidean(q, P)
    return _at_scale(_project(point, points, EUCLIDEAN), power)


def distance_to_cone(q: ArrayLike, P: ArrayLike) -> Projection:
    """Chordal distance from a direction to the spherical hull of the rows of P, all scaled to norm 1.

        min ||q - y||   over unit vectors   y = sum_j a_j p_j,  a >= 0

    The projection x of q onto the cone gives y = x / ||x|| and d = sqrt(2 - 2 ||x||); if x = 0, the nearest row gives
    it. Certified by a vector of the polar cone. [Réveillard et al. 2026, proposition B.20]
    """
    point, points = _spherical(q, P)
    return _project(point, points, SPHERE)


def distance_to_nearest(q: ArrayLike, P: ArrayLike, space: str = "sphere") -> Projection:
    """Distance to the nearest row of P; exact up to rounding, so the gap is zero."""
    point, points, power = (*_spherical(q, P), 0) if as_space(space) == "sphere" else _euclidean(q, P)
    gaps = np.linalg.norm(points - point, axis=1)
    best = int(gaps.argmin())
    weights = np.zeros(len(points))
    weights[best] = 1.0
    return _at_scale(Projection(float(gaps[best]), weights, 0.0, points[best].copy()), power)


def in_hull(q: ArrayLike, P: ArrayLike, space: str = "sphere") -> bool:
    """Whether the hull of the rows of P contains q: distance at most 1e-9 of the data's scale."""
    if as_space(space) == "sphere":
        return distance_to_cone(q, P).distance <= ZERO
    point, points, _ = _euclidean(q, P)
    scale = max(float(np.linalg.norm(points, axis=1).max()), float(np.linalg.norm(point)))
    return _project(point, points, EUCLIDEAN).distance <= ZERO * scale


def hulls_meet(P: ArrayLike, R: ArrayLike, space: str = "sphere") -> bool:
    """Whether the hulls of the rows of P and of the rows of R share a point, up to 1e-9 of the data's scale.

    Euclidean: the hull of all differences p_i - r_j contains zero. It has |P| |R| points, but the same is a projection
    in one more dimension for each hull: columns (p_i, 1, 0) and (-r_j, 0, 1) span (0, 1, 1) with weights >= 0. On the
    sphere the cones share a unit vector if some x = sum_i a_i p_i with sum a = 1 lies in the cone of R: columns
    (p_i, 1) and (-r_j, 0) span (0, 1).
    """
    if as_space(space) == "sphere":
        first, second = _rows(P, "P"), _rows(R, "R")
        _same_dim(first, second)
        return _cones_meet(np.array([unit(p) for p in first]), np.array([unit(r) for r in second]))
    first, second = _rows(P, "P").astype(np.float64), _rows(R, "R").astype(np.float64)
    _same_dim(first, second)
    power = _power(first, second)
    first, second = np.ldexp(first, -power), np.ldexp(second, -power)
    scale = max(np.linalg.norm(first, axis=1).max(), np.linalg.norm(second, axis=1).max())
    center = first.mean(axis=0)
    first, second = first - center, second - center
    spread = max(np.linalg.norm(first, axis=1).max(), np.linalg.norm(second, axis=1).max())
    if spread <= ZERO * scale:
        return True
    n, m = len(first), len(second)
    columns = np.zeros((n + m, first.shape[1] + 2))
    columns[:n, :-2], columns[n:, :-2] = first / spread, -second / spread
    columns[:n, -2] = columns[n:, -1] = 1.0
    target = np.zeros(first.shape[1] + 2)
    target[-2:] = 1.0
    _, residual = _nonnegative(columns, target)
    return bool(residual * spread <= ZERO * scale)


def _cones_meet(P: NDArray[np.float64], R: NDArray[np.float64]) -> bool:
    meet, common = _common(P, R, np.ones(len(P)))
    if not meet or np.linalg.norm(common) > 1e-6:
        return meet
    # x = 0: the cone of P holds a line. A common x != 0 has <p_i, x> > 0 for some i, so each in turn may be 1.
    return any(_common(P, R, P @ p)[0] for p in P)


def _common(
    P: NDArray[np.float64], R: NDArray[np.float64], measure: NDArray[np.float64]
) -> tuple[bool, NDArray[np.float64]]:
    """Whether x = a P = b R with a, b >= 0 and a . measure = 1 exists, and x."""
    n, m = len(P), len(R)
    columns = np.zeros((n + m, P.shape[1] + 1))
    columns[:n, :-1], columns[n:, :-1] = P, -R
    columns[:n, -1] = measure
    target = np.zeros(P.shape[1] + 1)
    target[-1] = 1.0
    a, residual = _nonnegative(columns, target)
    return bool(residual <= ZERO), a[:n] @ P


def _nonnegative(columns: NDArray[np.float64], target: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Weights >= 0 with the least ||target - weights @ columns||, and that value."""
    length = np.linalg.norm(target)
    sizes = np.linalg.norm(columns, axis=1)
    cone = _project(target / length, columns / sizes[:, None], SPHERE)
    cosine = float(cone.point @ (target / length))
    if cosine <= 0.0:
        return np.zeros(len(columns)), float(length)
    weights = cone.weights * cosine * length / sizes
    return weights, float(np.linalg.norm(target - weights @ columns))


def _project(q: NDArray[np.float64], P: NDArray[np.float64], space: int) -> Projection:
    warm_up()
    n, d = P.shape
    v, lean, pointed, height = np.zeros(d), np.ones(n), False, 0.0
    if space == SPHERE:
        v, lean, pointed, height = _leaning(P)
    closeness = P @ q if space == SPHERE else P @ q - 0.5 * (P * P).sum(axis=1)
    first = np.argsort(-closeness, kind="stable")[:24]
    low, weights = _run(q, P, space, lean, v, pointed, height, first)
    point = weights @ P
    distance = float(np.linalg.norm(point - q))
    return Projection(distance, weights, max(0.0, distance - float(np.sqrt(2.0 * low))), point)


def _run(
    q: NDArray[np.float64],
    P: NDArray[np.float64],
    space: int,
    lean: NDArray[np.float64],
    v: NDArray[np.float64],
    pointed: bool,
    height: float,
    first: NDArray[np.int64],
) -> tuple[float, NDArray[np.float64]]:
    n, d = P.shape
    picked, some = np.zeros(min(n, d + 1) + 1, np.int64), np.zeros(min(n, d + 1) + 1)
    low, k = project(
        P, (P * P).sum(axis=1), q, space, P @ q, ROUNDING * d, lean.astype(np.float32), v, pointed, height, first,
        picked, some,
    )  # fmt: skip
    weights = np.zeros(n)
    weights[picked[:k]] = some[:k]
    return low, weights


@cache
def warm_up() -> None:
    """Compile the kernel, or load it from the cache, once in a process."""
    with told_of_compiling():
        _run(np.ones(2), np.eye(2), EUCLIDEAN, np.ones(2), np.zeros(2), False, 0.0, np.zeros(1, np.int64))


def _leaning(P: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], bool, float]:
    """A unit vector on the positive side of all rows, 1 / <v, p_j>, whether there is one; the height of the hull."""
    n, d = P.shape
    for v in (P.mean(axis=0), None):
        if v is None:
            zero, origin = np.zeros(d), np.zeros(1, np.int64)
            _, weights = _run(zero, P, EUCLIDEAN, np.ones(n), zero, False, 0.0, origin)
            v = weights @ P
        length = float(np.linalg.norm(v))
        along = P @ (v / length) if length > LINE else np.zeros(n)
        lowest = float(along.min())
        if length > TINY and lowest > TINY:
            return v / length, UP / along, True, lowest
    return np.zeros(d), np.ones(n), False, max(lowest, LINE) if length > LINE else 0.0


def _rows(P: ArrayLike, what: str) -> NDArray[np.floating]:
    M = np.ascontiguousarray(as_matrix(P, what=f"the points {what}"))  # the one layout that the kernel is compiled for
    if not len(M):
        raise InvalidInput(f"Expected at least one point in {what}; found none.")
    return M


def _same_dim(P: NDArray[np.floating], R: NDArray[np.floating]) -> None:
    if P.shape[1] != R.shape[1]:
        raise InvalidInput(f"Expected points of one dimension; found {P.shape[1]} and {R.shape[1]}.")


def _euclidean(q: ArrayLike, P: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """The query and the points over a power of two, so that squares neither under- nor overflow; and that power."""
    rows = _rows(P, "P")
    point, points = as_vector(q, rows.shape[1]).astype(np.float64), rows.astype(np.float64)
    power = _power(point, points)
    return np.ldexp(point, -power), np.ldexp(points, -power), power


def _power(x: NDArray[np.floating], y: NDArray[np.floating]) -> int:
    largest = max(float(np.abs(x).max()), float(np.abs(y).max()))
    return 0 if 1e-100 < largest < 1e100 else math.frexp(largest)[1]


def _at_scale(found: Projection, power: int) -> Projection:
    with np.errstate(over="ignore"):  # a distance may be larger than any float
        distance, gap = (float(np.ldexp(x, power)) for x in (found.distance, found.gap))
    return Projection(distance, found.weights, gap, np.ldexp(found.point, power))


def _spherical(q: ArrayLike, P: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    points = _rows(P, "P")
    return unit(as_vector(q, points.shape[1])), np.array([unit(p) for p in points])
