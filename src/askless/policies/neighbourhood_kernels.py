"""The local regression, compiled, for a block of queries: the nearest examples of each, and the part of each of these.

What comes out for a query depends on that query and the examples alone, to the last bit, and not on the block that
it comes in. The products of a block with all examples, which BLAS rounds by the shape of the block, only say where to
look: what counts is measured again here, pair by pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.geometry.jit import kernel, part

Array = NDArray[Any]
_FAR = 10.0  # times what float32 rounds off a product, for sums of many of them


class Places(NamedTuple):
    """The examples as the kernels read them."""

    rows: Array
    numbers: Array  # the label of each
    previous: Array  # the example of the same label before it, or -1
    last: Array  # the newest example of each label
    counts: Array  # of each label
    slots: Array  # where a label's sum is kept, or -1
    sums: Array  # of the labels with many examples


# -- the nearest ------------------------------------------------------------------------------------------------------
@part
def _square_distance(x: Array, y: Array) -> float:
    total = 0.0
    for k in range(len(x)):
        gap = np.float64(x[k]) - np.float64(y[k])
        total += gap * gap
    return total


@part
def _subtract(x: Array, y: Array, out: Array) -> None:
    for k in range(len(x)):
        out[k] = x[k] - y[k]


@part
def _slack(p: float, q: float, dim: int) -> float:
    """What float32 may have rounded off the key of vectors of these lengths."""
    return (dim + 4) * 2.0**-24 * p * (q + p)


@part(allocates=True)
def _bar(keys: Array, upto: int, most: int) -> float:
    """A key that more examples reach than are wanted, and about twice as many at most where there are thousands.

    The examples are dealt into groups; one and a half times as many of these have a key as large as that.
    """
    groups = 5 * most
    if upto <= 2 * groups:
        return -np.inf
    largest = keys[:groups].copy()
    for start in range(groups, upto, groups):
        there = keys[start : min(start + groups, upto)]
        for k in range(len(there)):
            largest[k] = there[k] if there[k] > largest[k] else largest[k]
    rank = groups - most - most // 2
    return float(np.partition(largest, rank)[rank])


@part
def _at_least(keys: Array, bar: float, upto: int, found: Array) -> int:
    """Which keys reach the bar; returns how many."""
    count = 0
    for i in range(upto):
        found[count] = i
        count += int(keys[i] >= bar)
    return count


@part(allocates=True)
def _may_be_nearest(keys: Array, upto: int, lengths: Array, longest: float, length: float, dim: int, most: int,
                    found: Array) -> int:  # fmt: skip
    """A few more than the nearest: all examples that may be among them, whatever was rounded. Returns how many."""
    bar = _bar(keys, upto, most)
    count: int = _at_least(keys, bar, upto, found)
    if count < most:
        bar = -np.inf
        count = _at_least(keys, bar, upto, found)
    if count <= most:
        return count
    reached = float(-np.partition(-keys[found[:count]], most - 1)[most - 1])
    slack = 0.0
    for k in range(count):
        if keys[found[k]] >= reached:
            slack = max(slack, _slack(lengths[found[k]], length, dim))
    needed = reached - slack
    if bar + _slack(longest, length, dim) >= needed:  # so may one below the bar
        count = _at_least(keys, -np.inf, upto, found)
    kept = 0
    for k in range(count):
        i = found[k]
        found[kept] = i
        kept += int(keys[i] + _slack(lengths[i], length, dim) >= needed)
    return kept


@part(allocates=True)
def _keep_nearest(found: Array, measured: Array, count: int, most: int) -> int:
    """Keep the nearest and their order, and of equally near ones the oldest; returns how many are kept."""
    if count <= most:
        return count
    limit = np.partition(measured[:count], most - 1)[most - 1]
    room = most
    for k in range(count):
        room -= measured[k] < limit
    kept = 0
    for k in range(count):
        equal = measured[k] == limit
        if measured[k] < limit or (equal and room > 0):
            found[kept], measured[kept] = found[k], measured[k]
            kept += 1
            room -= equal
    return kept


@part
def _another_label(keys: Array, lengths: Array, upto: int, length: float, rows: Array, q: Array, numbers: Array,
                   label: int) -> int:  # fmt: skip
    """The nearest of the examples with any other label than this one, or -1."""
    needed = -np.inf
    for i in range(upto):
        if numbers[i] != label:
            needed = max(needed, keys[i] - _slack(lengths[i], length, len(q)))
    best, least = -1, np.inf
    for i in range(upto):
        if numbers[i] != label and keys[i] + _slack(lengths[i], length, len(q)) >= needed:
            distance = _square_distance(rows[i], q)
            if distance < least:
                best, least = i, distance
    return best


@part
def _all_alike(found: Array, count: int, numbers: Array) -> bool:
    others = 0
    for k in range(1, count):
        others += numbers[found[k]] != numbers[found[0]]
    return others == 0


@part(allocates=True)
def _nearest(keys: Array, upto: int, at: Places, lengths: Array, longest: float, q: Array, most: int, found: Array,
             measured: Array) -> int:  # fmt: skip
    """The `most` nearest of the first `upto` examples to a query, oldest first; returns how many.

    What may be among the nearest is measured. Where all of the nearest have one label, one more comes along: the
    nearest with another.
    """
    rows, numbers, dim = at.rows, at.numbers, at.rows.shape[1]
    length = np.sqrt(_square_distance(q, np.zeros_like(q)))
    count: int = _may_be_nearest(keys, upto, lengths, longest, length, dim, most, found)
    for k in range(count):
        measured[k] = _square_distance(rows[found[k]], q)
    count = _keep_nearest(found, measured, count, most)
    if upto > most and _all_alike(found, count, numbers):
        other = _another_label(keys, lengths, upto, length, rows, q, numbers, numbers[found[0]])
        if other >= 0:
            place = count
            while place > 0 and found[place - 1] > other:
                found[place], measured[place] = found[place - 1], measured[place - 1]
                place -= 1
            found[place], measured[place] = other, _square_distance(rows[other], q)
            count += 1
    return count


# -- the regression ---------------------------------------------------------------------------------------------------
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
def _inner_products(x: Array, n: int, out: Array) -> None:
    """The upper half of the inner products of the first n rows, in tiles of four by two; x has three rows to spare.

    For matrices as small as this one, half the time of BLAS, which would wake its threads besides.
    """
    zero = np.float32(0.0)
    for i in range(0, n, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(i, n, 2):
            p, q = x[j], x[j + 1]
            ap, bp, cp, dp, aq, bq, cq, dq = zero, zero, zero, zero, zero, zero, zero, zero
            for k in range(len(p)):
                ap += a[k] * p[k]
                aq += a[k] * q[k]
                bp += b[k] * p[k]
                bq += b[k] * q[k]
                cp += c[k] * p[k]
                cq += c[k] * q[k]
                dp += d[k] * p[k]
                dq += d[k] * q[k]
            out[i, j], out[i + 1, j], out[i + 2, j], out[i + 3, j] = ap, bp, cp, dp
            out[i, j + 1], out[i + 1, j + 1], out[i + 2, j + 1], out[i + 3, j + 1] = aq, bq, cq, dq


@part(allocates=True)
def _kernel_matrix(seen: Array, gram: Array, n: int, spread: float, ridge: float, out: Array, bits: Array) -> None:
    """exp(-|p - r|^2 / D) for each two of the nearest, from their inner products; the upper half, with the ridge.

    Where they lie so far from the point they are seen from that rounding could outweigh the ridge, and the matrix not
    be positive definite, each two are measured instead.
    """
    squares = np.empty(n)
    for i in range(n):
        squares[i] = gram[i, i]
    far = _FAR * n * 2.0**-24 * squares.max() > ridge * spread
    for i in range(n):
        own, later = squares[i], out[i, i + 1 : n]
        for j in range(i + 1, n):
            later[j - i - 1] = -(own + squares[j] - 2.0 * np.float64(gram[i, j])) / spread
        if far:
            for j in range(i + 1, n):
                later[j - i - 1] = -_square_distance(seen[i], seen[j]) / spread
        exponentials(later, bits)
        out[i, i] = 1.0 + ridge


@part
def _eliminate(matrix: Array, i: int, stop: int, n: int) -> None:
    """Make row i of the factor, and take its part out of the rows after it, up to `stop`."""
    row, pivot = matrix[i], 1.0 / np.sqrt(matrix[i, i])
    for j in range(i, n):
        row[j] *= pivot
    for k in range(i + 1, stop):
        other, c = matrix[k], row[k]
        for j in range(k, n):
            other[j] -= c * row[j]


@part
def _factor(matrix: Array, n: int) -> None:
    """Replace the upper half by U with U' U = matrix; four rows at a time are taken out of the rows after them."""
    whole = n - n % 4
    for i in range(0, whole, 4):
        for k in range(i, i + 4):
            _eliminate(matrix, k, i + 4, n)
        p, q, r, s = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        for k in range(i + 4, n):
            other, a, b, c, d = matrix[k], p[k], q[k], r[k], s[k]
            for j in range(k, n):
                other[j] -= a * p[j] + b * q[j] + c * r[j] + d * s[j]
    for i in range(whole, n):
        _eliminate(matrix, i, n, n)


