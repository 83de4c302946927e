"""All examples of a label against the residual of its projection: what to add to the short list, and the bounds.

Lower bounds of the distance, with res the residual of the active set:

    euclidean   d >= min_j <q - p_j, u>  for the unit vector u along q - x     (a hyperplane between q and the hull)
    sphere      u' = res - t w lies in the polar cone where <res, p_j> <= t <w, p_j> for all j; then the angle between q
                and the cone has a sine of at least <q, u'> / ||u'||

On the sphere w is the better of two: a vector v on the positive side of every example (`lean[j] = 1 / <v, p_j>`
comes from the store), or the point x = q - res itself, for which <x, p_j> = b_j - <res, p_j> costs nothing. Without
such a v the cone is flat, or holds a line. Then the residual itself is taken as far as it goes: where <res, p_j> <=
most for all j, the sine is at least (<q, res> - most / height) / ||res||, since the weights of a unit vector of the
cone sum up to at most 1 / height, with the height at which the hull lies above the origin. A cone that holds a line has
none; there a residual counts as feasible within rounding.
"""

from __future__ import annotations

import numpy as np

from askless.geometry.active_set import dot, tolerance
from askless.geometry.jit import part
from askless.geometry.work import SPHERE

FEASIBLE = 4.0  # times a product's rounding: that of the residual, of the example and of the sum below come to its own
LINE = 1e-14  # a hull that comes this near to the origin counts as holding it: what is left may be rounding
ROUNDOFF = 2.0**-53  # of float64


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


@part(nan=False)
def lift(along, unit, lean, n):
    """Scale the products of the sphere in place; returns the largest, and max <res, p_j> / <v, p_j>."""
    most, lifted = -np.inf, -np.inf
    for j in range(n):
        s = along[j] * unit[j]
        along[j] = s
        x = s * lean[j]
        most = s if s > most else most
        lifted = x if x > lifted else lifted
    return most, lifted


@part(nan=False)
def shift_along_point(along, y, eps, n):
    """The least t with <res, p_j> <= t <x, p_j> for all j, infinite where there is none."""
    t = 0.0
    for j in range(n):
        if along[j] > 0.0:
            w = y[j] - along[j] - eps
            if not w > 0.0:
                return np.inf
            t = max(t, along[j] / w)
    over = 0.0
    for j in range(n):
        w = y[j] - along[j] - eps
        x = along[j] - t * w if w < 0.0 else 0.0
        over = x if x > over else over
    return np.inf if over > 0.0 else t


@part(nan=False)
def set_apart(along, base, n):
    """Make <p_j - q, res> of the products of euclidean space, in place; returns the largest."""
    most = -np.inf
    for j in range(n):
        s = along[j] - base
        most = s if s > most else most
        along[j] = s
    return most


@part(nan=False)
def leave_out_listed(along, listed, n):
    """Let no example of the short list be a candidate, in place."""
    for j in range(n):
        along[j] = along[j] if listed[j] == 0 else -1.0


@part(nan=False)
def squared_cosines(along, above, squares, rows, y, qq, rho, listed, n):
    """The square, with its sign, of the inner product of each unit column with the residual, in place; -1 as above."""
    for j in range(n):
        x = along[j] + above
        s = squares[rows[j]] - 2.0 * y[j] + qq
        s = (s if s > 0.0 else 0.0) + rho * rho  # the squared length of the column
        x = x * abs(x) / s
        along[j] = x if listed[j] == 0 else -1.0


@part
def price(P, squares, rows, n, q, space, rho, eps, lean, work):
    """Every example against the residual: the best candidates, and in `found` what the bounds need.

    found[0]: the largest inner product with a unit column; found[1]: sphere, max <res, p_j> / <v, p_j>; euclidean,
    max_j <p_j - q, res>; found[2]: sphere, the least t that the shift along x allows, or infinity.
    """
    d = q.shape[0]
    res, y, along, listed, values, indices, found = (
        work.res, work.y, work.along, work.listed, work.values, work.indices, work.found
    )  # fmt: skip
    row_products(P, rows, n, res, d, along)
    count, enough = 0, tolerance(dot(res, res, res.shape[0]))
    if space == SPHERE:
        found[0], found[1] = lift(along, work.unit, lean, n)
        found[2] = shift_along_point(along, y, eps, n)
        leave_out_listed(along, listed, n)
    else:
        found[1] = set_apart(along, dot(q, res, d), n)
        squared_cosines(along, rho * res[d], squares, rows, y, dot(q, q, d), rho, listed, n)
        enough *= enough
    for j in range(n):
        if along[j] > enough:
            count = keep_largest(along[j], j, values, indices, count)
            if count == values.shape[0]:
                enough = values[count - 1]
    return count


@part
def height_of(length, lowest):
    """How high a hull lies above the origin: its nearest point c has this length, and `lowest` is min_j <p_j, c>.

    0 for one that holds the origin. Where rounding has left nothing of <p_j, c>, the least that is more.
    """
    return max(lowest / length, LINE) if length > LINE else 0.0


@part
def cone_interval(q, v, pointed, height, work):
    """(low, high) of c on the sphere from the last pricing, where the projection is not zero."""
    d = q.shape[0]
    res, found, normal = work.res, work.found, work.normal
    e, toward = dot(res, res, d), dot(q, res, d)
    high = e / (1.0 + np.sqrt(max(0.0, 1.0 - e)))
    sine, t, along_x, off = 0.0, 0.0, False, 0.0
    if pointed:
        t = max(0.0, found[1])
        length = max(e - 2.0 * t * dot(res, v, d) + t * t, 1e-300)
        sine = (toward - t * dot(q, v, d)) / np.sqrt(length)
    else:
        length = np.sqrt(max(e, 1e-300))
        rounding = ROUNDOFF * (d + 4) * length
        most = max(found[0], 0.0) + rounding
        if height > 0.0:
            off = 1.1 * most / (height * length)  # 1.1: more than rounding adds to the height
        elif most > FEASIBLE * rounding:
            off = np.inf
        sine = toward / length - off
    if found[2] < np.inf:  # x = q - res: <q, x> = 1 - toward, <res, x> = toward - e
        f = found[2]
        length = max(e - 2.0 * f * (toward - e) + f * f * (1.0 - 2.0 * toward + e), 1e-300)
        if toward - f * (1.0 - toward) > sine * np.sqrt(length):
            sine, t, along_x, off = (toward - f * (1.0 - toward)) / np.sqrt(length), f, True, 0.0
    if not sine > 0.0:
        return 0.0, high
    length = 0.0
    for i in range(d):
        normal[i] = res[i] - t * (q[i] - res[i] if along_x else v[i])
        length += normal[i] * normal[i]
    length = np.sqrt(length)
    for i in range(d):
        normal[i] /= length
    sine = max(0.0, min(1.0, dot(q, normal, d) - off))
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
