"""What happened in every round of a run, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askless.types import Costs, Label

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened in every round of a run.

    `guess` holds the index in `labels` of the label that was guessed, or -1 where the expert was asked;
    `truth` the index of the true label; `row` the row of X that came in that round. `labels_seen_round`
    counts the rounds until the policy had an example of every label of the stream: 0 if it had them all at
    the start, None if it never did. Two traces are equal if all but the seconds they took is equal.
    """

    policy: str
    costs: Costs
    labels: tuple[Label, ...]
    row: NDArray[np.intp]
    truth: NDArray[np.intp]
    guess: NDArray[np.intp]
    labels_seen_round: int | None
    seconds: float = 0.0

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """Whether the expert was asked in each round."""
        return np.asarray(self.guess < 0)

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the policy guessed right in each round; False where it asked."""
        return np.asarray(self.guess == self.truth)

    @cached_property
    def calls(self) -> NDArray[np.int64]:
        """Questions to the expert, up to and including each round."""
        return np.cumsum(self.asked, dtype=np.int64)

    @cached_property
    def mistakes(self) -> NDArray[np.int64]:
        """Wrong guesses, up to and including each round."""
        return np.cumsum(~(self.asked | self.correct), dtype=np.int64)

    @cached_property
    def regret(self) -> NDArray[np.float64]:
        """What questions and mistakes have cost against an oracle, up to and including each round."""
        return self.costs.question * self.calls + self.costs.mistake * self.mistakes

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self.guess)

    @property
    def calls_after_all_seen(self) -> int:
        """Questions after every label had been seen once: what the paper's tables count as calls."""
        return 0 if self.labels_seen_round is None else int(self.asked[self.labels_seen_round :].sum())

    @property
    def share_automated(self) -> float:
        """The share of the rounds in which the policy guessed."""
        return 1.0 - float(self.asked.mean()) if self.rounds else 0.0

    @property
    def error_rate(self) -> float:
        """The share of the guesses that were wrong; 0 where there were none."""
        guesses = self.rounds - int(self.asked.sum())
        return float(_last(self.mistakes)) / guesses if guesses else 0.0

    def summary(self) -> dict[str, Any]:
        """The figures of the whole run."""
        return {
            "policy": self.policy,
            "rounds": self.rounds,
            "calls": int(_last(self.calls)),
            "calls_after_all_seen": self.calls_after_all_seen,
            "labels_seen_round": self.labels_seen_round,
            "guesses": self.rounds - int(_last(self.calls)),
            "mistakes": int(_last(self.mistakes)),
            "error_rate": self.error_rate,
            "share_automated": self.share_automated,
            "regret": float(_last(self.regret)),
            "regret_always_ask": self.costs.question * self.rounds,
        }

    def to_frame(self) -> pd.DataFrame:
        """One line a round, as a data frame; `guess` and `correct` are missing where the expert was asked."""
        import pandas as pd

        names = np.array([*self.labels, None], dtype=object)  # index -1 is the None at the end
        correct = pd.Series(self.correct, dtype="boolean").mask(self.asked)
        return pd.DataFrame(
            {
                "round": np.arange(1, self.rounds + 1),
                "row": self.row,
                "action": np.where(self.asked, "ask", "guess"),
                "guess": names[self.guess],
                "truth": names[self.truth],
                "correct": correct,
                "calls": self.calls,
                "mistakes": self.mistakes,
                "regret": self.regret,
            }
        )

    def __repr__(self) -> str:
        """The figures of the whole run: the arrays have a number for each round."""
        calls, mistakes, regret = (_last(total) for total in (self.calls, self.mistakes, self.regret))
        return (
            f"Trace(policy={self.policy!r}, rounds={self.rounds}, calls={calls}, mistakes={mistakes}, "
            f"regret={regret:.12g})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        mine, theirs = (
            (
                t.policy,
                t.costs,
                t.labels,
                t.labels_seen_round,
                t.row.tolist(),
                t.truth.tolist(),
                t.guess.tolist(),
            )
            for t in (self, other)
        )
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]


def _last(cumulative: NDArray[Any]) -> Any:
    return cumulative[-1] if len(cumulative) else 0
