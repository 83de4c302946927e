"""In which order the rows of a labelled file come, and what is known before the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.errors import InvalidInput
from askless.inputs import as_costs, as_flag, as_fraction
from askless.streams.stream import as_whole
from askless.types import Costs

# Denser where the best one usually lies; with it GHC in hindsight is as strong as a user could make it.
TAUS = (0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875, 0.9, 0.925, 0.95)


class Order(NamedTuple):
    """Rows of the data: those learned before the first round, and those of the rounds, each in their order."""

    given: NDArray[np.intp]
    stream: NDArray[np.intp]


def ordered_rows(
    labels: Sequence[str] | NDArray[Any], *, seed: int = 0, rounds: int | None = None, first_examples: bool = False
) -> Order:
    """The rows of one run: the first `rounds` of the permutation that `numpy.random.default_rng(seed)` gives.

    With `first_examples` the first row of each label among them is given before, free of charge, and leaves the
    stream, so that `rounds` less the number of labels are left to decide. A label that has no row among them is
    not given. This is the protocol of docs/benchmarks.md; on BANKING77, with 6,000 rows and seed 0, 77 examples
    are given and 5,923 rounds follow.
    """
    names = np.asarray(labels)
    order = np.random.default_rng(as_whole(seed, 0, "The seed")).permutation(len(names))
    if rounds is not None:
        order = order[: as_whole(rounds, 1, "--rounds")]
    if not first_examples:
        return Order(np.zeros(0, dtype=np.intp), order)
    _, first = np.unique(names[order], return_index=True)
    first.sort()
    return Order(order[first], np.delete(order, first))


@dataclass(frozen=True, slots=True)
class Setting:
    """How a replay is run, whatever the policy: what is known before, how the expert answers, and the prices."""

    costs: Costs = field(default_factory=Costs)
    rounds: int | None = None
    first_examples: bool = False
    known_labels: bool = False
    delay: int = 0
    error_rate: float = 0.0

    def __post_init__(self) -> None:
        if self.rounds is not None:
            as_whole(self.rounds, 1, "--rounds")
        as_whole(self.delay, 0, "--delay, in rounds,")
        as_fraction(self.error_rate, "--error-rate")
        as_flag(self.first_examples, "first_examples")
        as_flag(self.known_labels, "known_labels")
        object.__setattr__(self, "costs", as_costs(self.costs))

    def parameters(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        return asdict(self)

    def defaults(self, n_labels: int, horizon: int) -> dict[str, Any]:
        """What `make_policy` is told besides a policy's name."""
        return {
            "costs": self.costs,
            "space": "sphere",
            "n_labels": n_labels if self.known_labels else None,
            "horizon": horizon,
            "labels_given": True if self.first_examples else None,
        }

    def order(self, labels: Sequence[str] | NDArray[Any], seed: int) -> Order:
        """The rows of the run of one seed; a run without a round is refused."""
        order = ordered_rows(labels, seed=seed, rounds=self.rounds, first_examples=self.first_examples)
        if not len(order.stream):
            raise InvalidInput(
                f"All {len(order.given)} rows are given as first examples, and none is left to decide; give more "
                "rows with --rounds, or leave --first-examples out."
            )
        return order
