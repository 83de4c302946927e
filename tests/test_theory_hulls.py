"""CHC's leading terms against random polytopes, and the wet part against numerical integration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from askless.errors import InvalidInput
from askless.policies.conservative_hull import ConservativeHull
from askless.simulate import simulate
from askless.theory.hull_regret import leading_term, lower_leading_term, missing_measure, voronoi_leading_term
from askless.theory.pole import best_pole
from askless.theory.wet_part import (
    cube_wet_part_bound,
    missing_measure_bound,
    missing_measure_lower_bound,
    one_cell_regret_bound,
)

# -- random polytopes ---------------------------------------------------------------------------------------


def in_cube(dim):
    return lambda n, rng: rng.random((n, dim))


def in_simplex(dim):
    return lambda n, rng: rng.dirichlet(np.ones(dim + 1), size=n)[:, :dim]


def missed(draw, volume, n, runs, seed):
    """The share of the polytope that the hull of n points misses, in each of many runs."""
    rng = np.random.default_rng(seed)
    return np.array([1.0 - ConvexHull(draw(n, rng)).volume / volume for _ in range(runs)])


@pytest.mark.parametrize(("draw", "volume", "flags"), [(in_cube(2), 1.0, 8), (in_simplex(2), 0.5, 6)])
def test_missing_area_grows_as_the_leading_term_says(draw, volume, flags):
    """n times the missing share is a log n + b + o(1), so two values of n give a; the term alone is a log n."""
    few, many, runs = 150, 2400, 1500
    low, high = (n * missed(draw, volume, n, runs, seed=n) for n in (few, many))
    slope = (high.mean() - low.mean()) / math.log(many / few)
    error = math.hypot(high.std(), low.std()) / math.sqrt(runs) / math.log(many / few)
    expected = missing_measure("euclidean", 2, many, flags) * many / math.log(many)
    assert expected == pytest.approx(flags / 3)
    assert abs(slope - expected) <= 3.0 * error
    assert 3.0 * error < 0.15 * expected


@pytest.mark.parametrize(("draw", "volume", "flags"), [(in_cube(3), 1.0, 48), (in_simplex(3), 1.0 / 6.0, 24)])
def test_missing_volume_grows_as_the_leading_term_says(draw, volume, flags):
    """In space n times the missing share is about a (log n + b)^2: the slope of its root gives a."""
    few, many = 200, 6400
    low, high = (n * missed(draw, volume, n, 150, seed=n).mean() for n in (few, many))
    slope = (math.sqrt(high) - math.sqrt(low)) / math.log(many / few)
    expected = missing_measure("euclidean", 3, many, flags) * many / math.log(many) ** 2
    assert expected == pytest.approx(flags / 32)
    assert slope**2 == pytest.approx(expected, rel=0.2)


def in_octant(n, rng):
    X = np.abs(rng.standard_normal((n, 3)))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def share_missed_on_octant(n, runs, seed):
    """What the spherical hull of n points of the octant misses, counted on fresh points in the gnomonic plane."""
    rng = np.random.default_rng(seed)
    missing = []
    for _ in range(runs):
        points, fresh = (X[:, :2] / X.sum(axis=1, keepdims=True) for X in (in_octant(n, rng), in_octant(8000, rng)))
        equations = ConvexHull(points).equations
        missing.append((fresh @ equations[:, :2].T + equations[:, 2] > 0.0).any(axis=1).mean())
    return np.array(missing)


def test_on_the_sphere_the_missing_share_lies_between_the_bounds():
    few, many, flags = 50, 800, 6
    K = best_pole(np.eye(3)).stretch
    low, high = (n * share_missed_on_octant(n, 150, seed=n).mean() for n in (few, many))
    slope = (high - low) / math.log(many / few)
    upper = missing_measure("sphere", 3, many, flags, stretch=K) * many / math.log(many)
    assert upper == pytest.approx(K * flags / 3)
    below = flags / (4 * 2 * 2)  # F / (4 (d-1)! (d-1)^(d-2)), lemma E.4
    assert below < slope < upper
    assert slope == pytest.approx(flags / 3, rel=0.3)  # K is the price of the proof, not of the sphere


def test_on_the_sphere_the_exponent_is_one_less_than_in_the_cube():
    """The last display of the paper's proof has that of the cube; the statement has this one."""
    for dim in (3, 4, 7):
        values = [missing_measure("sphere", dim, round(math.exp(x)), 1.0) * round(math.exp(x)) for x in (8.0, 16.0)]
        assert values[1] / values[0] == pytest.approx(2.0 ** (dim - 2), rel=1e-3)
        in_the_plane = missing_measure("euclidean", dim - 1, 1000, 24.0)
        assert missing_measure("sphere", dim, 1000, 24.0) == pytest.approx(in_the_plane)


