"""Kernel ridge regression on a few examples, compiled: the part of each of them in what they say to a query.

Loops run over pieces of rows that begin and end at multiples of `_LANES`, so that vector registers leave no rest to go
through number by number, and over slices, since an index that might be negative keeps the compiler from those. What a
piece holds before the diagonal or after the last column is no part of the matrix, and never counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.geometry.jit import part

Array = NDArray[Any]
_FAR = 10.0  # times what float32 rounds off a product, for sums of many of them
_LANES = 8
_START = -_LANES  # an index & this is where its piece begins


@part
def _end(n: int) -> int:
    """Where the last piece of n columns ends."""
    return (n + _LANES - 1) & _START


@part
def side_for(n: int) -> int:
    """The rows and columns that the matrices need for n examples, the three to spare included."""
    end: int = _end(n + 3)
    return end


@part
def square_distance(x: Array, y: Array) -> float:
    """The squared distance, in float64 whatever they are."""
    total = 0.0
    for k in range(len(x)):
        gap = np.float64(x[k]) - np.float64(y[k])
        total += gap * gap
    return total


@part(allocates=True)
def exponentials(x: Array, bits: Array) -> None:
    """Replace x, of which nothing is positive beyond rounding, by its exponentials; `bits` is scratch.

    exp(x) = 2^k exp(r) with |r| <= ln(2) / 2, by its series: within two units in the last place, in vector registers,
    where a call of the library's exp would be one number at a time. Below -700 all are exp(-700).
    """
    power = bits.view(np.float64)
    for j in range(len(x)):
        y = max(x[j], -700.0)
        k = np.floor(y * 1.4426950408889634 + 0.5)
        r = (y - k * 0.693145751953125) - k * 1.42860682030941723212e-6
        series = 1.0 + r * (1.0 / 13.0)
        series = 1.0 + r * (1.0 / 12.0) * series
        series = 1.0 + r * (1.0 / 11.0) * series
        series = 1.0 + r * (1.0 / 10.0) * series
        series = 1.0 + r * (1.0 / 9.0) * series
        series = 1.0 + r * (1.0 / 8.0) * series
        series = 1.0 + r * (1.0 / 7.0) * series
        series = 1.0 + r * (1.0 / 6.0) * series
        series = 1.0 + r * (1.0 / 5.0) * series
        series = 1.0 + r * (1.0 / 4.0) * series
        series = 1.0 + r * (1.0 / 3.0) * series
        series = 1.0 + r * (1.0 / 2.0) * series
        x[j] = 1.0 + r * series
        bits[j] = (np.int64(k) + 1023) << 52
    for j in range(len(x)):
        x[j] *= power[j]


@part
def inner_products(x: Array, n: int, out: Array) -> None:
    """The upper half of the inner products of the first n rows, in tiles of four by three; x has three to spare.

    For matrices as small as this one, half the time of BLAS, which would wake its threads besides.
    """
    zero = np.float32(0.0)
    for i in range(0, n, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(i, n, 3):
            p, q, r = x[j], x[j + 1], x[j + 2]
            ap, bp, cp, dp, aq, bq, cq, dq, ar, br, cr, dr = (
                zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero
            )  # fmt: skip
            for k in range(len(p)):
                ap += a[k] * p[k]
                aq += a[k] * q[k]
                ar += a[k] * r[k]
                bp += b[k] * p[k]
                bq += b[k] * q[k]
                br += b[k] * r[k]
                cp += c[k] * p[k]
                cq += c[k] * q[k]
                cr += c[k] * r[k]
                dp += d[k] * p[k]
                dq += d[k] * q[k]
                dr += d[k] * r[k]
            out[i, j], out[i + 1, j], out[i + 2, j], out[i + 3, j] = ap, bp, cp, dp
            out[i, j + 1], out[i + 1, j + 1], out[i + 2, j + 1], out[i + 3, j + 1] = aq, bq, cq, dq
            out[i, j + 2], out[i + 1, j + 2], out[i + 2, j + 2], out[i + 3, j + 2] = ar, br, cr, dr


@part(allocates=True)
def kernel_matrix(seen: Array, gram: Array, n: int, spread: float, ridge: float, out: Array, bits: Array) -> None:
    """exp(-|p - r|^2 / D) for each two examples, from their inner products; the upper half, with the ridge.

    Where they lie so far from the point they are seen from that rounding could outweigh the ridge, and the matrix not
    be positive definite, each two are measured instead.
    """
    end = _end(n)
    squares = np.zeros(end)
    for i in range(n):
        squares[i] = gram[i, i]
    far = _FAR * n * 2.0**-24 * squares.max() > ridge * spread
    for i in range(n):
        start, own = i & _START, squares[i]
        later, inner, others = out[i, start:end], gram[i, start:end], squares[start:end]
        for j in range(len(later)):
            later[j] = -(own + others[j] - 2.0 * np.float64(inner[j])) / spread
        if far:
            for j in range(i + 1, n):
                out[i, j] = -square_distance(seen[i], seen[j]) / spread
        exponentials(later, bits)
        out[i, i] = 1.0 + ridge


@part
def _eliminate(matrix: Array, i: int, stop: int, n: int) -> None:
    """Make row i of the factor, zero but for its part of the matrix, and take it out of the next ones, up to `stop`."""
    start, end = i & _START, _end(n)
    row, pivot = matrix[i, start:end], 1.0 / np.sqrt(matrix[i, i])
    for j in range(len(row)):
        row[j] *= pivot
    matrix[i, start:i] = 0.0
    matrix[i, n:end] = 0.0
    for k in range(i + 1, stop):
        c, start = matrix[i, k], k & _START
        row, other = matrix[i, start:end], matrix[k, start:end]
        for j in range(len(other)):
            other[j] -= c * row[j]


@part
def factor(matrix: Array, n: int) -> None:
    """Replace the upper half by U with U' U = matrix; four rows at a time are taken out of the rows after them."""
    end = _end(n)
    for i in range(0, n, 4):
        stop = min(i + 4, n)
        for k in range(i, stop):
            _eliminate(matrix, k, stop, n)
        for k in range(i + 4, n):
            a, b, c, d, start = matrix[i, k], matrix[i + 1, k], matrix[i + 2, k], matrix[i + 3, k], k & _START
            p, q, other = matrix[i, start:end], matrix[i + 1, start:end], matrix[k, start:end]
            r, s = matrix[i + 2, start:end], matrix[i + 3, start:end]
            for j in range(len(other)):
                other[j] -= a * p[j] + b * q[j] + c * r[j] + d * s[j]


@part
def solve(upper: Array, n: int, y: Array) -> None:
    """Replace y by the solution of U' U x = y, for a factor as `factor` leaves it."""
    end = _end(n)
    y[n:end] = 0.0
    for i in range(n):
        start, found = i & _START, y[i] / upper[i, i]
        row, later = upper[i, start:end], y[start:end]
        for j in range(len(later)):
            later[j] -= found * row[j]
        y[i] = found
    for i in range(n - 1, -1, -1):
        start, found, total = i & _START, y[i], 0.0
        y[i] = 0.0
        row, later = upper[i, start:end], y[start:end]
        for j in range(len(later)):
            total += later[j] * row[j]
        y[i] = (found - total) / upper[i, i]
