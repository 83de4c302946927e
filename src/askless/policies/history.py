"""What each example would have got as a query from the examples before it, and the models fitted to that."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.policies.candidate_kernels import judge, strongest
from askless.policies.choice_model import fit_binary, fit_choice
from askless.policies.guessed_labels import GuessedLabels
from askless.policies.neighbourhoods import CANDIDATES, FEATURES, Neighbourhoods, neighbourhoods
from askless.policies.ordered_examples import OrderedExamples
from askless.policies.whole_regression import WholeRegression, warm_up

Floats = NDArray[np.float64]

_CHOICE_PRIOR = np.array([6.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0])
_NEW_PRIOR = np.array([0.0, -6.0, 1.0])
_PRECISION = 0.1
# Small: where labels lie far apart, a steep slope tells what is new, and few answers must be able to show that.
_NEW_PRECISION = np.array([0.01, 0.003, 0.1])
_NEAREST_SCALE = 5.0  # of the similarity of a candidate's nearest example, for the same reason
_FAR = -100.0  # the least similarity that counts: beyond it all is far, and larger numbers would spoil a fit
_COUNT_SCALE = 0.5  # of the logarithm of a count: the larger, the less does the prior hold back what is made of it
_SELDOM, _OFTEN = 2, 8  # times that a label came up, between which more of them may speak another way than elsewhere
_ROWS_BEFORE = 15
_WINDOW = 2000  # examples that a fit looks back on
_WHOLE = 2000  # examples up to which a regression on all of them is fitted as well: an answer takes the square of that
_HALF_LIFE = 70.0  # answers, in the model of new labels: how many there are left changes quickly
FIRST_FIT = 25  # examples; then after as many more, or 5 per cent more
_FIT_GROWTH = 1.05
_BLOCK = 32
_EVIDENCE = 8  # examples
_ROUNDED = 2.0**-21  # of float32, over a few steps
_VERSION = 5  # of what a row says
_ARRAYS = ("_features", "_valid", "_target", "_newness", "_is_new", "_made")  # of a history, a line each example


class Outlook(NamedTuple):
    """What the examples say to one query: candidates, best first, and how likely each is to be its label."""

    labels: list[int]
    probabilities: list[float]
    distances: list[float]  # of each candidate's nearest example
    nearest: list[int]  # where that is
    fitted: bool
    near: NDArray[np.int64]  # the positions of all examples that had a say
    evidence: list[tuple[int, float]]  # the best candidate's examples and their parts in its score, the largest first
    conflict: list[int]

    @property
    def probability(self) -> float:
        """How likely the best candidate is to be right."""
        return self.probabilities[0]


class History:
    """One row for each example, with the features of the candidates that the examples before it would have given.

    Rows are made when a fit needs them. A fit happens at fixed numbers of examples and depends on the first so many of
    them alone, so that after an example was forgotten all is as if it had never been there.
    """

    def __init__(self, examples: OrderedExamples, guessed: GuessedLabels) -> None:
        self._examples = examples
        self._guessed = guessed
        self._whole = WholeRegression(examples)
        self._features = np.zeros((0, CANDIDATES, len(_CHOICE_PRIOR)))
        self._valid = np.zeros((0, CANDIDATES), dtype=np.bool_)
        self._target = np.zeros(0, dtype=np.intp)  # which candidate was right, or -1
        self._newness = np.zeros((0, 3))
        self._is_new = np.zeros(0)
        self._made = np.zeros(0, dtype=np.bool_)
        self._fitted_at = -1
        self._next_fit = 0
        self._choice: Floats | None = None
        self._new: Floats | None = None
        self._rows = 0

    def forgotten(self, position: int) -> None:
        """The example at `position`, and perhaps others after it, were taken out."""
        self._whole.forgotten(position)
        self.changed(position)

    def changed(self, position: int) -> None:
        """The example at `position` was taken out or has another label: the rows from there on are no longer true."""
        self._made[position:] = False
        self._whole.relabelled()
        if position < self._fitted_at or len(self._examples) < self._fitted_at:
            self._fitted_at = -1

    def outlooks(self, queries: NDArray[np.float32], found: Neighbourhoods, *, closed: bool) -> list[Outlook]:
        """What the neighbourhoods of queries among all examples say to each; `closed` where no label can be new."""
        if self._whole_until:
            warm_up()  # by the first decision, and not at some later one
        self._fit()
        examples, n = self._examples, len(self._examples)
        likely, order = self._judged(queries, found, closed)
        evidence = self._evidence(found, order)
        fitted, same = self._choice is not None, found.similarity.max(axis=1) >= 1.0 - 1e-6
        lines = np.arange(len(order))[:, None]
        closest = found.closest[lines, order]  # by rank; beyond those found, of the first again
        scales = np.array([math.sqrt(examples.spread(n, q)) * examples.unit for q in queries])
        distances = np.sqrt(np.maximum(0.0, 1.0 - found.similarity[lines, closest])) * scales[:, None]
        by_rank = found.labels[lines, order], likely, distances, found.near[lines, closest], found.found, found.sizes
        columns = zip(*(figures.tolist() for figures in by_rank), strict=True)
        outlooks = []
        for k, (labels, probabilities, apart, nearest, count, size) in enumerate(columns):
            near = found.near[k, :size]
            conflict = self._labels_at(queries[k], near) if same[k] else []
            best = labels[:count], probabilities[:count], apart[:count], nearest[:count]
            outlooks.append(Outlook(*best, fitted, near, evidence[k], conflict))
        return outlooks

    def _judged(
        self, queries: NDArray[np.float32], found: Neighbourhoods, closed: bool
    ) -> tuple[Floats, NDArray[np.int64]]:
        """How likely each candidate is, and which it is, for each query from the best one down."""
        likely, order = np.zeros(found.labels.shape), np.zeros(found.labels.shape, dtype=np.int64)
        choice = _CHOICE_PRIOR if self._choice is None else self._choice
        new = np.zeros(0) if self._new is None or closed else self._new
        upto, scores = np.full(len(likely), len(self._examples)), np.zeros(found.labels.shape)
        if self._choice is not None and self._fitted_at <= self._whole_until:
            scores = self._whole.scores(queries, found)
        features, newness = self._features_of(found, upto, scores), self._newness_of(found, upto)
        ceiling = 1.0 - 1.0 / (self._rows + 2)  # no surer than so many answers can make it
        judge(features, found.found, choice, ceiling, new, newness, likely, order)
        return likely, order

    def _evidence(self, found: Neighbourhoods, order: NDArray[np.int64]) -> list[list[tuple[int, float]]]:
        """The positions of the examples behind the best candidate of each query, with their parts in its score."""
        lines = np.arange(len(order))[:, None]
        best, strong = found.labels[lines, order[:, :1]], np.zeros((len(order), _EVIDENCE), dtype=np.int64)
        counts = np.zeros(len(order), dtype=np.int64)
        strongest(found.near, found.sizes, found.part, self._examples.numbers, best[:, 0], strong, counts)
        places, parts = found.near[lines, strong].tolist(), found.part[lines, strong].tolist()
        return [
            list(zip(at[:count], part[:count], strict=True))
            for at, part, count in zip(places, parts, counts.tolist(), strict=True)
        ]

    def _labels_at(self, q: NDArray[np.float32], near: NDArray[np.int64]) -> list[int]:
        """The labels of the examples that are equal to the query, up to what measuring from a new origin rounds off."""
        rows = self._examples.rows[near]
        off = 0.0 if self._examples.on_sphere else _ROUNDED * (1.0 + float(np.abs(q).max()))
        equal = near[(np.abs(rows - q) <= off).all(axis=1)]
        return list(dict.fromkeys(self._examples.numbers[equal].tolist()))

    # -- rows -------------------------------------------------------------------------------------------------------
    def _features_of(self, found: Neighbourhoods, upto: NDArray[np.int64], scores: Floats) -> Floats:
        """What the neighbourhood says of each candidate, how often it came up, its nearest example, and what all say.

        Where labels lie far apart, the nearest example alone tells a query of a known kind from one of a kind that no
        example has, which the scores of known labels cannot: then each has about the same.

        A label came up as often as it has examples and was guessed. The more often, the likelier it is to come again;
        but where labels have a few texts each, one that came up a few times has none left. One weight for the logarithm
        of how often cannot say both, so between seldom and often it has a second.
        """
        names, guessed = self._examples.names, np.zeros(found.labels.shape)
        there, most = np.arange(CANDIDATES) < found.found[:, None], len(self._examples) + 1
        asked, place = np.unique((found.labels * most + upto[:, None])[there], return_inverse=True)  # many are the same
        counted = [
            self._guessed.before(names[label], n) for label, n in (divmod(pair, most) for pair in asked.tolist())
        ]
        guessed[there] = np.array(counted)[place]
        features = np.empty((*found.labels.shape, len(_CHOICE_PRIOR)))
        features[:, :, :FEATURES] = np.maximum(found.features, _FAR)
        features[:, :, FEATURES] = _COUNT_SCALE * np.log1p(found.counts)
        often = np.log1p(found.counts + guessed)
        features[:, :, FEATURES + 1] = _COUNT_SCALE * often
        features[:, :, FEATURES + 2] = np.clip(often, math.log1p(_SELDOM), math.log1p(_OFTEN)) - math.log1p(_SELDOM)
        nearest = np.take_along_axis(found.similarity, found.closest, axis=1)
        features[:, :, FEATURES + 3] = _NEAREST_SCALE * np.maximum(nearest, _FAR)
        features[:, :, -1] = scores
        return features

    def _newness_of(self, found: Neighbourhoods, upto: NDArray[np.int64]) -> Floats:
        """A constant, the largest similarity, and the share of examples whose label has only one [Good 1953]."""
        singles = np.array([self._examples.singles(n) for n in upto.tolist()])
        share = np.log((singles + 0.5) / (upto + 1))
        return np.column_stack([np.ones(len(upto)), np.maximum(found.similarity.max(axis=1), _FAR) - 0.7, share])

    def _fit(self) -> None:
        n = len(self._examples)
        if self._fitted_at <= n < self._next_fit and self._fitted_at >= 0:
            return
        upto, self._next_fit = _fit_times(n)
        if upto == self._fitted_at:
            return
        start, whole = max(0, upto - _WINDOW), upto <= self._whole_until
        self._make_rows(start, upto, whole)
        self._choice = self._new = None
        usable = start + np.flatnonzero(self._target[start:upto] >= 0)
        self._rows = len(usable)
        if self._rows >= _ROWS_BEFORE:
            recency = 2.0 * np.arange(1, self._rows + 1) / self._rows
            features = self._features[usable]
            if not whole:
                features[:, :, -1] = 0.0
            self._choice = fit_choice(
                features, self._valid[usable], self._target[usable], recency, _CHOICE_PRIOR, _PRECISION
            )
            age = np.arange(upto - start)[::-1]
            fading = 0.5 ** (age / _HALF_LIFE)
            is_new = self._is_new[start:upto]
            # Where there was hardly one but the first example's, nothing says at what distance a new label will come.
            precision = _NEW_PRECISION if is_new.sum() > 1.0 else np.full(len(_NEW_PRIOR), _PRECISION)
            self._new = fit_binary(self._newness[start:upto], is_new, fading, _NEW_PRIOR, precision)
        self._fitted_at = upto
        if not whole:
            self._whole.release()

    def _make_rows(self, start: int, stop: int, whole: bool) -> None:
        """Make the rows that are missing; without what all examples say, which is then NaN, unless `whole`."""
        self._make_room(stop)
        examples, made = self._examples, self._made[start:stop]
        if whole:
            made = made & ~np.isnan(self._features[start:stop, 0, -1])
        todo = start + np.flatnonzero(~made)
        self._target[todo], self._valid[todo], self._features[todo] = -1, False, 0.0
        self._newness[todo] = 1.0, -0.7, 0.0
        self._is_new[todo] = [examples.is_new(position) for position in todo.tolist()]
        self._made[todo] = True
        todo = todo[todo > 0]  # before the first there is nothing to go by
        for block in np.array_split(todo, range(_BLOCK, len(todo), _BLOCK)):
            if len(block):
                queries = examples.rows[block]
                found = neighbourhoods(examples, queries, queries @ examples.rows.T, block)
                self._valid[block] = there = np.arange(CANDIDATES) < found.found[:, None]
                blank = np.full(found.labels.shape, np.nan)
                scores = self._whole.earlier_scores(block, found) if whole else blank
                self._features[block] = self._features_of(found, block, scores)
                right = there & (found.labels == examples.numbers[block][:, None])
                self._target[block] = np.where(right.any(axis=1), right.argmax(axis=1), -1)
                self._newness[block] = self._newness_of(found, block)

    @property
    def _whole_until(self) -> int:
        """The number of examples up to which all of them are asked for a score, and not the nearest alone."""
        return _WHOLE if self._examples.on_sphere else 0

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
        return {"history_version": _VERSION} | {f"history{name}": getattr(self, name)[:n].copy() for name in _ARRAYS}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        self._made[:] = False
        if state.get("history_version") == _VERSION:  # else what an earlier one found is made anew
            for name in _ARRAYS:
                setattr(self, name, np.array(state[f"history{name}"]))
        self._whole.release()


def _fit_times(n: int) -> tuple[int, int]:
    """The number of examples at which the models in force with n examples are fitted, and the next such number."""
    upto = 0
    while (then := max(upto + FIRST_FIT, int(upto * _FIT_GROWTH))) <= n:
        upto = then
    return upto, then
