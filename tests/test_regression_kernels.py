"""The compiled regression on a few examples, against numpy, from scratch arrays that hold anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from askless.geometry.jit import kernel
from askless.policies import regression_kernels

Array = NDArray[Any]
MOST, RIDGE, SPREAD = 97, 0.05, 2.0


@kernel
def _parts(seen: Array, n: int, gram: Array, matrix: Array, bits: Array, y: Array) -> None:
    regression_kernels.inner_products(seen, n, gram)
    regression_kernels.kernel_matrix(seen, gram, n, SPREAD, RIDGE, matrix, bits)
    regression_kernels.factor(matrix, n)
    regression_kernels.solve(matrix, n, y)


@kernel
def _side(n: int) -> int:
    return int(regression_kernels.side_for(n))


def parts(x: Array, y: Array, left_over: float) -> Array:
    """(K + lambda I)^-1 y for these examples; what the scratch arrays held before is `left_over`."""
    n, side = len(x), _side(len(x))
    seen = np.full((side, x.shape[1]), left_over, dtype=np.float32)
    seen[:n] = x
    gram, matrix = np.full((side, side), left_over, dtype=np.float32), np.full((side, side), left_over)
    found = np.full(side, left_over)
    found[:n] = y
    _parts(seen, n, gram, matrix, np.zeros(side, dtype=np.int64), found)
    return found[:n]


def by_numpy(x: Array, y: Array) -> Array:
    """The same in float64, from distances that are measured."""
    gaps = x.astype(float)[:, None] - x.astype(float)
    K = np.exp(-(gaps**2).sum(axis=2) / SPREAD)
    return np.linalg.solve(K + RIDGE * np.eye(len(x)), y)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 30.0])
def test_parts_are_those_of_numpy_for_every_number_of_examples(scale: float) -> None:
    rng = np.random.default_rng(3)
    for n in range(1, MOST + 1):
        x = (scale * rng.standard_normal((n, int(rng.integers(1, 40))))).astype(np.float32)
        y = rng.standard_normal(n)
        np.testing.assert_allclose(parts(x, y, 0.0), by_numpy(x, y), atol=2e-4 * np.abs(y).max())


@pytest.mark.parametrize("left_over", [np.nan, np.inf, -1e30])
def test_what_the_scratch_arrays_held_before_does_not_count(left_over: float) -> None:
    rng = np.random.default_rng(4)
    for n in (1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 95, 96, 97):
        x, y = rng.standard_normal((n, 16)).astype(np.float32) / 4.0, rng.standard_normal(n)
        assert parts(x, y, left_over).tobytes() == parts(x, y, 0.0).tobytes()


def test_equal_examples_share_the_part_of_one() -> None:
    x, y = np.zeros((MOST, 5), dtype=np.float32), np.ones(MOST)
    np.testing.assert_allclose(parts(x, y, 0.0), 1.0 / (MOST + RIDGE), rtol=1e-9)
