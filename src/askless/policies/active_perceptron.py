"""AMP: a multiclass perceptron that asks when its margin is small."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.inputs import as_fraction
from askless.policies.base import ReplayPolicy
from askless.policies.center_based import N_SUGGESTIONS, smallest_first, with_room
from askless.types import Ask, Decision, Exploring, Guess, Label, LowMargin, NoExamples, Suggestion, Vector

_ZERO = 1e-12  # a weight vector this much shorter than all that was added to it is rounding error


class ActivePerceptron(ReplayPolicy):
    """Guess the label whose weights point along the query, when no other label's do nearly as much.

    A label scores q . w / |w|, and zero while its weights are zero; the policy asks when the best score
    exceeds the second best by at most 2 (1 - tau). An answer adds the query to the true label's weights,
    and subtracts it from those of the label that scores best at that moment where it is another. The
    paper's text updates only the best label; this reading is the one that gives its figures. With
    `n_labels` known, a label without an example scores zero like the others, and where it scores best the
    policy asks. There is no first phase, except that with fewer than two labels it asks. Equal scores go to
    the label that appeared first.

    `distance` is the length of the chord from the query's direction to that of the label's weights. The
    weights are sums and differences of many examples, so guesses carry no evidence. [Crammer and Singer
    2003; Cesa-Bianchi et al. 2004; Reveillard et al. 2026, appendix F.1]
    """

    def __init__(self, tau: float = 0.95, *, space: str = "sphere", n_labels: int | None = None) -> None:
        super().__init__(space=space, n_labels=n_labels)
        self.tau = as_fraction(tau, "tau")
        self._reset()

    def _reset(self) -> None:
        self._names: list[Label] = []
        self._row: dict[Label, int] = {}
        self._weights: NDArray[np.float64] = np.zeros((0, 0))
        self._directions: NDArray[np.float64] = np.zeros((0, 0))  # weights over their norm, or zero
        self._added: list[float] = []  # the sum of the norms of all that was added to or subtracted from a row

    @property
    def _some_label_unseen(self) -> bool:
        return self.n_labels is not None and len(self._names) < self.n_labels

    def _scores(self, q: Vector) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = self._directions[: len(self._names)] @ q
        return scores

    def _learned(self, x: Vector, label: Label) -> None:
        best = self._best(x)
        self._add(self._row_of(label, x.size), x)
        if best is not None and self._names[best] != label:
            self._add(best, -x)

    def _best(self, q: Vector) -> int | None:
        """The row that scores best, or None where a label without an example does."""
        if not self._names:
            return None
        scores = self._scores(q)
        best = int(scores.argmax())
        return None if self._some_label_unseen and scores[best] < 0.0 else best

    def _row_of(self, label: Label, dim: int) -> int:
        if label not in self._row:
            row = len(self._names)
            self._row[label] = row
            self._names.append(label)
            self._added.append(0.0)
            self._weights = with_room(self._weights, row, dim)
            self._directions = with_room(self._directions, row, dim)
        return self._row[label]

    def _add(self, row: int, x: Vector) -> None:
        weights = self._weights[row]
        weights += x
        self._added[row] += math.sqrt(x @ x)
        norm = math.sqrt(weights @ weights)
        self._directions[row] = weights / norm if norm > _ZERO * self._added[row] else 0.0

    def decide(self, x: ArrayLike) -> Decision:
        """Guess the label that scores best, or ask where the margin is small."""
        q = self._vector(x)
        if not self._names:
            return Ask(NoExamples())
        scores = self._scores(q)
        order = smallest_first(-scores, N_SUGGESTIONS)
        distances = _chords(scores[order], q)
        suggestions = tuple(Suggestion(self._names[r], d) for r, d in zip(order.tolist(), distances, strict=True))
        if len(order) < 2:
            return Ask(Exploring("one label has an example; two are needed before a guess"), suggestions)
        best, second = float(scores[order[0]]), float(scores[order[1]])
        if self._some_label_unseen:
            if best < 0.0:
                return Ask(Exploring("every label with an example scores below one without"), suggestions)
            second = max(second, 0.0)
        margin, needed = best - second, 2.0 * (1.0 - self.tau)
        if margin <= needed:
            return Ask(LowMargin(margin, needed), suggestions)
        label, runner_up = self._names[order[0]], self._names[order[1]]
        return Guess(label, distances[0], runner_up, distances[0] / distances[1])


def _chords(scores: NDArray[np.float64], q: Vector) -> list[float]:
    """The chords between the query's direction and those of the labels' weights, from the scores."""
    norm = math.sqrt(q @ q)
    cosines = scores / norm if norm > 0.0 else scores
    chords: list[float] = np.sqrt(np.maximum(2.0 - 2.0 * cosines, 0.0)).tolist()
    return chords
