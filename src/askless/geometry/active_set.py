"""Non-negative least squares by an active set over an orthonormal basis.

    min || t - sum_j a_j z_j ||   over   a >= 0

Both distances are this problem. On the sphere the columns z_j are the unit examples and t the unit query: the
solution is the projection onto the cone. In euclidean space the columns are (p_j - q, rho) and t = (0, rho):
with S = sum a, the value is S^2 ||x - q||^2 + rho^2 (S - 1)^2 for x = sum a_j p_j / S, so the best x is the
projection onto the hull whatever rho > 0.

Why a basis of vectors and not a Gram matrix: near a face that contains the query the normal equations lose half
the digits, and an orthonormal basis keeps them. A column enters by Gram-Schmidt, repeated where it has to be, and
leaves by Givens rotations of the triangle and of the basis, so a step costs O(k d) and nothing is ever refactored.
Columns enter a few at a time, which saves solves with the triangle; where that brings no progress they enter one by
one, as the proof that the method ends has it. [Lawson and Hanson 1974, chapter 23]
"""

from __future__ import annotations

import numpy as np

from askless.geometry.jit import part

AT_ONCE = 8  # columns that enter between two solves with the triangle
AGAIN = 0.1  # share of a squared length below which a pass of Gram-Schmidt is repeated
SHORT = 1e-3  # a residual so short is made orthogonal to the basis once more before it is trusted
ROUNDED = 2e-16  # what is rounded off a target of norm 1: no column can gain what is less
PIVOT = 1e-13  # a column whose new part is shorter than this, relative to itself, adds nothing that can be computed


@part
def dot(x, y, n):
    """The inner product of the first n entries, in float64 whatever they are: a product of float32 would be rounded."""
    s = 0.0
    for i in range(n):
        s += np.float64(x[i]) * y[i]
    return s


@part
def axpy(c, x, y, n):
    """Add c x to y in place."""
    for i in range(n):
        y[i] += c * x[i]


@part(nan=False)
def place_of_largest(x, n):
    """Where the largest of the first n values stands: two quick passes, since one for both goes value by value."""
    most = -np.inf
    for j in range(n):
        most = x[j] if x[j] > most else most
    for j in range(n):
        if x[j] == most:
            return j
    return 0


@part
def products(M, n, x, out):
    """The inner products of the first n rows of M with x, eight rows at a time."""
    d = x.shape[0]
    j = 0
    while j + 8 <= n:
        s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(d):
            y = x[i]
            s0 += M[j, i] * y
            s1 += M[j + 1, i] * y
            s2 += M[j + 2, i] * y
            s3 += M[j + 3, i] * y
            s4 += M[j + 4, i] * y
            s5 += M[j + 5, i] * y
            s6 += M[j + 6, i] * y
            s7 += M[j + 7, i] * y
        out[j], out[j + 1], out[j + 2], out[j + 3] = s0, s1, s2, s3
        out[j + 4], out[j + 5], out[j + 6], out[j + 7] = s4, s5, s6, s7
        j += 8
    while j < n:
        s0 = 0.0
        for i in range(d):
            s0 += M[j, i] * x[i]
        out[j] = s0
        j += 1


@part
def subtract_rows(M, n, c, x):
    """Subtract sum_j c_j M_j, over the first n rows, from x, eight rows at a time."""
    d = x.shape[0]
    j = 0
    while j + 8 <= n:
        c0, c1, c2, c3, c4, c5, c6, c7 = c[j], c[j + 1], c[j + 2], c[j + 3], c[j + 4], c[j + 5], c[j + 6], c[j + 7]
        for i in range(d):
            s = c0 * M[j, i] + c1 * M[j + 1, i] + c2 * M[j + 2, i] + c3 * M[j + 3, i]
            t = c4 * M[j + 4, i] + c5 * M[j + 5, i] + c6 * M[j + 6, i] + c7 * M[j + 7, i]
            x[i] -= s + t
        j += 8
    while j < n:
        for i in range(d):
            x[i] -= c[j] * M[j, i]
        j += 1


@part
def back_substitute(R, rhs, k, a):
    """Solve for the weights of the k chosen columns. Row i of R holds column i of the triangle, 1 / pivot last."""
    for i in range(k):
        a[i] = rhs[i]
    for i in range(k - 1, -1, -1):
        x = a[i] * R[i, i]
        for j in range(i):
            a[j] -= x * R[i, j]
        a[i] = x


@part
def enter_column(Z, c, basis, R, rhs, res, k, along):
    """Append the unit column c of Z as number k; False where it depends on the others or would get no positive weight.

    `along` is scratch.
    """
    dp = res.shape[0]
    v, left = basis[k], 1.0
    for i in range(dp):
        v[i] = Z[c, i]
    for j in range(k):
        R[k, j] = 0.0
    for _ in range(2):  # the second pass only where the first left little, and with it rounding
        before = left
        products(basis, k, v, along)
        subtract_rows(basis, k, along, v)
        left = 0.0
        for i in range(dp):
            left += v[i] * v[i]
        for j in range(k):
            R[k, j] += along[j]
        if left > AGAIN * before:
            break
    if not left > PIVOT * PIVOT:
        return False
    scale, gain = 1.0 / np.sqrt(left), 0.0
    for i in range(dp):
        v[i] *= scale
        gain += v[i] * res[i]
    if not gain > ROUNDED:
        return False
    R[k, k] = scale
    rhs[k] = gain
    for i in range(dp):
        res[i] -= gain * v[i]
    return True


