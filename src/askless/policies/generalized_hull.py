"""GHC(tau): guess the nearest hull's label when no other hull is nearly as near."""

from __future__ import annotations

from numpy.typing import ArrayLike

from askless.errors import InvalidInput
from askless.geometry.nearest import NearestTwo
from askless.inputs import as_fraction
from askless.policies.hull_policy import HullPolicy
from askless.types import Ask, Conflict, Decision, Guess, OutsideHulls, TooClose


class GeneralizedHull(HullPolicy):
    """Guess the nearest hull's label when no other hull is nearly as near: ratio <= tau.

    With tau=0 only a query inside a hull is guessed (the conservative rule), with tau=1 every query is guessed once
    two labels are known. Until every one of `n_labels` labels has an example, and in the open world until two have
    one, the conservative rule applies. `distance="nearest"` measures to the nearest example of each label instead of
    its hull. [Réveillard et al. 2026, section 4.3]
    """

    def __init__(
        self,
        tau: float = 0.9,
        distance: str = "hull",
        *,
        space: str = "sphere",
        n_labels: int | None = None,
        dtype: str | None = None,
    ) -> None:
        super().__init__(space=space, n_labels=n_labels, dtype=dtype)
        self.tau = as_fraction(tau, "tau")
        if distance not in ("hull", "nearest"):
            raise InvalidInput(f"The distance is 'hull' or 'nearest'; found {distance!r}.")
        self.distance = distance
        self._distance = distance

    @property
    def _threshold(self) -> float:
        return self.tau if self._all_labels_seen else 0.0

    def _verdict(self, x: ArrayLike, nearest: NearestTwo) -> Decision:
        if nearest.is_conflict:
            return Ask(Conflict(nearest.inside), nearest.suggestions)
        if nearest.guessable:
            return Guess(
                nearest.label, nearest.high, nearest.runner_up, min(nearest.ratio_high, self.tau), nearest.evidence
            )
        if nearest.runner_up is None or not self._all_labels_seen:
            return Ask(OutsideHulls(nearest.label), nearest.suggestions)
        pair = (nearest.label, nearest.runner_up)
        return Ask(TooClose(nearest.ratio_low, self.tau, pair), nearest.suggestions)
