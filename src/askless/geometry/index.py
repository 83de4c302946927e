"""What the search knows of each label, kept up to date as examples come and go.

Labels are numbered by slot. A label's examples stand in `members[start : start + size]` as rows of the block P;
`lean`, `gw` and `vw` run beside them. A small label has its Gram matrix and an inverse in two pools; a label with more
examples than `gram_limit` has none, and keeps a reference vector and a few separating directions instead.

The reference vector is c = sum_j vw_j p_j: the centroid, or on the sphere, where some example lies on its far side,
the point of the hull nearest to the origin. gw_j = <p_j, c>, and lean_j = ||c|| / gw_j where all gw are positive
(then any unit vector of the cone, sum_j beta_j p_j, has sum_j beta_j / lean_j <= 1: the bound that `bounds` uses).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.geometry.active_set import axpy, dot, products
from askless.geometry.gram import border_inverse, floor_of_spectrum
from askless.geometry.jit import borrow, carray, kernel, part, pointer
from askless.geometry.pricing import LINE
from askless.geometry.project import project_label
from askless.geometry.work import EUCLIDEAN, SPHERE, make_work

FRESH = 1.25  # a reference vector is renewed when the label has grown by this factor
UP = 1.0 + 2.0**-22  # more than a rounding to float32 can take away
TINY = 1e-6  # a cone flatter than this (|c| or <c, p>) is not taken for pointed


class Index(NamedTuple):
    """The arrays of the store, as the kernels take them. L: slots, n: rows, M: pool entries."""

    P: NDArray[np.floating]  # (n, d) the examples
    scales: NDArray[np.float64]  # (n) 1 / norm on the sphere, 1 in euclidean space
    squares: NDArray[np.float64]  # (n) squared norms (1 on the sphere)
    slots: NDArray[np.int32]  # (n) the label of each row
    members: NDArray[np.int32]  # (M) rows of P
    lean: NDArray[np.float32]  # (M) rounded upwards
    gw: NDArray[np.float64]  # (M)
    vw: NDArray[np.float64]  # (M)
    start: NDArray[np.int32]  # (L) first pool entry
    sizes: NDArray[np.int32]  # (L) examples
    room: NDArray[np.int32]  # (L) pool entries reserved; also the leading dimension of the Gram block
    gram_at: NDArray[np.int64]  # (L) first entry of the Gram block, -1 for a large label
    gram: NDArray[np.float64]
    inverse: NDArray[np.float64]
    cc: NDArray[np.float64]  # (L) ||c||^2
    reach: NDArray[np.float64]  # (L) the largest lean; infinite where the label is not known to be pointed
    pmax: NDArray[np.float64]  # (L) the largest norm
    spread: NDArray[np.float64]  # (L) euclidean: the largest distance from the reference vector; 0 on the sphere
    lam: NDArray[np.float64]  # (L) a lower bound of the smallest eigenvalue of K; 0 where K has no usable inverse
    kappa: NDArray[np.float64]  # (L) K = G + kappa 11' (0 on the sphere), so that affine independence is enough
    big: NDArray[np.int32]  # (L) place in the arrays below, -1 for a small label
    center: NDArray[np.float64]  # (B, d) the reference vectors of large labels
    referred: NDArray[np.int64]  # (B) examples when the reference vector was made
    directions: NDArray[np.float64]  # (B, K, d) separating directions
    supports: NDArray[np.float64]  # (B, K) max_j <p_j, direction>
    used: NDArray[np.int64]  # (B, 2) directions in use, and the next one to overwrite
    space: int


def packed(ix: Index) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """The index as `opened` takes it: the examples, and a line for each other array with its address and shape.

    Two arrays reach a kernel in a tenth of the time of two dozen. Whoever calls one keeps the index until it is done.
    """
    lines = [[a.__array_interface__["data"][0], *a.shape, *(0,) * (3 - a.ndim)] for a in ix[1:-1]]
    return ix.P, np.array([*lines, [ix.space, 0, 0, 0]])


@part(allocates=True)
def opened(held):
    """The index that was packed; of its arrays nobody counts who refers to them."""
    P, at = held
    directions = carray(pointer(at[22, 0]), (at[22, 1], at[22, 2], at[22, 3]), np.float64)
    used = carray(pointer(at[24, 0]), (at[24, 1], at[24, 2]), np.int64)
    return Index(
        borrow(P), floats(at[0]), floats(at[1]), ints(at[2]), ints(at[3]), short_floats(at[4]), floats(at[5]),
        floats(at[6]), ints(at[7]), ints(at[8]), ints(at[9]), long_ints(at[10]), floats(at[11]), floats(at[12]),
        floats(at[13]), floats(at[14]), floats(at[15]), floats(at[16]), floats(at[17]), floats(at[18]), ints(at[19]),
        table(at[20]), long_ints(at[21]), directions, table(at[23]), used, at[25, 0],
    )  # fmt: skip


@part(allocates=True)
def floats(at):
    """An array of float64."""
    return carray(pointer(at[0]), at[1], np.float64)


@part(allocates=True)
def short_floats(at):
    """An array of float32."""
    return carray(pointer(at[0]), at[1], np.float32)


@part(allocates=True)
def ints(at):
    """An array of int32."""
    return carray(pointer(at[0]), at[1], np.int32)


@part(allocates=True)
def long_ints(at):
    """An array of int64."""
    return carray(pointer(at[0]), at[1], np.int64)


@part(allocates=True)
def table(at):
    """Rows of float64."""
    return carray(pointer(at[0]), (at[1], at[2]), np.float64)


@part(allocates=True)
def gram_view(pool, at, room):
    """A label's block of a pool as a square matrix."""
    return pool[at : at + room * room].reshape(room, room)


