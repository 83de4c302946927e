"""A question as the expert meets it: the text, and labels to choose from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askless.desk.cases import Case, Why
from askless.desk.decisions import suggestions
from askless.desk.nearest import ClosestLabels
from askless.types import Ask, Decision, Guess, Suggestion

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """A label to offer, the text of its closest example, and how likely it is where that is known."""

    label: str
    example: str | None = None
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One text that the expert is asked about. `reason` says why, where that gives nothing away."""

    query: int
    text: str
    choices: tuple[Choice, ...]
    reason: str | None
    why: Why


def choices(
    case: Case, decision: Decision | None, near: ClosestLabels, text_of: Callable[[int], str | None], blind: bool
) -> tuple[Choice, ...]:
    """The labels to offer: what the policy names, then those of the closest examples.

    With `blind` nothing may tell an audit from another question, nor name the guess first: the same number of labels,
    in the order of their names, without probabilities.
    """
    found = [
        Choice(
            str(s.label), text_of(s.example) if isinstance(s.example, int) else None, None if blind else s.probability
        )
        for s in offered(case.query.vector, decision, near)
    ]
    return tuple(sorted(found, key=lambda c: c.label.casefold()) if blind else found)


def offered(vector: NDArray[np.float32] | None, decision: Decision | None, near: ClosestLabels) -> list[Suggestion]:
    """What the policy names, then the labels of the closest examples: as many as a question shows."""
    if vector is None:
        return []
    closest = near.closest(vector, SHOWN)
    beside = {str(s.label): s for s in closest}
    found: dict[str, Suggestion] = {}
    for suggestion in [*named(decision), *closest]:
        label = str(suggestion.label)
        if label in found or len(found) == SHOWN:
            continue
        found[label] = _completed(suggestion, beside.get(label))
    return list(found.values())


def _completed(suggestion: Suggestion, closest: Suggestion | None) -> Suggestion:
    """With the closest example of its label, and how far that is, where the policy does not say."""
    if closest is None:
        return suggestion
    if suggestion.example is None:
        suggestion = suggestion._replace(example=closest.example)
    return suggestion if math.isfinite(suggestion.distance) else suggestion._replace(distance=closest.distance)


def named(decision: Decision | None) -> list[Suggestion]:
    """The labels that a decision names, best first."""
    if isinstance(decision, Ask):
        return suggestions(decision)
    if isinstance(decision, Guess):
        second = [] if decision.runner_up is None else [Suggestion(decision.runner_up, float("nan"))]
        return [Suggestion(decision.label, decision.distance, None, decision.probability), *second]
    return []
