"""Scores of labels by kernel ridge regression on all examples, as long as these are few enough."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from askless.geometry.active_set import axpy, dot
from askless.geometry.jit import kernel, part, told_of_compiling
from askless.policies.neighbourhoods import RIDGE, Neighbourhoods
from askless.policies.ordered_examples import OrderedExamples
from askless.policies.regression_kernels import Array, exponentials

_GROWTH = 1.25
_TILE = 128  # examples that are looked at together by all queries of a block, while they are at hand


class WholeRegression:
    """The score f_c = k(q)' a_c of label c, with a_c = (K + lambda I)^-1 y_c and K_ij = exp(cos - 1) over all examples.

    The nearest examples tell labels apart that lie close together; all of them together also say in which directions
    the labels differ, and the two err on different queries. It is for the sphere, where the kernel does not depend on
    the other examples. Kept are the rows of L^-1, with L L' = K + lambda I. Where k is an example's kernel with those
    before it and w = (K + lambda I)^-1 k, which are their parts in what they would have said to it,

        its row is  r = (-w', 1) / u   with  u^2 = 1 + lambda - k' w,   and  a_c = the sum over all rows of (r' y_c) r.

    A row depends on the examples before it alone. The terms of a_c are always added in the order of the examples and
    none is made from the sum so far, so weights that were made anew are those that grew with the answers, to the last
    digit. An answer takes time in the square of the number of examples; a query takes one product with each.
    """

    def __init__(self, examples: OrderedExamples) -> None:
        self._examples = examples
        self.release()

    def release(self) -> None:
        """Keep nothing; where scores are asked for again, all is made anew."""
        self._inverse = np.zeros(0)  # the rows, one after the other
        self._rows = 0  # that are true
        self._weights = np.zeros((0, 0))  # a line for each label with an example, with an entry for each example
        self._line = np.zeros(0, dtype=np.int64)  # of each label, or -1
        self._weighted = 0  # rows that are in the weights

    def forgotten(self, position: int) -> None:
        """The example at `position` was taken out: the rows from there on are no longer true, and nothing is left."""
        self._rows = min(self._rows, position)
        self._inverse[_start(self._rows) :] = 0.0
        self.relabelled()

    def relabelled(self) -> None:
        """Examples have other labels: the weights are no longer true. The rows know of no label."""
        self._weights[:], self._line[:], self._weighted = 0.0, -1, 0

    def scores(self, queries: NDArray[np.float32], found: Neighbourhoods) -> NDArray[np.float64]:
        """The score by all examples of each candidate that was found for a query."""
        examples, scores = self._examples, np.zeros(found.labels.shape)
        self._grow(len(examples))
        self._weigh(len(examples))
        _scores(examples.rows, self._weights, queries, self._line[found.labels], found.found, scores)
        return scores

    def earlier_scores(self, positions: NDArray[np.int64], found: Neighbourhoods) -> NDArray[np.float64]:
        """What the examples before each of these would have said to it, of each candidate that was found for it."""
        scores = np.zeros(found.labels.shape)
        self._grow(int(positions.max()) + 1)
        _earlier_scores(self._inverse, self._examples.numbers, positions, found.labels, found.found, scores)
        return scores

    def _grow(self, n: int) -> None:
        warm_up()
        if n <= self._rows:
            return
        if _start(n) > len(self._inverse):
            inverse = np.zeros(_start(max(64, n, int(_GROWTH * self._rows))))
            inverse[: _start(self._rows)] = self._inverse[: _start(self._rows)]
            self._inverse = inverse
        _add_rows(self._examples.rows, self._rows, n, RIDGE, self._inverse)
        self._rows = n

    def _weigh(self, n: int) -> None:
        if n <= self._weighted:
            return
        numbers, known = self._examples.numbers[:n], len(self._line)
        self._line = np.append(self._line, np.full(len(self._examples.names) - known, -1))
        count = int(self._line.max()) + 1
        for number in dict.fromkeys(numbers[self._weighted :].tolist()):
            if self._line[number] < 0:
                self._line[number], count = count, count + 1
        lines, room = self._weights.shape
        if count > lines or n > room:
            lines = lines if count <= lines else max(16, int(_GROWTH * count))
            room = room if n <= room else max(64, int(_GROWTH * n))
            weights = np.zeros((lines, room))
            weights[: len(self._weights), : self._weighted] = self._weights[:, : self._weighted]
            self._weights = weights
        _add_weights(self._inverse, self._line[numbers], self._weighted, n, self._weights[:count])
        self._weighted = n


def _start(n: int) -> int:
    """Where row n begins: the rows before it have 1, 2, ..., n entries."""
    return n * (n + 1) // 2


_row_start = part(_start)


@part
def _product(x: Array, y: Array) -> float:
    total = np.float32(0.0)
    for k in range(len(x)):
        total += x[k] * y[k]
    return np.float64(total)


@kernel
def _add_rows(rows: Array, start: int, stop: int, ridge: float, inverse: Array) -> None:
    """The rows of the inverse from `start` on; those before are there."""
    near, parts, bits = np.empty(stop), np.empty(stop), np.empty(stop, np.int64)
    for n in range(start, stop):
        for i in range(n):
            near[i] = _product(rows[i], rows[n]) - 1.0
        exponentials(near[:n], bits)
        parts[:n] = 0.0
        rest = 1.0 + ridge
        for i in range(n):
            row = inverse[_row_start(i) : _row_start(i + 1)]
            entry = dot(row, near, i + 1)
            axpy(entry, row, parts, i + 1)
            rest -= entry * entry
        pivot = np.sqrt(max(rest, ridge))  # never below it, but for rounding
        row = inverse[_row_start(n) : _row_start(n + 1)]
        for i in range(n):
            row[i] = -parts[i] / pivot
        row[n] = 1.0 / pivot


@kernel
def _add_weights(inverse: Array, lines: Array, start: int, stop: int, weights: Array) -> None:
    """Add the terms of these rows to the weights; `lines` says which line is that of an example's label."""
    by_line = np.empty(len(weights))
    for n in range(start, stop):
        row = inverse[_row_start(n) : _row_start(n + 1)]
        by_line[:] = 0.0
        for i in range(n + 1):
            by_line[lines[i]] += row[i]
        for line in range(len(weights)):
            axpy(by_line[line], row, weights[line], n + 1)


@kernel
def _scores(rows: Array, weights: Array, queries: Array, lines: Array, found: Array, scores: Array) -> None:
    """What comes out for a query does not depend on the block it comes in, which BLAS would not promise."""
    near, bits = np.empty((len(queries), len(rows))), np.empty(len(rows), np.int64)
    for start in range(0, len(rows), _TILE):
        for b in range(len(queries)):
            for i in range(start, min(start + _TILE, len(rows))):
                near[b, i] = _product(rows[i], queries[b]) - 1.0
    for b in range(len(queries)):
        exponentials(near[b], bits)
        for c in range(found[b]):
            scores[b, c] = dot(near[b], weights[lines[b, c]], len(rows))


@kernel
def _earlier_scores(inverse: Array, numbers: Array, positions: Array, labels: Array, found: Array,
                    scores: Array) -> None:  # fmt: skip
    """The sum of the parts of each candidate's examples."""
    for b in range(len(positions)):
        n = positions[b]
        row = inverse[_row_start(n) : _row_start(n + 1)]
        for c in range(found[b]):
            for i in range(n):
                if numbers[i] == labels[b, c]:
                    scores[b, c] -= row[i] / row[n]


@cache
def warm_up() -> None:
    """Compile the kernels, or load them from the cache, once in a process."""
    with told_of_compiling():
        rows, ones = np.eye(2, dtype=np.float32), np.ones(2, dtype=np.int64)
        inverse, weights, scores = np.zeros(3), np.zeros((1, 2)), np.zeros((2, 1))
        _add_rows(rows, 0, 2, RIDGE, inverse)
        _add_weights(inverse, np.zeros(2, dtype=np.int64), 0, 2, weights)
        _scores(rows, weights, rows, np.zeros((2, 1), dtype=np.int64), ones, scores)
        _earlier_scores(inverse, np.zeros(2, dtype=np.int32), ones, np.zeros((2, 1), dtype=np.int64), ones, scores)
