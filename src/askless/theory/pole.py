"""The pole of the gnomonic projection that makes K, the price of leaving the sphere, smallest for a cell.

The paper projects a cell C of the sphere from a pole e onto the plane that touches the sphere there; the density of the
queries is stretched by at most K = (max <y, e> / min <y, e>)^d, both over y in C. [Réveillard et al. 2026, theorem 4.1
and remark B.5]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.inputs import as_vector, unit
from askless.streams.stream import as_points
from askless.theory.arguments import from_log


class Pole(NamedTuple):
    """A pole e, and the K that it gives a cell; `at_least` is certified to be at most that of every pole."""

    direction: NDArray[np.float64]
    stretch: float
    at_least: float


def stretch(vertices: ArrayLike, pole: ArrayLike) -> float:
    """K of the spherical hull of these unit vectors with this pole; infinite where a right or obtuse angle occurs.

    <y, e> is smallest at a vertex. It is largest where y is the direction of e's projection onto the cone of the
    vertices, and is then the norm of that projection: 1 where e lies in the cell.
    """
    from scipy.optimize import nnls

    V = as_points("sphere", vertices, "the vertices")
    e = unit(as_vector(pole, V.shape[1], "the pole"))
    least = float((V @ e).min())
    if least <= 0.0:
        return np.inf
    weights, _ = nnls(V.T, e)
    return from_log(V.shape[1] * math.log(float(np.linalg.norm(weights @ V)) / least))


def best_pole(vertices: ArrayLike) -> Pole:
    """The pole that makes K smallest: the centre of the smallest cap around the cell, of angle r, and K = cos(r)^-d.

    Why: K does not change with the length of e, so let <v, e> >= 1 for every vertex v, and make max <y, e> over the
    cell smallest. An e outside the cone can be replaced by its projection p onto it: e - p is at an obtuse angle to
    every v, so <v, p> >= <v, e>, and max <y, p> = |p| = max <y, e>. For e in the cone that maximum is |e|. So e is the
    shortest vector with <v, e> >= 1 for all v, a quadratic program, whose dual is the point w of the vertices' convex
    hull nearest to the origin: e = w / |w|^2, K = |w|^-d. Non-negative least squares finds w.

    Certified: every feasible point w of the dual gives K >= |w|^-d for all poles, and that is `at_least`.
    """
    from scipy.optimize import nnls

    V = as_points("sphere", vertices, "the vertices")
    dim = V.shape[1]
    weights, _ = nnls(np.vstack((V.T, np.ones(len(V)))), np.append(np.zeros(dim), 1.0))
    w = weights @ V / weights.sum()
    length = float(np.linalg.norm(w))
    if length <= 1e-12:
        raise InvalidInput("The cell fits into no open half-sphere: the vertices have the origin in their hull.")
    direction = w / length
    return Pole(direction, stretch(V, direction), from_log(-dim * math.log(length)))
