"""The labels that the nearest examples name, and how likely each is, compiled, for a block of queries."""

from __future__ import annotations

import numpy as np

from askless.geometry.jit import kernel, part
from askless.geometry.pricing import keep_largest
from askless.policies.neighbourhood_kernels import Places, regressions
from askless.policies.regression_kernels import Array


@part(allocates=True)
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


@part(allocates=True)
def _candidates(at: Places, upto: Array, queries: Array, spread: Array, on_sphere: bool, near: Array, sizes: Array,
               similarity: Array, part: Array, labels: Array, features: Array, counts: Array, closest: Array,
               found: Array) -> None:  # fmt: skip
    """The labels with the largest scores, best first, of equals the older.

    Of each its features, how many examples it has, and the nearest of them.
    """
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
            counts[b, c] = _sum_of_label(at, number, upto[b], total)
            features[b, c, 0] = score[number]
            features[b, c, 1] = _likeness(total, counts[b, c], queries[b], spread[b], on_sphere)


@kernel
def surroundings(keys: Array, upto: Array, at: Places, squares: Array, queries: Array, spread: Array, ridge: float,
                 on_sphere: bool, near: Array, similarity: Array, part: Array, sizes: Array, labels: Array,
                 features: Array, counts: Array, closest: Array, found: Array) -> None:  # fmt: skip
    """The nearest examples of each query with the part of each, and the labels that these name: `regressions` first.

    One call for both: each way back into Python waits for the interpreter, which other threads may hold.
    """
    distances = np.full(near.shape, np.inf)
    regressions(keys, upto, at, squares, queries, spread, ridge, near, distances, part, sizes)
    for b in range(len(queries)):
        for k in range(near.shape[1]):
            similarity[b, k] = 1.0 - distances[b, k] / spread[b]
    _candidates(
        at, upto, queries, spread, on_sphere, near, sizes, similarity, part, labels, features, counts, closest, found
    )


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


@kernel
def strongest(near: Array, sizes: Array, part: Array, numbers: Array, best: Array, found: Array, counts: Array) -> None:
    """Which of the nearest have the largest positive parts in the score of the label `best`, of equals the older."""
    values = np.empty(found.shape[1])
    for b in range(len(near)):
        for k in range(sizes[b]):
            if numbers[near[b, k]] == best[b] and part[b, k] > 0.0:
                counts[b] = keep_largest(part[b, k], k, values, found[b], counts[b])
