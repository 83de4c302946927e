"""A question as the expert meets it: the text, and labels to choose from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    if case.query.vector is None:
        return ()
    closest = near.closest(case.query.vector, SHOWN)
    example = {s.label: s.example for s in closest}
    found: dict[str, Choice] = {}
    for suggestion in [*named(decision), *closest]:
        label = str(suggestion.label)
        if label in found or len(found) == SHOWN:
            continue
        id = suggestion.example if suggestion.example is not None else example.get(suggestion.label)
        text = text_of(id) if isinstance(id, int) else None
        found[label] = Choice(label, text, None if blind else suggestion.probability)
    return tuple(sorted(found.values(), key=lambda c: c.label.casefold()) if blind else found.values())


def named(decision: Decision | None) -> list[Suggestion]:
    """The labels that a decision names, best first."""
    if isinstance(decision, Ask):
        return suggestions(decision)
    if isinstance(decision, Guess):
        second = [] if decision.runner_up is None else [Suggestion(decision.runner_up, float("nan"))]
        return [Suggestion(decision.label, decision.distance, None, decision.probability), *second]
    return []
