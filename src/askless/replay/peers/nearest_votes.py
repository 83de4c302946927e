"""river's entropy sampler over its nearest-neighbour classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from river import active, neighbors

from askless.inputs import as_vector
from askless.replay.peers.base import PeerPolicy
from askless.types import Ask, Decision, Exploring, Guess, Label, TooUncertain, Vector

_NEIGHBOURS = 5
_NEVER_FULL = 1_000_000  # examples kept; river's own choice of 1,000 forgets, and does worse


class NeighbourEntropy(PeerPolicy):
    """Ask at random, the more often the more the five nearest examples disagree.

    `active.EntropySampler(neighbors.KNNClassifier(n_neighbors=5), discount_factor)`, with the distance taken on
    whole vectors, which gives the same numbers as river's own over a dictionary of features. river never asks
    while all it knows is one label, so the first questions are forced: until it has 20 examples of two labels or
    more. `decide` moves river's random generator.
    """

    def __init__(self, discount_factor: float, seed: int = 0, at_least: int = 20) -> None:
        super().__init__()
        self.at_least = at_least
        distance: Any = _distance  # river's own type for it does not say what it takes
        engine = neighbors.SWINN(dist_func=distance, maxlen=_NEVER_FULL, seed=seed)
        classifier = neighbors.KNNClassifier(n_neighbors=_NEIGHBOURS, engine=engine)
        self._sampler: Any = active.EntropySampler(classifier, discount_factor=discount_factor, seed=seed)

    def decide(self, x: ArrayLike) -> Decision:
        """Guess or ask."""
        if self._count < self.at_least or len(self.labels) < 2:
            return Ask(Exploring(f"{self._count} of {self.at_least} examples"))
        votes, ask = self._sampler.predict_proba_one({"x": as_vector(x)})
        label: Label = max(votes, key=votes.__getitem__)
        if ask:
            return Ask(TooUncertain(votes[label], 1.0, label))
        return Guess(label, probability=float(votes[label]))

    def _learned(self, x: Vector, label: Label) -> None:
        self._sampler.learn_one({"x": x}, label)


def _distance(one: dict[str, Any], other: dict[str, Any]) -> float:
    difference = one["x"] - other["x"]
    return float(np.sqrt(difference @ difference))
