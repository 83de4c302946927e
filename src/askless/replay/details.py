"""Where a policy had trouble: the labels that cost most, and some of its wrong guesses with what carried them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askless.replay.data import Vectored
from askless.replay.run import Entry, Played


@dataclass(frozen=True, slots=True)
class LabelLine:
    """What one label cost, over all runs; `taken_for` is the label most often guessed in its place."""

    label: str
    texts: int
    asked: int
    wrong: int
    taken_for: str
    regret: float

    @property
    def share_automated(self) -> float:
        """The share of its texts that were guessed."""
        return 1.0 - self.asked / self.texts


class Carrier(NamedTuple):
    """An example that carried a guess, with its weight."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong guess."""

    round: int
    text: str
    truth: str
    guess: str
    probability: float | None
    carriers: tuple[Carrier, ...]


def label_lines(entry: Entry) -> list[LabelLine]:
    """A line a label, the costliest first."""
    texts: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    taken: dict[str, Counter[str]] = {}
    for played in entry.runs:
        trace = played.trace
        names = [str(label) for label in trace.labels]
        for truth, guess in zip(trace.truth.tolist(), trace.guess.tolist(), strict=True):
            label = names[truth]
            texts[label] += 1
            asked[label] += guess < 0
            if guess >= 0 and guess != truth:
                wrong[label] += 1
                taken.setdefault(label, Counter())[names[guess]] += 1
    costs = entry.runs[0].trace.costs
    lines = [
        LabelLine(
            label,
            texts[label],
            asked[label],
            wrong[label],
            taken[label].most_common(1)[0][0] if label in taken else "",
            costs.question * asked[label] + costs.mistake * wrong[label],
        )
        for label in texts
    ]
    return sorted(lines, key=lambda line: (-line.regret, line.label))


def sample_mistakes(played: Played, data: Vectored, most: int = 15) -> list[Mistake]:
    """Up to `most` wrong guesses, spread evenly over the rounds of one run."""
    wrong = played.row["wrong"]
    places = np.unique(np.linspace(0, len(wrong) - 1, min(most, len(wrong))).astype(int)) if wrong else ()
    trace = played.trace
    found = []
    for place in places:
        t, carriers, probability = wrong[place]
        found.append(
            Mistake(
                t + 1,
                data.texts[trace.row[t]],
                str(trace.labels[trace.truth[t]]),
                str(trace.labels[trace.guess[t]]),
                probability,
                tuple(Carrier(data.texts[row], weight) for row, weight in carriers),
            )
        )
    return found
