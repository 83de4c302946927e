"""Partitions: points get the label of their cell, and a point in no cell or in several is named."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.policies.conservative_hull import ConservativeHull
from askless.simulate import simulate
from askless.streams.partitions import HalfSpaces, Voronoi
from askless.streams.sampling import mixture, uniform

SPACES = ("sphere", "euclidean")
LEFT = ([[1.0, 0.0]], [0.3])
LOWER_RIGHT = ([[-1.0, 0.0], [0.0, 2.0]], [-0.3, 1.2])  # the second row says y <= 0.6
UPPER_RIGHT = ([[-5.0, 0.0], [0.0, -1.0]], [-1.5, -0.6])


def bisectors(seeds, space):
    """The half-spaces of each seed's Voronoi cell: the points nearer to it than to each other seed."""
    cells = []
    for k, seed in enumerate(seeds):
        others = np.delete(seeds, k, axis=0)
        A = others - seed
        b = (np.sum(others**2, axis=1) - np.sum(seed**2)) / 2
        cells.append((A, b) if space == "euclidean" else A)
    return cells


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(("dim", "n"), [(2, 1), (2, 2), (3, 7), (10, 5), (50, 12)])
def test_a_voronoi_diagram_is_its_half_spaces(space, dim, n):
    rng = np.random.default_rng(dim * n)
    seeds, X = uniform(space, dim, n, rng), uniform(space, dim, 500, rng)
    distances = np.linalg.norm(X[:, None, :] - seeds, axis=2)
    for cells in (Voronoi(seeds, space), HalfSpaces(bisectors(seeds, space), space)):
        assert (cells.n_labels, cells.dim, cells.space) == (n, dim, space)
        assert np.array_equal(cells.labels(X), distances.argmin(axis=1))
        stream = cells.stream(X)
        assert np.array_equal(stream.X, X)
        assert np.array_equal(stream.y, distances.argmin(axis=1))
        assert stream.space == space


def test_a_partition_of_the_square_that_is_no_voronoi_diagram():
    """Two cells end on the side of a third, and its rows have any length."""
    X = np.random.default_rng(1).random((2000, 2))
    by_hand = np.where(X[:, 0] < 0.3, 0, np.where(X[:, 1] < 0.6, 1, 2))
    assert np.array_equal(HalfSpaces([LEFT, LOWER_RIGHT, UPPER_RIGHT], "euclidean").labels(X), by_hand)


def test_the_orthants_of_the_sphere():
    signs = list(product((-1.0, 1.0), repeat=3))
    cells = HalfSpaces([-np.diag(row) for row in signs])
    X = uniform("sphere", 3, 1000, np.random.default_rng(2))
    expected = [signs.index(tuple(row)) for row in np.sign(X)]
    assert cells.labels(X).tolist() == expected
    for scale in (7.5, 1e-200, 1e200):  # only directions count
        assert cells.labels(scale * X).tolist() == expected


def test_a_policy_that_never_errs_on_convex_cells_does_not_err_on_these():
    cells = HalfSpaces([LEFT, LOWER_RIGHT, UPPER_RIGHT], "euclidean")
    rng = np.random.default_rng(3)
    for X in (uniform("euclidean", 2, 600, rng), mixture("euclidean", [[0.3, 0.6], [0.9, 0.1]], 600, 0.02, rng)):
        stream = cells.stream(X)
        assert set(stream.y) == {0, 1, 2}
        trace = simulate(ConservativeHull(space="euclidean", n_labels=3), stream.X, stream.y)
        assert trace.mistakes[-1] == 0
        assert trace.calls[-1] < 300


def test_a_point_on_a_border_has_one_of_the_labels_there():
    cells = HalfSpaces([LEFT, LOWER_RIGHT, UPPER_RIGHT], "euclidean")
    borders = np.array([[0.3, 0.2], [0.3, 0.9], [0.3, 0.6], [0.8, 0.6]])
    for k, (label, allowed) in enumerate(zip(cells.labels(borders), ({0, 1}, {0, 2}, {0, 1, 2}, {1, 2}), strict=True)):
        assert label in allowed, borders[k]
    rng = np.random.default_rng(4)  # borders in general position, where rounding puts points on either side
    seeds = uniform("euclidean", 7, 2, rng)
    start, normal = seeds.mean(axis=0), seeds[1] - seeds[0]
    along = rng.standard_normal((500, 7))
    along -= np.outer(along @ normal, normal) / (normal @ normal)
    one, (A, b) = bisectors(seeds, "euclidean")
    assert set(HalfSpaces([one, (3 * A, 3 * b)], "euclidean").labels(start + along)) == {0, 1}


