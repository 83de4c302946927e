"""The flags of a polytope, counted, and the paper's bounds on their number.

A flag is a chain of faces F_0 in F_1 in ... in F_(k-1), one of each dimension: a vertex, an edge at it, and so on. A
square has 4 * 2 = 8. On the sphere the faces are those of the cone; a cell of the sphere of R^d has dimension k = d-1.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.inputs import as_space
from askless.streams.stream import as_whole
from askless.theory.arguments import from_log
from askless.theory.polytopes import Polytope, hull, most_vertices

_BLOCK = 1024  # rows compared at a time


def flags(points: ArrayLike) -> int:
    """The number of flags of the convex hull of these points, exactly.

    Points inside the hull or inside one of its faces do no harm. For small polytopes: the time grows with the number
    of faces, unless every vertex lies on as few facets as can be, or every facet has as few vertices. [Réveillard et
    al. 2026, section 4.1]
    """
    return count_flags(hull(points))


def count_flags(polytope: Polytope) -> int:
    """The number of flags, exactly, from which vertex lies on which facet.

    In a simple polytope (k facets at each vertex) each vertex has k! flags, in a simplicial one (k vertices on each
    facet) each facet. Else a face has as many flags as its own facets together, and those are the largest of its
    intersections with the facets of the polytope.
    """
    k = polytope.dim
    on = np.unique(polytope.incident, axis=0)
    if (on.sum(axis=1) == k).all():  # a vertex lies on no fewer than k facets, so these are all vertices and facets
        return int(on.shape[0]) * math.factorial(k)
    on = _largest(_largest(on).T).T  # vertices by facets, without what is neither
    if (on.sum(axis=1) == k).all():
        return int(on.shape[0]) * math.factorial(k)
    if (on.sum(axis=0) == k).all():
        return int(on.shape[1]) * math.factorial(k)
    facets = [sum(1 << int(v) for v in np.flatnonzero(column)) for column in on.T]

    @cache
    def of(face: int) -> int:
        if face.bit_count() == 1:
            return 1
        parts = {face & facet for facet in facets} - {0, face}
        return sum(of(part) for part in parts if not any(part != other and part & other == part for other in parts))

    return sum(of(facet) for facet in facets)


def flags_bound(dim: int, facets: int) -> int:
    """The most flags that a polytope of dimension k with m facets can have: those of a dual cyclic polytope.

        k = 2l       k! m / (m-l) binom(m-l, l)
        k = 2l + 1   2 k! binom(m-l-1, l)

    By the upper bound theorem, on the dual polytope. A cell of the sphere of R^d has k = d - 1. [Réveillard et al.
    2026, lemma B.7; McMullen 1970]
    """
    return math.factorial(as_whole(dim, 1, "dim")) * most_vertices(dim, facets)


def voronoi_flags_bound(space: str, dim: int, n_labels: int) -> float:
    """An upper bound on the flags of all cells of a Voronoi diagram together.

        cube     (8/3) N d! (2e (N+2d) / (d-1))^(d/2)
        sphere   4 N (d-1)! (2e N / (d-2))^((d-1)/2),  for cells inside open half-spheres, so N >= d + 1

    From `flags_bound` with N-1+2d facets a cell in the cube and N-1 on the sphere. [Réveillard et al. 2026, lemma B.6]
    """
    return from_log(voronoi_flags_log(space, dim, n_labels))


def voronoi_flags_log(space: str, dim: int, n_labels: int) -> float:
    """The logarithm of `voronoi_flags_bound`, which no float may hold."""
    k, n = cell_dimension(space, dim), as_whole(n_labels, 1, "n_labels")
    if space == "euclidean":
        return (
            math.log(8.0 / 3.0 * n) + math.lgamma(dim + 1) + dim / 2 * math.log(2 * math.e * (n + 2 * dim) / (dim - 1))
        )
    if n < dim + 1:
        raise InvalidInput(
            f"On the sphere of R^{dim} cells lie inside open half-spheres only from {dim + 1} labels on; found {n}."
        )
    return math.log(4.0 * n) + math.lgamma(dim) + k / 2 * math.log(2 * math.e * n / (dim - 2))


def cell_dimension(space: str, dim: int) -> int:
    """The dimension of the cells: d in the cube, where it is 2 or more, and d - 1 on the sphere of R^d, d >= 3."""
    if as_space(space) == "euclidean":
        return as_whole(dim, 2, "dim in the euclidean space, for these bounds,")
    return as_whole(dim, 3, "dim in the sphere space, for these bounds,") - 1


def _largest(sets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rows, as sets of columns, that no other row contains; each once.

    A point on a facet is a vertex if no other point lies on the same facets and one more; the other way round too.
    """
    sets = np.unique(sets, axis=0)
    sizes, members = sets.sum(axis=1), sets.astype(np.float32)
    keep = np.ones(len(sets), dtype=bool)
    for start in range(0, len(sets), _BLOCK):
        shared = members[start : start + _BLOCK] @ members.T
        within = shared >= sizes[start : start + _BLOCK, None] - 0.5
        keep[start : start + _BLOCK] = within.sum(axis=1) == 1
    return np.asarray(sets[keep])
