"""scikit-activeml's stream strategies over its Parzen window classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from skactiveml.classifier import ParzenWindowClassifier
from skactiveml.stream import FixedUncertainty, Split, VariableUncertainty

from askless.errors import InvalidInput
from askless.inputs import as_vector
from askless.replay.peers.base import PeerPolicy
from askless.types import Ask, Decision, Exploring, Guess, Label, TooUncertain, Vector

STRATEGIES = {"variable": VariableUncertainty, "split": Split, "fixed": FixedUncertainty}
_GAMMA, _PRIOR = 5.0, 0.1


class GrowingParzen(ParzenWindowClassifier):  # type: ignore[misc]
    """The Parzen window classifier with an example added at a time, and the same frequencies as after a fit.

    Its own `fit` copies and checks all examples again, which takes longer than everything else in a round.
    """

    def start(self, dim: int) -> None:
        """Be fitted on nothing."""
        self.fit(np.zeros((0, dim)), [])
        self._examples, self._squares = np.empty((256, dim)), np.empty(256)
        self._codes = np.empty(256, dtype=np.intp)
        self._n = 0

    def add(self, x: Vector, code: int) -> None:
        """Learn one example."""
        if self._n == len(self._codes):
            self._examples = np.concatenate([self._examples, np.empty_like(self._examples)])
            self._squares = np.concatenate([self._squares, np.empty_like(self._squares)])
            self._codes = np.concatenate([self._codes, np.empty_like(self._codes)])
        self._examples[self._n], self._codes[self._n] = x, code
        self._squares[self._n] = self._examples[self._n] @ self._examples[self._n]
        self._n += 1

    def predict_freq(self, X: ArrayLike) -> NDArray[np.float64]:
        """The kernel sums by class, one row a query."""
        queries = np.asarray(X, dtype=np.float64)
        known, codes = self._examples[: self._n], self._codes[: self._n]
        own = np.einsum("ij,ij->i", queries, queries)[:, None]
        distances = self._squares[: self._n] - 2.0 * queries @ known.T + own
        kernel = np.exp(-self.metric_dict["gamma"] * np.maximum(distances, 0.0))
        return np.array([np.bincount(codes, row, len(self.classes_)) for row in kernel])


class BudgetedUncertainty(PeerPolicy):
    """Ask about what the classifier is unsure of, at most a share `budget` of the queries.

    `VariableUncertainty`, `Split` or `FixedUncertainty` as they come, over
    `ParzenWindowClassifier(metric="rbf", metric_dict={"gamma": 5}, class_prior=0.1)`. All classes are told in advance.
    """

    def __init__(self, strategy: str, budget: float, classes: Sequence[Label], seed: int = 0) -> None:
        super().__init__()
        self.classes = list(classes)
        self._code = {label: k for k, label in enumerate(self.classes)}
        codes = list(range(len(self.classes)))
        extra = {"classes": codes} if strategy == "fixed" else {}
        self._strategy = STRATEGIES[strategy](budget=budget, random_state=seed, **extra)
        self._model = GrowingParzen(
            classes=codes,
            missing_label=-1,
            metric="rbf",
            metric_dict={"gamma": _GAMMA},
            class_prior=_PRIOR,
            random_state=seed,
        )
        self._pending: tuple[Any, Any, Any] | None = None

    def decide(self, x: ArrayLike) -> Decision:
        """Guess or ask."""
        if not self._count:
            return Ask(Exploring("no example has been learned yet"))
        query = as_vector(x)[None]
        asked, utilities = self._strategy.query(query, clf=self._model, return_utilities=True)
        self._pending = query, asked, utilities
        if len(asked):
            return Ask(TooUncertain(1.0 - float(utilities[0]), 1.0))  # the utility is one less the best probability
        probabilities = self._model.predict_proba(query)[0]
        best = int(probabilities.argmax())
        return Guess(self.classes[best], probability=float(probabilities[best]))

    def observe(self, x: ArrayLike, decision: Decision) -> None:
        """Let the strategy count what it has spent."""
        if self._pending is not None:
            query, asked, utilities = self._pending
            self._strategy.update(query, asked, budget_manager_param_dict={"utilities": utilities})
            self._pending = None

    def _learned(self, x: Vector, label: Label) -> None:
        if label not in self._code:
            raise InvalidInput(f"{type(self).__name__} was not told of the label {label!r}; it must know all before.")
        if not self._count:
            self._model.start(len(x))
        self._model.add(x, self._code[label])
