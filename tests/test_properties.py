"""What must hold for any points: convexity, invariances, monotonicity, and how distances scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from askless.geometry.projection import distance_to_cone, distance_to_hull, distance_to_nearest, in_hull
from cases import Array, scale_of

CLOSE = 2e-7  # two distances, each within 1e-7 of the scale

SPACES = st.sampled_from(["sphere", "euclidean"])
# whole numbers make repeated coordinates and dependent rows; the others general position
COORDINATES = st.one_of(st.integers(-3, 3).map(float), st.floats(-4.0, 4.0, allow_subnormal=False, width=32).map(float))


@st.composite
def points(draw: st.DrawFn, space: str, least: int = 1, most: int = 10) -> tuple[Array, Array]:
    """A query and examples. On the sphere the examples lie around one direction, so that the cone is pointed
    and its distances change little with a little rounding; the query lies anywhere.
    """
    d, n = draw(st.integers(1, 6)), draw(st.integers(least, most))
    X: Array = draw(hnp.arrays(np.float64, (n + 1, d), elements=COORDINATES))
    X = np.round(X, 6)
    if space == "sphere":
        X[:-1, 0] = 1.0 + np.abs(X[:-1, 0])
        if not X[-1].any():
            X[-1, 0] = -1.0
    return X[-1], X[:-1]


@st.composite
def cases_of_both(draw: st.DrawFn, least: int = 1) -> tuple[str, Array, Array]:
    space = draw(SPACES)
    q, P = draw(points(space, least))
    return space, q, P


def for_all(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The property holds for 80 cases, the same ones in each run."""
    return lambda law: settings(max_examples=80, deadline=None, derandomize=True)(given(*strategies)(law))


def distance(q: Array, P: Array, space: str) -> float:
    return float((distance_to_cone if space == "sphere" else distance_to_hull)(q, P).distance)


def tolerance(q: Array, P: Array, space: str) -> float:
    return CLOSE * scale_of(q, P, space)


def units(X: Any) -> Array:
    return np.asarray(X / np.linalg.norm(X, axis=-1, keepdims=True))


def rotation(d: int, seed: int) -> Array:
    """A random orthogonal matrix."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


SEEDS = st.integers(0, 2**32 - 1)
FRACTIONS = st.floats(0.0, 1.0)


@for_all(points("euclidean"), SEEDS, FRACTIONS)
def test_distance_is_convex_along_segments(case: tuple[Array, Array], seed: int, t: float) -> None:
    q, P = case
    other = q + np.random.default_rng(seed).normal(size=len(q))
    between = distance((1.0 - t) * q + t * other, P, "euclidean")
    chord = (1.0 - t) * distance(q, P, "euclidean") + t * distance(other, P, "euclidean")
    assert between <= chord + tolerance(other, P, "euclidean")


@for_all(cases_of_both(), SEEDS)
def test_rotation_changes_no_distance(case: tuple[str, Array, Array], seed: int) -> None:
    space, q, P = case
    Q = rotation(len(q), seed)
    assert abs(distance(Q @ q, P @ Q.T, space) - distance(q, P, space)) <= tolerance(q, P, space)


@for_all(cases_of_both(), SEEDS)
def test_order_of_examples_changes_no_distance(case: tuple[str, Array, Array], seed: int) -> None:
    space, q, P = case
    shuffled = np.random.default_rng(seed).permutation(P)
    assert abs(distance(q, shuffled, space) - distance(q, P, space)) <= tolerance(q, P, space)


@for_all(cases_of_both(least=2), st.integers(1, 9))
def test_more_examples_are_never_farther(case: tuple[str, Array, Array], fewer: int) -> None:
    space, q, P = case
    part = P[: min(fewer, len(P))]
    assert distance(q, P, space) <= distance(q, part, space) + tolerance(q, P, space)


@for_all(cases_of_both(), SEEDS)
def test_interior_examples_add_nothing(case: tuple[str, Array, Array], seed: int) -> None:
    space, q, P = case
    rng = np.random.default_rng(seed)
    interior = rng.dirichlet(np.ones(len(P)), size=3) @ (units(P) if space == "sphere" else P)
    more = np.vstack([P, interior])
    assert abs(distance(q, more, space) - distance(q, P, space)) <= tolerance(q, P, space)


@for_all(cases_of_both())
def test_doubled_examples_add_nothing(case: tuple[str, Array, Array]) -> None:
    space, q, P = case
    assert abs(distance(q, np.vstack([P, P]), space) - distance(q, P, space)) <= tolerance(q, P, space)


@for_all(points("euclidean"), st.sampled_from([1e-9, 1e-3, 7.0, 1e9]))
def test_distance_scales_with_the_data(case: tuple[Array, Array], scale: float) -> None:
    q, P = case
    scaled = distance(scale * q, scale * P, "euclidean")
    assert abs(scaled - scale * distance(q, P, "euclidean")) <= scale * tolerance(q, P, "euclidean")


@for_all(points("sphere"), st.floats(1e-6, 1e6), SEEDS)
def test_lengths_do_not_matter_on_the_sphere(case: tuple[Array, Array], scale: float, seed: int) -> None:
    q, P = case
    lengths = 10.0 ** np.random.default_rng(seed).uniform(-6.0, 6.0, size=(len(P), 1))
    assert abs(distance(scale * q, lengths * P, "sphere") - distance(q, P, "sphere")) <= CLOSE


@for_all(points("euclidean"), SEEDS)
def test_translation_changes_no_distance(case: tuple[Array, Array], seed: int) -> None:
    q, P = case
    shift = 100.0 * np.random.default_rng(seed).normal(size=len(q))
    moved = distance(q + shift, P + shift, "euclidean")
    assert abs(moved - distance(q, P, "euclidean")) <= tolerance(q + shift, P + shift, "euclidean")


@for_all(cases_of_both(), SEEDS, st.floats(1e-6, 2.0))
def test_distance_moves_no_faster_than_the_query(case: tuple[str, Array, Array], seed: int, step: float) -> None:
    space, q, P = case
    other = q + step * units(np.random.default_rng(seed).normal(size=len(q)))
    if space == "sphere":
        if not other.any():
            return
        q, other = units(q), units(other)
    change = abs(distance(other, P, space) - distance(q, P, space))
    assert change <= float(np.linalg.norm(other - q)) + tolerance(other, P, space)


@for_all(cases_of_both())
def test_hull_is_never_farther_than_the_nearest_example(case: tuple[str, Array, Array]) -> None:
    space, q, P = case
    assert distance(q, P, space) <= distance_to_nearest(q, P, space).distance + tolerance(q, P, space)


@for_all(cases_of_both(), SEEDS)
def test_combinations_of_examples_are_inside(case: tuple[str, Array, Array], seed: int) -> None:
    space, _, P = case
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(P)))
    assert in_hull(weights @ (units(P) if space == "sphere" else P), P, space)


@for_all(cases_of_both())
def test_nearest_point_is_its_own_projection(case: tuple[str, Array, Array]) -> None:
    space, q, P = case
    found = (distance_to_cone if space == "sphere" else distance_to_hull)(q, P)
    assert distance(found.point, P, space) <= 1e-9 * scale_of(q, P, space)
    if space == "euclidean":  # the nearest point's plane holds no example on the query's side
        heights = (P - found.point) @ (q - found.point)
        assert heights.max() <= CLOSE * scale_of(q, P, space) ** 2
