"""What the desk would guess for a waiting query if it had to, and which examples speak for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from askless.desk.live import read
from askless.desk.live.desk import LiveDesk
from askless.desk.live.types import Evidence
from askless.desk.questions import offered
from askless.types import Guess


@dataclass(frozen=True, slots=True)
class BestGuess:
    """The likeliest label as the desk sees it now, with its answer text. `sure`: it would guess so by itself."""

    label: str
    answer: str | None
    probability: float | None
    evidence: tuple[Evidence, ...]  # heaviest first; of a label that it would not guess, the closest example alone
    sure: bool


def best_guess(desk: LiveDesk, query: int) -> BestGuess | None:
    """The best guess for a waiting query; None where nothing is known of it, or the desk keeps that from experts."""
    waiting = desk.fold.waiting.get(query)
    if waiting is None or waiting.vector is None or desk.settings.blind:
        return None
    decision = desk.fold.policy.decide(waiting.vector)
    found = offered(waiting.vector, decision, desk.fold.near)
    if not found:
        return None
    best = found[0]
    parts: dict[Any, float] = {} if best.example is None else {best.example: 1.0}
    if isinstance(decision, Guess) and decision.evidence:
        parts = {support.id: support.weight for support in decision.evidence}
    known = read.evidence(desk.entry.connection, [id for id in parts if isinstance(id, int)])
    evidence = sorted(read.weighed(parts.items(), known), key=lambda e: -e.weight)
    label = desk.fold.labels.get(str(best.label))
    return BestGuess(
        str(best.label),
        None if label is None else label.answer,
        None if best.probability is None else float(best.probability),
        tuple(evidence),
        isinstance(decision, Guess),
    )
