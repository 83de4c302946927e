"""Scores of labels for one query: kernel ridge regression on the examples nearest to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.policies.ordered_examples import OrderedExamples

NEIGHBOURS = 96
RIDGE = 0.05

_STRIDE = 8


class Neighbours(NamedTuple):
    """The examples nearest to a query: their positions, similarities, and parts in the scores of their labels."""

    positions: NDArray[np.intp]
    similarity: NDArray[np.float64]
    part: NDArray[np.float64]
    products: NDArray[np.float32]  # of the query with every example asked about


def neighbours(examples: OrderedExamples, q: NDArray[np.float32], products: NDArray[np.floating]) -> Neighbours:
    """The nearest of the first `len(products)` examples, and the weight of each in the ridge regression.

    The similarity is 1 - |x - q|^2 / D, with D the mean squared distance between two examples: on the sphere, where
    D is taken as 2, the cosine. With the kernel k = exp(similarity - 1), the score of label c is

        f_c = k(q)' (K + lambda I)^-1 y_c = the sum of part_i over the examples i of c,     y_c their indicator,

    so a score is a sum of the examples' parts, and these are the evidence for it. Restricting the regression to the
    nearest examples bounds its cost, whatever their number: 64 to 256 of them gave the same regret as all. Where
    these have one label only, the nearest example of any other comes along: else that label would seem certain, even
    to a query far from everything.
    """
    upto = len(products)
    spread = examples.spread(upto, q)
    rows = examples.rows
    similarity, norms = products, None
    if not examples.on_sphere:
        norms = examples.squares[:upto]
        similarity = 1.0 - (norms + float(q @ q) - 2.0 * products) / spread
    near = _nearest(similarity, examples.numbers[:upto]) if upto > NEIGHBOURS else np.arange(upto)
    close = rows[near]
    gram = (close @ close.T).astype(np.float64)
    if norms is not None:
        gram = 1.0 - (norms[near][:, None] + norms[near] - 2.0 * gram) / spread
    kernel = np.exp(gram - 1.0)
    kernel.flat[:: len(near) + 1] = 1.0 + RIDGE
    found = similarity[near].astype(np.float64)
    # numpy's solver, not scipy's: two libraries with threads of their own would wait for each other.
    return Neighbours(near, found, np.linalg.solve(kernel, np.exp(found - 1.0)), products)


def _nearest(similarity: NDArray[np.floating], numbers: NDArray[np.int32]) -> NDArray[np.intp]:
    near = _largest(similarity)
    label = numbers[near[0]]
    if (numbers[near] == label).all():
        others = np.flatnonzero(numbers != label)
        if len(others):
            near = np.append(near, others[similarity[others].argmax()])
    near.sort()
    return near


def _largest(values: NDArray[np.floating]) -> NDArray[np.intp]:
    """Where the largest are, `NEIGHBOURS` of them, in no order.

    A bar is set at the value that 24 of every eighth value reach, so that about twice as many as wanted lie above it,
    and only those are put in order. Where fewer than wanted do, all are.
    """
    sample = values[::_STRIDE]
    rank = 2 * NEIGHBOURS // _STRIDE
    if len(sample) > 4 * rank:
        above = np.flatnonzero(values >= np.partition(sample, -rank)[-rank])
        if len(above) >= NEIGHBOURS:
            return above[np.argpartition(-values[above], NEIGHBOURS - 1)[:NEIGHBOURS]]
    return np.argpartition(-values, NEIGHBOURS - 1)[:NEIGHBOURS]
