"""One query against one label: the projection by column generation, with an interval for its distance.

A label may have thousands of examples, of which a few dozen span the nearest point. So the active set works on a
short list of columns; one pass over all examples (the pricing) finds those that the list lacks, and the same pass
gives a lower bound of the distance. The work stops as soon as the interval settles what the caller asked.

Distances are carried as c = d^2 / 2, which is 1 - s on the sphere (s: the largest cosine between query and hull).
[Réveillard et al. 2026, proposition B.20 for the spherical distance]
"""

from __future__ import annotations

import numpy as np

from askless.geometry.active_set import axpy, dot, sharpen, solve_columns
from askless.geometry.jit import kernel, part
from askless.geometry.pricing import cone_interval, hull_interval, price
from askless.geometry.work import EUCLIDEAN, SPHERE, add_columns, begin, drop_idle, make_work, start_warm

COINCIDENT = 1e-16  # c below which the query may be an example itself, which is looked up to lose no digit
NEAR, NEAR_ZERO = 1e-12, 1e-19  # c between these on the sphere is looked at again in the touching plane
SHARE = 0.15  # of the steepest gradient, at which a short list is solved well enough to be priced again
ROUNDS = 500  # pricings at most; dozens are usual


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
def chosen_weights(work, k, picked, weights):
    """Write the examples that have weight, and their weights before any scaling."""
    position, chosen, a, size = work.position, work.chosen, work.a, work.size
    for i in range(k):
        picked[i] = position[chosen[i]]
        weights[i] = a[i] / size[chosen[i]]


@part(allocates=True)
def nearest_point(P, scales, rows, q, space, k, picked, weights):
    """Scale the k weights so that they give a point of the hull, and return c of that point, from the vectors."""
    d = q.shape[0]
    x = np.zeros(d)
    total = 0.0
    for i in range(k):
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


@part(allocates=True)
def project_label(
    P, scales, squares, rows, n, q, space, eps, lean, v, pointed, height, first, n_warm, stop_low, stop_high, stop_gap,
    work, picked, weights, direction,
):  # fmt: skip
    """An interval for c = d^2/2 between query q and the hull of the n examples at `rows`.

    On the sphere `v` lies on the positive side of all examples where the label is `pointed`, `lean` being 1 / <v, p_j>;
    the `height` of a label that is not pointed is how far its hull lies from the origin, by `height_of`.
    `first` (at least one) are positions in `rows` to start from, of which the first n_warm spanned the point of an
    earlier projection of the same query; work.y[j] = <q, p_j> by the scan, off by at most eps. Stops once
    low > stop_low, high < stop_high or high - low <= stop_gap * high, else at the optimum. Writes the positions
    that span the nearest point into `picked`, their weights into `weights`, the unit normal of the hyperplane behind
    `low` into `direction` (zero where none was found). Returns (low, high, number picked, done), done where the
    optimum was reached.
    """
    rho = scale_of(P, rows, q, first, space)
    direction[:] = 0.0
    if rho == 0.0:
        nearest_example(P, scales, rows, n, q, space, picked, weights)
        return 0.0, 0.0, 1, True
    begin(work, n, scales, rows, q, space)
    m = add_columns(P, scales, rows, q, space, rho, first, first.shape[0], work, 0)
    k, low, high, done = start_warm(work, n_warm), 0.0, np.inf, False
    share = SHARE
    for _ in range(ROUNDS):
        k = solve_columns(
            work.Z, m, work.passive, work.chosen, work.a, work.basis, work.R, work.rhs, work.res, k, work.trial,
            work.gradient, share,
        )  # fmt: skip
        if space == SPHERE and not pointed:  # the flatter the cone, the more a rounded residual matters
            sharpen(work.basis, work.rhs, work.res, k, work.trial)
        count = price(P, squares, rows, n, q, space, rho, eps, lean, work)
        done = count == 0 and share == 0.0
        if k > 0:
            lo, high = cone_interval(q, v, pointed, height, work) if space == SPHERE else hull_interval(q, rho, work)
            if lo > low:
                low = lo
                for i in range(q.shape[0]):
                    direction[i] = work.normal[i]
            if low > stop_low or high < stop_high or high - low <= stop_gap * high:
                break
        if done:
            break
        if count == 0:
            share = 0.0
        if m + count > work.Z.shape[0]:
            m = drop_idle(work, m, k)
        passive = work.passive
        for j in range(m):
            if passive[j] == 2:
                passive[j] = 0
        m = add_columns(P, scales, rows, q, space, rho, work.indices, count, work, m)
    if k == 0:  # case (ii) of the proposition: the projection is zero, the nearest example is the nearest point
        c = nearest_example(P, scales, rows, n, q, space, picked, weights)
        return c, c, 1, True
    chosen_weights(work, k, picked, weights)
    high = nearest_point(P, scales, rows, q, space, k, picked, weights)
    if high < COINCIDENT:
        c = nearest_example(P, scales, rows, n, q, space, work.indices, work.values)  # room that is free by now
        if c <= high:
            picked[0], weights[0] = work.indices[0], 1.0
            return 0.0 if c == 0.0 else min(low, c), c, 1, done
    return min(low, high), high, k, done


