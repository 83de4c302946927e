"""scikit-learn's logistic regression by stochastic gradient descent, with a threshold on the probability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import SGDClassifier

from askless.replay.peers.base import RefittedPeer
from askless.types import Ask, Decision, Exploring, Guess, Label, Matrix, TooUncertain

STARTING = Exploring("the classifier has not been fitted yet")


class SgdThreshold(RefittedPeer):
    """Guess the likeliest label when its probability reaches the threshold.

    `SGDClassifier(loss="log_loss")`, one pass of `partial_fit` over all answers so far at each refit.
    """

    def __init__(self, threshold: float, classes: Sequence[Label], seed: int = 0) -> None:
        super().__init__(classes)
        self.threshold = threshold
        self._model = SGDClassifier(loss="log_loss", random_state=seed)

    def _refit(self, X: Matrix, codes: Sequence[int]) -> None:
        self._model.partial_fit(X, codes, classes=np.arange(len(self.classes)))

    def _decide_rows(self, X: Matrix) -> list[Decision]:
        if not self._fits:
            return [Ask(STARTING)] * len(X)
        probabilities = self._model.predict_proba(X)
        best = probabilities.argmax(axis=1)
        return [self._verdict(self.classes[k], float(p[k])) for k, p in zip(best, probabilities, strict=True)]

    def _verdict(self, label: Label, probability: float) -> Decision:
        if probability >= self.threshold:
            return Guess(label, 1.0 - probability, probability=probability)
        return Ask(TooUncertain(probability, self.threshold, label))
