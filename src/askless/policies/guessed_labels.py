"""How often each label was guessed by the time that so many examples were known.

The expert is asked about what is hard, so the number of a label's examples says little of how often it comes up. With
its guesses counted as well it does, whether or not each of them was right.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from askless.types import Decision, Guess, Label


class GuessedLabels:
    """For each label, with how many examples each of its guesses was made, in their order.

    That is all of a guess that is kept: what it was made for is not. A guess counts from the next example on, so that
    nothing changes between two examples, and queries can be judged together.
    """

    def __init__(self) -> None:
        self._made_with: dict[Label, list[int]] = {}

    def observe(self, decision: Decision, examples: int) -> None:
        """Take note of a decision that was acted on when there were so many examples."""
        if isinstance(decision, Guess):
            self._made_with.setdefault(decision.label, []).append(examples)

    def before(self, label: Label, examples: int) -> int:
        """How often the label had been guessed before the last of the first so many examples was learned."""
        return bisect_left(self._made_with.get(label, ()), examples)

    def forgotten(self, positions: Sequence[int]) -> None:
        """The examples at these positions, in rising order, were taken out: a guess after one had an example less."""
        for label, made_with in self._made_with.items():
            self._made_with[label] = [n - bisect_left(positions, n) for n in made_with]

    def renamed(self, old: Label, new: Label) -> None:
        """A label has another name, which no label had."""
        self._made_with[new] = self._made_with.pop(old, [])

    def state(self) -> dict[str, Any]:
        """The labels that were guessed, how often each was, and all numbers of examples."""
        numbers = [n for made_with in self._made_with.values() for n in made_with]
        return {
            "guessed": list(self._made_with),
            "guesses": np.array([len(made_with) for made_with in self._made_with.values()], dtype=np.int64),
            "guessed_with": np.array(numbers, dtype=np.int64),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave; an earlier version took no note of guesses."""
        start = 0
        for label, count in zip(state.get("guessed", ()), state.get("guesses", ()), strict=True):
            self._made_with[label] = state["guessed_with"][start : start + count].tolist()
            start += count
