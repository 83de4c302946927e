"""What a nearest-two search found: two labels, their distances as intervals, and the answer they settle."""

from __future__ import annotations

from typing import NamedTuple

from askless.types import Label, Suggestion, Support


class NearestTwo(NamedTuple):
    """The nearest hulls of one query, certified as far as the question "is ratio <= tau?" needs.

    `low` and `high` enclose the distance to `label`'s hull, `runner_low` and `runner_high` the least distance to
    any other label's; `runner_up` is the other label that seems nearest (with `exact`, that is nearest).
    `inside` names every label whose hull contains the query (distance at most 1e-9 of the data's scale), and in a
    conflict also one of which float64 cannot tell, as where opposite examples all but cancel. `guessable` says that
    ratio <= tau is certain and that no conflict stands against it. With fewer than two labels there is no runner-up:
    its distance is infinite.
    """

    label: Label
    low: float
    high: float
    runner_up: Label | None
    runner_low: float
    runner_high: float
    guessable: bool
    inside: tuple[Label, ...]
    suggestions: tuple[Suggestion, ...]
    evidence: tuple[Support, ...]

    @property
    def is_conflict(self) -> bool:
        """Whether several hulls contain the query."""
        return len(self.inside) > 1

    @property
    def ratio_low(self) -> float:
        """The ratio of the two distances is at least this."""
        if self.inside:
            return 0.0
        return self.low / self.runner_high if self.runner_high > 0.0 else 1.0

    @property
    def ratio_high(self) -> float:
        """The ratio of the two distances is at most this."""
        if self.inside:
            return 0.0
        return min(1.0, self.high / self.runner_low) if self.runner_low > 0.0 else 1.0
