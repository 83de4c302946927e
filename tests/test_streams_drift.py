"""Drifting streams: the queries' distribution moves as it should, and the cells stay where they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import geometric_slerp

from askless.errors import InvalidInput
from askless.streams.partitions import voronoi_labels
from askless.streams.sampling import drift, mixture, uniform
from askless.streams.synthetic import synthetic

SPACES = ("sphere", "euclidean")
P_VALUE = 1e-4


@pytest.mark.parametrize("space", SPACES)
def test_the_first_and_the_last_queries_have_different_distributions(space):
    """Of drifting streams; two parts of a stream that does not drift cannot be told apart."""
    moved = []
    for distribution in ("mixture", "drift"):
        X = synthetic(space, 3, 4, 8000, distribution=distribution, rng=np.random.default_rng(1)).X
        moved.append([stats.ks_2samp(early, late).pvalue for early, late in zip(X[:800].T, X[-800:].T, strict=True)])
    assert min(moved[0]) > P_VALUE
    assert max(moved[1]) < 1e-10


def test_each_query_is_gaussian_around_where_its_centre_is_by_then():
    start, end = np.array([[0.3, 0.7, 0.5]]), np.array([[0.7, 0.4, 0.5]])
    X = drift("euclidean", start, end, 4000, 0.0001, np.random.default_rng(2))
    share = np.arange(4000)[:, None] / 3999
    residuals = (X - ((1 - share) * start + share * end)) / 0.01  # far from the border nothing is cut off
    for part in (residuals[:1000], residuals[1000:3000], residuals[3000:]):
        assert stats.kstest(part.ravel(), "norm").pvalue > P_VALUE


@pytest.mark.parametrize("dim", [2, 3, 20])
def test_centres_take_the_great_circle_on_the_sphere(dim):
    start, end = (
        uniform("sphere", dim, 1, np.random.default_rng(3)),
        uniform("sphere", dim, 1, np.random.default_rng(4)),
    )
    X = drift("sphere", start, end, 101, 1e-24, np.random.default_rng(5))
    assert np.abs(X - geometric_slerp(start[0], end[0], np.linspace(0, 1, 101))).max() < 1e-10


@pytest.mark.parametrize("space", SPACES)
def test_a_drift_that_goes_nowhere_is_a_mixture(space):
    seeds = uniform(space, 4, 3, np.random.default_rng(6))
    for weights in (None, [3, 2, 1]):
        still = drift(space, seeds, seeds, 500, [0.01, 0.02, 3.0], np.random.default_rng(7), weights)
        assert np.allclose(still, mixture(space, seeds, 500, [0.01, 0.02, 3.0], np.random.default_rng(7), weights))


def test_weights_move_in_proportion_to_the_round():
    seeds, first, last = np.eye(3), np.array([8.0, 2.0, 0.0]), np.array([0.0, 0.25, 0.75])
    X = drift("sphere", seeds, seeds, 20_000, 1e-6, np.random.default_rng(8), first, last)
    which = voronoi_labels("sphere", X, seeds)
    share = np.arange(20_000)[:, None] / 19_999
    weights = (1 - share) * first / 10 + share * last
    for part in np.split(np.arange(20_000), 5):
        counts = np.bincount(which[part], minlength=3)
        assert stats.chisquare(counts, weights[part].sum(axis=0)).pvalue > P_VALUE
    assert which[0] != 2  # that Gaussian has not come yet
    assert which[-1] != 0  # this one has gone


def test_weights_stay_where_no_last_ones_are_given():
    X = drift("sphere", np.eye(2), np.eye(2), 10_000, 1e-6, np.random.default_rng(9), [4, 1])
    which = voronoi_labels("sphere", X, np.eye(2))
    for part in np.split(which, 2):
        assert stats.chisquare(np.bincount(part), [4000, 1000]).pvalue > P_VALUE


@pytest.mark.parametrize("space", SPACES)
def test_the_labels_are_those_of_the_cells_all_along(space):
    rng = np.random.default_rng(10)
    seeds = uniform(space, 2, 5, rng)
    stream = synthetic(space, 2, 5, 4000, distribution="drift", variance=0.0025, seeds=seeds, rng=rng)
    distances = np.linalg.norm(stream.X[:, None, :] - seeds, axis=2)
    assert np.array_equal(stream.y, distances.argmin(axis=1))
    early, late = (np.bincount(part, minlength=5) for part in (stream.y[:1000], stream.y[-1000:]))
    seen = early + late > 0
    assert stats.chi2_contingency(np.array([early, late])[:, seen]).pvalue < 1e-10


def test_one_round_is_the_first():
    X = drift("euclidean", [[0.2, 0.2]], [[0.8, 0.8]], 1, 1e-12, np.random.default_rng(11))
    assert np.allclose(X, 0.2, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"space": "torus"}, "torus"),
        ({"start": [[1.0, 1.0]]}, "the first centres .* norm 1"),
        ({"end": [[1.0, 0.0], [0.0, 2.0]]}, "the last centres .* norm 1; row 1"),
        ({"end": [[1.0, 0.0]]}, r"shapes \(2, 2\) and \(1, 2\)"),
        ({"end": [[1.0, 0.0], [0.0, -1.0]]}, "Centre 1 would go to the opposite point"),
        ({"count": -1}, "number of points"),
        ({"variance": 0.0}, "variance"),
        ({"variance": [1.0, 1.0, 1.0]}, "variance"),
        ({"weights": [1.0, -1.0]}, "not negative"),
        ({"weights": [0.0, 0.0]}, "not negative"),
        ({"end_weights": [1.0]}, "one for each of the 2"),
        ({"rng": 3}, "rng"),
    ],
)
def test_bad_arguments_are_named(change, words):
    arguments = {
        "space": "sphere",
        "start": [[1.0, 0.0], [0.0, 1.0]],
        "end": [[0.0, 1.0], [0.6, 0.8]],
        "count": 10,
        "variance": 0.01,
        "rng": np.random.default_rng(0),
    }
    with pytest.raises(InvalidInput, match=words):
        drift(**(arguments | change))
