"""Distances, weights, gaps and memberships against the exact reference, on thousands of cases."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from scipy.optimize import linprog

from askless.geometry.projection import (
    Projection,
    distance_to_cone,
    distance_to_hull,
    distance_to_nearest,
    hulls_meet,
    in_hull,
)
from cases import GENERATORS, SHARE, SPACES, Array, Case, cases, scale_of, wide_cases
from reference import INSIDE, reference_distance, unit_rows

CASES = max(1, round(100 * SHARE))  # per generator and space
CLOSE = 1e-7  # of the data's scale
ROUNDING = 1e-12
DIMENSIONS = (64, 384, 1024, 4096)


def project(q: Array, P: Array, space: str) -> Projection:
    return distance_to_cone(q, P) if space == "sphere" else distance_to_hull(q, P)


def extended(case: Case) -> tuple[Any, Any]:
    """The query and the examples in extended precision, of norm 1 on the sphere."""
    X = np.vstack([case.P, case.q]).astype(np.longdouble)
    if case.space == "sphere":
        X /= np.abs(X).max(axis=1, keepdims=True)
        X /= np.sqrt((X * X).sum(axis=1, keepdims=True))
    return X[-1], X[:-1]


def bounds_from_weights(case: Case, weights: Array) -> tuple[float, float]:
    """What the weights alone prove: the distance to the point they span, and a bound below every other."""
    q, P = extended(case)
    x = weights.astype(np.longdouble) @ P
    high = np.sqrt(((q - x) ** 2).sum())
    if case.space == "euclidean":
        # every point y of the hull has ||q - y|| >= <q - y, u>, least at an example
        low = ((q - P) @ (q - x)).min() / high if high > 0 else high
        return float(high), float(max(low, 0))
    # A unit vector y = sum a_j p_j of the cone has 1 <= sum a_j <= 1/m, m the least norm in the hull of the
    # p_j. With u = q - s x, s = <q, x>, this gives <u, y> <= v = max <u, p_j>/m, so <q, y> <= s + v, and
    # ||q - y|| >= <q - y, u>/||u|| >= ||u|| - v/||u||. Also <q, y> <= max b_j/m, or max b_j if negative.
    m = float(reference_distance(np.zeros(len(q)), unit_rows(case.P), "euclidean").distance)
    m *= 1.0 - 1e-15  # it was computed for rows rounded to float64
    if m < 0.01:  # a small m makes too much of the rounding of the weights
        return float(high), 0.0
    x /= np.sqrt((x * x).sum())
    b, s = P @ q, x @ q
    most = b.max() / m if b.max() > 0 else b.max()
    low = np.longdouble(0)
    rounding = 1e-18 + 1e-19 * len(q)  # of inner products in extended precision
    if s > 0:
        u = q - s * x
        v, length = max((P @ u).max(), 0) / m, np.sqrt((u * u).sum())
        most = min(most, s + v)
        low = length - (v + rounding) / length if length > 0 else low
    # 2 - 2 most = ||q - x||^2 + 2 (s - most), without the loss of digits where most is nearly 1
    return float(high), float(max(low, np.sqrt(max(((q - x) ** 2).sum() + 2 * (s - most) - rounding, 0))))


def check(case: Case) -> None:
    """Everything a projection promises."""
    found = project(case.q, case.P, case.space)
    true = reference_distance(case.q, case.P, case.space).distance
    scale = case.scale
    assert np.isfinite([found.distance, found.gap, found.low, *found.weights, *found.point]).all()
    assert abs(found.distance - true) <= CLOSE * scale
    assert found.low - ROUNDING * scale <= true <= found.distance + ROUNDING * scale
    assert found.low == max(0.0, found.distance - found.gap)
    assert found.gap >= 0.0
    check_weights(case, found)
    check_gap(case, found, float(true))


def check_weights(case: Case, found: Projection) -> None:
    """The weights are feasible and span the point whose distance is reported."""
    q, P = extended(case)
    w = found.weights
    assert w.shape == (len(P),)
    assert w.dtype == np.float64
    assert (w >= 0.0).all()
    x = w.astype(np.longdouble) @ P
    if case.space == "sphere":
        assert abs(float((x * x).sum()) - 1.0) <= 1e-9
    else:
        assert abs(w.sum() - 1.0) <= 1e-9
    spread = 1e-9 * case.scale
    assert np.abs(found.point - x.astype(np.float64)).max() <= spread
    assert abs(found.distance - float(np.sqrt(((q - x) ** 2).sum()))) <= spread


def check_gap(case: Case, found: Projection, true: float) -> None:
    """The weights alone prove nearly the bound that is reported, wherever a bound follows from them."""
    high, low = bounds_from_weights(case, found.weights)
    assert low <= true + ROUNDING * case.scale
    assert true <= high + ROUNDING * case.scale
    assert found.gap <= CLOSE * case.scale
    if case.space == "euclidean" or low > 0.0:
        assert high - low <= CLOSE * case.scale


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", GENERATORS)
def test_projection_agrees_with_the_reference(name: str, space: str) -> None:
    for case in cases(name, space, CASES):
        check(case)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_projection_in_many_dimensions(d: int, space: str) -> None:
    for case in wide_cases(d, space):
        check(case)


def test_intervals_hold_on_cones_that_nearly_hold_a_line() -> None:
    """The flatter a cone, the larger the weights, and what rounding does to them; the gap has to say so."""
    rng = np.random.default_rng(5)
    for number in range(max(1, round(600 * SHARE))):
        tilt = 10.0 ** -int(rng.integers(3, 12))
        d, n = int(rng.integers(2, 6)), int(rng.integers(2, 12))
        P, q = rng.normal(size=(n, d)), rng.normal(size=d)
        P[:, -1] *= tilt
        q[-1] *= 10.0 ** -int(rng.integers(0, 13))
        if number % 2:
            P[:, -1] = np.abs(P[:, -1])
        found = distance_to_cone(q, P)
        true = float(reference_distance(q, P, "sphere").distance)
        assert found.low - CLOSE <= true <= found.distance + ROUNDING
        if tilt >= 1e-6:
            assert found.distance - true <= CLOSE
            assert found.gap <= CLOSE


def test_a_cone_that_holds_a_plane_by_a_few_roundings_has_no_false_bound() -> None:
    """Two of these lie opposite each other but for 4e-15, on the side that makes the query an inner point."""
    P = np.array([
        [-7.4574979602264668e-01, -5.8453984944896758e-12],
        [1.3654456867639946e00, 1.0697705941868564e-11],
        [-6.2912712253221059e-01, -2.3116420426221261e-12],
        [7.9100467363597460e-01, 7.9825755828344255e-12],
        [-5.6607695328545393e-01, 9.8569449538378331e-12],
    ])  # fmt: skip
    found = distance_to_cone(np.array([-0.8601389930423824, -0.00309535697270613]), P)
    assert found.low <= CLOSE


_NEARLY_INSIDE = """
import numpy as np
from askless.geometry.projection import distance_to_cone
found = distance_to_cone(np.array([0.5, 0.5, 0.5, 0.5, 1e-7, 0.0]), np.eye(6)[:4])
print(found.distance, found.gap)
"""


@pytest.mark.parametrize("mode", [{}, {"NUMBA_DISABLE_JIT": "1"}], ids=["compiled", "plain Python"])
def test_nearly_inside_a_cone_whose_examples_are_all_far(mode: dict[str, str]) -> None:
    """No example has a cosine above 1/2: none is near enough for a second look. Plain Python checks each index."""
    found = subprocess.run(
        [sys.executable, "-c", _NEARLY_INSIDE], env=os.environ | mode, capture_output=True, text=True, check=True
    )
    distance, gap = map(float, found.stdout.split())
    assert distance - gap <= 1e-7 <= distance + ROUNDING
    assert distance == pytest.approx(1e-7, abs=CLOSE)


@pytest.mark.parametrize("space", SPACES)
def test_a_point_inside_a_hull_of_examples_that_came_twice_once_rounded(space: str) -> None:
    """Columns that all but depend on each other take away a residual with which they have next to no inner product."""
    for seed in range(max(50, int(500 * SHARE))):
        rng = np.random.default_rng(seed)
        once = rng.normal(size=(int(rng.integers(2, 6)), int(rng.integers(2, 8))))
        P = np.vstack([once, once.astype(np.float32)])
        q = rng.dirichlet(np.ones(len(P))) @ P
        found = project(q, P, space)
        scale = scale_of(q, P, space)
        assert found.distance <= 1e-11 * scale
        assert in_hull(q, P, space=space)
        check_weights(Case("copies", space, q, P), found)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", GENERATORS)
def test_nearest_agrees_with_the_reference(name: str, space: str) -> None:
    for case in cases(name, space, CASES // 4 + 1, seed=1):
        found = distance_to_nearest(case.q, case.P, space)
        true = float(reference_distance(case.q, case.P, space, "nearest").distance)
        assert abs(found.distance - true) <= CLOSE * case.scale
        assert found.low <= true + ROUNDING * case.scale
        assert true <= found.distance + ROUNDING * case.scale
        assert found.gap <= CLOSE * case.scale
        assert sorted(found.weights)[-1] == 1.0
        assert found.weights.sum() == 1.0
        check_weights(case, found)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", GENERATORS)
def test_membership_agrees_with_the_reference(name: str, space: str) -> None:
    decided = 0
    for case in cases(name, space, CASES // 2 + 1, seed=2):
        true = float(reference_distance(case.q, case.P, space).distance) / case.scale
        if name == "inside_nearly_equal_pairs" and true <= ROUNDING:
            # A known limit: in a hull as thin as 1e-7 float64 may miss that the query is inside. It then lies within
            # 1e-7 of the hull, and is asked; the other way round, taken for inside when it is not, must not happen.
            decided += 1
            distance = distance_to_cone if space == "sphere" else distance_to_hull
            assert distance(case.q, case.P).distance <= CLOSE * case.scale, case
        elif true <= ROUNDING or true >= 2 * INSIDE:
            decided += 1
            assert in_hull(case.q, case.P, space) is bool(true <= INSIDE), case
    assert decided > 0


# -- two hulls --------------------------------------------------------------------------------------------


def apart(P: Array, R: Array, space: str) -> bool | None:
    """Whether two hulls are apart, by linear programs; None where that is too close to call.

    Closed convex sets are apart exactly when a plane separates them strictly; so are pointed cones, with a
    plane through the origin. `t` is the largest margin of such a plane with a normal in the unit cube.
    """
    if space == "sphere":
        P, R = unit_rows(P), unit_rows(R)
    n, d = len(P) + len(R), P.shape[1]
    sides = np.vstack([-P, R])
    offset = np.concatenate([np.ones(len(P)), -np.ones(len(R))])[:, None] * (space == "euclidean")
    rows = np.hstack([sides, offset, np.ones((n, 1))])  # <u, p> - c >= t and <u, r> - c <= -t
    limits = [(-1.0, 1.0)] * d + [(None, None), (None, 2.0)]
    t = -linprog(np.eye(d + 2)[-1] * -1.0, A_ub=rows, b_ub=np.zeros(n), bounds=limits).fun
    scale = max(scale_of(P[0], P, space), scale_of(R[0], R, space))
    if t > 1e-6 * scale:
        return True
    return False if t < 1e-11 * scale else None


def is_pointed(P: Array) -> bool:
    return float(reference_distance(np.zeros(P.shape[1]), unit_rows(P), "euclidean").distance) > 1e-3


@pytest.mark.parametrize("space", SPACES)
def test_hulls_meet_agrees_with_linear_programs(space: str) -> None:
    rng = np.random.default_rng(3)
    verdicts: list[bool] = []
    for i in range(2 * CASES):
        d, n, m = (int(k) for k in rng.integers([2, 1, 1], [7, 12, 12]))
        spread = (0.2, 1.0, 3.0)[i % 3]
        P = rng.normal(size=d) + spread * rng.normal(size=(n, d))
        R = rng.normal(size=d) + spread * rng.normal(size=(m, d))
        truth = apart(P, R, space)
        if truth is None or (space == "sphere" and not (is_pointed(P) and is_pointed(R))):
            continue
        assert hulls_meet(P, R, space) is not truth, (P, R)
        assert hulls_meet(R, P, space) is not truth, (P, R)
        verdicts.append(truth)
    assert CASES // 10 <= sum(verdicts) <= len(verdicts) - CASES // 10  # both verdicts come often


@pytest.mark.parametrize("space", SPACES)
def test_a_point_meets_a_hull_that_holds_it(space: str) -> None:
    for name in ("inside", "equal_to_example", "on_edge", "on_face", "small_integers", "duplicates"):
        for case in cases(name, space, CASES // 8 + 1, seed=4):
            true = float(reference_distance(case.q, case.P, space).distance) / case.scale
            if true <= ROUNDING or true >= 2 * INSIDE:
                assert hulls_meet(case.q[None, :], case.P, space) is bool(true <= INSIDE), case


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
E1, E2, E3 = np.eye(3)


@pytest.mark.parametrize(
    ("shift", "meet"),
    [
        ([1.0, 0.0], True),  # a common edge
        ([1.0, 0.5], True),  # part of an edge
        ([1.0, 1.0], True),  # a common corner
        ([1.0 + 1e-6, 0.0], False),
        ([1.0 + 1e-6, 1.0 + 1e-6], False),
        ([0.3, 0.4], True),
    ],
)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_squares_that_touch(shift: list[float], meet: bool, scale: float) -> None:
    P, R = scale * SQUARE, scale * (SQUARE + np.array(shift))
    assert hulls_meet(P, R, "euclidean") is meet
    assert hulls_meet(R, P, "euclidean") is meet


def test_crossing_segments_meet_without_a_common_example() -> None:
    P, R = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    assert hulls_meet(P, R, "euclidean") is True
    assert hulls_meet(P, R + 1e-6 * E3, "euclidean") is False


@pytest.mark.parametrize(
    ("P", "R", "meet"),
    [
        ([E1, E2], [E2, E3], True),  # a common generator
        ([E1, E2], [E3], False),
        ([E1, E2], [E1 + E2 + E3, E1 + E2 - E3], True),  # arcs that cross
        ([E1, E2], [E1 + E2 + E3, E1 + E2 + 1e-6 * E3], False),
        ([E1, E2], [3.0 * E1 + E2], True),
        ([E1, E2], [-E1, -E2], False),  # the cones share the origin only, which is no unit vector
        ([E1, -E1], [E1], True),  # a line and one of its ends
        ([E1, -E1], [E2, -E2], False),
        ([E1, -E1, E2], [-E2], False),  # a half plane and the ray opposite
        ([E1, -E1, E2], [E2 + E3, E2 - E3], True),
        ([E1, -E1, E2, -E2], [E3, E1 - E3], True),  # a plane, crossed between the two
        ([E1, -E1, E2, -E2], [E3, E3 + E1], False),
        ([E1, E2, E3, -E1 - E2 - E3], [-E2], True),  # the whole space
    ],
)
def test_cones_that_touch(P: list[Array], R: list[Array], meet: bool) -> None:
    assert hulls_meet(np.array(P), np.array(R), "sphere") is meet
    assert hulls_meet(np.array(R), np.array(P), "sphere") is meet


# -- the reference itself ---------------------------------------------------------------------------------


def test_reference_on_the_orthant() -> None:
    """The projection onto the positive orthant keeps the positive coordinates."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        q = rng.normal(size=5)
        q /= np.linalg.norm(q)
        r = np.linalg.norm(np.maximum(q, 0.0))
        expected = np.sqrt(2.0 - 2.0 * r) if r > 0 else np.sqrt(2.0 - 2.0 * q.max())
        assert float(reference_distance(q, np.eye(5), "sphere").distance) == pytest.approx(expected, abs=1e-12)