@part
def widen(ix, i, j):
    """Let the spread of a euclidean label take in the example at pool entry j."""
    square = max(0.0, ix.squares[ix.members[j]] - 2.0 * ix.gw[j] + ix.cc[i])
    # rounding of a difference of squares, which are up to pmax^2
    ix.spread[i] = max(ix.spread[i], np.sqrt(square + 1e-12 * ix.pmax[i] * ix.pmax[i]))


@part
def settle_reference(ix, i):
    """Set lean and reach from gw and cc, once those stand."""
    at, n = ix.start[i], ix.sizes[i]
    ix.reach[i] = np.inf
    if ix.space == EUCLIDEAN:
        ix.spread[i] = 0.0
        for j in range(at, at + n):
            widen(ix, i, j)
        return
    length = np.sqrt(ix.cc[i])
    reach = 0.0
    for j in range(at, at + n):
        if not ix.gw[j] > TINY * length or not length > TINY:
            for k in range(at, at + n):
                ix.lean[k] = 1.0
            return
        ix.lean[j] = length / ix.gw[j] * UP
        reach = max(reach, ix.lean[j])
    ix.reach[i] = reach


@part(allocates=True)
def refer_small(ix, i):
    """Centroid, gw and lean of a small label from its Gram matrix; whether it should lean on the origin instead."""
    at, n = ix.start[i], ix.sizes[i]
    G = gram_view(ix.gram, ix.gram_at[i], ix.room[i])
    total, largest = 0.0, 0.0
    for j in range(n):
        s = 0.0
        for k in range(n):
            s += G[j, k]
        ix.gw[at + j] = s / n
        ix.vw[at + j] = 1.0 / n
        total += s
        largest = max(largest, G[j, j])
    ix.cc[i] = max(0.0, total / (n * n))
    ix.pmax[i] = np.sqrt(largest)
    settle_reference(ix, i)
    return ix.space == SPHERE and n > 1 and ix.reach[i] == np.inf


