"""Intervals for every label's distance, from the scan alone and from a label's inverse Gram matrix.

All are for c = d^2 / 2, from inner products b_j = <q, p_j> that are off by at most eps. On the sphere c = 1 - s with
s = max <q, y> over unit y = sum_j beta_j p_j, beta >= 0. With the reference vector c of `index`:

    s >= max_j b_j                                              (a point of the hull)
    s <= max_j b_j lean_j   where max b > 0                     (sum_j beta_j / lean_j <= 1)
    s <= max_j b_j          where max b <= 0                    (case (ii): sum_j beta_j >= 1)
    s^2 <= b' G^-1 b                                            (the span instead of the cone)
    s^2 <= t^2 ||c||^2 + ||b - t g||^2 / lam                    (the same, without the inverse: `low_by_spectrum`)

and in euclidean space, u being the unit vector along q - c:

    d <= min_j ||q - p_j||,   d <= ||q - c||
    d >= min_j <q - p_j, u> = (||q||^2 - <q, c> - max_j (b_j - gw_j)) / ||q - c||
    d >= the distance to the affine hull                        (from the inverse of K = G + kappa 11')
"""

from __future__ import annotations

import numpy as np

from askless.geometry.gram import quadratic_form, solve_gram
from askless.geometry.index import gram_view
from askless.geometry.jit import part
from askless.geometry.pricing import ROUNDOFF
from askless.geometry.work import SPHERE

SLOP = 1e-9  # what float64 may lose here, relative to the data's scale, with the conditions that `gram` sets


@part
def nearest_examples(ix, b, qq, eps, near, high):
    """An upper bound of c for every label: its nearest example, by the scan. By `near`, `nearest_row` finds which."""
    if ix.space == SPHERE:
        largest_of_each(b, ix.slots, near)
        for i in range(high.shape[0]):
            high[i] = max(0.0, 1.0 - near[i]) + eps
        return
    largest_power_of_each(b, ix.squares, ix.slots, near)
    pmax = ix.pmax
    for i in range(high.shape[0]):
        high[i] = max(0.0, 0.5 * qq - near[i]) + eps * pmax[i]


@part(nan=False)
def largest_of_each(b, slots, out):
    """The largest of b over each label's rows: row by row, since short loops of every length are hard to foresee.

    So is which row is the largest so far: `nearest_row` finds that for the few labels of which it is wanted.
    """
    out[:] = -np.inf
    for row in range(b.shape[0]):
        i, x = slots[row], np.float64(b[row])
        out[i] = x if x > out[i] else out[i]


@part(nan=False)
def largest_power_of_each(b, squares, slots, out):
    """The same of b - |p|^2 / 2."""
    out[:] = -np.inf
    for row in range(b.shape[0]):
        i, x = slots[row], b[row] - 0.5 * squares[row]
        out[i] = x if x > out[i] else out[i]


@part(nan=False)
def nearest_row(ix, i, b, near):
    """The row of the label's example that is nearest to the query: the first whose value is the largest, `near[i]`."""
    at, members, squares, largest = ix.start[i], ix.members, ix.squares, near[i]
    for j in range(at, at + ix.sizes[i]):
        row = members[j]
        if (np.float64(b[row]) if ix.space == SPHERE else b[row] - 0.5 * squares[row]) == largest:
            return row
    return members[at]


@part(nan=False)
def largest_product(b, lean, members, first, end):
    """The largest of b times lean over the same."""
    top = b[members[first]] * lean[first]
    for j in range(first + 1, end):
        x = b[members[j]] * lean[j]
        top = x if x > top else top
    return top


@part
def first_low(ix, i, b, qq, eps, hulls, high):
    """The lower bound of c that the scan gives for one label."""
    if not hulls:
        return max(0.0, high[i] - 2.0 * eps * ix.pmax[i])
    if ix.space == SPHERE:
        lam = ix.lam[i] if ix.big[i] < 0 else 0.0
        return cone_low(
            b, ix.members, ix.lean, ix.vw, ix.gw, ix.start[i], ix.sizes[i], high[i], ix.reach[i], ix.cc[i], lam, eps
        )
    return plane_low(ix, i, b, qq, eps, high)


