"""Shapes of the plane that several figures draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askless.theory.polytopes import voronoi_cells

_FLAT = 1e-12  # points this near to a line have no area to fill


def corners(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners of the convex hull of points in the plane, in order around it.

    Points on a line give its two ends, and one point itself.
    """
    spread = points - points[0]
    if len(points) > 2 and np.linalg.matrix_rank(spread, tol=_FLAT) == 2:
        from scipy.spatial import ConvexHull

        return np.asarray(points[ConvexHull(points).vertices])
    longest = spread[np.linalg.norm(spread, axis=1).argmax()]
    along = spread @ longest
    return np.asarray(points[np.unique([along.argmin(), along.argmax()])])


def closed(polygon: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners with the first one again at the end, as a line around the polygon needs them."""
    return np.vstack([polygon, polygon[:1]])


def borders(seeds: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The segments that part the Voronoi cells of seeds in the unit square, each once: two rows, its ends."""
    found = []
    for i, cell in enumerate(voronoi_cells(seeds, "euclidean")):
        for j in range(i + 1, len(seeds)):
            ends = cell.vertices[cell.incident[:, j - 1]]  # the half-spaces of a cell are those of the other seeds
            if len(ends) == 2:
                found.append(ends)
    return found
