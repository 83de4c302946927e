"""Convex polytopes in R^d and on the sphere: their vertices, and on which of their facets each one lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.inputs import as_matrix, as_vector
from askless.streams.partitions import Voronoi
from askless.streams.stream import as_whole

_ON_FACET = 1e-9  # of the size of the polytope
_MOST_VERTICES = 100_000  # in the worst case; up to there the cells of a diagram take seconds, beyond it hours


@dataclass(frozen=True, slots=True, eq=False)
class Polytope:
    """A polytope of dimension `dim`, one row a vertex; on the sphere the vertices are unit vectors.

    `incident[v, f]` says whether vertex v lies on the half-space or facet f. Rows that are no vertex and half-spaces
    that bound no facet may be among them.
    """

    dim: int
    vertices: NDArray[np.float64]
    incident: NDArray[np.bool_]


def hull(points: ArrayLike) -> Polytope:
    """The convex hull of points that span their space.

    Qhull cuts a facet with many vertices into simplices; here the pieces count as one facet again, as the same points
    lie on them.
    """
    P = np.asarray(as_matrix(points, what="the points"), dtype=np.float64)
    dim = P.shape[1]
    if len(P) < dim + 1 or np.linalg.matrix_rank(P - P[0], tol=_ON_FACET * _size(P)) < dim:
        raise InvalidInput(f"A polytope of dimension {dim} needs {dim + 1} points or more that span the space.")
    if dim == 1:
        ends = np.array([[P.min()], [P.max()]])
        return Polytope(1, ends, np.eye(2, dtype=bool))
    from scipy.spatial import ConvexHull

    found = ConvexHull(P)
    vertices = P[found.vertices]
    distances = vertices @ found.equations[:, :-1].T + found.equations[:, -1]
    return Polytope(dim, vertices, np.abs(distances) <= _ON_FACET * _size(P))


def intersection(A: ArrayLike, b: ArrayLike, inside: ArrayLike | None = None) -> Polytope:
    """The bounded polytope A x <= b; `inside` is a point well inside it, looked for where it is not given."""
    rows = np.asarray(as_matrix(A, what="A"), dtype=np.float64)
    ends = np.asarray(as_vector(b, len(rows), what="b"), dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1)
    if not norms.all():
        raise InvalidInput(f"Row {int(norms.argmin())} of A is zero, and bounds no half-space. Leave it out.")
    rows, ends = rows / norms[:, None], ends / norms
    center = _deepest(rows, ends) if inside is None else np.asarray(as_vector(inside, rows.shape[1]), dtype=np.float64)
    if not (rows @ center < ends).all():
        raise InvalidInput("The polytope A x <= b has no point inside: it is empty or flat.")
    dim = rows.shape[1]
    if len(rows) <= dim:
        raise InvalidInput(f"A bounded polytope of dimension {dim} has {dim + 1} facets or more; found {len(rows)}.")
    if most_vertices(dim, len(rows)) > _MOST_VERTICES:
        raise InvalidInput(
            f"A polytope of dimension {dim} with {len(rows)} facets can have {most_vertices(dim, len(rows)):,} "
            f"vertices; no more than {_MOST_VERTICES:,} are listed. Use flags_bound instead."
        )
    if dim == 1:
        at, up = ends / rows[:, 0], rows[:, 0] > 0.0
        vertices = np.array([[at[~up].max(initial=-np.inf)], [at[up].min(initial=np.inf)]])
    else:
        from scipy.spatial import HalfspaceIntersection, QhullError

        try:
            with np.errstate(divide="ignore", invalid="ignore"):  # vertices at infinity are refused below
                vertices = HalfspaceIntersection(np.column_stack((rows, -ends)), center).intersections
        except QhullError:
            raise InvalidInput("The half-spaces A x <= b do not bound a polytope of full dimension.") from None
    slack = _ON_FACET * _size(vertices)
    if not np.isfinite(vertices).all() or not (vertices @ rows.T <= ends + slack).all():
        raise InvalidInput("The polytope A x <= b is not bounded. Add the half-spaces that are missing.")
    return Polytope(dim, vertices, np.abs(vertices @ rows.T - ends) <= slack)


def spherical(A: ArrayLike, inside: ArrayLike) -> Polytope:
    """The part of the unit sphere with A x <= 0, by the rays of that cone; `inside` lies well inside it.

    It must lie inside an open half-sphere, so the rows of A must span the space. The cone is cut by a hyperplane that
    meets all its rays, which leaves a polytope of one dimension less with the same faces.
    """
    rows = np.asarray(as_matrix(A, what="A"), dtype=np.float64)
    dim = rows.shape[1]
    as_whole(dim, 2, "The dimension of a cone")
    within = np.asarray(as_vector(inside, dim), dtype=np.float64)
    if len(rows) < dim or np.linalg.matrix_rank(rows, tol=_ON_FACET) < dim:
        raise InvalidInput(
            f"The cone A x <= 0 holds a whole line, so no open half-sphere holds the cell: it needs {dim} or more "
            f"half-spaces with independent normals, found {len(rows)}."
        )
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pole = -rows.sum(axis=0)  # no ray of the cone is at a right angle to all rows, so <pole, ray> > 0
    pole /= np.linalg.norm(pole)
    basis = np.linalg.svd(pole[None, :])[2][1:].T  # of the hyperplane <pole, x> = 1
    cut = intersection(rows @ basis, -(rows @ pole), basis.T @ (within / (pole @ within)))
    rays = pole + cut.vertices @ basis.T
    return Polytope(dim - 1, rays / np.linalg.norm(rays, axis=1, keepdims=True), cut.incident)


def voronoi_cells(seeds: ArrayLike, space: str) -> list[Polytope]:
    """The Voronoi cells of the seeds, in the unit cube (euclidean) or on the unit sphere."""
    S = Voronoi(seeds, space).seeds
    cube = np.vstack((np.eye(S.shape[1]), -np.eye(S.shape[1])))
    sides = np.repeat((1.0, 0.0), S.shape[1])
    cells = []
    for i, seed in enumerate(S):
        others = np.delete(S, i, axis=0)
        normals = others - seed
        if space == "sphere":
            cells.append(spherical(normals, seed))
            continue
        ends = 0.5 * (np.einsum("ij,ij->i", others, others) - seed @ seed)
        cells.append(intersection(np.vstack((normals, cube)), np.append(ends, sides)))
    return cells


def most_vertices(dim: int, facets: int) -> int:
    """The most vertices that a polytope with this many facets can have: those of a dual cyclic polytope.

    [McMullen 1970]
    """
    k = as_whole(dim, 1, "dim")
    m, half = as_whole(facets, k + 1, f"facets, in dimension {k},"), k // 2
    if k % 2:
        return 2 * math.comb(m - half - 1, half)
    return m * math.comb(m - half, half) // (m - half)


def _deepest(A: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The centre of the largest ball in A x <= b, by a linear program."""
    from scipy.optimize import linprog

    n, dim = A.shape
    goal = np.append(np.zeros(dim), -1.0)
    bounds = [(None, None)] * dim + [(0.0, 1.0)]  # a bounded radius keeps the program bounded
    found = linprog(goal, np.column_stack((A, np.ones(n))), b, bounds=bounds, method="highs")
    if found.x is None or found.x[-1] <= 0.0:
        raise InvalidInput("The polytope A x <= b has no point inside: it is empty or flat.")
    return np.asarray(found.x[:-1], dtype=np.float64)


def _size(points: NDArray[np.float64]) -> float:
    return max(1.0, float(np.abs(points).max(initial=0.0)))