# -- regret -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("space", "dim"), [("euclidean", 2), ("euclidean", 4), ("sphere", 3), ("sphere", 5)])
def test_regret_is_the_sum_of_what_is_missed(space, dim):
    """The sum over t of log(t)^(k-1) / t is log(T)^k / k up to a constant."""
    k = dim if space == "euclidean" else dim - 1
    K = 1.0 if space == "euclidean" else 2.5
    t = np.arange(2, 10**6 + 1)
    terms = missing_measure(space, dim, 10**6, 30.0, 1.5, K) * 1e6 / math.log(1e6) ** (k - 1) * np.log(t) ** (k - 1) / t
    assert leading_term(space, dim, 10**6, 30.0, 1.5, K) == pytest.approx(2.0 * terms.sum(), rel=0.05)


def test_leading_terms_are_those_of_the_paper():
    T, q = 5000, 2.0
    log = math.log(T)
    assert leading_term("euclidean", 4, T, 100.0, 3.0) == pytest.approx(q * 3 * 100 / (5**3 * 24) * log**4)
    assert leading_term("sphere", 4, T, 100.0, 3.0, 7.0) == pytest.approx(q * 7 * 3 * 100 / (4**2 * 6) * log**3)
    cube = 8 * q * 6 / (3 * 5**3) * (2 * math.e * (6 + 8) / 3) ** 2 * log**4
    assert voronoi_leading_term("euclidean", 4, T, 6) == pytest.approx(cube)
    sphere = 4 * q * 7 * 6 / 4**2 * (2 * math.e * 6 / 2) ** 1.5 * log**3
    assert voronoi_leading_term("sphere", 4, T, 6, stretch=7.0) == pytest.approx(sphere)
    assert lower_leading_term("euclidean", 4, T, 100.0) == pytest.approx(q * 100 / (4 * 24 * 4**4) * log**4)
    assert lower_leading_term("sphere", 4, T, 100.0) == pytest.approx(q * 100 / (4 * 6 * 3**3) * log**3)


@pytest.mark.parametrize("dim", [2, 3, 5, 9])
def test_upper_and_lower_term_differ_by_the_factor_of_the_paper(dim):
    k = dim
    ratio = leading_term("euclidean", dim, 1000, 10.0) / lower_leading_term("euclidean", dim, 1000, 10.0)
    assert ratio == pytest.approx(4 * k**k / (k + 1) ** (k - 1))
    assert ratio <= 4 * k


def test_high_dimensions_give_zero_or_infinity_rather_than_an_error():
    assert voronoi_leading_term("euclidean", 2000, 10**9, 50) == 0.0  # the paper says itself: the constant vanishes
    assert leading_term("sphere", 4, 10**9, 1e300, 1.0, 1e300) == math.inf


# -- the wet part -------------------------------------------------------------------------------------------


def least_cap(X, directions):
    """The least volume that a half-space with one of these normals cuts off the cube, for each row of X.

    By inclusion and exclusion over the corners: vol {y in the cube: <a, y> <= s} is the sum over sets S of
    (-1)^|S| (s - a(S))_+^d / (d! prod a) for a > 0; a negative part of a normal turns the cube round.
    """
    dim = X.shape[1]
    best = np.full(len(X), np.inf)
    for turned in product((False, True), repeat=dim):
        flipped = np.where(turned, 1.0 - X, X)
        for a in directions:
            s = flipped @ a
            cut = sum((-1) ** sum(S) * np.maximum(s - np.dot(S, a), 0.0) ** dim for S in product((0, 1), repeat=dim))
            best = np.minimum(best, cut / (math.factorial(dim) * a.prod()))
    return best


def normals(dim, rng, count):
    return np.exp(rng.uniform(-4.0, 4.0, size=(count, dim)))


