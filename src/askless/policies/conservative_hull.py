"""CHC: guess only what the examples imply, and never err while experts are right and cells convex."""

from __future__ import annotations

from numpy.typing import ArrayLike

from askless.errors import InvalidInput
from askless.geometry.elimination import possible_labels
from askless.geometry.nearest import NearestTwo
from askless.inputs import as_flag
from askless.policies.hull_policy import HullPolicy
from askless.types import Ask, Conflict, Decision, Guess, OutsideHulls


class ConservativeHull(HullPolicy):
    """Guess a label when its hull contains the query; otherwise ask.

    Why it never errs: the examples of a label lie in its cell, and where cells are convex so does their hull.
    `refine=True` adds the elimination rule, for a known number of labels: a query whose union with label k's hull
    would meet the hull of another label cannot have label k; where that leaves one label, it is guessed. This
    costs no mistakes either. [Réveillard et al. 2026, section 4.1 and appendix E.1]
    """

    def __init__(
        self,
        refine: bool = False,
        *,
        space: str = "sphere",
        n_labels: int | None = None,
        dtype: str | None = None,
    ) -> None:
        super().__init__(space=space, n_labels=n_labels, dtype=dtype)
        self.refine = as_flag(refine, "refine")
        if self.refine and self.n_labels is None:
            raise InvalidInput("refine=True deduces labels by elimination and needs their number: give n_labels.")

    def _verdict(self, x: ArrayLike, nearest: NearestTwo) -> Decision:
        if nearest.is_conflict:
            return Ask(Conflict(nearest.inside), nearest.suggestions)
        if nearest.guessable:
            return Guess(nearest.label, nearest.high, nearest.runner_up, 0.0, nearest.evidence)
        if self.refine and self._store.n_labels == self.n_labels:
            left = possible_labels(self._store, x)
            if len(left) == 1:
                chosen = next((s for s in nearest.suggestions if s.label == left[0]), None)
                return Guess(left[0], nearest.high if chosen is None else chosen.distance)
        return Ask(OutsideHulls(nearest.label), nearest.suggestions)