@part(allocates=True)
def invert_small(ix, i):
    """Build the inverse of K from nothing, row by row."""
    n, room, at = ix.sizes[i], ix.room[i], ix.gram_at[i]
    G = gram_view(ix.gram, at, room)
    K_inv = gram_view(ix.inverse, at, room)
    kappa = ix.kappa[i]
    ix.lam[i] = 0.0
    if not G[0, 0] + kappa > 0.0:
        return
    K_inv[0, 0] = 1.0 / (G[0, 0] + kappa)
    g = np.empty(n)
    for m in range(1, n):
        for j in range(m):
            g[j] = G[m, j] + kappa
        if not border_inverse(K_inv, m, g, G[m, m] + kappa):
            return
    ix.lam[i] = floor_of_spectrum(G, kappa, K_inv, n)


@part(allocates=True)
def gram_row(ix, i, j):
    """Fill row and column j of a small label's Gram matrix for the members up to j."""
    at, d = ix.start[i], ix.P.shape[1]
    G = gram_view(ix.gram, ix.gram_at[i], ix.room[i])
    row = ix.members[at + j]
    for k in range(j + 1):
        other = ix.members[at + k]
        s = dot(ix.P[row], ix.P[other], d) * ix.scales[row] * ix.scales[other]
        G[j, k] = s
        G[k, j] = s


@kernel
def append(held, i, row):
    """Measure the vector at `row`, and add it to a label that has room for it.

    Returns its squared norm, and whether the label should now lean on the origin.
    """
    ix = opened(held)
    square = 0.0
    for k in range(ix.P.shape[1]):
        x = np.float64(ix.P[row, k])
        square += x * x
    if ix.space == SPHERE:
        ix.scales[row], ix.squares[row] = 1.0 / np.sqrt(square), 1.0
    else:
        ix.scales[row], ix.squares[row] = 1.0, square
    return square, append_big(ix, i, row) if ix.big[i] >= 0 else append_small(ix, i, row)


@part(allocates=True)
def append_small(ix, i, row):
    """Add an example to a small label that has room for it."""
    n = ix.sizes[i]
    ix.members[ix.start[i] + n] = row
    ix.sizes[i] = n + 1
    gram_row(ix, i, n)
    G = gram_view(ix.gram, ix.gram_at[i], ix.room[i])
    if n == 0:
        ix.kappa[i] = 0.0 if ix.space == SPHERE else max(G[0, 0], 1e-300)
    grown = False
    if n > 0 and ix.lam[i] > 0.0 and n % 16 != 0:
        K_inv = gram_view(ix.inverse, ix.gram_at[i], ix.room[i])
        kappa = ix.kappa[i]
        g = np.empty(n)
        for j in range(n):
            g[j] = G[n, j] + kappa
        grown = border_inverse(K_inv, n, g, G[n, n] + kappa)
        ix.lam[i] = floor_of_spectrum(G, kappa, K_inv, n + 1) if grown else 0.0
    elif n == 0 or n % 16 == 0:
        invert_small(ix, i)
    return refer_small(ix, i)


@kernel
def fill_small(held, i):
    """Compute everything of a small label anew from its members; returns whether it should lean on the origin."""
    ix = opened(held)
    for j in range(ix.sizes[i]):
        gram_row(ix, i, j)
    G = gram_view(ix.gram, ix.gram_at[i], ix.room[i])
    ix.kappa[i] = 0.0 if ix.space == SPHERE else max(G[0, 0], 1e-300)
    invert_small(ix, i)
    return refer_small(ix, i)


@kernel
def refer_big(held, i):
    """Make the reference vector of a large label anew; returns whether it should lean on the origin."""
    return refer_again(opened(held), i)


@part
def refer_again(ix, i):
    """The same, from within."""
    at, n, d, B = ix.start[i], ix.sizes[i], ix.P.shape[1], ix.big[i]
    center = ix.center[B]
    for k in range(d):
        center[k] = 0.0
    largest = 0.0
    for j in range(n):
        row = ix.members[at + j]
        axpy(ix.scales[row] / n, ix.P[row], center, d)
        ix.vw[at + j] = 1.0 / n
        largest = max(largest, ix.squares[row])
    ix.pmax[i] = np.sqrt(largest)
    ix.cc[i] = dot(center, center, d)
    for j in range(n):
        row = ix.members[at + j]
        ix.gw[at + j] = ix.scales[row] * dot(ix.P[row], center, d)
    ix.referred[B] = n
    settle_reference(ix, i)
    return ix.space == SPHERE and ix.reach[i] == np.inf