@part
def leave_column(r, basis, R, rhs, res, k):
    """Remove column number r of k; its part of the target returns to the residual."""
    dp = res.shape[0]
    for j in range(r, k - 1):
        x, y = R[j + 1, j], 1.0 / R[j + 1, j + 1]
        for i in range(j):
            R[j, i] = R[j + 1, i]
        h = np.sqrt(x * x + y * y)
        c, s = x / h, y / h
        R[j, j] = 1.0 / h
        for i in range(j + 2, k):  # the columns still to be moved up
            u, w = R[i, j], R[i, j + 1]
            R[i, j] = c * u + s * w
            R[i, j + 1] = c * w - s * u
        for i in range(dp):
            u, w = basis[j, i], basis[j + 1, i]
            basis[j, i] = c * u + s * w
            basis[j + 1, i] = c * w - s * u
        u, w = rhs[j], rhs[j + 1]
        rhs[j], rhs[j + 1] = c * u + s * w, c * w - s * u
    for i in range(dp):
        res[i] += rhs[k - 1] * basis[k - 1, i]


@part
def sharpen(basis, rhs, res, k, along):
    """Take out of a short residual what rounding left of the basis in it: that was little beside the target alone."""
    products(basis, k, res, along)
    subtract_rows(basis, k, along, res)
    for j in range(k):
        rhs[j] += along[j]


@part
def tolerance(square):
    """What may be rounding in the inner product of a unit column and a residual of this squared length.

    Columns that nearly depend on the basis can take away a residual with which they have next to no inner product, so
    that of a short one counts; whether it is rounding alone is seen when the column enters, by what it gains.
    """
    length = np.sqrt(square)
    if length <= ROUNDED:
        return length
    return 1e-14 * length if length < SHORT else max(1e-14 * length, ROUNDED)


@part
def solve_columns(Z, m, passive, chosen, a, basis, R, rhs, res, k, trial, gradient, share):
    """Solve over the first m columns of Z, continuing from the k chosen ones; returns the new k.

    `chosen` lists the columns with positive weights `a`, `passive[j]` is 1 for those, 2 for one that was found to
    depend on the others. On return no other column has an inner product with the residual above `tolerance`, or above
    `share` of the largest one at the start, whichever is more.
    """
    dp = res.shape[0]
    at_once, square, enough = AT_ONCE, np.inf, -1.0
    for _ in range(3 * m + 30):
        found, left = False, dot(res, res, dp)
        if left >= square * (1.0 - 1e-13):
            at_once = 1
        if left < SHORT * SHORT:
            sharpen(basis, rhs, res, k, trial)
            left = dot(res, res, dp)
        square, tol = left, tolerance(left)
        products(Z, m, res, gradient)
        for j in range(m):
            if passive[j] != 0:
                gradient[j] = 0.0
        if enough < 0.0:
            enough = 0.0
            for j in range(m):
                enough = max(enough, share * gradient[j])
        tol = max(tol, enough)
        fresh = k
        for _ in range(at_once):
            best = place_of_largest(gradient, m)
            if not gradient[best] > tol or k == basis.shape[0]:
                break
            gradient[best] = 0.0
            found = True
            g = 0.0  # the residual has moved since: only a column that still points along it can gain weight
            for i in range(dp):
                g += Z[best, i] * res[i]
            if k > fresh and not g > tol:
                continue
            if enter_column(Z, best, basis, R, rhs, res, k, trial):
                passive[best] = 1
                chosen[k] = best
                a[k] = 0.0
                k += 1
            elif k == fresh:  # the steepest of all does not enter: not because of those before it
                passive[best] = 2
        if not found:
            break
        k = restore_signs(passive, chosen, a, basis, R, rhs, res, k, trial)
    return k


@part
def restore_signs(passive, chosen, a, basis, R, rhs, res, k, trial):
    """Move the weights towards the least-squares ones, dropping each column whose weight reaches zero."""
    while k > 0:
        back_substitute(R, rhs, k, trial)
        out, step = -1, 1.0
        for i in range(k):
            if trial[i] <= 0.0:
                f = a[i] / (a[i] - trial[i]) if a[i] > trial[i] else 0.0
                if out < 0 or f <= step:
                    out, step = i, f
        if out < 0:
            for i in range(k):
                a[i] = trial[i]
            break
        for i in range(k):
            a[i] += step * (trial[i] - a[i])
        while out >= 0:  # at step 0 every column that just came and would leave goes at once
            leave_column(out, basis, R, rhs, res, k)
            passive[chosen[out]] = 0
            for i in range(out, k - 1):
                chosen[i] = chosen[i + 1]
                a[i] = a[i + 1]
                trial[i] = trial[i + 1]
            k -= 1
            out = out - 1 if step == 0.0 else -1
            while out >= 0 and not (trial[out] <= 0.0 and a[out] == 0.0):
                out -= 1
    return k