@part(allocates=True)
def project_nearby(P, scales, rows, n, q, y, high, k, picked, weights):
    """A better upper bound of c on the sphere where the query nearly lies in the cone of examples close to it.

    In the plane that touches the sphere at q, at the points p_j / <q, p_j> - q, a distance of 1e-9 keeps its digits;
    among unit vectors it drowns. Only the examples near q take part, and so it remains a bound.
    """
    d = q.shape[0]
    Y, where, along, m = np.empty((n, d)), np.empty(n, np.int64), np.empty(n), 0
    for j in range(n):
        row = rows[j]
        if y[j] > 0.5:
            s = 0.0
            for h in range(d):
                s += q[h] * P[row, h] * scales[row]
            for h in range(d):
                Y[m, h] = P[row, h] * scales[row] / s - q[h]
            where[m], along[m] = j, s
            m += 1
    if m == 0:
        return high, k
    origin, first = np.zeros(d), np.zeros(1, np.int64)
    spot, share = np.empty(d + 2, np.int64), np.empty(d + 2)
    ones, places = np.ones(m, np.float32), np.arange(m).astype(np.int32)
    squares = np.empty(m)
    for t in range(m):
        squares[t] = dot(Y[t], Y[t], d)
    work = make_work(m, d, EUCLIDEAN)
    work.y[:] = 0.0
    _, c, size, _ = project_label(
        Y[:m], np.ones(m), squares, places, m, origin, EUCLIDEAN, 0.0, ones, origin, False, 0.0, first, 0,
        np.inf, -1.0, 0.0, work, spot, share, np.empty(d),
    )  # fmt: skip
    if not c < high:
        return high, k
    for t in range(size):
        picked[t], weights[t] = where[spot[t]], share[t] / along[spot[t]]
    return c, size


@part
def project_twice(
    P, scales, squares, rows, n, q, space, eps, lean, v, pointed, height, first, n_warm, stop_low, stop_high, stop_gap,
    work, picked, weights, direction,
):  # fmt: skip
    """`project_label`, and a second look where on the sphere the query is all but inside."""
    low, high, k, done = project_label(
        P, scales, squares, rows, n, q, space, eps, lean, v, pointed, height, first, n_warm,
        stop_low, stop_high, stop_gap, work, picked, weights, direction,
    )  # fmt: skip
    if space == SPHERE and NEAR_ZERO < high < NEAR:
        high, k = project_nearby(P, scales, rows, n, q, work.y, high, k, picked, weights)
    return min(low, high), high, k, done


@kernel
def project(P, squares, q, space, y, eps, lean, v, pointed, height, first, picked, weights):
    """The projection of q onto the hull of all rows of P (of norm 1 on the sphere): (low, number picked)."""
    n, d = P.shape
    work = make_work(n, d, space)
    work.y[:] = y
    low, _, k, _ = project_twice(
        P, np.ones(n), squares, np.arange(n).astype(np.int32), n, q, space, eps, lean, v, pointed, height, first, 0,
        np.inf, -1.0, 0.0, work, picked, weights, np.empty(d),
    )  # fmt: skip
    return low, k
