"""Vectors over their norms, in one pass where numpy takes six: what each decision on the sphere begins with."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.geometry.active_set import dot
from askless.geometry.jit import kernel, told_of_compiling
from askless.inputs import unit
from askless.types import Matrix

SHORTEST, LONGEST = 1e-100, 1e100  # between these float64 holds the squares


def as_units(X: Matrix, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Each row over its norm, rounded to this type once; a zero vector has no direction and is refused."""
    warm_up(X.dtype, dtype)
    out: NDArray[Any] = np.empty(X.shape, dtype)
    given = X if X.flags.writeable else X.copy()  # else the kernel would be compiled once more
    row = scale_to_unit(given, 0, out)
    while row < len(out):
        out[row] = unit(X[row])
        row = scale_to_unit(given, row + 1, out)
    return out


@kernel
def scale_to_unit(X, first, out):
    """Write the rows over their norms into `out`, up to one whose norm no square can tell; returns its number."""
    for i in range(first, X.shape[0]):
        v = X[i]
        norm = np.sqrt(dot(v, v, v.shape[0]))
        if not SHORTEST < norm < LONGEST:
            return i
        for k in range(v.shape[0]):
            out[i, k] = v[k] / norm
    return X.shape[0]


@cache
def warm_up(given: np.dtype[Any], held: np.dtype[Any]) -> None:
    """Compile the kernel for these types, or load it from the cache, once in a process."""
    with told_of_compiling():
        scale_to_unit(np.ones((1, 2), given), 0, np.empty((1, 2), held))
