"""Polytopes, their flags and the best pole, against closed forms, other counts and a general optimiser."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import minimize

from askless.errors import InvalidInput
from askless.streams.synthetic import uniform, voronoi_labels
from askless.theory.flags import count_flags, flags, flags_bound, voronoi_flags_bound
from askless.theory.pole import best_pole, stretch
from askless.theory.polytopes import hull, intersection, spherical, voronoi_cells


def cube(dim):
    return np.array(list(product((0.0, 1.0), repeat=dim)))


def simplex(dim):
    return np.vstack((np.zeros(dim), np.eye(dim)))


def cross(dim):
    return np.vstack((np.eye(dim), -np.eye(dim)))


def permutohedron(dim):
    """In dim dimensions: the permutations of 0 .. dim, without the last coordinate, which the others give."""
    return np.array(list(permutations(range(dim + 1))), dtype=float)[:, :-1]


def cyclic(dim, n):
    """The convex hull of n points of the moment curve, which has the most facets of all."""
    t = np.linspace(-1.0, 1.0, n)
    return np.column_stack([t**k for k in range(1, dim + 1)])


def flags_by_chains(points):
    """Count the chains of faces one by one: a slow reference. Faces are all intersections of facets."""
    P = hull(points)
    facets = {frozenset(np.flatnonzero(column).tolist()) for column in P.incident.T}
    faces = set(facets)
    while True:
        more = {a & b for a in faces for b in facets} - faces - {frozenset()}
        if not more:
            break
        faces |= more
    dims = {face: np.linalg.matrix_rank(P.vertices[list(face)] - P.vertices[min(face)], tol=1e-7) for face in faces}

    def chains(face, k):
        return 1 if k == 0 else sum(chains(f, k - 1) for f in faces if dims[f] == k - 1 and f < face)

    return sum(chains(face, P.dim - 1) for face in faces if dims[face] == P.dim - 1)


@pytest.mark.parametrize("dim", range(1, 7))
def test_cube_simplex_and_cross_polytope_have_their_closed_forms(dim):
    assert flags(cube(dim)) == flags(cross(dim)) == 2**dim * math.factorial(dim)
    assert flags(simplex(dim)) == math.factorial(dim + 1)


@pytest.mark.parametrize("dim", [2, 3, 4])
def test_the_permutohedron_has_a_factorial_times_another(dim):
    assert flags(permutohedron(dim)) == math.factorial(dim + 1) * math.factorial(dim)


def prism(base):
    return np.vstack([np.column_stack((base, np.full(len(base), height))) for height in (0.0, 1.0)])


def pyramid(base):
    return np.vstack((np.column_stack((base, np.zeros(len(base)))), [*base.mean(axis=0), 1.0]))


@pytest.mark.parametrize("points", [pyramid(cube(2)), pyramid(cube(3)), prism(pyramid(cube(2))), prism(cross(3))])
def test_polytopes_that_are_neither_simple_nor_simplicial(points):
    assert flags(points) == flags_by_chains(points)


def test_a_pyramid_and_a_prism_by_hand():
    assert flags(pyramid(cube(2))) == 4 * 8  # each of 8 edges has two ends and two sides
    assert flags(prism(cross(3))) == flags(prism(cube(3)) @ np.diag([1, 2, 3, 4.0])) == 2**4 * 24


@pytest.mark.parametrize("seed", range(3))
def test_points_that_are_no_vertices_do_not_count(seed):
    rng = np.random.default_rng(seed)
    inner = rng.dirichlet(np.ones(8), size=20) @ cube(3)
    on_faces = cube(3)[rng.permutation(8)[:4]] * [1, 1, 0] + rng.random((4, 1)) * [0, 0, 1]  # on vertical edges
    middle = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.0], [0.5, 0.5, 1.0]])
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    assert flags(np.vstack((inner, on_faces, middle, cube(3), cube(3))) @ turn * 7.0 + 3.0) == 48


def test_half_spaces_give_the_same_polytope_and_spare_ones_do_no_harm():
    A, b = np.vstack((np.eye(3), -np.eye(3))), np.array([1.0, 1, 1, 0, 0, 0])
    assert count_flags(intersection(A, b)) == 48
    spare = np.array([[1.0, 1, 1], [1, 1, 0], [2, 0, 0]])  # through a vertex, through an edge, and one twice
    assert count_flags(intersection(np.vstack((A, spare)), np.append(b, [3.0, 2.0, 2.0]))) == 48
    octahedron = np.array(list(product((-1.0, 1.0), repeat=3)))
    assert count_flags(intersection(octahedron, np.ones(8), inside=[0.1, 0, 0])) == 48
    assert count_flags(intersection([[2.0], [-1.0], [1.0]], [3.0, 0.0, 5.0])) == 2


@pytest.mark.parametrize("dim", [2, 3, 4, 5, 6])
def test_the_bound_on_flags_is_reached_by_duals_of_cyclic_polytopes(dim):
    for n in (dim + 1, dim + 2, dim + 4):
        assert flags(cyclic(dim, n)) == flags_bound(dim, n)  # the dual has as many flags, and n facets
    assert flags_bound(dim, 2 * dim) >= 2**dim * math.factorial(dim)  # the cube's


@pytest.mark.parametrize(("space", "dim", "n"), [("euclidean", 2, 8), ("euclidean", 3, 8), ("euclidean", 5, 4),
                                                 ("sphere", 3, 9), ("sphere", 4, 5), ("sphere", 5, 12)])  # fmt: skip
def test_voronoi_cells_have_no_more_flags_than_the_bounds_allow(space, dim, n):
    seeds = uniform(space, dim, n, np.random.default_rng(n))
    counts = [count_flags(cell) for cell in voronoi_cells(seeds, space)]
    k, facets = (dim, n - 1 + 2 * dim) if space == "euclidean" else (dim - 1, n - 1)
    assert max(counts) <= flags_bound(k, facets)
    assert sum(counts) <= n * flags_bound(k, facets) <= voronoi_flags_bound(space, dim, n)


@pytest.mark.parametrize(("space", "dim", "n"), [("euclidean", 2, 6), ("euclidean", 4, 5), ("sphere", 3, 7)])
def test_the_vertices_of_voronoi_cells_span_the_cells(space, dim, n):
    rng = np.random.default_rng(0)
    seeds = uniform(space, dim, n, rng)
    for i, cell in enumerate(voronoi_cells(seeds, space)):
        mixed = rng.dirichlet(np.full(len(cell.vertices), 0.5), size=200) @ cell.vertices
        assert (voronoi_labels(space, mixed, seeds) == i).all()
    if space == "euclidean":
        from scipy.spatial import ConvexHull

        volumes = [ConvexHull(cell.vertices).volume for cell in voronoi_cells(seeds, space)]
        assert sum(volumes) == pytest.approx(1.0)


def test_spherical_triangles_by_euler():
    cells = voronoi_cells(uniform("sphere", 3, 20, np.random.default_rng(1)), "sphere")
    corners = sum(len(np.unique(cell.incident, axis=0)) for cell in cells)
    assert corners == 3 * (2 * 20 - 4)  # in general position three cells meet at each of 2n - 4 vertices
    assert sum(count_flags(cell) for cell in cells) == 2 * corners
    assert len(spherical(-np.eye(3), [1, 1, 1]).vertices) == 3


# -- the pole -----------------------------------------------------------------------------------------------


def cells_of_all_kinds():
    for dim, n in ((3, 8), (4, 9), (5, 30)):
        seeds = uniform("sphere", dim, n, np.random.default_rng(dim))
        yield from ((seeds[i], cell.vertices) for i, cell in enumerate(voronoi_cells(seeds, "sphere")[:4]))


def log_stretch(e, inside, vertices):
    """log K from points of the cell alone; `inside` is a fine sample of it, with the vertices."""
    least = (vertices @ e).min()
    return math.log((inside @ e).max() / least) * len(e) if least > 0.0 else 1e3 * (1.0 - least)


def test_no_pole_beats_the_best_one():
    rng = np.random.default_rng(3)
    for seed, vertices in cells_of_all_kinds():
        pole = best_pole(vertices)
        assert pole.stretch == pytest.approx(pole.at_least, rel=1e-9)  # the certificate: primal equals dual
        assert pole.stretch <= stretch(vertices, seed)
        inside = rng.dirichlet(np.full(len(vertices), 0.4), size=3000) @ vertices
        inside = np.vstack((inside / np.linalg.norm(inside, axis=1, keepdims=True), vertices))
        starts = [
            pole.direction,
            vertices.mean(axis=0),
            seed,
            *(pole.direction + 0.3 * rng.standard_normal((4, len(seed)))),
        ]
        for start in starts:
            found = minimize(log_stretch, start, (inside, vertices), method="Nelder-Mead", options={"maxiter": 400})
            unit = found.x / np.linalg.norm(found.x)
            assert stretch(vertices, unit) >= pole.stretch * (1.0 - 1e-9)
            if start is starts[0]:  # from there it finds nothing better, up to the fineness of the sample
                assert found.fun >= math.log(pole.stretch) - 0.05


def test_stretch_of_poles_inside_and_outside_the_cell_by_sampling():
    rng = np.random.default_rng(4)
    vertices = np.array([[1.0, 0.4, 0.0], [1.0, -0.3, 0.4], [1.0, 0.0, -0.5]])
    vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    inside = rng.dirichlet(np.full(len(vertices), 0.3), size=20_000) @ vertices
    inside = np.vstack((inside / np.linalg.norm(inside, axis=1, keepdims=True), vertices))
    within = {True: 0, False: 0}
    for pole in vertices.mean(axis=0) + 0.5 * rng.standard_normal((60, 3)):
        pole = pole / np.linalg.norm(pole)
        if (vertices @ pole).min() <= 0.05:
            continue
        sampled = ((inside @ pole).max() / (inside @ pole).min()) ** 3
        assert stretch(vertices, pole) == pytest.approx(sampled, rel=0.01)
        within[bool((inside @ pole).max() > 1.0 - 1e-4)] += 1
    assert min(within.values()) >= 5  # poles of the cell and poles outside it


def test_the_octant_has_its_pole_in_the_middle():
    for dim in (2, 3, 6):
        pole = best_pole(np.eye(dim))
        assert pole.direction == pytest.approx(np.full(dim, dim**-0.5))
        assert pole.stretch == pytest.approx(dim ** (dim / 2))  # cos of the angle to a vertex is 1 / sqrt(dim)
    assert stretch(np.eye(3), [1, 0, 0]) == math.inf


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: flags([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]), "span the space"),
        (lambda: flags([[0.0, 0.0]]), "3 points"),
        (lambda: flags([[0.0, math.nan]]), "NaN"),
        (lambda: flags_bound(3, 3), "facets"),
        (lambda: voronoi_flags_bound("sphere", 4, 4), "5 labels"),
        (lambda: voronoi_flags_bound("torus", 4, 4), "torus"),
        (lambda: voronoi_flags_bound("euclidean", 1, 4), "dim"),
        (lambda: intersection(np.eye(2), [1, 1]), "3 facets"),
        (lambda: intersection([[1, 0], [-1, 0], [0, 1]], [1, -2, 1]), "empty or flat"),
        (lambda: intersection([[1, 0], [-1, 0], [0, 1]], [1, 1, 1]), "not bound"),
        (lambda: intersection([[1], [2]], [1, 1]), "not bound"),
        (lambda: intersection([[1, 0], [0, 0], [0, 1]], [1, 1, 1]), "is zero"),
        (lambda: voronoi_cells(uniform("euclidean", 20, 3, np.random.default_rng(0)), "euclidean"), "flags_bound"),
        (lambda: spherical(np.eye(3)[:2], [-1, -1, 0]), "whole line"),
        (lambda: best_pole([[1, 0], [-1, 0]]), "half-sphere"),
        (lambda: best_pole([[1, 1]]), "norm 1"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
