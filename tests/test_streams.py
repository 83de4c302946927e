"""Synthetic streams: where the points lie, how they are distributed, and which seed owns them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from askless.errors import InvalidInput
from askless.streams.synthetic import mixture, synthetic, uniform, voronoi_labels

SPACES = ("sphere", "euclidean")
P_VALUE = 1e-4  # a right sampler with a fixed seed fails with this probability when the seed is chosen


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("distribution", ["uniform", "mixture", "drift"])
@pytest.mark.parametrize("dim", [2, 10, 50])
def test_queries_lie_in_their_space(space, distribution, dim):
    stream = synthetic(space, dim, 5, 300, distribution=distribution, rng=np.random.default_rng(0))
    assert stream.X.shape == (300, dim)
    assert stream.space == space
    assert set(stream.y) <= set(range(5))
    if space == "sphere":
        assert np.allclose(np.linalg.norm(stream.X, axis=1), 1.0, atol=1e-12)
    else:
        assert stream.X.min() >= 0.0
        assert stream.X.max() <= 1.0


@pytest.mark.parametrize("space", SPACES)
def test_labels_are_nearest_seeds(space):
    rng = np.random.default_rng(1)
    X, seeds = uniform(space, 3, 400, rng), uniform(space, 3, 7, rng)
    distances = np.linalg.norm(X[:, None, :] - seeds[None, :, :], axis=2)
    assert (voronoi_labels(space, X, seeds) == distances.argmin(axis=1)).all()


@pytest.mark.parametrize("space", SPACES)
def test_cells_of_a_stream_are_separated_by_hyperplanes(space):
    """Two Voronoi cells are separated by the bisector of their seeds, so a linear programme finds one."""
    from scipy.optimize import linprog

    stream = synthetic(space, 3, 3, 150, rng=np.random.default_rng(5))
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        A, B = stream.X[stream.y == a], stream.X[stream.y == b]
        rows = np.vstack([np.c_[A, np.ones(len(A))], -np.c_[B, np.ones(len(B))]])
        found = linprog(np.zeros(4), A_ub=rows, b_ub=-np.ones(len(rows)), bounds=[(None, None)] * 4)
        assert found.status == 0


def test_uniform_on_the_cube_and_on_the_sphere():
    rng = np.random.default_rng(2)
    for column in uniform("euclidean", 4, 4000, rng).T:
        assert stats.kstest(column, "uniform").pvalue > P_VALUE
    for column in uniform("sphere", 3, 4000, rng).T:  # on the 2-sphere every coordinate is uniform on [-1, 1]
        assert stats.kstest(column, stats.uniform(-1, 2).cdf).pvalue > P_VALUE


@pytest.mark.parametrize("variance", [0.0025, 0.01, 1.0])
@pytest.mark.parametrize("centre", [0.0, 0.03, 0.5, 1.0])
def test_the_cube_mixture_is_a_truncated_gaussian(centre, variance):
    X = mixture("euclidean", np.array([[centre, 0.4]]), 4000, variance, np.random.default_rng(3))
    deviation = variance**0.5
    for column, mean in ((X[:, 0], centre), (X[:, 1], 0.4)):
        truth = stats.truncnorm(-mean / deviation, (1 - mean) / deviation, loc=mean, scale=deviation)
        assert stats.kstest(column, truth.cdf).pvalue > P_VALUE


def test_the_sphere_mixture_is_a_normalised_gaussian():
    seed = np.array([[0.6, 0.8, 0.0]])
    X = mixture("sphere", seed, 4000, 0.01, np.random.default_rng(4))
    drawn = seed + 0.1 * np.random.default_rng(99).standard_normal((4000, 3))
    reference = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    for column, expected in zip(X.T, reference.T, strict=True):
        assert stats.ks_2samp(column, expected).pvalue > P_VALUE


def test_the_mixture_weighs_its_seeds_alike():
    seeds = np.array([[0.1, 0.1], [0.9, 0.9], [0.1, 0.9], [0.9, 0.1]])
    X = mixture("euclidean", seeds, 4000, 0.0025, np.random.default_rng(6))
    counts = np.bincount(voronoi_labels("euclidean", X, seeds), minlength=4)
    assert stats.chisquare(counts).pvalue > P_VALUE


@pytest.mark.parametrize("space", SPACES)
def test_weights_and_variances_belong_to_their_seeds(space):
    """Far seeds with small variances: each query tells its Gaussian."""
    seeds = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    weights, variance = [6.0, 3.0, 1.0], np.array([1e-4, 1e-6, 1e-8])
    stream = synthetic(
        space, 2, 3, 6000, distribution="mixture", variance=variance, weights=weights, seeds=seeds,
        rng=np.random.default_rng(7),
    )  # fmt: skip
    counts = np.bincount(stream.y, minlength=3)
    assert stats.chisquare(counts, 6000 * np.array(weights) / 10).pvalue > P_VALUE
    for k, (seed, expected) in enumerate(zip(seeds, variance, strict=True)):
        across = (stream.X[stream.y == k] - seed) @ np.array([-seed[1], seed[0]])
        if space == "sphere" or k == 2:  # in the cube the others are cut off at its border
            assert stats.kstest(across / expected**0.5, "norm").pvalue > P_VALUE


def test_weights_count_by_their_ratios():
    one, half, huge = (
        mixture("sphere", np.eye(3), 200, 0.01, np.random.default_rng(8), weights)
        for weights in ([1, 2, 3], [0.5, 1.0, 1.5], [0.4e308, 0.8e308, 1.2e308])
    )
    assert np.array_equal(one, half)
    assert np.array_equal(one, huge)


@pytest.mark.parametrize("variance", [1e10, 1e14, 1e40, 1e308])
def test_a_very_wide_gaussian_is_uniform(variance):
    for column in mixture("euclidean", [[0.0, 0.9]], 4000, variance, np.random.default_rng(9)).T:
        assert stats.kstest(column, "uniform").pvalue > P_VALUE
    for column in mixture("sphere", [[0.0, 0.6, 0.8]], 4000, variance, np.random.default_rng(9)).T:
        assert stats.kstest(column, stats.uniform(-1, 2).cdf).pvalue > P_VALUE


@pytest.mark.parametrize("space", SPACES)
def test_a_very_narrow_gaussian_stays_at_its_seed(space):
    seeds = np.array([[1.0, 0.0], [0.6, 0.8]])
    X = mixture(space, seeds, 500, 1e-300, np.random.default_rng(10))
    assert np.abs(X[:, None, :] - seeds).max(axis=2).min(axis=1).max() < 1e-12


@pytest.mark.parametrize("variance", [0.01, 4.0])
def test_the_draws_for_a_generator_stay_the_same(variance):
    """First the seeds, then which seed, then each coordinate by scipy's inverse of the truncated Gaussian."""
    stream = synthetic("euclidean", 3, 4, 300, distribution="mixture", variance=variance, rng=np.random.default_rng(11))
    rng = np.random.default_rng(11)
    seeds, picked, chance = rng.random((4, 3)), rng.integers(4, size=300), rng.random((300, 3))
    mean, deviation = seeds[picked], variance**0.5
    expected = stats.truncnorm.ppf(chance, -mean / deviation, (1 - mean) / deviation, loc=mean, scale=deviation)
    assert np.allclose(stream.X, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("distribution", ["uniform", "mixture", "drift"])
def test_seeds_can_be_given(space, distribution):
    drawn = synthetic(space, 4, 3, 100, distribution=distribution, rng=np.random.default_rng(12))
    rng = np.random.default_rng(12)
    seeds = uniform(space, 4, 3, rng)
    given = synthetic(space, 4, 3, 100, distribution=distribution, seeds=seeds, rng=rng)
    assert np.array_equal(given.X, drawn.X)
    assert np.array_equal(given.y, drawn.y)
    turned = synthetic(space, 4, 3, 100, seeds=seeds[::-1], rng=np.random.default_rng(12))
    assert np.array_equal(turned.y, voronoi_labels(space, turned.X, seeds[::-1]))


def test_the_generator_decides_everything():
    one, same, other = (
        synthetic("sphere", 4, 5, 50, distribution="mixture", rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.X, same.X)
    assert np.array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"space": "torus"}, "torus"),
        ({"space": "sphere", "dim": 1}, "at least 2"),
        ({"dim": 0}, "at least 1"),
        ({"dim": 2.5}, "2.5"),
        ({"n_labels": 0}, "n_labels"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": True}, "rounds"),
        ({"distribution": "normal"}, "normal"),
        ({"variance": 0.0}, "variance"),
        ({"variance": float("nan")}, "variance"),
        ({"variance": "wide"}, "variance is a positive number.*wide"),
        ({"variance": None}, "variance.*None"),
        ({"variance": [0.1, 0.2]}, "one for each of the 3 Gaussians"),
        ({"variance": [0.1, 0.2, 0.0]}, "variance"),
        ({"weights": [1, 2, 3]}, "a uniform stream has none"),
        ({"distribution": "mixture", "weights": [1, 2]}, "weights are positive numbers, one for each of the 3"),
        ({"distribution": "mixture", "weights": [1, 0, 2]}, "weights are positive"),
        ({"distribution": "mixture", "weights": [1, -1, 2]}, "weights are positive"),
        ({"distribution": "mixture", "weights": [1, float("inf"), 2]}, "weights are positive"),
        ({"distribution": "mixture", "weights": [1, float("nan"), 2]}, "weights are positive"),
        ({"distribution": "mixture", "weights": "1,2,3"}, "weights are positive"),
        ({"distribution": "mixture", "weights": [[1, 2], [3]]}, "weights are positive"),
        ({"distribution": "mixture", "weights": 1.0}, "weights are positive"),
        ({"distribution": "drift", "weights": [0, 0, 0]}, "weights are not negative numbers"),
        ({"seeds": [[0.1, 0.2], [0.3, 0.4]]}, "Expected 3 seeds of dimension 2.*found 2 of dimension 2"),
        ({"seeds": [[0.1], [0.2], [0.3]]}, "Expected 3 seeds of dimension 2.*found 3 of dimension 1"),
        ({"seeds": [[0.1, 0.2], [0.3, 0.4], [0.5, 1.5]]}, "the seeds .* row 2"),
        ({"seeds": [[0.1, 0.2], [0.3, 0.4], [0.1, 0.2]]}, "Seed 2 repeats"),
        ({"seeds": [[0.1, 0.2], [0.3, 0.4], [0.1, float("nan")]]}, "the seeds"),
        ({"space": "sphere", "seeds": [[1, 0], [0, 1], [1, 1]]}, "norm 1"),
        ({"rng": 0}, "numpy.random.default_rng"),
    ],
)
def test_bad_arguments_are_named(change, words):
    arguments = {"space": "euclidean", "dim": 2, "n_labels": 3, "rounds": 10, "rng": np.random.default_rng(0)} | change
    with pytest.raises(InvalidInput, match=words):
        synthetic(**arguments)


def test_one_dimension_is_an_interval_a_label():
    stream = synthetic("euclidean", 1, 4, 500, rng=np.random.default_rng(8))
    along = stream.y[np.argsort(stream.X[:, 0])]
    changes = int((along[1:] != along[:-1]).sum())
    assert changes == len(set(along)) - 1