@pytest.mark.parametrize("t", [0.005, 0.05, 0.2])
def test_in_the_plane_the_wet_part_is_the_bound(t):
    middles = (np.arange(120) + 0.5) / 120
    X = np.array(list(product(middles, repeat=2)))
    angles = (np.arange(400) + 0.5) / 400 * math.pi / 2
    wet = (least_cap(X, np.column_stack((np.cos(angles), np.sin(angles)))) <= t).mean()
    assert wet == pytest.approx(cube_wet_part_bound(2, t), abs=0.01)


@pytest.mark.parametrize("t", [0.01, 0.1])
def test_in_space_the_wet_part_stays_below_the_bound(t):
    rng = np.random.default_rng(1)
    wet = (least_cap(rng.random((4000, 3)), normals(3, rng, 300)) <= t).mean()
    assert 0.6 * cube_wet_part_bound(3, t) < wet < cube_wet_part_bound(3, t)


@pytest.mark.parametrize("dim", [1, 2, 3, 10])
def test_the_bound_is_the_papers_sum_and_a_tail_of_products(dim):
    rng = np.random.default_rng(2)
    products = rng.random((200_000, dim)).prod(axis=1)
    for t in (0.001, 0.1, 0.4999):
        written = 2 * t * sum(math.log(1 / (2 * t)) ** k / math.factorial(k) for k in range(dim))
        assert cube_wet_part_bound(dim, t) == pytest.approx(written, rel=1e-9)
        assert (products <= 2 * t).mean() == pytest.approx(written, abs=0.005)
    assert cube_wet_part_bound(dim, 0.5) == cube_wet_part_bound(dim, 3.0) == 1.0
    assert cube_wet_part_bound(dim, 0.0) == 0.0


@pytest.mark.parametrize("n", [50, 400, 3000])
def test_the_missing_area_of_the_square_lies_between_the_wet_parts(n):
    def wet(t):
        return cube_wet_part_bound(2, t)  # exact in the plane

    missing = missed(in_cube(2), 1.0, n, 100, seed=n).mean()
    assert missing_measure_lower_bound(n, wet) < missing < missing_measure_bound(n, 2, wet)


@pytest.mark.parametrize("dim", [2, 3])
def test_one_label_costs_less_than_the_wet_part_allows(dim):
    horizon = 4000
    rng = np.random.default_rng(3)
    runs = [
        simulate(ConservativeHull(space="euclidean"), rng.random((horizon, dim)), [0] * horizon).regret
        for _ in range(2)
    ]
    for t in (1, 2, 3, 100, horizon):
        mean = float(np.mean([run[t - 1] for run in runs]))
        assert mean <= one_cell_regret_bound(dim, t)
    assert one_cell_regret_bound(2, horizon) < 2.0 * horizon
    summed = sum(missing_measure_bound(n, dim, lambda t: cube_wet_part_bound(dim, t)) for n in range(2, horizon))
    assert one_cell_regret_bound(dim, horizon) == pytest.approx(2.0 * (2.0 + summed))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: missing_measure("euclidean", 1, 10, 2.0), "dim"),
        (lambda: missing_measure("sphere", 2, 10, 2.0), "dim"),
        (lambda: missing_measure("sphere", 3, 1, 2.0), "n is"),
        (lambda: leading_term("cube", 3, 10, 2.0), "cube"),
        (lambda: leading_term("euclidean", 3, 1, 2.0), "horizon"),
        (lambda: leading_term("euclidean", 3, 10, 0.0), "flags"),
        (lambda: leading_term("euclidean", 3, 10, 2.0, 0.5), "density_ratio"),
        (lambda: leading_term("sphere", 3, 10, 2.0, 1.0, math.nan), "stretch"),
        (lambda: leading_term("euclidean", 3, 10, 2.0, 1.0, 2.0), "sphere"),
        (lambda: voronoi_leading_term("sphere", 4, 10, 4), "5 labels"),
        (lambda: cube_wet_part_bound(0, 0.1), "dim"),
        (lambda: cube_wet_part_bound(2, -0.1), "t is"),
        (lambda: missing_measure_bound(1, 2, lambda t: t), "n is"),
        (lambda: one_cell_regret_bound(2, 0), "horizon"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InvalidInput, match=words) as raised:
        call()
    assert "found" in str(raised.value)
