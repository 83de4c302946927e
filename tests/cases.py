"""Random and degenerate cases of one query and one label's examples, by name.

Each generator takes a source of randomness and returns the query q and the rows P. A case is fixed by its
seed and number, so that a failure can be had again alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Pair: TypeAlias = tuple[Array, Array]  # a query, and examples in rows
Rng: TypeAlias = np.random.Generator

SPACES = ("sphere", "euclidean")
SHARE = float(os.environ.get("ASKLESS_CASES", "0.4"))  # of the cases that a test names; `make soak` runs ten times all


@dataclass(frozen=True)
class Case:
    """One query, one label's examples, and where they come from."""

    name: str
    space: str
    q: Array
    P: Array

    @property
    def scale(self) -> float:
        """1 on the sphere, else the largest norm among the points and the query."""
        return scale_of(self.q, self.P, self.space)


def scale_of(q: Array, P: Array, space: str) -> float:
    if space == "sphere":
        return 1.0
    X = np.vstack([P, q]).astype(np.float64)
    largest = float(np.abs(X).max()) or 1.0
    return largest * float(np.linalg.norm(X / largest, axis=1).max())


def _size(rng: Rng, least: int = 1) -> tuple[int, int]:
    return int(rng.integers(1, 13)), int(rng.integers(least, 9))


def _weights(rng: Rng, n: int) -> Array:
    return rng.dirichlet(np.ones(n))


def _nonzero(X: Array) -> Array:
    """The same rows, with (1, 0, ..) in place of zero ones, which have no direction."""
    X = X.copy()
    X[~X.any(axis=1), 0] = 1.0
    return X


# -- in general position ----------------------------------------------------------------------------------


def gaussian(rng: Rng) -> Pair:
    n, d = _size(rng)
    return rng.normal(size=d), rng.normal(size=(n, d))


def on_sphere(rng: Rng) -> Pair:
    q, P = gaussian(rng)
    return q / np.linalg.norm(q), P / np.linalg.norm(P, axis=1, keepdims=True)


def shifted(rng: Rng) -> Pair:
    """Examples to one side of the origin: a pointed cone, and a hull that leaves the origin out."""
    n, d = _size(rng)
    centre = rng.normal(size=d)
    return centre + rng.normal(size=d), 2.0 * centre + rng.normal(size=(n, d))


def crowded(rng: Rng) -> Pair:
    """All cosines between 0.7 and 0.9, as text models give."""
    n, d = int(rng.integers(1, 13)), int(rng.integers(24, 65))
    X = rng.normal(size=(n + 1, d)) / np.sqrt(d)
    X[:, 0] = 2.0
    return X[0], X[1:]


def float32(rng: Rng) -> Pair:
    q, P = shifted(rng) if rng.random() < 0.5 else crowded(rng)
    return q.astype(np.float32), P.astype(np.float32)


def more_points_than_dimensions(rng: Rng) -> Pair:
    d = int(rng.integers(1, 6))
    n = int(rng.integers(d + 1, 6 * d + 2))
    centre = 2.0 * rng.normal(size=d)
    return rng.normal(size=d), centre + rng.normal(size=(n, d))


# -- degenerate examples ----------------------------------------------------------------------------------


def one_point(rng: Rng) -> Pair:
    d = _size(rng)[1]
    return rng.normal(size=d), rng.normal(size=(1, d))


def duplicates(rng: Rng) -> Pair:
    q, P = shifted(rng)
    return q, P[rng.integers(0, len(P), size=len(P) + 3)]


def small_integers(rng: Rng) -> Pair:
    """Repeated coordinates and many dependent rows."""
    n, d = _size(rng)
    high = int(rng.integers(1, 4))
    X = rng.integers(-high, high + 1, size=(n + 1, d)).astype(np.float64)
    return _nonzero(X)[0], _nonzero(X)[1:]


def positive_integers(rng: Rng) -> Pair:
    n, d = _size(rng)
    X = _nonzero(rng.integers(0, 4, size=(n + 1, d)).astype(np.float64))
    return X[0], X[1:]


def collinear(rng: Rng) -> Pair:
    n, d = _size(rng)
    a, b = rng.normal(size=(2, d))
    q = a + rng.normal() * b if rng.random() < 0.5 else rng.normal(size=d)
    return q, a + rng.normal(size=(n, 1)) * b


def coplanar(rng: Rng) -> Pair:
    n, d = _size(rng, least=3)
    basis = rng.normal(size=(3, d))
    flat = np.column_stack([np.ones(n + 1), rng.normal(size=(n + 1, 2))])
    X = flat @ basis
    return X[0] if rng.random() < 0.5 else rng.normal(size=d), X[1:]


def antipodal(rng: Rng) -> Pair:
    """Pairs p, -p: the cone holds a line, and the hull the origin."""
    q, P = gaussian(rng)
    return q, np.vstack([P, -P[: int(rng.integers(1, len(P) + 1))]])


def nearly_antipodal(rng: Rng) -> Pair:
    q, P = gaussian(rng)
    return q, np.vstack([P, -P[:1] + 1e-3 * rng.normal(size=P.shape[1])])


def nearly_equal(rng: Rng) -> Pair:
    n, d = _size(rng)
    apart = float(rng.choice([1e-6, 1e-9, 1e-12]))
    centre = rng.normal(size=d)
    q = rng.normal(size=d) if rng.random() < 0.5 else centre + apart * rng.normal(size=d)
    return q, centre + apart * rng.normal(size=(n, d))