@part(allocates=True)
def append_big(ix, i, row):
    """Add an example to a large label that has room for it; returns whether it should lean on the origin."""
    at, n, d, B = ix.start[i], ix.sizes[i], ix.P.shape[1], ix.big[i]
    ix.members[at + n] = row
    ix.sizes[i] = n + 1
    along = np.empty(ix.supports.shape[1])
    point = np.empty(d)
    for k in range(d):
        point[k] = ix.P[row, k]
    products(ix.directions[B], ix.used[B, 0], point, along)
    u = 0
    while u < ix.used[B, 0]:
        s = along[u]
        if ix.space == EUCLIDEAN:
            ix.supports[B, u] = max(ix.supports[B, u], s)
        elif s > 0.0:  # no longer separating: the last one takes its place
            last = ix.used[B, 0] - 1
            along[u] = along[last]
            ix.directions[B, u] = ix.directions[B, last]
            ix.used[B, 0] = last
            continue
        u += 1
    if n + 1 >= FRESH * ix.referred[B]:
        return refer_again(ix, i)
    ix.pmax[i] = max(ix.pmax[i], np.sqrt(ix.squares[row]))
    ix.vw[at + n] = 0.0
    ix.gw[at + n] = ix.scales[row] * dot(point, ix.center[B], d)
    if ix.space == EUCLIDEAN:
        widen(ix, i, at + n)
    elif ix.reach[i] < np.inf:
        length = np.sqrt(ix.cc[i])
        if ix.gw[at + n] > TINY * length:
            ix.lean[at + n] = length / ix.gw[at + n] * UP
            ix.reach[i] = max(ix.reach[i], ix.lean[at + n])
        else:
            return True
    elif ix.cc[i] > LINE * LINE:  # flat, and flatter with an example that lies behind its point nearest to the origin
        return ix.gw[at + n] < ix.cc[i]
    return False


@part
def keep_direction(ix, i, direction, support):
    """Remember a separating direction of a large label, in place of the oldest."""
    B = ix.big[i]
    room = ix.supports.shape[1]
    at = ix.used[B, 1] % room
    if ix.used[B, 0] < room:
        at = ix.used[B, 0]
        ix.used[B, 0] += 1
    ix.used[B, 1] = at + 1
    for k in range(direction.shape[0]):
        ix.directions[B, at, k] = direction[k]
    ix.supports[B, at] = support


@kernel
def lean_on_origin(held, i):
    """Take the hull's point nearest to the origin for reference, where the centroid will not do."""
    ix = opened(held)
    at, n, d, B = ix.start[i], ix.sizes[i], ix.P.shape[1], ix.big[i]
    center = np.zeros(d)
    rows = ix.members[at : at + n]
    first = np.zeros(1, np.int64)
    picked = np.empty(n + 1, np.int64)
    weights = np.empty(n + 1)
    origin, unused = np.zeros(d), np.zeros(d)
    work = make_work(n, d, EUCLIDEAN)
    work.y[:] = 0.0
    _, _, k, _ = project_label(
        ix.P, ix.scales, ix.squares, rows, n, origin, EUCLIDEAN, 0.0, ix.lean[at : at + n], unused, False,
        0.0, first, 0, np.inf, -1.0, 0.0, work, picked, weights, np.empty(d),
    )  # fmt: skip
    for j in range(n):
        ix.vw[at + j] = 0.0
    for j in range(k):
        row = rows[picked[j]]
        ix.vw[at + picked[j]] = weights[j]
        axpy(weights[j] * ix.scales[row], ix.P[row], center, d)
    ix.cc[i] = dot(center, center, d)
    for j in range(n):
        ix.gw[at + j] = ix.scales[rows[j]] * dot(ix.P[rows[j]], center, d)
    settle_reference(ix, i)
    if B >= 0:
        ix.center[B] = center
        ix.referred[B] = n
