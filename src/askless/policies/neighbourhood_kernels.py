"""Compiled parts of the local regression, each for a block of queries: the nearest examples, the solve, the candidates.

What they compute for a query depends on that query and the examples alone, to the last bit, and not on the block that
it comes in. The products of a block with all examples, which BLAS rounds by the shape of the block, only say where to
look: what counts is measured again here, pair by pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.geometry.jit import kernel, part

Array = NDArray[Any]
_STRIDE = 8


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


@part
def _bar(keys: Array, upto: int, most: int) -> float:
    """A key that about twice as many examples reach as are wanted, from every eighth of them."""
    rank = 2 * most // _STRIDE
    if upto <= 4 * rank * _STRIDE:
        return -np.inf
    sample = -keys[:upto:_STRIDE]
    return float(-np.partition(sample, rank - 1)[rank - 1])


@part
def _at_least(keys: Array, bar: float, upto: int, found: Array) -> int:
    """Which keys reach the bar; returns how many."""
    count = 0
    for i in range(upto):
        found[count] = i
        count += int(keys[i] >= bar)
    return count


@part
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


@part
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


@kernel
def nearest(keys: Array, upto: Array, at: Places, lengths: Array, queries: Array, most: int,
            near: Array, distances: Array, seen: Array, sizes: Array) -> None:  # fmt: skip
    """The `most` nearest of the first `upto` examples to each query, oldest first.

    `keys` are <q, p> - |p|^2 / 2 in float32, up to a constant: the larger, the nearer. What may be among the nearest
    is measured. Where all of the nearest have one label, one more comes along: the nearest with another. `distances`
    are squared, `seen` are the examples as seen from the nearest: in float32 that keeps what lies between them.
    """
    rows, numbers, dim = at.rows, at.numbers, at.rows.shape[1]
    found, measured, longest = np.empty(len(rows) + 1, np.int64), np.empty(len(rows) + 1), lengths.max()
    for b in range(len(queries)):
        q, stop = queries[b], upto[b]
        length = np.sqrt(_square_distance(q, np.zeros_like(q)))
        count = _may_be_nearest(keys[b], stop, lengths, longest, length, dim, most, found)
        for k in range(count):
            measured[k] = _square_distance(rows[found[k]], q)
        count = _keep_nearest(found, measured, count, most)
        if stop > most and _all_alike(found, count, numbers):
            other = _another_label(keys[b], lengths, stop, length, rows, q, numbers, numbers[found[0]])
            if other >= 0:
                place = count
                while place > 0 and found[place - 1] > other:
                    found[place], measured[place] = found[place - 1], measured[place - 1]
                    place -= 1
                found[place], measured[place] = other, _square_distance(rows[other], q)
                count += 1
        sizes[b], middle = count, found[np.argmin(measured[:count])]
        for k in range(count):
            near[b, k], distances[b, k] = found[k], measured[k]
            _subtract(rows[found[k]], rows[middle], seen[b, k])


# -- the regression ---------------------------------------------------------------------------------------------------
@kernel
def exponents(gram: Array, spread: Array, out: Array) -> None:
    """-|p - r|^2 / D for each two of the nearest, from their inner products as seen from one of them."""
    for b in range(len(gram)):
        for i in range(gram.shape[1]):
            own = np.float64(gram[b, i, i])
            for j in range(gram.shape[1]):
                out[b, i, j] = -(own + gram[b, j, j] - 2.0 * np.float64(gram[b, i, j])) / spread[b]


@kernel
def solve(lower: Array, x: Array) -> None:
    """Replace each row b of x by the solution of L L' x = b."""
    n = lower.shape[1]
    for b in range(len(lower)):
        factor, y = lower[b], x[b]
        for i in range(n):
            total = 0.0
            for j in range(i):
                total += factor[i, j] * y[j]
            y[i] = (y[i] - total) / factor[i, i]
        for i in range(n - 1, -1, -1):
            y[i] /= factor[i, i]
            for j in range(i):
                y[j] -= y[i] * factor[i, j]


