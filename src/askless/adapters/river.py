"""askless as a river classifier, and as one of river's active learners."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.adapters import as_policy_label, closeness, missing_extra
from askless.errors import InvalidInput
from askless.policies.generalized_hull import GeneralizedHull
from askless.policies.hull_policy import HullPolicy
from askless.types import Ask, Decision, Label

try:
    from river import base, compose
    from river.active.base import ActiveLearningClassifier
except ImportError as error:
    raise missing_extra("river", "river") from error

Features = dict[base.typing.FeatureName, Any]


class HullClassifier(base.Classifier):
    """Classify by the nearest hull of the examples so far; `decide_one` guesses or asks as GHC(tau) does.

    A dictionary of features is a vector with zero for every feature it lacks. Features may appear at any
    time: an example without one has zero there, and a query's features that no example has had count in its
    distances. So the result is that of vectors over all features there will ever be.

    The probability of a label is the inverse of its distance, over the sum of them; the second largest over
    the largest is the ratio, which `tau` bounds. Inside one hull that label has probability 1; inside
    several, those labels share it by the inverse distance to their nearest example.

    Parameters
    ----------
    tau
        Guess when the ratio is at most this, from 0 to 1. It matters to `decide_one` only.
    distance
        To the "hull" of each label, or to its "nearest" example.
    space
        "euclidean", or "sphere" for vectors of which only the direction counts.

    Examples
    --------
    >>> from askless.adapters.river import HullClassifier

    >>> model = HullClassifier(tau=0.5)
    >>> for x, y in [(0.0, "low"), (1.0, "low"), (9.0, "high"), (10.0, "high")]:
    ...     model.learn_one({"x": x}, y)
    >>> model.predict_one({"x": 4.9})
    'low'
    >>> type(model.decide_one({"x": 4.9})).__name__
    'Ask'

    References
    ----------
    Réveillard et al., Minimizing Human Intervention in Online Classification, AISTATS 2026, section 4.3.
    """

    def __init__(self, tau: float = 0.9, distance: str = "hull", space: str = "euclidean") -> None:
        self.tau = tau
        self.distance = distance
        self.space = space
        self._policy: HullPolicy = GeneralizedHull(tau, distance, space=space)
        self._columns: dict[base.typing.FeatureName, int] = {}
        self._width = 0  # columns for features; one more, the last, is zero in every example
        self._targets: dict[Label, base.typing.ClfTarget] = {}
        self._scale = 0.0

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Features, y: base.typing.ClfTarget) -> None:
        """Learn one example."""
        label = as_policy_label(y)
        features = _finite(x)
        self._make_room(features)
        v = self._vector(features)
        self._policy.learn(v, label)
        self._targets.setdefault(label, y)
        self._scale = max(self._scale, float(np.linalg.norm(v)))

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[base.typing.ClfTarget, float]:
        """The probability of each label learned so far; empty before the first."""
        v = self._vector(_finite(x))
        if not self._targets:
            return {}
        found = closeness(self._policy, v[None, :], self._scale)
        shares = found.probabilities[0].tolist()
        return {self._targets[label]: share for label, share in zip(found.labels, shares, strict=True)}

    def decide_one(self, x: Features) -> Decision:
        """Guess or ask; nothing is learned. A label learned as True or False comes as 1 or 0."""
        return self._policy.decide(self._vector(_finite(x)))

    def _vector(self, x: dict[base.typing.FeatureName, float]) -> NDArray[np.float64]:
        """The features as a vector.

        Those that no example has had are orthogonal to all examples. Only their norm enters a distance, so
        the last column, which is zero in every example, holds it.
        """
        v = np.zeros(self._width + 1)
        unseen = []
        for name, value in x.items():
            if name in self._columns:
                v[self._columns[name]] = value
            else:
                unseen.append(value)
        v[-1] = math.hypot(*unseen)
        return v

    def _make_room(self, x: dict[base.typing.FeatureName, float]) -> None:
        """Give each new feature a column; the width at least doubles, so that examples are seldom copied."""
        for name in sorted((name for name in x if name not in self._columns), key=str):
            self._columns[name] = len(self._columns)
        if len(self._columns) <= self._width:
            return
        old, self._width = self._width, max(len(self._columns), 2 * self._width)
        wider = self._policy.fresh()
        for example in self._policy.examples():
            v = np.zeros(self._width + 1)
            v[:old] = example.x[:old]
            wider.learn(v, example.label, example.id)
        self._policy = wider


class HullSampler(ActiveLearningClassifier):
    """Ask for the label of a query exactly where a `HullClassifier` asks.

    As with every active learner of river, `predict_one` returns the prediction and whether a label is needed.
    It asks from the first query on, and nothing about it is random.

    Parameters
    ----------
    classifier
        A `HullClassifier`, or a pipeline that ends in one.
    """

    def __init__(self, classifier: base.Classifier) -> None:
        super().__init__(classifier)
        if not isinstance(classifier, HullClassifier):  # river looks at the last step of a pipeline here
            raise InvalidInput(
                f"HullSampler wraps a HullClassifier, or a pipeline that ends in one; found {classifier}."
            )

    def _ask_for_label(self, x: Features, y_pred: object) -> bool:
        model: Any = self.classifier
        if isinstance(model, compose.Pipeline):
            x, model = model.transform_one(x), model[-1]
        return isinstance(model.decide_one(x), Ask)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": HullClassifier()}


def _finite(x: Features) -> dict[base.typing.FeatureName, float]:
    """The features as finite floats."""
    found = {}
    for name, value in x.items():
        if not isinstance(value, (numbers.Real, np.bool_)) or not math.isfinite(value):
            raise InvalidInput(
                f"Expected a finite number for the feature {name!r}; found {value!r}. "
                "Encode or impute it first: river.preprocessing has OneHotEncoder and StatImputer."
            )
        found[name] = float(value)
    return found
