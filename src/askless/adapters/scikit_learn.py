"""askless as a scikit-learn classifier, with a `decide` that abstains and a scorer by regret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.adapters import Closeness, as_policy_label, closeness, missing_extra
from askless.errors import InvalidInput
from askless.inputs import as_costs
from askless.policies.generalized_hull import GeneralizedHull
from askless.policies.hull_policy import HullPolicy
from askless.types import PAPER_COSTS, Ask, Costs, Decision, Label, Matrix

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.pipeline import Pipeline
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise missing_extra("scikit-learn", "sklearn") from error


class AsklessClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify by the nearest hull, and say with `decide` which rows an expert should see.

    `predict` always answers: the label of the nearest hull. `decide` answers as GHC(tau) does, with a
    `Guess` or an `Ask` for each row. `predict_proba` gives each label the inverse of its distance, over the
    sum of them:

        p_k = (1 / d_k) / sum_j (1 / d_j)

    Inside one hull that label has probability 1. Inside several, those labels share it by the inverse
    distance to their nearest example. So outside of conflicts the second largest probability over the
    largest is the ratio, and GHC guesses where it is at most tau. `decision_function` is the margin of each
    label against the best other one, from -1 to 1, and positive for the label that `predict` gives:

        (p_k - p) / (p_k + p)    with p the largest probability of the other labels

    Parameters: `tau` in [0, 1], `distance` ("hull" or "nearest"), `space` ("euclidean" or "sphere"). Or
    `policy`: a hull policy, or the name of one such as "ghc:0.9", which then decides with its own
    parameters (a name that sets no space takes `space`); what the given policy has learned is not used.
    The labels are an open world: `partial_fit` takes new ones at any time.
    [Réveillard et al. 2026, section 4.3]
    """

    def __init__(
        self,
        tau: float = 0.9,
        *,
        distance: str = "hull",
        space: str = "euclidean",
        policy: HullPolicy | str | None = None,
    ) -> None:
        self.tau = tau
        self.distance = distance
        self.space = space
        self.policy = policy

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything, and learn every row as an example."""
        policy = self._new_policy()
        rows, targets = validate_data(self, X, y, dtype=[np.float64, np.float32])
        classes = _classes(targets)
        _learn(policy, rows, targets)
        self.policy_, self.classes_, self._scale = policy, classes, _largest(rows)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn every row as one more example.

        `classes` names labels that get a column in `predict_proba` before they have an example. It may be
        left out, and labels that it does not name are taken all the same.
        """
        first = not hasattr(self, "policy_")
        policy = self._new_policy() if first else self.policy_
        rows, targets = validate_data(self, X, y, dtype=[np.float64, np.float32], reset=first)
        known = [] if first else [self.classes_]
        named = [] if classes is None else [np.asarray(classes)]
        union = _classes(targets, *known, *named)
        _learn(policy, rows, targets)
        self.policy_, self.classes_ = policy, union
        self._scale = max(0.0 if first else self._scale, _largest(rows))
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The label of the nearest hull, also where `decide` would ask."""
        nearest = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[nearest])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Each label's inverse distance over the sum of them, in the order of `classes_`."""
        found = self._closeness(X)
        column = {label: j for j, label in enumerate(self.classes_.tolist())}
        P = np.zeros((len(found.weights), len(self.classes_)))
        P[:, [column[label] for label in found.labels]] = found.probabilities
        return P

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The margin of each label against the best other one; with two labels, that of the second alone."""
        P = self.predict_proba(X)
        if P.shape[1] == 1:
            return P
        ordered = np.sort(P, axis=1)
        others = np.where(ordered[:, -1:] == P, ordered[:, -2:-1], ordered[:, -1:])
        margins = (P - others) / (P + others)
        return np.asarray(margins[:, 1] if P.shape[1] == 2 else margins)

    def ratio(self, X: ArrayLike) -> NDArray[np.float64]:
        """The distance to the nearest hull over that to the second nearest: 0 is certain, 1 cannot tell.

        It is 1 also inside several hulls, and outside the hull of the only label there is.
        """
        return self._closeness(X).ratio

    def decide(self, X: ArrayLike) -> list[Decision]:
        """A `Guess` or an `Ask` for each row; nothing is learned. True comes as the label 1, and 2.0 as 2."""
        rows = self._rows(X)
        return self.policy_.decide_many(rows)

    def _rows(self, X: ArrayLike) -> Matrix:
        check_is_fitted(self, "policy_")
        rows: Matrix = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return rows

    def _closeness(self, X: ArrayLike) -> Closeness:
        rows = self._rows(X)
        return closeness(self.policy_, rows, self._scale)

    def _new_policy(self) -> HullPolicy:
        if self.policy is None:
            return GeneralizedHull(self.tau, self.distance, space=self.space)
        policy: object = self.policy
        if isinstance(policy, str):
            from askless.policies.named import make_policy

            policy = make_policy(policy, space=self.space)
        if not isinstance(policy, HullPolicy):
            raise InvalidInput(
                f"AsklessClassifier predicts from distances, so its policy must be a hull policy; found "
                f"{self.policy!r}. Use GeneralizedHull or ConservativeHull, or a name such as 'ghc:0.9'."
            )
        return policy.fresh()


@dataclass(frozen=True, slots=True)
class RegretScorer:
    """Minus the mean regret of `decide`: `costs.question` for a question, `costs.mistake` for a wrong guess.

    The best score is 0, and asking always scores `-costs.question`. Nothing is learned between the rows, so
    it is the regret of the examples as they stand.
    """

    costs: Costs

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", as_costs(self.costs))  # scikit-learn turns an error in a score into NaN

    def __call__(self, estimator: Any, X: ArrayLike, y: ArrayLike) -> float:
        """The score of a fitted estimator on labelled rows, as scikit-learn calls it."""
        truth = [as_policy_label(value) for value in np.asarray(y).tolist()]
        pairs = zip(decide(estimator, X), truth, strict=True)
        return -sum(self._regret(decision, label) for decision, label in pairs) / len(truth)

    def _regret(self, decision: Decision, truth: Label) -> float:
        if isinstance(decision, Ask):
            return self.costs.question
        return 0.0 if decision.label == truth else self.costs.mistake


def regret_scorer(costs: Costs | Sequence[float] | None = None) -> RegretScorer:
    """A scorer for `GridSearchCV(..., scoring=regret_scorer())`; without `costs`, the paper's."""
    return RegretScorer(PAPER_COSTS if costs is None else as_costs(costs))