@part
def _solve(upper: Array, n: int, y: Array) -> None:
    """Replace y by the solution of U' U x = y."""
    for i in range(n):
        y[i] /= upper[i, i]
        for j in range(i + 1, n):
            y[j] -= y[i] * upper[i, j]
    for i in range(n - 1, -1, -1):
        total = 0.0
        for j in range(i + 1, n):
            total += upper[i, j] * y[j]
        y[i] = (y[i] - total) / upper[i, i]


@kernel
def regressions(keys: Array, upto: Array, at: Places, lengths: Array, queries: Array, spread: Array, ridge: float,
                near: Array, distances: Array, part: Array, sizes: Array) -> None:  # fmt: skip
    """The nearest of the first `upto` examples to each query, their squared distances, and the part of each.

    `keys` are <q, p> - |p|^2 / 2 in float32, up to a constant: the larger, the nearer. The nearest are multiplied with
    each other as seen from the first of them: in float32 that keeps what lies between them.
    """
    rows, dim, most = at.rows, at.rows.shape[1], near.shape[1] - 1
    found, measured, longest = np.empty(len(rows) + 1, np.int64), np.empty(len(rows) + 1), lengths.max()
    seen, bits = np.zeros((most + 4, dim), np.float32), np.empty(most + 4, np.int64)
    gram, matrix = np.empty((most + 4, most + 4), np.float32), np.empty((most + 4, most + 4))
    for b in range(len(queries)):
        n: int = _nearest(keys[b], upto[b], at, lengths, longest, queries[b], most, found, measured)
        sizes[b], middle = n, found[np.argmin(measured[:n])]
        for k in range(n):
            near[b, k], distances[b, k] = found[k], measured[k]
            part[b, k] = -measured[k] / spread[b]
            _subtract(rows[found[k]], rows[middle], seen[k])
        _inner_products(seen, n, gram)
        _kernel_matrix(seen, gram, n, spread[b], ridge, matrix, bits)
        _factor(matrix, n)
        exponentials(part[b, :n], bits)
        _solve(matrix, n, part[b])
