"""The paper's hybrid: CC while rounds are few for the dimension, then CHC."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from askless.errors import AsklessError
from askless.policies.base import State
from askless.policies.center_based import CenterBased
from askless.policies.conservative_hull import ConservativeHull
from askless.types import Decision, ExampleId, Label, Vector


class CenterThenHull(CenterBased):
    """Decide as CC until the round passes e^d, and as CHC from there on.

    The round is the number of decisions acted on (`observe`). CC's regret is bounded while T <= e^d, CHC's
    grows slowest once T is large: the hybrid has both bounds. Every example is learned by both halves, so
    nothing is asked twice, and a CC that would explore for ever gives way all the same. After the turn a
    guess is never wrong where the cells are convex and the expert truthful. [Reveillard et al. 2026, end of
    section 4.2]
    """

    def __init__(
        self,
        constant: float = 108.0,
        sigma: float = 0.1,
        horizon: int = 10_000,
        *,
        space: str = "sphere",
        n_labels: int | None = None,
        labels_given: bool = False,
    ) -> None:
        super().__init__(constant, sigma, horizon, space=space, n_labels=n_labels, labels_given=labels_given)
        # float64, because the calls that `state` holds are: what is restored decides as what was saved.
        self._hull = ConservativeHull(space=space, n_labels=n_labels, dtype="float64")

    def _reset(self) -> None:
        super()._reset()
        self._rounds = 0

    def _observed(self, x: Vector, guess: Label | None) -> None:
        super()._observed(x, guess)
        self._rounds += 1

    @property
    def _turned(self) -> bool:
        """Whether the round has passed e^d (by logarithms, since e^d overflows)."""
        return self.dim is not None and self._rounds > 0 and math.log(self._rounds) > self.dim

    def decide(self, x: ArrayLike) -> Decision:
        """Decide as CC, or after the turn as CHC."""
        return self._hull.decide(x) if self._turned else super().decide(x)

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        """Take an expert's answer as an example for both halves, and return the example's id."""
        key = super().learn(x, label, id)
        try:
            self._hull.learn(self._position[key].x, label, key)
        except AsklessError:  # both halves hold the example, or neither
            super().forget(key)
            raise
        return key

    def forget(self, id: ExampleId) -> None:
        """Decide from now on as if that example had never been learned."""
        super().forget(id)
        self._hull.forget(id)

    def relabel(self, id: ExampleId, label: Label) -> None:
        """Decide from now on as if that example had been learned with this label."""
        super().relabel(id, label)
        self._hull.relabel(id, label)

    def rename_label(self, old: Label, new: Label) -> None:
        """Give a label another name."""
        super().rename_label(old, new)
        if new != old:
            self._hull.rename_label(old, new)

    def merge_labels(self, source: Label, into: Label) -> None:
        """Relabel every example of `source` to `into`."""
        super().merge_labels(source, into)
        if source != into:
            self._hull.merge_labels(source, into)

    def restore(self, state: State) -> None:
        """Replay the calls that `state` holds."""
        super().restore(state)
        for example in self.examples():
            self._hull.learn(example.x, example.label, example.id)
