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
    """For each label, with how many examples it was guessed, rising, and how often up to then, after a zero.

    That is all of a guess that is kept: what it was made for is not, and however many guesses there are, a label has no
    more entries than there were examples. A guess counts from the next example on, so that nothing changes between two
    examples, and queries can be judged together.
    """

    def __init__(self) -> None:
        self._made: dict[Label, tuple[list[int], list[int]]] = {}

    def observe(self, decision: Decision, examples: int) -> None:
        """Take note of a decision that was acted on when there were so many examples."""
        if isinstance(decision, Guess):
            made_with, total = self._made.setdefault(decision.label, ([], [0]))
            _note(made_with, total, examples, total[-1] + 1)

    def before(self, label: Label, examples: int) -> int:
        """How often the label had been guessed before the last of the first so many examples was learned."""
        if label not in self._made:
            return 0
        made_with, total = self._made[label]
        return total[bisect_left(made_with, examples)]

    def forgotten(self, positions: Sequence[int]) -> None:
        """The examples at these positions, in rising order, were taken out: a guess after one had an example less."""
        for label, (made_with, total) in self._made.items():
            again: tuple[list[int], list[int]] = ([], [0])
            for examples, upto in zip(made_with, total[1:], strict=True):
                _note(*again, examples - bisect_left(positions, examples), upto)
            self._made[label] = again

    def renamed(self, old: Label, new: Label) -> None:
        """A label has another name, which no label had."""
        if old in self._made:
            self._made[new] = self._made.pop(old)

    def state(self) -> dict[str, Any]:
        """The labels that were guessed, how many entries each has, and these."""
        made = list(self._made.values())
        return {
            "guessed": list(self._made),
            "guessed_entries": np.array([len(made_with) for made_with, _ in made], dtype=np.int64),
            "guessed_with": np.array([n for made_with, _ in made for n in made_with], dtype=np.int64),
            "guessed_upto": np.array([n for _, total in made for n in total[1:]], dtype=np.int64),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave; an earlier version took no note of guesses."""
        start = 0
        for label, count in zip(state.get("guessed", ()), state.get("guessed_entries", ()), strict=True):
            made_with, upto = (state[name][start : start + count].tolist() for name in ("guessed_with", "guessed_upto"))
            self._made[label] = (made_with, [0, *upto])
            start += count


def _note(made_with: list[int], total: list[int], examples: int, upto: int) -> None:
    """There were `upto` guesses when so many examples were known, as many as at the last entry or more."""
    if made_with and made_with[-1] == examples:
        total[-1] = upto
    else:
        made_with.append(examples)
        total.append(upto)
