"""The plain alternative: the nearest neighbour's label, where it is similar enough."""

from __future__ import annotations

from numpy.typing import ArrayLike

from askless.geometry.nearest import NearestTwo
from askless.inputs import as_fraction
from askless.policies.hull_policy import HullPolicy
from askless.types import Ask, Conflict, Decision, Exploring, Guess, NotSimilar

_EQUAL = 1e-12  # similarities this close cannot be told apart


class SimilarityThreshold(HullPolicy):
    """Guess the label of the most similar example when its similarity reaches the threshold.

    On the sphere similarity is the cosine; in euclidean space it is 1 / (1 + distance), which is 1 for an
    equal vector and falls towards 0. Two labels whose closest examples are equally similar are a conflict,
    which is asked. Until every one of `n_labels` labels has an example, and in the open world until two
    have one, only a query that equals an example is guessed. It is what most semantic caches and routers
    do, and it bounds nothing: how many mistakes a threshold allows depends on the embedder and the labels.
    """

    _distance = "nearest"
    _exact = True  # the distance itself counts here, not only the ratio
    _threshold = 1.0

    def __init__(
        self,
        threshold: float = 0.9,
        *,
        space: str = "sphere",
        n_labels: int | None = None,
        dtype: str | None = None,
    ) -> None:
        super().__init__(space=space, n_labels=n_labels, dtype=dtype)
        self.threshold = as_fraction(threshold, "threshold")

    def _similarity(self, distance: float) -> float:
        return 1.0 - distance * distance / 2.0 if self.space == "sphere" else 1.0 / (1.0 + distance)

    def _verdict(self, x: ArrayLike, nearest: NearestTwo) -> Decision:
        if nearest.is_conflict:
            return Ask(Conflict(nearest.inside), nearest.suggestions)
        if not nearest.inside:  # no example equals the query, so the similarity has to decide
            if nearest.runner_up is None or not self._all_labels_seen:
                return Ask(Exploring(self._labels_missing()), nearest.suggestions)
            similarity = self._similarity(nearest.high)
            if similarity < self.threshold:
                return Ask(NotSimilar(similarity, self.threshold), nearest.suggestions)
            if self._similarity(nearest.runner_low) >= similarity - _EQUAL:
                return Ask(Conflict((nearest.label, nearest.runner_up)), nearest.suggestions)
        return Guess(nearest.label, nearest.high, nearest.runner_up, nearest.ratio_high, nearest.evidence)

    def _labels_missing(self) -> str:
        return f"{self._store.n_labels} of {max(2, self.n_labels or 0)} labels have an example"
