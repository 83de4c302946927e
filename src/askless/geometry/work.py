"""The arrays of a projection, and the short list of columns on which its active set works."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.geometry.active_set import enter_column, restore_signs
from askless.geometry.jit import part

EUCLIDEAN, SPHERE = 0, 1
BATCH = 16  # columns that one pricing may add


class Work(NamedTuple):
    """The arrays of a projection, for labels of up to a given number of examples; one after another may use them."""

    Z: NDArray[np.float64]  # unit columns of the short list
    size: NDArray[np.float64]  # their lengths before scaling
    position: NDArray[np.int64]  # which example each is
    passive: NDArray[np.int8]  # 1: has weight, 2: depends on those that have
    gradient: NDArray[np.float64]  # their inner products with the residual
    basis: NDArray[np.float64]
    R: NDArray[np.float64]
    rhs: NDArray[np.float64]
    a: NDArray[np.float64]
    trial: NDArray[np.float64]
    chosen: NDArray[np.int64]
    res: NDArray[np.float64]
    y: NDArray[np.float64]  # per example: the inner product with the query, by the scan
    unit: NDArray[np.float64]  # per example: 1 / its length, on the sphere
    along: NDArray[np.float64]  # per example: its inner product with the residual
    listed: NDArray[np.int8]  # per example: whether it is in the short list
    values: NDArray[np.float64]  # the best candidates of the last pricing
    indices: NDArray[np.int64]
    found: NDArray[np.float64]  # what the bounds need of it
    normal: NDArray[np.float64]  # the unit separating direction of the last bound


@part(allocates=True)
def aligned(rows, columns):
    """An empty matrix that starts on a cache line: vector loads that straddle two lines take a third longer."""
    room = np.empty(rows * columns + 7)
    first = (-(room.ctypes.data // 8)) % 8
    return room[first : first + rows * columns].reshape(rows, columns)


@part(allocates=True)
def make_work(n, d, space):
    """Arrays for up to n examples in d dimensions."""
    width = d if space == SPHERE else d + 1
    kmax = min(n, width)
    room = min(n, kmax + 4 * BATCH)
    dp = (width + 7) // 8 * 8
    return Work(
        aligned(room, dp),
        np.empty(room),
        np.empty(room, np.int64),
        np.empty(room, np.int8),
        np.empty(room),
        aligned(kmax + 1, dp),
        np.empty((kmax + 1, kmax + 1)),
        np.empty(kmax + 1),
        np.empty(kmax + 1),
        np.empty(kmax + 1),
        np.empty(kmax + 1, np.int64),
        aligned(1, dp)[0],
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int8),
        np.empty(BATCH),
        np.empty(BATCH, np.int64),
        np.empty(3),
        np.empty(d),
    )


@part
def begin(work, n, scales, rows, q, space):
    """Empty the short list, and set the residual to the target of norm 1."""
    d, res, unit, listed = q.shape[0], work.res, work.unit, work.listed
    res[:] = 0.0
    listed[:n] = 0
    if space == SPHERE:
        for i in range(d):
            res[i] = q[i]
        for j in range(n):
            unit[j] = scales[rows[j]]
    else:
        res[d] = 1.0


@part
def load_column(P, row, scale, q, space, rho, Z, m):
    """Write the unit column of one example into row m of Z; returns its length before scaling, in units of rho."""
    d, dp = q.shape[0], Z.shape[1]
    if space == SPHERE:
        for i in range(d):
            Z[m, i] = P[row, i] * scale
        for i in range(d, dp):
            Z[m, i] = 0.0
        return 1.0
    square = rho * rho
    for i in range(d):
        x = P[row, i] - q[i]
        Z[m, i] = x
        square += x * x
    size = np.sqrt(square)
    scale = 1.0 / size
    for i in range(d):
        Z[m, i] *= scale
    Z[m, d] = rho * scale
    for i in range(d + 1, dp):
        Z[m, i] = 0.0
    return size / rho


@part
def add_columns(P, scales, rows, q, space, rho, wanted, count, work, m):
    """Load examples into the short list as far as it has room; returns its new length."""
    Z, size, position, passive, listed = work.Z, work.size, work.position, work.passive, work.listed
    for c in range(count):
        j = wanted[c]
        if m < Z.shape[0] and listed[j] == 0:
            row = rows[j]
            size[m] = load_column(P, row, scales[row], q, space, rho, Z, m)
            position[m] = j
            passive[m] = 0
            listed[j] = 1
            m += 1
    return m


@part(allocates=True)
def drop_idle(work, m, k):
    """Shorten the list to the columns that have weight, in their order; returns the new length."""
    Z, size, position, passive, listed, chosen = (
        work.Z, work.size, work.position, work.passive, work.listed, work.chosen
    )  # fmt: skip
    dp = Z.shape[1]
    keep, places, sizes = np.empty((k, dp)), np.empty(k, np.int64), np.empty(k)
    for i in range(k):
        c = chosen[i]
        for h in range(dp):
            keep[i, h] = Z[c, h]
        places[i], sizes[i] = position[c], size[c]
    for j in range(m):
        listed[position[j]] = 0
    for i in range(k):
        for h in range(dp):
            Z[i, h] = keep[i, h]
        position[i], size[i] = places[i], sizes[i]
        listed[places[i]] = 1
        passive[i] = 1
        chosen[i] = i
    return k


@part
def start_warm(work, count):
    """Give weight to the first columns of the list at once: those that spanned the point of an earlier projection."""
    Z, basis, R, rhs, res, trial = work.Z, work.basis, work.R, work.rhs, work.res, work.trial
    passive, chosen, a, k = work.passive, work.chosen, work.a, 0
    for c in range(min(count, basis.shape[0] - 1)):
        if enter_column(Z, c, basis, R, rhs, res, k, trial):
            passive[c] = 1
            chosen[k] = c
            a[k] = 0.0
            k += 1
    return restore_signs(passive, chosen, a, basis, R, rhs, res, k, trial)