def decide(estimator: Any, X: ArrayLike) -> list[Decision]:
    """The decisions of an AsklessClassifier, or of a Pipeline or a fitted search that ends in one."""
    if hasattr(estimator, "best_estimator_"):
        return decide(estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        return decide(estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X)
    if not isinstance(estimator, AsklessClassifier):
        raise InvalidInput(
            f"Only an AsklessClassifier decides, alone or at the end of a Pipeline; found {type(estimator).__name__}."
        )
    return estimator.decide(X)


def _learn(policy: HullPolicy, rows: Matrix, targets: NDArray[Any]) -> None:
    """Learn all rows, or none where one of them cannot be learned."""
    labels = [as_policy_label(target) for target in targets.tolist()]
    zero = np.flatnonzero(~rows.any(axis=1))
    if policy.space == "sphere" and len(zero):
        raise InvalidInput(
            f"Row {zero[0]} is zero, and a zero vector has no direction on the sphere; "
            "use space='euclidean', or leave that row out."
        )
    for x, label in zip(rows, labels, strict=True):
        policy.learn(x, label)


def _classes(targets: NDArray[Any], *more: NDArray[Any]) -> NDArray[Any]:
    """The sorted classes of all these arrays together."""
    check_classification_targets(targets)
    parts = [np.unique(part) for part in (targets, *more)]
    if len({part.dtype.kind in "biuf" for part in parts}) > 1:
        found = " and ".join(sorted({part.dtype.name for part in parts}))
        raise InvalidInput(f"The classes must be all numbers or all strings; found {found} together.")
    return np.unique(np.concatenate(parts))


def _largest(rows: Matrix) -> float:
    """The largest norm."""
    return float(np.linalg.norm(rows.astype(np.float64), axis=1).max())
