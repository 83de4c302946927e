"""The local regression, compiled, for a block of queries: the nearest examples of each, and the part of each of these.

What comes out for a query depends on that query and the examples alone, to the last bit, and not on the block that
it comes in. The products of a block with all examples, which BLAS rounds by the shape of the block, only say where to
look: what counts is measured again here, pair by pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askless.geometry.jit import part
from askless.policies.regression_kernels import (
    Array,
    exponentials,
    factor,
    inner_products,
    kernel_matrix,
    side_for,
    solve,
    square_distance,
)


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
def _subtract(x: Array, y: Array, out: Array) -> None:
    for k in range(len(x)):
        out[k] = x[k] - y[k]


@part
def _slack(square: float, q: float, dim: int) -> float:
    """What float32 may have rounded off the key of an example with this squared length, and a query of length q."""
    p: float = np.sqrt(square)
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
def _may_be_nearest(keys: Array, upto: int, squares: Array, largest: float, length: float, dim: int, most: int,
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
            slack = max(slack, _slack(squares[found[k]], length, dim))
    needed = reached - slack
    if bar + _slack(largest, length, dim) >= needed:  # so may one below the bar
        count = _at_least(keys, -np.inf, upto, found)
    kept = 0
    for k in range(count):
        i = found[k]
        found[kept] = i
        kept += int(keys[i] + _slack(squares[i], length, dim) >= needed)
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


@part(nan=False)
def _largest_of_others(keys: Array, upto: int, numbers: Array, label: int) -> np.float32:
    """The largest key of the examples with any other label than this one."""
    largest = np.float32(-np.inf)
    for i in range(upto):
        key = keys[i] if numbers[i] != label else np.float32(-np.inf)
        largest = key if key > largest else largest
    return largest


@part
def _another_label(keys: Array, squares: Array, upto: int, largest: float, length: float, rows: Array, q: Array,
                   numbers: Array, label: int) -> int:  # fmt: skip
    """The nearest of the examples with any other label than this one, or -1.

    First the key that it reaches, whatever was rounded; then what may reach that is measured.
    """
    dim = len(q)
    most: float = _largest_of_others(keys, upto, numbers, label)
    slack = _slack(largest, length, dim)
    needed = -np.inf
    for i in range(upto):
        if keys[i] >= most - slack and numbers[i] != label:
            needed = max(needed, keys[i] - _slack(squares[i], length, dim))
    best, least = -1, np.inf
    for i in range(upto):
        if keys[i] >= needed - slack and numbers[i] != label and keys[i] + _slack(squares[i], length, dim) >= needed:
            distance = square_distance(rows[i], q)
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
def _nearest(keys: Array, upto: int, at: Places, squares: Array, largest: float, q: Array, most: int, found: Array,
             measured: Array) -> int:  # fmt: skip
    """The `most` nearest of the first `upto` examples to a query, oldest first; returns how many.

    What may be among the nearest is measured. Where all of the nearest have one label, one more comes along: the
    nearest with another.
    """
    rows, numbers, dim = at.rows, at.numbers, at.rows.shape[1]
    length = np.sqrt(square_distance(q, np.zeros_like(q)))
    count: int = _may_be_nearest(keys, upto, squares, largest, length, dim, most, found)
    for k in range(count):
        measured[k] = square_distance(rows[found[k]], q)
    count = _keep_nearest(found, measured, count, most)
    if upto > most and _all_alike(found, count, numbers):
        other = _another_label(keys, squares, upto, largest, length, rows, q, numbers, numbers[found[0]])
        if other >= 0:
            place = count
            while place > 0 and found[place - 1] > other:
                found[place], measured[place] = found[place - 1], measured[place - 1]
                place -= 1
            found[place], measured[place] = other, square_distance(rows[other], q)
            count += 1
    return count


# -- the regression ---------------------------------------------------------------------------------------------------
@part(allocates=True)
def regressions(keys: Array, upto: Array, at: Places, squares: Array, queries: Array, spread: Array, ridge: float,
                near: Array, distances: Array, part: Array, sizes: Array) -> None:  # fmt: skip
    """The nearest of the first `upto` examples to each query, their squared distances, and the part of each.

    `keys` are <q, p> - |p|^2 / 2 in float32, up to a constant: the larger, the nearer. The nearest are multiplied with
    each other as seen from the first of them: in float32 that keeps what lies between them.
    """
    rows, dim, most = at.rows, at.rows.shape[1], near.shape[1] - 1
    found, measured, largest = np.empty(len(rows) + 1, np.int64), np.empty(len(rows) + 1), squares.max()
    side = side_for(most + 1)
    seen, bits, parts = np.zeros((side, dim), np.float32), np.empty(side, np.int64), np.empty(side)
    gram, matrix = np.zeros((side, side), np.float32), np.zeros((side, side))
    for b in range(len(queries)):
        n: int = _nearest(keys[b], upto[b], at, squares, largest, queries[b], most, found, measured)
        sizes[b], middle = n, found[np.argmin(measured[:n])]
        for k in range(n):
            near[b, k], distances[b, k] = found[k], measured[k]
            parts[k] = -measured[k] / spread[b]
            _subtract(rows[found[k]], rows[middle], seen[k])
        inner_products(seen, n, gram)
        kernel_matrix(seen, gram, n, spread[b], ridge, matrix, bits)
        factor(matrix, n)
        exponentials(parts[:n], bits)
        solve(matrix, n, parts)
        part[b, :n] = parts[:n]
