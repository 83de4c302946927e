"""One query against one label: the projection by column generation, with an interval for its distance.

A label may have thousands of examples, of which a few dozen span the nearest point. So the active set works on a
short list of columns; one pass over all examples (the pricing) finds those that the list lacks, and the same pass
gives a lower bound of the distance. The work stops as soon as the interval settles what the caller asked.

Distances are carried as c = d^2 / 2, which is 1 - s on the sphere (s: the largest cosine between query and hull).
Lower bounds, with res the residual of the active set:

    euclidean   d >= min_j <q - p_j, u>  for the unit vector u along q - x     (a hyperplane between q and the hull)
    sphere      u' = res - t w lies in the polar cone where <res, p_j> <= t <w, p_j> for all j; then the angle between q
                and the cone has a sine of at least <q, u'> / ||u'||

On the sphere w is the better of two: a vector v on the positive side of every example (`lean[j] = 1 / <v, p_j>`
comes from the store), or the point x = q - res itself, for which <x, p_j> = b_j - <res, p_j> costs nothing. A cone
without such a v contains a line, and then a residual counts as feasible within rounding.
[Réveillard et al. 2026, proposition B.20 for the spherical distance]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.geometry.active_set import axpy, dot, enter_column, restore_signs, solve_columns, tolerance
from askless.geometry.jit import kernel, part

EUCLIDEAN, SPHERE = 0, 1
FEASIBLE = 4e-14  # an inner product with the residual up to this counts as zero where nothing better can be had
BATCH = 16  # columns that one pricing may add
COINCIDENT = 1e-16  # c below which the query may be an example itself, which is looked up to lose no digit
NEAR, NEAR_ZERO = 1e-12, 1e-19  # c between these on the sphere is looked at again in the touching plane
ROUNDS = 500  # pricings at most; dozens are usual


class Work(NamedTuple):
    """The arrays of one projection: the short list of columns, the active set over it, the last pricing."""

    Z: NDArray[np.float64]  # unit columns of the short list
    size: NDArray[np.float64]  # their lengths before scaling
    position: NDArray[np.int64]  # which example each is
    passive: NDArray[np.int8]  # 1: has weight, 2: depends on those that have
    listed: NDArray[np.int8]  # per example: whether it is in the short list
    basis: NDArray[np.float64]
    R: NDArray[np.float64]
    rhs: NDArray[np.float64]
    a: NDArray[np.float64]
    trial: NDArray[np.float64]
    chosen: NDArray[np.int64]
    res: NDArray[np.float64]
    values: NDArray[np.float64]  # the best candidates of the last pricing
    indices: NDArray[np.int64]
    found: NDArray[np.float64]  # what the bounds need of it
    normal: NDArray[np.float64]  # the unit separating direction of the last bound


@part
def make_work(n, d, space):
    """Arrays for n examples in d dimensions, the residual set to the target of norm 1."""
    width = d if space == SPHERE else d + 1
    kmax = min(n, width)
    room = min(n, kmax + 4 * BATCH)
    dp = (width + 7) // 8 * 8
    return Work(
        np.empty((room, dp)),
        np.empty(room),
        np.empty(room, np.int64),
        np.zeros(room, np.int8),
        np.zeros(n, np.int8),
        np.empty((kmax + 1, dp)),
        np.empty((kmax + 1, kmax + 1)),
        np.empty(kmax + 1),
        np.empty(kmax + 1),
        np.empty(kmax + 1),
        np.empty(kmax + 1, np.int64),
        np.zeros(dp),
        np.empty(BATCH),
        np.empty(BATCH, np.int64),
        np.empty(4),
        np.empty(d),
    )


@part
def load_column(P, row, scale, q, d, space, rho, z):
    """Write the unit column of one example into z; returns its length before scaling, in units of rho."""
    dp = z.shape[0]
    if space == SPHERE:
        for i in range(d):
            z[i] = P[row, i] * scale
        for i in range(d, dp):
            z[i] = 0.0
        return 1.0
    square = rho * rho
    for i in range(d):
        z[i] = P[row, i] - q[i]
        square += z[i] * z[i]
    size = np.sqrt(square)
    scale = 1.0 / size
    for i in range(d):
        z[i] *= scale
    z[d] = rho * scale
    for i in range(d + 1, dp):
        z[i] = 0.0
    return size / rho


@part
def keep_largest(value, index, values, indices, count):
    """Insert into a list sorted downwards, as long as the arrays; returns the new count."""
    room = values.shape[0]
    if count == room and value <= values[count - 1]:
        return count
    at = count if count < room else count - 1
    while at > 0 and values[at - 1] < value:
        values[at] = values[at - 1]
        indices[at] = indices[at - 1]
        at -= 1
    values[at] = value
    indices[at] = index
    return count if count == room else count + 1


@part
def row_products(P, rows, n, x, d, out):
    """The inner products of the rows of P at `rows` with x, four at a time."""
    j = 0
    while j + 4 <= n:
        r0, r1, r2, r3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for i in range(d):
            y = x[i]
            s0 += P[r0, i] * y
            s1 += P[r1, i] * y
            s2 += P[r2, i] * y
            s3 += P[r3, i] * y
        out[j], out[j + 1], out[j + 2], out[j + 3] = s0, s1, s2, s3
        j += 4
    while j < n:
        s0 = 0.0
        for i in range(d):
            s0 += P[rows[j], i] * x[i]
        out[j] = s0
        j += 1


@part
def price(P, scales, squares, rows, n, q, space, rho, b, eps, lean, work):
    """Every example against the residual: the best candidates, and in `found` what the bounds need.

    found[0]: the largest inner product with a unit column; found[1]: sphere, max <res, p_j> / <v, p_j>; euclidean,
    max_j <p_j - q, res>; found[2] and found[3]: sphere, the least and the largest t that the shift along x allows.
    """
    d = q.shape[0]
    res, listed, values, indices = work.res, work.listed, work.values, work.indices
    count, worst, lifted, least, most = 0, -np.inf, -np.inf, 0.0, np.inf
    tol = tolerance(dot(res, res, res.shape[0]))
    along = np.empty(n)
    row_products(P, rows, n, res, d, along)
    base, qq = (0.0, 0.0) if space == SPHERE else (dot(q, res, d), dot(q, q, d))
    for j in range(n):
        row = rows[j]
        if space == SPHERE:
            s = along[j] * scales[row]
            g = s
            lifted = max(lifted, s * lean[j])
            w = b[row] - s - eps
            if s > 0.0:
                least = max(least, s / w) if w > 0.0 else np.inf
            elif w < 0.0:
                most = min(most, s / w)
        else:
            s = along[j] - base
            lifted = max(lifted, s)
            g = (s + rho * res[d]) / np.sqrt(max(squares[row] - 2.0 * b[row] + qq, 0.0) + rho * rho)
        worst = max(worst, g)
        if g > tol and listed[j] == 0:
            count = keep_largest(g, j, values, indices, count)
    work.found[0], work.found[1], work.found[2], work.found[3] = worst, lifted, least, most
    return count


@part
def cone_interval(q, v, pointed, work):
    """(low, high) of c on the sphere from the last pricing, where the projection is not zero."""
    d = q.shape[0]
    res, found, normal = work.res, work.found, work.normal
    e, toward = dot(res, res, d), dot(q, res, d)
    high = e / (1.0 + np.sqrt(max(0.0, 1.0 - e)))
    sine, t, along_x = 0.0, 0.0, False
    if pointed or found[0] <= FEASIBLE:
        t = max(0.0, found[1]) if pointed else 0.0
        length = max(e - 2.0 * t * dot(res, v, d) + t * t, 1e-300)
        sine = (toward - t * dot(q, v, d)) / np.sqrt(length)
    if found[2] <= found[3]:  # x = q - res: <q, x> = 1 - toward, <res, x> = toward - e
        f = found[2]
        length = max(e - 2.0 * f * (toward - e) + f * f * (1.0 - 2.0 * toward + e), 1e-300)
        if toward - f * (1.0 - toward) > sine * np.sqrt(length):
            sine, t, along_x = (toward - f * (1.0 - toward)) / np.sqrt(length), f, True
    if not sine > 0.0:
        return 0.0, high
    length = 0.0
    for i in range(d):
        normal[i] = res[i] - t * (q[i] - res[i] if along_x else v[i])
        length += normal[i] * normal[i]
    length = np.sqrt(length)
    for i in range(d):
        normal[i] /= length
    sine = min(1.0, dot(q, normal, d))
    return min(high, sine * sine / (1.0 + np.sqrt(1.0 - sine * sine))), high


@part
def hull_interval(q, rho, work):
    """(low, high) of c in euclidean space from the last pricing."""
    d = q.shape[0]
    res = work.res
    share = 1.0 - res[d]
    length = np.sqrt(dot(res, res, d))
    if not share > 0.0:
        return 0.0, np.inf
    reach = length / share * rho
    if length == 0.0:
        return 0.0, 0.0
    for i in range(d):
        work.normal[i] = res[i] / length
    apart = max(0.0, -work.found[1] / length)
    high = 0.5 * reach * reach
    return min(high, 0.5 * apart * apart), high


@part
def scale_of(P, rows, q, first, space):
    """The unit of length of a euclidean problem: the distance to the nearest of the first examples; 0 for a copy."""
    if space == SPHERE:
        return 1.0
    nearest = np.inf
    for j in range(first.shape[0]):
        s = 0.0
        row = rows[first[j]]
        for i in range(q.shape[0]):
            e = P[row, i] - q[i]
            s += e * e
        nearest = min(nearest, s)
    return np.sqrt(nearest)


@part
def drop_idle(work, m, k):
    """Shorten the list to the columns that have weight, in their order; returns the new length."""
    Z, dp = work.Z, work.Z.shape[1]
    keep = np.empty((k, dp))
    position = np.empty(k, np.int64)
    size = np.empty(k)
    for i in range(k):
        c = work.chosen[i]
        keep[i] = Z[c]
        position[i] = work.position[c]
        size[i] = work.size[c]
    for j in range(m):
        work.listed[work.position[j]] = 0
        work.passive[j] = 0
    for i in range(k):
        Z[i] = keep[i]
        work.position[i] = position[i]
        work.size[i] = size[i]
        work.listed[position[i]] = 1
        work.passive[i] = 1
        work.chosen[i] = i
    return k


@part
def add_columns(P, scales, rows, q, space, rho, wanted, count, work, m):
    """Load examples into the short list as far as it has room; returns its new length."""
    for c in range(count):
        j = wanted[c]
        if m < work.Z.shape[0] and work.listed[j] == 0:
            work.size[m] = load_column(P, rows[j], scales[rows[j]], q, q.shape[0], space, rho, work.Z[m])
            work.position[m] = j
            work.passive[m] = 0
            work.listed[j] = 1
            m += 1
    return m


@part
def start_warm(work, count):
    """Give weight to the first columns of the list at once: those that spanned the point of an earlier projection."""
    k = 0
    for c in range(min(count, work.basis.shape[0] - 1)):
        if enter_column(work.Z, c, work.basis, work.R, work.rhs, work.res, k):
            work.passive[c] = 1
            work.chosen[k] = c
            work.a[k] = 0.0
            k += 1
    return restore_signs(work.passive, work.chosen, work.a, work.basis, work.R, work.rhs, work.res, k, work.trial)


@part
def nearest_point(P, scales, rows, q, space, work, k, picked, weights):
    """Write the examples that span the nearest point, with weights, and return c of that point, from the vectors."""
    d = q.shape[0]
    x = np.zeros(d)
    total = 0.0
    for i in range(k):
        picked[i] = work.position[work.chosen[i]]
        weights[i] = work.a[i] / work.size[work.chosen[i]]
        total += weights[i]
    for i in range(k):
        row = rows[picked[i]]
        if space == SPHERE:
            axpy(weights[i] * scales[row], P[row], x, d)
        else:
            weights[i] /= total
            for h in range(d):
                x[h] += weights[i] * (P[row, h] - q[h])
    if space == SPHERE:
        norm = np.sqrt(dot(x, x, d))
        for i in range(k):
            weights[i] /= norm
        for h in range(d):
            x[h] = x[h] / norm - q[h]
    return 0.5 * dot(x, x, d)


@part
def nearest_example(P, scales, rows, n, q, space, picked, weights):
    """The nearest example alone: c of it, from the vectors."""
    best, d = np.inf, q.shape[0]
    for j in range(n):
        row = rows[j]
        scale = scales[row] if space == SPHERE else 1.0
        s = 0.0
        for i in range(d):
            e = P[row, i] * scale - q[i]
            s += e * e
        if s < best:
            best, picked[0] = s, j
    weights[0] = 1.0
    return 0.5 * best


@part
def project_label(
    P, scales, squares, rows, n, q, space, b, eps, lean, v, pointed, first, n_warm, stop_low, stop_high, stop_gap,
    picked, weights, direction,
):  # fmt: skip
    """An interval for c = d^2/2 between query q and the hull of the n examples at `rows`.

    `first` (at least one) are positions in `rows` to start from, of which the first n_warm spanned the point of an
    earlier projection of the same query; b[rows[j]] are the inner products of the scan, off by at most eps. Stops
    once low > stop_low, high < stop_high or high - low <= stop_gap * high, else at the optimum. Writes the positions
    that span the nearest point into `picked`, their weights into `weights`, the unit normal of the hyperplane behind
    `low` into `direction` (zero where none was found). Returns (low, high, number picked, done), done where the
    optimum was reached.
    """
    rho = scale_of(P, rows, q, first, space)
    for i in range(q.shape[0]):
        direction[i] = 0.0
    if rho == 0.0:
        nearest_example(P, scales, rows, n, q, space, picked, weights)
        return 0.0, 0.0, 1, True
    work = make_work(n, q.shape[0], space)
    if space == SPHERE:
        for i in range(q.shape[0]):
            work.res[i] = q[i]
    else:
        work.res[q.shape[0]] = 1.0
    m = add_columns(P, scales, rows, q, space, rho, first, first.shape[0], work, 0)
    k, low, high, done = start_warm(work, n_warm), 0.0, np.inf, False
    for _ in range(ROUNDS):
        k = solve_columns(
            work.Z, m, work.passive, work.chosen, work.a, work.basis, work.R, work.rhs, work.res, k, work.trial
        )
        count = price(P, scales, squares, rows, n, q, space, rho, b, eps, lean, work)
        done = count == 0
        if k > 0:
            lo, high = cone_interval(q, v, pointed, work) if space == SPHERE else hull_interval(q, rho, work)
            if lo > low:
                low = lo
                for i in range(q.shape[0]):
                    direction[i] = work.normal[i]
            if low > stop_low or high < stop_high or high - low <= stop_gap * high:
                break
        if done:
            break
        if m + count > work.Z.shape[0]:
            m = drop_idle(work, m, k)
        for j in range(m):
            if work.passive[j] == 2:
                work.passive[j] = 0
        m = add_columns(P, scales, rows, q, space, rho, work.indices, count, work, m)
    if k == 0:  # case (ii) of the proposition: the projection is zero, the nearest example is the nearest point
        c = nearest_example(P, scales, rows, n, q, space, picked, weights)
        return c, c, 1, True
    high = nearest_point(P, scales, rows, q, space, work, k, picked, weights)
    if high < COINCIDENT:
        one, weight = np.empty(1, np.int64), np.empty(1)
        c = nearest_example(P, scales, rows, n, q, space, one, weight)
        if c <= high:
            picked[0], weights[0] = one[0], 1.0
            return 0.0 if c == 0.0 else min(low, c), c, 1, done
    return min(low, high), high, k, done


@part
def project_nearby(P, scales, rows, n, q, b, high, k, picked, weights):
    """A better upper bound of c on the sphere where the query nearly lies in the cone of examples close to it.

    In the plane that touches the sphere at q, at the points p_j / <q, p_j> - q, a distance of 1e-9 keeps its digits;
    among unit vectors it drowns. Only the examples near q take part, and so it remains a bound.
    """
    d = q.shape[0]
    Y, where, along, m = np.empty((n, d)), np.empty(n, np.int64), np.empty(n), 0
    for j in range(n):
        row = rows[j]
        if b[row] > 0.5:
            s = 0.0
            for h in range(d):
                s += q[h] * P[row, h] * scales[row]
            for h in range(d):
                Y[m, h] = P[row, h] * scales[row] / s - q[h]
            where[m], along[m] = j, s
            m += 1
    origin, first = np.zeros(d), np.zeros(1, np.int64)
    spot, share = np.empty(d + 2, np.int64), np.empty(d + 2)
    ones, places = np.ones(m, np.float32), np.arange(m).astype(np.int32)
    squares, origin_b = np.empty(m), np.zeros(m)
    for t in range(m):
        squares[t] = dot(Y[t], Y[t], d)
    _, c, size, _ = project_label(
        Y[:m], np.ones(m), squares, places, m, origin, EUCLIDEAN, origin_b, 0.0, ones, origin, False, first, 0,
        np.inf, -1.0, 0.0, spot, share, np.empty(d),
    )  # fmt: skip
    if not c < high:
        return high, k
    for t in range(size):
        picked[t], weights[t] = where[spot[t]], share[t] / along[spot[t]]
    return c, size


@kernel
def project(
    P, scales, squares, rows, n, q, space, b, eps, lean, v, pointed, first, n_warm, stop_low, stop_high, stop_gap,
    picked, weights, direction,
):  # fmt: skip
    """`project_label`, and a second look where on the sphere the query is all but inside."""
    low, high, k, done = project_label(
        P, scales, squares, rows, n, q, space, b, eps, lean, v, pointed, first, n_warm, stop_low, stop_high, stop_gap,
        picked, weights, direction,
    )  # fmt: skip
    if space == SPHERE and NEAR_ZERO < high < NEAR:
        high, k = project_nearby(P, scales, rows, n, q, b, high, k, picked, weights)
    return min(low, high), high, k, done
