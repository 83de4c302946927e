"""What each example would have got as a query from the examples before it, and the models fitted to that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.policies.choice_model import choice_probabilities, fit_binary, fit_choice
from askless.policies.local_ridge import Neighbours, neighbours
from askless.policies.ordered_examples import OrderedExamples

Floats = NDArray[np.float64]

_CANDIDATES = 6
_FEATURES = 3
_CHOICE_PRIOR = np.array([6.0, 6.0, 0.0])
_NEW_PRIOR = np.array([0.0, -6.0, 1.0])
_PRECISION = 0.1
_ROWS_BEFORE = 15
_WINDOW = 2000  # examples that a fit looks back on
_HALF_LIFE = 70.0  # answers, in the model of new labels: how many there are left changes quickly
FIRST_FIT = 25  # examples; then after as many more, or 5 per cent more
_FIT_GROWTH = 1.05
_BLOCK = 32
_ARRAYS = ("_features", "_valid", "_target", "_newness", "_is_new", "_made")  # of a history, a line each example


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the examples say to one query: candidates, best first, and how likely each is to be its label."""

    labels: list[int]
    probabilities: Floats
    fitted: bool
    rows: int
    found: Neighbours
    numbers: NDArray[np.int32]  # the label of each neighbour
    scale: float  # the distance at which a similarity is 0
    conflict: list[int] = field(default_factory=list)

    @property
    def probability(self) -> float:
        """How likely the best candidate is to be right."""
        return float(self.probabilities[0])

    def nearest(self, number: int) -> int:
        """The position of that label's example nearest to the query."""
        own = np.flatnonzero(self.numbers == number)
        return int(self.found.positions[own[self.found.similarity[own].argmax()]])

    def distance(self, number: int) -> float:
        """How far that label's nearest example is."""
        closest = float(self.found.similarity[self.numbers == number].max())
        return float(np.sqrt(max(0.0, 1.0 - closest))) * self.scale

    def evidence(self, number: int) -> list[tuple[int, float]]:
        """The positions of that label's examples and their parts in its score, the largest first."""
        own = np.flatnonzero((self.numbers == number) & (self.found.part > 0.0))
        order = own[np.argsort(-self.found.part[own], kind="stable")]
        return [(int(self.found.positions[i]), float(self.found.part[i])) for i in order]