@part
def cone_low(b, members, lean, vw, gw, first, n, high, reach, cc, lam, eps):
    """The same on the sphere, from the arrays themselves: a search calls this hundreds of times."""
    top = 1.0 - high + 2.0 * eps
    if top <= 0.0:
        return 1.0 - top
    if reach == np.inf:
        return 0.0
    low = max(0.0, 1.0 - largest_product(b, lean, members, first, first + n) - eps * reach)
    if lam > 0.0:
        low = max(low, low_by_spectrum(b, members, vw, gw, first, first + n, cc, lam, eps))
    return low


@part(nan=False)
def low_by_spectrum(b, members, vw, gw, first, end, cc, lam, eps):
    """1 - sqrt(b' G^-1 b) at least, from the smallest eigenvalue alone.

    With b = t g + e, g = G w for the weights w of the reference vector c, and t = <w, b> / ||c||^2, so that <w, e> = 0:
    b' G^-1 b = t^2 ||c||^2 + e' G^-1 e.
    """
    t, square = 0.0, 0.0
    for j in range(first, end):
        t += vw[j] * b[members[j]]
    t /= cc
    for j in range(first, end):
        e = b[members[j]] - t * gw[j]
        square += e * e
    return 1.0 - np.sqrt(t * t * cc + square / lam) - eps * np.sqrt((end - first) / lam) - SLOP


@part
def plane_low(ix, i, b, qq, eps, high):
    """The euclidean lower bound of one label by the scan; the centroid may lower its upper bound too."""
    at, n = ix.start[i], ix.sizes[i]
    referred = n if ix.big[i] < 0 else ix.referred[ix.big[i]]
    far, along = -np.inf, 0.0
    members, gw = ix.members, ix.gw
    for j in range(at, at + n):
        x = b[members[j]]
        if j < at + referred:
            along += x
        far = max(far, x - gw[j])
    along /= referred
    off = eps * ix.pmax[i]
    apart = qq - along - far - 2.0 * off
    from_center = max(0.0, qq - 2.0 * along + ix.cc[i])
    high[i] = min(high[i], 0.5 * from_center + off)
    return 0.5 * apart * apart / (from_center + 2.0 * off + 1e-300) if apart > 0.0 else 0.0


@part
def gather(ix, i, b, y):
    """The inner products of one label's examples."""
    at, members = ix.start[i], ix.members
    for j in range(ix.sizes[i]):
        y[j] = b[members[at + j]]


@part
def rounded(n, d):
    """What a'Ga and a'b may be off by for unit vectors and sum |a| = 1, since inner products are rounded, and sums.

    On the sphere weights need not be convex: where examples lie opposite each other up to h, they sum up to 1 / h.
    """
    return (d + 4 * n + 8) * ROUNDOFF


@part(allocates=True)
def span_bounds(ix, i, y, qq, eps, work):
    """(low, high) of a small label from its inverse, high infinite unless the span's nearest point is in the hull.

    With b off by at most eps, sqrt(b' G^-1 b) is off by at most eps sqrt(n / lam), and by eps * reach within the cone.
    """
    n = ix.sizes[i]
    K_inv = gram_view(ix.inverse, ix.gram_at[i], ix.room[i])
    if ix.space != SPHERE:
        return affine_bounds(ix, i, K_inv, n, y, qq, eps * ix.pmax[i], work)
    square = quadratic_form(K_inv, n, y, work)
    off = eps * np.sqrt(n / ix.lam[i])
    inside, total = square > 0.0, 0.0
    for j in range(n):
        inside = inside and work[j] >= 0.0
        total += abs(work[j])
    slip = rounded(n, ix.P.shape[1]) * total * total
    norm, fit = np.sqrt(max(0.0, square) + slip), square - slip - eps * total
    if not inside or not fit > 0.0:
        return max(0.0, 1.0 - norm - off - SLOP), np.inf
    return max(0.0, 1.0 - norm - min(off, eps * ix.reach[i]) - SLOP), max(0.0, 1.0 - fit / norm) + SLOP


