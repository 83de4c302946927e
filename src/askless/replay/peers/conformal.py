"""MAPIE's split conformal sets: guess when the set of labels that cannot be ruled out has one member."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from mapie.classification import SplitConformalClassifier
from sklearn.linear_model import SGDClassifier

from askless.replay.peers.base import RefittedPeer
from askless.replay.peers.sgd import STARTING
from askless.types import Ask, Conflict, Decision, Guess, Label, Matrix


class ConformalSet(RefittedPeer):
    """Guess when the conformal set at this confidence level has exactly one label.

    The first answer of each label and every second one after it train a logistic regression by stochastic gradient
    descent; the others calibrate it, with the score `lac`, at each refit. The coverage that conformal
    sets promise is for examples drawn like the queries; these are the ones that were asked, so it does not hold.
    """

    def __init__(self, confidence: float, classes: Sequence[Label], seed: int = 0) -> None:
        super().__init__(classes)
        self.confidence = confidence
        self._model = SGDClassifier(loss="log_loss", random_state=seed)
        self._sets: SplitConformalClassifier | None = None

    def _refit(self, X: Matrix, codes: Sequence[int]) -> None:
        answers = np.asarray(codes)
        train = training_half(answers)
        self._model.partial_fit(X[train], answers[train], classes=np.arange(len(self.classes)))
        if np.count_nonzero(~train) <= 1.0 / (1.0 - self.confidence):
            return  # so few examples cannot vouch for such a level
        sets = SplitConformalClassifier(
            self._model, confidence_level=self.confidence, conformity_score="lac", prefit=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # labels without an example to calibrate on are to be expected
            self._sets = sets.conformalize(X[~train], answers[~train])

    def _decide_rows(self, X: Matrix) -> list[Decision]:
        if self._sets is None:
            return [Ask(STARTING)] * len(X)
        _, member = self._sets.predict_set(X)
        return [self._verdict(np.flatnonzero(row)) for row in member[:, :, 0]]

    def _verdict(self, members: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Decision:
        labels = tuple(self.classes[k] for k in members)
        return Guess(labels[0]) if len(labels) == 1 else Ask(Conflict(labels))


def training_half(codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which answers train: the first of each label, and every second of the others."""
    _, first = np.unique(codes, return_index=True)
    train = np.zeros(len(codes), dtype=bool)
    train[first] = True
    others = np.flatnonzero(~train)
    train[others[1::2]] = True
    return train