class History:
    """One row for each example, with the features of the candidates that the examples before it would have given.

    Rows are made when a fit needs them. A fit happens at fixed numbers of examples and depends on the first so many of
    them alone, so that after an example was forgotten all is as if it had never been there.
    """

    def __init__(self, examples: OrderedExamples) -> None:
        self._examples = examples
        self._features = np.zeros((0, _CANDIDATES, _FEATURES))
        self._valid = np.zeros((0, _CANDIDATES), dtype=np.bool_)
        self._target = np.zeros(0, dtype=np.intp)  # which candidate was right, or -1
        self._newness = np.zeros((0, 3))
        self._is_new = np.zeros(0)
        self._made = np.zeros(0, dtype=np.bool_)
        self._fitted_at = -1
        self._next_fit = 0
        self._choice: Floats | None = None
        self._new: Floats | None = None
        self._rows = 0

    def changed(self, position: int) -> None:
        """The example at `position` was taken out or has another label: the rows from there on are no longer true."""
        self._made[position:] = False
        if position < self._fitted_at or len(self._examples) < self._fitted_at:
            self._fitted_at = -1

    def outlook(self, q: NDArray[np.float32], *, closed: bool, products: NDArray[np.float32] | None = None) -> Outlook:
        """What the examples say to a query; `closed` where no label can be new, `products` with the rows if known."""
        self._fit()
        examples = self._examples
        found = neighbours(examples, q, examples.rows @ q if products is None else products)
        numbers = examples.numbers[found.positions]
        candidates, features = self._candidates(found, numbers, q)
        fitted = self._choice is not None
        p = choice_probabilities(features, self._choice if self._choice is not None else _CHOICE_PRIOR)
        if self._new is not None and not closed:
            newness = self._newness_of(found, len(examples))
            p = p / (1.0 + np.exp(min(float(newness @ self._new), 700.0)))
        p = np.minimum(p, 1.0 - 1.0 / (self._rows + 2))  # no surer than so many answers can make it
        order = np.argsort(-p, kind="stable")
        exact = found.similarity >= 1.0 - 1e-6
        same = [int(i) for i in found.positions[exact] if np.array_equal(examples.rows[i], q)]
        conflict = list(dict.fromkeys(int(examples.numbers[i]) for i in same))
        labels = [candidates[k] for k in order]
        scale = float(np.sqrt(examples.spread(len(examples), q))) * examples.unit
        return Outlook(labels, p[order], fitted, self._rows, found, numbers, scale, conflict)

    # -- rows -------------------------------------------------------------------------------------------------------
    def _candidates(
        self, found: Neighbours, numbers: NDArray[np.int32], q: NDArray[np.float32]
    ) -> tuple[list[int], Floats]:
        """The labels with the largest scores, best first, and the features of each."""
        examples, upto = self._examples, len(found.products)
        present, which = np.unique(numbers, return_inverse=True)
        first = np.full(len(present), len(numbers))
        np.minimum.at(first, which, np.arange(len(numbers)))
        score = np.bincount(which, found.part)
        best = np.lexsort((first, -score))[:_CANDIDATES]  # ties by age, whatever the labels' numbers
        features = np.zeros((len(best), _FEATURES))
        square = 0.0 if examples.on_sphere else float(q @ q)
        for row, k in enumerate(best):
            own, norm = examples.label_sum(int(present[k]), upto)
            count, dot = len(own), float(found.products[own].sum(dtype=np.float64))
            if examples.on_sphere:
                likeness = dot / np.sqrt(max(norm, 1e-12))
            else:
                likeness = 1.0 - max(0.0, square - 2.0 * dot / count + norm / count**2) / examples.spread(upto, q)
            features[row] = score[k], likeness, 0.2 * np.log1p(count)
        return [int(present[k]) for k in best], features

    def _newness_of(self, found: Neighbours, upto: int) -> Floats:
        """A constant, the largest similarity, and the share of examples whose label has only one [Good 1953]."""
        share = np.log((self._examples.singles(upto) + 0.5) / (upto + 1))
        return np.array([1.0, float(found.similarity.max()) - 0.7, share])

    def _fit(self) -> None:
        n = len(self._examples)
        if self._fitted_at <= n < self._next_fit and self._fitted_at >= 0:
            return
        upto, self._next_fit = _fit_times(n)
        if upto == self._fitted_at:
            return
        start = max(0, upto - _WINDOW)
        self._make_rows(start, upto)
        self._choice = self._new = None
        usable = start + np.flatnonzero(self._target[start:upto] >= 0)
        self._rows = len(usable)
        if self._rows >= _ROWS_BEFORE:
            recency = 2.0 * np.arange(1, self._rows + 1) / self._rows
            self._choice = fit_choice(
                self._features[usable], self._valid[usable], self._target[usable], recency, _CHOICE_PRIOR, _PRECISION
            )
            age = np.arange(upto - start)[::-1]
            self._new = fit_binary(
                self._newness[start:upto], self._is_new[start:upto], 0.5 ** (age / _HALF_LIFE), _NEW_PRIOR, _PRECISION
            )
        self._fitted_at = upto

    def _make_rows(self, start: int, stop: int) -> None:
        self._make_room(stop)
        examples = self._examples
        todo = start + np.flatnonzero(~self._made[start:stop])
        for block in np.array_split(todo, range(_BLOCK, len(todo), _BLOCK)):
            if not len(block):
                continue
            products = examples.rows[block] @ examples.rows[: int(block[-1])].T
            for position, row in zip(block.tolist(), products, strict=True):
                self._make_row(position, np.ascontiguousarray(row[:position]))

    def _make_row(self, position: int, products: NDArray[np.float32]) -> None:
        examples, number = self._examples, int(self._examples.numbers[position])
        self._target[position], self._valid[position], self._features[position] = -1, False, 0.0
        self._is_new[position] = position == 0 or not (examples.numbers[:position] == number).any()
        self._newness[position] = 1.0, -0.7, 0.0
        if position:
            found = neighbours(examples, examples.rows[position], products)
            numbers = examples.numbers[found.positions]
            candidates, features = self._candidates(found, numbers, examples.rows[position])
            self._features[position, : len(candidates)] = features
            self._valid[position, : len(candidates)] = True
            self._target[position] = candidates.index(number) if number in candidates else -1
            self._newness[position] = self._newness_of(found, position)
        self._made[position] = True

    def _make_room(self, n: int) -> None:
        if n <= len(self._made):
            return
        size = max(64, n, int(1.25 * len(self._made)))
        for name in _ARRAYS:
            old = getattr(self, name)
            new = np.zeros((size, *old.shape[1:]), dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    # -- saving -----------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """The rows made so far, so that they need not be made again."""
        n = min(len(self._examples), len(self._made))
        return {f"history{name}": getattr(self, name)[:n].copy() for name in _ARRAYS}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        for name in _ARRAYS:
            setattr(self, name, np.array(state[f"history{name}"]))


def _fit_times(n: int) -> tuple[int, int]:
    """The number of examples at which the models in force with n examples are fitted, and the next such number."""
    upto = 0
    while (then := max(upto + FIRST_FIT, int(upto * _FIT_GROWTH))) <= n:
        upto = then
    return upto, then
