"""What an answer is worth beyond its own round: the questions and mistakes that it saves later."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from askless.types import Ask, Costs, Decision, Guess, TooUncertain

_RECENT = 500
_ROUNDS_BEFORE = 100
_QUESTIONS_BEFORE = 50
_HORIZON = 1000  # the least number of rounds that a stream is taken to go on for
_MOST = 25.0  # in questions
_DIGITS = 80  # binary ones after the point


class _Recent:
    """The last so many figures and their mean, which depends on these alone: their sum is kept in whole numbers.

    `most` is the largest figure there can be; what is none (NaN) counts as zero.
    """

    def __init__(self, most: float) -> None:
        self.figures: deque[float] = deque(maxlen=_RECENT)
        self._most = most or 1.0
        self._sum = 0

    def __len__(self) -> int:
        return len(self.figures)

    def append(self, figure: float) -> None:
        """Take in one more, in the place of the oldest where there are so many."""
        if len(self.figures) == _RECENT:
            self._sum -= self._whole(self.figures[0])
        self.figures.append(figure)
        self._sum += self._whole(figure)

    @property
    def mean(self) -> float:
        """Of the figures there are."""
        return self._sum / (len(self.figures) << _DIGITS) * self._most

    def _whole(self, figure: float) -> int:
        """The figure in units that are far finer than what counts of it."""
        part = figure / self._most
        return int(part * 2.0**_DIGITS) if 0.0 <= part <= 1.0 else 0


class AnswerValue:
    """A running estimate of the value of an answer, in the units of the costs.

    Let L be the mean expected cost of a round, min(question, (1 - p) mistake), of late. If it falls as one over the
    number C of answers, one more answer saves L / C a round, over as many rounds as have passed, t, and at least a
    thousand more. An answer that surprises teaches more: where a is the mean of 1 - p over the questions, one to a
    query with probability p is worth (1 - p) (t + 1000) L / (C a).
    """

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._rounds = 0
        self._questions = 0
        self._losses, self._surprises = _Recent(costs.question), _Recent(1.0)

    def observe(self, decision: Decision) -> None:
        """Take note of one decision that was acted on."""
        self._rounds += 1
        self._questions += isinstance(decision, Ask)
        p = _probability(decision)
        if p is None or not 0.0 <= p <= 1.0:
            return
        self._losses.append(min(self._costs.question, (1.0 - p) * self._costs.mistake))
        if isinstance(decision, Ask):
            self._surprises.append(1.0 - p)

    @property
    def value(self) -> float:
        """What an answer saves later, for each unit of 1 - p."""
        if len(self._losses) < _ROUNDS_BEFORE or len(self._surprises) < _QUESTIONS_BEFORE:
            return 2.0 * self._costs.question
        surprise = max(self._surprises.mean, 1e-3)
        found = (self._rounds + _HORIZON) * self._losses.mean / (self._questions * surprise)
        return min(found, _MOST * self._costs.question)

    @property
    def needed(self) -> float:
        """The least probability at which a guess is no dearer than a question."""
        dearest = self._costs.mistake + self.value
        return 1.0 - self._costs.question / dearest if dearest > self._costs.question else 0.0

    def state(self) -> dict[str, Any]:
        """The counts and the recent figures."""
        return {
            "rounds": self._rounds,
            "questions": self._questions,
            "losses": np.array(self._losses.figures, dtype=np.float64),
            "surprises": np.array(self._surprises.figures, dtype=np.float64),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        self._rounds, self._questions = int(state["rounds"]), int(state["questions"])
        for recent, name in ((self._losses, "losses"), (self._surprises, "surprises")):
            for figure in state[name].tolist():
                recent.append(figure)


def _probability(decision: Decision) -> float | None:
    """How sure the policy was, where it said."""
    if isinstance(decision, Guess):
        return decision.probability
    return decision.reason.probability if isinstance(decision.reason, TooUncertain) else None