def inside_nearly_equal_pairs(rng: Rng) -> Pair:
    """Every example twice, a little apart, and a query that only all of them together hold."""
    d = int(rng.integers(2, 9))
    apart = float(rng.choice([1e-4, 1e-6, 1e-9, 1e-12]))
    P = 2.0 * rng.normal(size=d) + rng.normal(size=(d // 2, d))
    P = np.vstack([P, P + apart * rng.normal(size=P.shape)])
    return _weights(rng, len(P)) @ P, P


# -- particular queries -----------------------------------------------------------------------------------


def equal_to_example(rng: Rng) -> Pair:
    _, P = shifted(rng)
    return P[int(rng.integers(len(P)))].copy(), P


def inside(rng: Rng) -> Pair:
    _, P = more_points_than_dimensions(rng)
    return _weights(rng, len(P)) @ P, P


def on_face(rng: Rng) -> Pair:
    _, P = shifted(rng)
    some = P[: max(1, min(len(P), P.shape[1] - 1))]
    return _weights(rng, len(some)) @ some, P


def on_edge(rng: Rng) -> Pair:
    _, P = shifted(rng)
    return _weights(rng, 2) @ P[[0, -1]], P


def just_outside(rng: Rng) -> Pair:
    """Above the middle of a face, by much less than the face is wide."""
    d = int(rng.integers(2, 8))
    P = np.hstack([rng.normal(size=(2 * d, d - 1)), np.ones((2 * d, 1))])
    q = _weights(rng, 2 * d) @ P
    q[-1] += float(rng.choice([1e-3, 1e-5, 1e-7]))
    return q, P


def zero_projection(rng: Rng) -> Pair:
    """No inner product is positive; some are exactly zero."""
    q, P = gaussian(rng)
    if rng.random() < 0.5 and len(q) > 1:
        P[:, 0] = -np.abs(P[:, 0]) * rng.integers(0, 2, size=len(P))
        return np.eye(len(q))[0], P
    return q, np.where(P @ q > 0, -1.0, 1.0)[:, None] * P


def query_at_origin_side(rng: Rng) -> Pair:
    """The query is opposite to the examples, or orthogonal to all of them."""
    n, d = _size(rng, least=2)
    P = rng.normal(size=(n, d))
    P[:, 0] = 0.0 if rng.random() < 0.5 else 1.0
    return -np.eye(d)[0], P


# -- scales -----------------------------------------------------------------------------------------------


def huge(rng: Rng) -> Pair:
    q, P = shifted(rng)
    scale = float(rng.choice([1e6, 1e12, 1e150, 1e300]))
    return scale * q, scale * P


def tiny(rng: Rng) -> Pair:
    q, P = shifted(rng)
    scale = float(rng.choice([1e-6, 1e-12, 1e-150, 1e-300]))
    return scale * q, scale * P


def far_from_the_origin(rng: Rng) -> Pair:
    q, P = gaussian(rng)
    offset = 1e6 * rng.normal(size=len(q))
    return q + offset, P + offset


def mixed_scales(rng: Rng) -> Pair:
    q, P = gaussian(rng)
    return q, P * 10.0 ** rng.integers(-6, 7, size=(len(P), 1))


GENERATORS: dict[str, Callable[[Rng], Pair]] = {
    make.__name__: make
    for make in (
        gaussian, on_sphere, shifted, crowded, float32, more_points_than_dimensions,
        one_point, duplicates, small_integers, positive_integers, collinear, coplanar,
        antipodal, nearly_antipodal, nearly_equal, inside_nearly_equal_pairs,
        equal_to_example, inside, on_face, on_edge, just_outside, zero_projection, query_at_origin_side,
        huge, tiny, far_from_the_origin, mixed_scales,
    )
}  # fmt: skip


def cases(name: str, space: str, count: int, seed: int = 0) -> Iterator[Case]:
    """The first `count` cases of one generator."""
    number = list(GENERATORS).index(name)
    for i in range(count):
        yield Case(f"{name} {i}", space, *GENERATORS[name](np.random.default_rng([seed, number, i])))


def wide_cases(d: int, space: str, seed: int = 0) -> Iterator[Case]:
    """A few cases of one large dimension: general position, crowded, and each kind of particular query."""
    rng = np.random.default_rng([seed, d])
    P = rng.normal(size=(8, d)) / np.sqrt(d)
    P[:, 0] = 2.0
    q = rng.normal(size=d) / np.sqrt(d)
    opposite = -P.mean(axis=0)
    yield Case("wide", space, q, P - 2.0 * np.eye(d)[0])
    yield Case("wide, crowded", space, q + 2.0 * np.eye(d)[0], P)
    yield Case("wide, crowded, float32", space, P[0].astype(np.float32), P[1:].astype(np.float32))
    yield Case("wide, equal to an example", space, P[3].copy(), P)
    yield Case("wide, inside", space, _weights(rng, len(P)) @ P, P)
    yield Case("wide, nearly inside", space, _weights(rng, len(P)) @ P + 1e-9 * q, P)
    yield Case("wide, zero projection", space, opposite, P)
    yield Case("wide, duplicates", space, q + P[0], P[[0, 0, 1, 1, 2]])
    yield Case("wide, one point", space, q, P[:1])
    yield Case("wide, antipodal", space, q, np.vstack([P[:4], -P[:2]]))
    yield Case("wide, repeated coordinates", space, np.sign(q), np.sign(P - 2.0 * np.eye(d)[0]))