@part(allocates=True)
def affine_bounds(ix, i, K_inv, n, y, qq, off, work):
    """The same in euclidean space, from the affine weights a = K^-1 (y + mu 1), sum a = 1.

    With y off by at most `off`, the square of the distance to the affine hull falls by at most
    2 off ||a||_1 + off^2 n / lam, and that to the hull moves by at most 2 off.
    """
    quadratic_form(K_inv, n, y, work)
    ones, total = 0.0, 0.0
    sums = np.empty(n)
    for j in range(n):
        s = 0.0
        for k in range(n):
            s += K_inv[j, k]
        sums[j] = s
        ones += s
        total += work[j]
    mu = (1.0 - total) / ones
    fit, inside, size = 0.0, True, 0.0
    for j in range(n):
        a = work[j] + mu * sums[j]
        fit += a * y[j]
        inside = inside and a >= 0.0
        size += abs(a)
    square = qq - ix.kappa[i] - fit + mu
    slop = SLOP * (qq + ix.kappa[i] + ix.pmax[i] ** 2) * size
    if inside:
        return max(0.0, 0.5 * square - off - slop), max(0.0, 0.5 * square) + off + slop
    return max(0.0, 0.5 * square - off * size - 0.5 * off * off * n / ix.lam[i] - slop), np.inf


@part(allocates=True)
def gram_bounds(ix, i, y, qq, eps, a):
    """(low, high) of a small label by solving its problem on the Gram matrix with the inner products of the scan.

    Writes the weights of the solution into a. Sphere: with x the solution's point and w the largest gradient left,
    (<q, x> - eps sum a) / ||x|| <= s <= ||x|| + (w + eps) reach, all of them but for what was rounded off G, which
    counts as often as there is weight. Euclidean: the separating hyperplane at the solution's point, off by 2 eps.
    """
    n = ix.sizes[i]
    G = gram_view(ix.gram, ix.gram_at[i], ix.room[i])
    if ix.space != SPHERE:
        return hull_bounds(G, n, y, qq, eps * ix.pmax[i], a)
    left = solve_gram(G, y, n, 1e-12, a)
    fit, total = 0.0, 0.0
    for j in range(n):
        fit += a[j] * y[j]
        total += a[j]
    if not fit > 0.0:
        return 0.0, np.inf
    unit = rounded(n, ix.P.shape[1])
    norm = np.sqrt(max(0.0, quadratic_form(G, n, a, np.empty(n))) + unit * total * total)
    low = 1.0 - norm - (left + eps + unit * total) * ix.reach[i] - SLOP if ix.reach[i] < np.inf else 0.0
    fit -= (eps + unit) * total
    return max(0.0, low), max(0.0, 1.0 - fit / norm) + SLOP if fit > 0.0 else np.inf


@part(allocates=True)
def hull_bounds(G, n, y, qq, off, a):
    """The euclidean part of `gram_bounds`: columns (p_j - q, rho), as in `active_set`."""
    nearest, largest = np.inf, qq
    for j in range(n):
        nearest = min(nearest, G[j, j] - 2.0 * y[j] + qq)
        largest = max(largest, G[j, j])
    rho = max(nearest, 1e-9 * largest)
    K = np.empty((n, n))
    for j in range(n):
        for k in range(n):
            K[j, k] = (G[j, k] - y[j] - y[k] + qq) / rho + 1.0
    solve_gram(K, np.ones(n), n, 1e-12, a)
    total = 0.0
    for j in range(n):
        total += a[j]
    if not total > 0.0:
        return 0.0, np.inf
    fit = 0.0
    for j in range(n):
        a[j] /= total
        fit += a[j] * y[j]
    Ga = np.empty(n)
    square = max(0.0, quadratic_form(G, n, a, Ga) - 2.0 * fit + qq)
    slop = SLOP * largest
    apart = np.inf
    for j in range(n):
        apart = min(apart, qq - fit - y[j] + Ga[j])
    apart -= 2.0 * off + slop
    low = 0.5 * apart * apart / (square + 2.0 * off + slop) if apart > 0.0 else 0.0
    return low, 0.5 * square + off + slop
