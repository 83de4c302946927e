"""Scores of labels for a block of queries: kernel ridge regression on the examples nearest to each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.geometry.jit import told_of_compiling
from askless.policies.candidate_kernels import judge, strongest, surroundings
from askless.policies.ordered_examples import OrderedExamples

NEIGHBOURS = 64
RIDGE = 0.05
CANDIDATES = 6
FEATURES = 2

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Neighbourhoods:
    """For each query of a block a line: its nearest examples, the oldest first, and what they say.

    A line of `near`, `similarity` and `part` has `sizes` entries that count, and after them examples that have no say;
    one of `labels`, `features`, `counts` and `closest` has `found`, the label with the largest score first.
    """

    sizes: Places
    near: Places  # positions
    similarity: Floats
    part: Floats  # in the score of its label
    found: Places
    labels: Places
    features: Floats  # score, likeness to the mean of the label
    counts: Places  # of its examples
    closest: Places  # which of the nearest is the nearest of that label


def neighbourhoods(examples: OrderedExamples, queries: Floats32, products: Floats32, upto: Places) -> Neighbourhoods:
    """What the first `upto` examples say to each query; `products` are its products with the examples, up to rounding.

    The similarity is 1 - |x - q|^2 / D, with D the mean squared distance between two examples: on the sphere, where
    D is 2, the cosine. With the kernel k = exp(similarity - 1), the score of label c is

        f_c = k(q)' (K + lambda I)^-1 y_c = the sum of part_i over the examples i of c,     y_c their indicator,

    so a score is a sum of the examples' parts, and these are the evidence for it. Restricting the regression to the
    nearest examples bounds its cost, whatever their number: 64 to 256 of them gave the same regret. Where
    these have one label only, the nearest example of any other comes along: else that label would seem certain, even
    to a query far from everything.
    """
    warm_up()
    return _neighbourhoods(examples, queries, products, upto)


def _neighbourhoods(examples: OrderedExamples, queries: Floats32, products: Floats32, upto: Places) -> Neighbourhoods:
    count, at = len(queries), examples.places()
    spread = np.array([examples.spread(int(n), q) for n, q in zip(upto, queries, strict=True)])
    keys = products if examples.on_sphere else (products - 0.5 * examples.squares).astype(np.float32)
    near = np.zeros((count, NEIGHBOURS + 1), dtype=np.int64)
    similarity, part, sizes = np.zeros(near.shape), np.zeros(near.shape), np.zeros(count, dtype=np.int64)
    labels, counts, closest = (np.zeros((count, CANDIDATES), dtype=np.int64) for _ in range(3))
    features, found = np.zeros((count, CANDIDATES, FEATURES)), np.zeros(count, dtype=np.int64)
    surroundings(
        keys, upto, at, examples.squares, queries, spread, RIDGE, examples.on_sphere, near, similarity, part, sizes,
        labels, features, counts, closest, found,
    )  # fmt: skip
    return Neighbourhoods(sizes, near, similarity, part, found, labels, features, counts, closest)


@cache
def warm_up() -> None:
    """Compile the kernels, or load them from the cache, once in a process."""
    with told_of_compiling():
        examples = OrderedExamples("sphere")
        for k in range(2):
            examples.append(np.eye(2)[k], k, None)
        queries: Any = np.eye(2, dtype=np.float32)
        found = _neighbourhoods(examples, queries, queries @ examples.rows.T, np.array([1, 2]))
        likely, order = np.zeros(found.labels.shape), np.zeros(found.labels.shape, dtype=np.int64)
        judge(found.features, found.found, np.zeros(FEATURES), 1.0, np.zeros(0), np.zeros((2, 3)), likely, order)
        counts = np.zeros(2, dtype=np.int64)
        strongest(found.near, found.sizes, found.part, examples.numbers, order[:, 0], order.copy(), counts)