def test_a_point_in_no_cell_is_named():
    cells = HalfSpaces([LEFT, LOWER_RIGHT], "euclidean")
    X = [[0.1, 0.9], [0.5, 0.5], [0.5, 0.75], [0.5, 0.7]]
    expected = (
        r"Query 2, \[0\.5, 0\.75\], lies in no cell; it misses cell 1, the nearest, by 0\.15\. .* 2 of 4 lie in none"
    )
    with pytest.raises(InvalidInput, match=expected):
        cells.labels(X)


def test_a_point_in_several_cells_is_named():
    wider = ([[1.0, 0.0]], [0.35])
    cells = HalfSpaces([wider, LOWER_RIGHT, UPPER_RIGHT], "euclidean")
    X = [[0.1, 0.9], [0.32, 0.8], [0.5, 0.75]]
    with pytest.raises(InvalidInput, match=r"Query 1, .* in the cells 0 and 2 at once, 0\.02 deep\. .* 1 of 3 queries"):
        cells.labels(X)
    with pytest.raises(InvalidInput, match=r"Query 0, \[0, 0, -1\], lies in no cell"):
        HalfSpaces([[[0.0, 1.0, -1.0]], [[0.0, -1.0, -1.0]]]).labels([[0, 0, -1], [0, 0, 1]])


@pytest.mark.parametrize(
    ("cells", "space", "words"),
    [
        ([LEFT], "torus", "torus"),
        ([], "euclidean", "at least one cell"),
        ([[[1.0, 0.0]]], "euclidean", r"a pair \(A, b\)"),
        ([LEFT], "sphere", "cell 0 is a pair"),
        ([LEFT, ([[1.0, 0.0], [1.0]], [1.0, 2.0])], "euclidean", "cell 1 is none"),
        ([(np.zeros((0, 2)), [1.0])], "euclidean", "cell 0 has 0 rows and 1"),
        ([LEFT, ([[1.0]], [1.0])], "euclidean", "cell 0 has 2 and cell 1 has 1"),
        ([LEFT, ([[1.0, 0.0], [0.0, 1.0]], [1.0])], "euclidean", "cell 1 has 2 rows and 1"),
        ([([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0])], "euclidean", "Row 1 of A is zero in cell 0"),
        ([([[1.0, np.nan]], [1.0])], "euclidean", "cell 0; found NaN"),
        ([([[1.0, 0.0]], [np.inf])], "euclidean", "cell 0; found NaN or infinity"),
        ([[["a", "b"]]], "sphere", "cell 0"),
        ([[[1.0]]], "sphere", "at least 2"),
        ([[1.0, 2.0]], "sphere", "cell 0"),
        ([7], "euclidean", "cell 0 is none"),
        (5, "euclidean", "list of cells"),
    ],
)
def test_half_spaces_that_cannot_be_used_are_named(cells, space, words):
    with pytest.raises(InvalidInput, match=words):
        HalfSpaces(cells, space)


@pytest.mark.parametrize(
    ("seeds", "space", "words"),
    [
        ([[0.1, 0.2], [0.3, 0.4], [0.1, 0.2]], "euclidean", "Seed 2 repeats"),
        ([[0.1, 0.2], [0.3, 1.4]], "euclidean", "row 1 is .*1.4"),
        ([[1.0, 0.0], [3.0, 4.0]], "sphere", "norm 1; row 1"),
        ([[1.0, np.inf]], "sphere", "row 0"),
        (np.zeros((0, 3)), "euclidean", "at least one row"),
        ([0.1, 0.2], "euclidean", "one row a vector"),
        ([[1.0]], "sphere", "at least 2"),
        ([[0.1, 0.2]], "torus", "torus"),
    ],
)
def test_seeds_that_cannot_be_used_are_named(seeds, space, words):
    with pytest.raises(InvalidInput, match=words):
        Voronoi(seeds, space)


@pytest.mark.parametrize("cells", [Voronoi(np.eye(2)), HalfSpaces([[[1.0, 0.0]], [[-1.0, 0.0]]])])
def test_queries_that_cannot_be_labelled_are_named(cells):
    with pytest.raises(InvalidInput, match="dimension 2; found queries of dimension 3"):
        cells.labels([[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidInput, match="row 1"):
        cells.stream([[1.0, 2.0], [np.nan, 0.0]])
    with pytest.raises(InvalidInput, match="Query 1 is the zero vector"):
        cells.labels([[1.0, 2.0], [0.0, 0.0]])
    assert cells.labels(np.zeros((0, 2))).shape == (0,)