# -- the candidates ---------------------------------------------------------------------------------------------------
@part
def _sum_of_label(at: Places, number: int, upto: int, total: Array) -> int:
    """The sum of a label's rows among the first `upto`; returns how many they are."""
    if upto == len(at.rows) and at.slots[number] >= 0:
        total[:] = at.sums[at.slots[number]]
        return int(at.counts[number])
    total[:] = 0.0
    count, i = 0, at.last[number]
    while i >= 0:
        if i < upto:
            count += 1
            for j in range(len(total)):
                total[j] += at.rows[i, j]
        i = at.previous[i]
    return count


@part
def _likeness(total: Array, count: int, q: Array, spread: float, on_sphere: bool) -> float:
    """How like the query is to the mean of a label."""
    if on_sphere:
        dot, norm = 0.0, 0.0
        for j in range(len(q)):
            dot += q[j] * total[j]
            norm += total[j] * total[j]
        return float(dot / np.sqrt(max(norm, 1e-12)))
    square = 0.0
    for j in range(len(q)):
        gap = q[j] - total[j] / count
        square += gap * gap
    return 1.0 - square / spread


@kernel
def candidates(at: Places, upto: Array, queries: Array, spread: Array, on_sphere: bool, near: Array, sizes: Array,
               similarity: Array, part: Array, labels: Array, features: Array, closest: Array,
               found: Array) -> None:  # fmt: skip
    """The labels with the largest scores, best first, of equals the older; the features and nearest example of each."""
    most = labels.shape[1]
    score, total = np.zeros(len(at.last)), np.empty(at.rows.shape[1])
    present = np.empty(near.shape[1], np.int64)
    for b in range(len(queries)):
        here = 0
        for k in range(sizes[b]):
            score[at.numbers[near[b, k]]] = np.inf
        for k in range(sizes[b]):
            number = at.numbers[near[b, k]]
            if score[number] == np.inf:
                score[number] = 0.0
                present[here] = number
                here += 1
            score[number] += part[b, k]
        found[b] = min(here, most)
        for c in range(found[b]):
            best = c
            for k in range(c + 1, here):
                if score[present[k]] > score[present[best]]:
                    best = k
            number = present[best]
            present[c + 1 : best + 1] = present[c:best].copy()  # the others stay in the order of their age
            present[c] = number
            labels[b, c], closest[b, c] = number, -1
            for k in range(sizes[b]):
                if at.numbers[near[b, k]] == number and (
                    closest[b, c] < 0 or similarity[b, k] > similarity[b, closest[b, c]]
                ):
                    closest[b, c] = k
            count = _sum_of_label(at, number, upto[b], total)
            features[b, c, 0] = score[number]
            features[b, c, 1] = _likeness(total, count, queries[b], spread[b], on_sphere)
            features[b, c, 2] = 0.2 * np.log1p(count)


@kernel
def judge(features: Array, found: Array, choice: Array, ceiling: float, new: Array, newness: Array, likely: Array,
          order: Array) -> None:  # fmt: skip
    """How likely each candidate is to be right, and the order that this puts them in, the best first.

    A conditional logit among the candidates, times the chance that the label is not a new one where `new` has the
    weights of that; no more than `ceiling`.
    """
    for b in range(len(features)):
        score = np.full(found[b], 0.0)
        for c in range(found[b]):
            for k in range(len(choice)):
                score[c] += features[b, c, k] * choice[k]
        weight = np.exp(score - score.max())
        total, odds = weight.sum(), 0.0
        for k in range(len(new)):
            odds += newness[b, k] * new[k]
        known = 1.0 / (1.0 + np.exp(min(odds, 700.0))) if len(new) else 1.0
        for c in range(found[b]):
            p, at = min(weight[c] / total * known, ceiling), c
            while at > 0 and likely[b, at - 1] < p:
                likely[b, at], order[b, at] = likely[b, at - 1], order[b, at - 1]
                at -= 1
            likely[b, at], order[b, at] = p, c
