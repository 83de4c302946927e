"""Small problems on a label's Gram matrix: bounds from its inverse, and non-negative least squares by Cholesky.

    min a'Ga - 2 a'b   over   a >= 0

From inner products only, whatever the dimension. The inner products b come from the float32 scan, so what is solved
here has an interval around it; a label whose interval does not settle the decision goes on to `project`, which
works from the vectors in float64.
"""

from __future__ import annotations

import numpy as np

from askless.geometry.jit import part

PIVOT = 1e-11  # relative pivot below which a column counts as dependent
CONDITION = 1e-6  # an inverse is used only where 1 / (||K|| ||K^-1||) exceeds this


@part
def quadratic_form(K, n, y, out):
    """Write K y into out and return y'Ky, for the leading n by n part."""
    total = 0.0
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += K[i, j] * y[j]
        out[i] = s
        total += s * y[i]
    return total


@part(allocates=True)
def border_inverse(K_inv, n, g, corner):
    """Grow the inverse of an n by n matrix by the row and column (g, corner), in place; False where it cannot be."""
    u = np.empty(n)
    pivot = corner - quadratic_form(K_inv, n, g, u)
    if not pivot > CONDITION * corner:
        return False
    for i in range(n):
        for j in range(n):
            K_inv[i, j] += u[i] * u[j] / pivot
        K_inv[i, n] = -u[i] / pivot
        K_inv[n, i] = K_inv[i, n]
    K_inv[n, n] = 1.0 / pivot
    return True


@part(allocates=True)
def floor_of_spectrum(G, kappa, K_inv, n):
    """A lower bound of the smallest eigenvalue of K = G + kappa 11', 0 where its inverse is not to be trusted.

    1 / ||K^-1|| in the Frobenius norm is one, and up to sqrt(n) too small. A few steps of the power method tell where
    the eigenvalue is; a little below that, a Cholesky factor of K - mu I proves the bound mu.
    """
    s, trace, widest = 0.0, 0.0, 0
    for i in range(n):
        trace += G[i, i] + kappa
        if K_inv[i, i] > K_inv[widest, widest]:
            widest = i
        for j in range(n):
            s += K_inv[i, j] * K_inv[i, j]
    lam = 1.0 / np.sqrt(s)
    if not lam > CONDITION * trace:
        return 0.0
    x, y, size = K_inv[widest].copy(), np.empty(n), 1.0
    for _ in range(4):
        size = 0.0
        for i in range(n):
            size += x[i] * x[i]
        size = np.sqrt(size)
        for i in range(n):
            x[i] /= size
        size = quadratic_form(K_inv, n, x, y)
        for i in range(n):
            x[i] = y[i]
    mu = 0.9 / size
    return mu if mu > lam and is_positive_definite(G, kappa, mu, n) else lam


@part(allocates=True)
def is_positive_definite(G, kappa, mu, n):
    """Whether G + kappa 11' - mu I has a Cholesky factor, with room for rounding."""
    L = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = G[i, j] + kappa
            if i == j:
                s -= mu
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if j < i:
                L[i, j] = s / L[j, j]
            elif s > CONDITION * mu:
                L[i, i] = np.sqrt(s)
            else:
                return False
    return True


@part
def enter(G, j, b, L, y, chosen, k):
    """Append row j to the Cholesky factor of the chosen columns; False where it depends on them."""
    t = 0.0
    for r in range(k):
        s = G[j, chosen[r]]
        for c in range(r):
            s -= L[r, c] * L[k, c]
        s /= L[r, r]
        L[k, r] = s
        t += s * s
    pivot = G[j, j] - t
    if not pivot > PIVOT * G[j, j]:
        return False
    L[k, k] = np.sqrt(pivot)
    s = b[j]
    for c in range(k):
        s -= L[k, c] * y[c]
    y[k] = s / L[k, k]
    chosen[k] = j
    return True


@part
def leave(r, L, y, chosen, k):
    """Remove row r from the factor of k rows by Givens rotations of neighbouring columns."""
    for i in range(r, k - 1):
        chosen[i] = chosen[i + 1]
        for c in range(i + 2):
            L[i, c] = L[i + 1, c]
        x, z = L[i, i], L[i, i + 1]
        h = np.sqrt(x * x + z * z)
        c0, s0 = x / h, z / h
        L[i, i], L[i, i + 1] = h, 0.0
        for t in range(i + 2, k):
            u, w = L[t, i], L[t, i + 1]
            L[t, i], L[t, i + 1] = c0 * u + s0 * w, c0 * w - s0 * u
        u, w = y[i], y[i + 1]
        y[i], y[i + 1] = c0 * u + s0 * w, c0 * w - s0 * u


@part
def solve_factor(L, y, k, trial):
    """Solve L' trial = y."""
    for i in range(k - 1, -1, -1):
        s = y[i]
        for j in range(i + 1, k):
            s -= L[j, i] * trial[j]
        trial[i] = s / L[i, i]


@part(allocates=True)
def solve_gram(G, b, n, tol, a):
    """Weights of the solution into a[:n]; returns the largest gradient left, a bound on what optimality lacks."""
    L = np.empty((n, n))
    y = np.empty(n)
    trial = np.empty(n)
    chosen = np.empty(n, np.int64)
    weight = np.zeros(n)
    state = np.zeros(n, np.int8)
    for i in range(n):
        a[i] = 0.0
    k, worst = 0, 0.0
    for _ in range(3 * n + 10):
        best, worst = -1, -np.inf
        for j in range(n):
            if state[j] != 1:
                g = b[j]
                for r in range(k):
                    g -= G[j, chosen[r]] * weight[r]
                worst = max(worst, g)
                if state[j] == 0 and g > tol and (best < 0 or g > trial[0]):
                    best, trial[0] = j, g
        if best < 0:
            break
        if not (enter(G, best, b, L, y, chosen, k) and y[k] > 0.0):
            state[best] = 2
            continue
        state[best] = 1
        weight[k] = 0.0
        k += 1
        while k > 0:
            solve_factor(L, y, k, trial)
            out, step = -1, 1.0
            for i in range(k):
                if trial[i] <= 0.0:
                    f = weight[i] / (weight[i] - trial[i]) if weight[i] > trial[i] else 0.0
                    if out < 0 or f < step:
                        out, step = i, f
            if out < 0:
                break
            for i in range(k):
                weight[i] += step * (trial[i] - weight[i])
            state[chosen[out]] = 0
            for i in range(out, k - 1):
                weight[i] = weight[i + 1]
            leave(out, L, y, chosen, k)
            k -= 1
        for i in range(k):
            weight[i] = trial[i]
    for i in range(k):
        a[chosen[i]] = weight[i]
    return max(worst, 0.0)
