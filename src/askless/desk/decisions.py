"""A decision as the ledger keeps it, and back: the same floats, the same labels, the same reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from askless import types
from askless.types import Ask, Decision, Guess, Reason, Suggestion, supports


@dataclass(frozen=True, slots=True)
class Recorded(Reason):
    """The reason of a policy from outside askless, read back from the ledger: its sentence alone."""

    sentence: str

    def __str__(self) -> str:
        return self.sentence


def written(decision: Decision) -> dict[str, Any]:
    """The decision as JSON can hold it."""
    if isinstance(decision, Guess):
        return {
            "action": "guess",
            "label": decision.label,
            "distance": float(decision.distance),
            "runner_up": decision.runner_up,
            "ratio": float(decision.ratio),
            "evidence": [[id, float(weight)] for id, weight in decision.evidence],
            "probability": _number(decision.probability),
        }
    return {
        "action": "ask",
        "reason": _reason(decision.reason),
        "suggestions": [[s.label, float(s.distance), s.example, _number(s.probability)] for s in suggestions(decision)],
    }


def read(payload: dict[str, Any]) -> Decision:
    """The decision that `written` was given."""
    if payload["action"] == "guess":
        return Guess(
            payload["label"],
            payload["distance"],
            payload["runner_up"],
            payload["ratio"],
            supports(payload["evidence"]),
            payload["probability"],
        )
    return Ask(_read_reason(payload["reason"]), tuple(Suggestion(*row) for row in payload["suggestions"]))


def suggestions(decision: Ask) -> list[Suggestion]:
    """The labels that a question offers, each with all its fields, whichever of them the policy gave."""
    return [Suggestion(*given) for given in decision.suggestions]


def _reason(reason: Reason) -> dict[str, Any]:
    """The class and its fields, where it is one of askless's own; and always the sentence."""
    found: dict[str, Any] = {"sentence": str(reason)}
    name, value = type(reason).__name__, cast(Any, reason)
    if getattr(types, name, None) is type(reason) and dataclasses.is_dataclass(type(reason)):
        found |= {"kind": name, "fields": {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}}
    return found


def _read_reason(payload: dict[str, Any]) -> Reason:
    made: Callable[..., Reason] | None = getattr(types, str(payload.get("kind", "")), None)
    if made is not None:
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in payload["fields"].items()}
        try:
            return made(**fields)
        except TypeError:  # the fields of that class were others when this was written
            pass
    return Recorded(payload["sentence"])


def _plain(value: Any) -> Any:
    """Numbers of numpy as Python's own, which JSON can hold."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