def test_reference_on_the_simplex() -> None:
    """The projection onto the simplex cuts shifted coordinates at zero: find the shift by halving."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        q = 2.0 * rng.normal(size=6)
        low, high = q.min() - 1.0, q.max()
        for _ in range(100):
            middle = (low + high) / 2.0
            low, high = (middle, high) if np.maximum(q - middle, 0.0).sum() > 1.0 else (low, middle)
        expected = np.linalg.norm(q - np.maximum(q - low, 0.0))
        assert float(reference_distance(q, np.eye(6), "euclidean").distance) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", GENERATORS)
def test_reference_weights_span_its_distance(name: str, space: str) -> None:
    for case in cases(name, space, 5, seed=7):
        true = reference_distance(case.q, case.P, space)
        q, P = extended(case)
        x = sum(np.longdouble(mpmath.nstr(w, 30)) * P[j] for j, w in true.weights.items())
        distance = float(np.sqrt(((q - x) ** 2).sum()))
        assert distance == pytest.approx(float(true.distance), abs=1e-13 * case.scale, rel=1e-13)


@pytest.mark.parametrize("unit", [1e-305, 1e-200, 1e160, 1e306])
def test_the_unit_of_length_does_not_matter(unit: float) -> None:
    """Squares of such numbers are zero or infinite."""
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for q, inside in (([0.5, 0.5], True), ([2.0, 0.5], False)):
        assert in_hull(unit * np.array(q), unit * square, "euclidean") is inside
    for shift, meet in ((0.5, True), (2.0, False)):
        assert hulls_meet(unit * square, unit * (square + shift), "euclidean") is meet
