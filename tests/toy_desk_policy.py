"""A policy for which every call and its order count: one that observes, and asks by the round."""

from __future__ import annotations

from typing import Any

import numpy as np

from askless.policies.base import ReplayPolicy
from askless.types import Always, Ask, Decision, Guess, Label, Suggestion, Vector


class Drifting(ReplayPolicy):
    """Centres that follow both answers and guesses; in every third round it asks."""

    def _reset(self) -> None:
        self._centres: dict[Label, Vector] = {}
        self._round = 0

    def __init__(self, *, space: str = "sphere", n_labels: int | None = None) -> None:
        super().__init__(space=space, n_labels=n_labels)
        self._reset()

    def _learned(self, x: Vector, label: Label) -> None:
        self._centres[label] = 0.7 * self._centres.get(label, x) + 0.3 * x

    def _observed(self, x: Vector, guess: Label | None) -> None:
        self._round += 1
        if guess is not None and guess in self._centres:
            self._centres[guess] = 0.9 * self._centres[guess] + 0.1 * x

    def decide(self, x: Any) -> Decision:
        q = self._vector(x)
        near = sorted((float(np.linalg.norm(q - c)), str(label)) for label, c in self._centres.items())
        if len(near) < 2 or self._round % 3 == 0:
            return Ask(Always(), tuple(Suggestion(label, distance) for distance, label in near))
        return Guess(near[0][1], near[0][0], near[1][1], near[0][0] / near[1][0], (), 1.0 / (1.0 + near[0][0]))
