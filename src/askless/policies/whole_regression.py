"""Scores of labels by kernel ridge regression on all examples, as long as these are few enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askless.geometry.jit import kernel, part
from askless.policies.neighbourhood_kernels import Array
from askless.policies.neighbourhoods import RIDGE, Neighbourhoods
from askless.policies.ordered_examples import OrderedExamples

_GROWTH = 1.25


class WholeRegression:
    """The factor U of U' U = K + lambda I, with K_ij = exp(cos - 1) for each two examples; a column for each example.

    The nearest examples tell labels apart that lie close together; all of them together also say in which directions
    the labels differ, and the two err on different queries. A column depends on the examples before it alone, so what
    the first n of them say to a query comes from the first n columns, however many there are by now. Labels are not in
    it: to relabel changes nothing. It is for the sphere, where the kernel does not depend on the other examples.
    """

    def __init__(self, examples: OrderedExamples) -> None:
        self._examples = examples
        self._upper = np.zeros((0, 0))
        self._columns = 0  # that are true

    def changed(self, position: int) -> None:
        """The example at `position` was taken out: the columns from there on are no longer true."""
        self._columns = min(self._columns, position)

    def scores(
        self, queries: NDArray[np.float32], found: Neighbourhoods, upto: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The score of each candidate that was found for a query, by all of the first `upto` examples."""
        examples, scores = self._examples, np.zeros(found.labels.shape)
        self._grow(int(upto.max()))
        _scores(examples.rows, examples.numbers, self._upper, queries, upto, found.labels, found.found, scores)
        return scores

    def _grow(self, n: int) -> None:
        if n > len(self._upper):
            upper = np.zeros((max(64, n, int(_GROWTH * len(self._upper))),) * 2)
            upper[: self._columns, : self._columns] = self._upper[: self._columns, : self._columns]
            self._upper = upper
        if n > self._columns:
            _factor(self._examples.rows, self._columns, n, RIDGE, self._upper)
            self._columns = n


@part
def _kernel(rows: Array, n: int, q: Array, out: Array) -> None:
    """exp(cos - 1) of a query with each of the first n rows."""
    for i in range(n):
        row, product = rows[i], np.float32(0.0)
        for k in range(len(q)):
            product += row[k] * q[k]
        out[i] = np.exp(np.float64(product) - 1.0)


@part
def _forward(upper: Array, n: int, y: Array) -> None:
    """Replace y by the solution of U' x = y."""
    for i in range(n):
        y[i] /= upper[i, i]
        value, row, later = y[i], upper[i, i + 1 : n], y[i + 1 : n]  # from zero on, for vector registers
        for j in range(len(later)):
            later[j] -= value * row[j]


@part
def _backward(upper: Array, n: int, y: Array) -> None:
    """Replace y by the solution of U x = y."""
    for i in range(n - 1, -1, -1):
        total, row, later = 0.0, upper[i, i + 1 : n], y[i + 1 : n]
        for j in range(len(later)):
            total += row[j] * later[j]
        y[i] = (y[i] - total) / upper[i, i]


@kernel
def _factor(rows: Array, start: int, stop: int, ridge: float, upper: Array) -> None:
    """Add the columns of the rows from `start` on; those before are there."""
    column = np.empty(stop)
    for n in range(start, stop):
        _kernel(rows, n, rows[n], column)
        _forward(upper, n, column)
        rest = 1.0 + ridge
        for i in range(n):
            upper[i, n] = column[i]
            rest -= column[i] * column[i]
        upper[n, n] = np.sqrt(max(rest, ridge))  # never below it, but for rounding


@kernel
def _scores(rows: Array, numbers: Array, upper: Array, queries: Array, upto: Array, labels: Array, found: Array,
            scores: Array) -> None:  # fmt: skip
    """The sum of the parts of each candidate's examples."""
    parts = np.empty(len(upper))
    for b in range(len(queries)):
        _kernel(rows, upto[b], queries[b], parts)
        _forward(upper, upto[b], parts)
        _backward(upper, upto[b], parts)
        for c in range(found[b]):
            for i in range(upto[b]):
                if numbers[i] == labels[b, c]:
                    scores[b, c] += parts[i]
