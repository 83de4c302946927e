"""The settings of a desk in words: what each is called, what it does, and how a value of it is said."""

from __future__ import annotations

from typing import Any

from askless.desk.live.settings import LiveSettings
from askless.desk.live.what_if import CostEffect
from askless.types import Costs

TITLES = {
    "policy": "Policy",
    "costs": "Costs",
    "audit_rate": "Audit rate",
    "mode": "Mode",
    "when_able": "When the desk becomes able to answer what waits",
    "lease_seconds": "Lease",
    "retention_days": "Retention",
    "retain_examples": "Keep examples",
    "share_examples": "Share examples",
}
_EARNED = "What the desk earns for a question to an expert, for a right guess and for a wrong one."
HELP = {
    "policy": "How the desk decides whether to guess or to ask. Another policy learns all examples anew; none is lost.",
    "costs": (f"{_EARNED} Only the differences count: the dearer a mistake is against a question, the more it asks."),
    "audit_rate": (
        "The share of guesses that an expert answers as well, to measure how often guesses are wrong. While it is "
        "above 0, experts are not told what the desk would guess, so that their answers measure it."
    ),
    "mode": "Whether guesses are sent to who asks, or only recorded to see how the desk would do.",
    "when_able": "What happens to a waiting question that the desk could answer by now, after it has learned more.",
    "lease_seconds": "How long a question is kept for the expert who has it on the screen, in seconds.",
    "retention_days": "After how many days the text of a question is erased. Leave it empty to keep all.",
    "retain_examples": "What an expert has labelled stays when it grows older than the retention.",
    "share_examples": (
        "Who asks with a client's key sees the examples behind a guess: texts and ids that others may have sent. "
        "Experts always do."
    ),
}
COSTS_IGNORED = f"{_EARNED} The policy chosen below does not look at them: they count in the statistics alone."
CHOICES = {
    "mode": {"live": "Live: guesses are the answer", "shadow": "Shadow: everything is asked, guesses are recorded"},
    "when_able": {
        "withdraw": "Withdraw: the desk answers it, and nobody needs to",
        "offer": "Offer: it stays, with the guess beside it",
    },
}
_RELEARNED = (
    "This compares the recorded probabilities with the new costs; the desk would also have learned differently."
)


def said(name: str, value: Any) -> str:
    """A value of a setting, in short."""
    if name == "costs":
        return f"{value.call:g}, {value.right:g}, {value.wrong:g}"
    if name == "audit_rate":
        return f"{value:.4%}".rstrip("0%").rstrip(".").join(("", " %")) if value else "0 %"
    if name == "lease_seconds":
        return f"{value:,} seconds"
    if name == "retention_days":
        return "for ever" if value is None else f"{value:,} days"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def changes_in_words(before: LiveSettings, after: LiveSettings) -> str:
    """What is different between two settings."""
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in TITLES)
    told = [f"{TITLES[name]}: {said(name, old)} → {said(name, new)}" for name, old, new in pairs if old != new]
    return "; ".join(told) if told else "Nothing was changed"


def costs_in_words(costs: Costs) -> str:
    """What the three numbers come to."""
    return f"A question costs {costs.question:g}, a mistake {costs.mistake:g}."


def effect_in_words(effect: CostEffect, *, same: bool, ignored: bool = False) -> str:
    """What other costs would have changed, and what that rests on; with the `same` ones, what was asked.

    `ignored` says that the policy does not look at the costs.
    """
    if ignored and not same:
        return "The policy does not look at the costs: others change none of its decisions, only the statistics."
    last = "the last question" if effect.decisions == 1 else f"the last {effect.decisions:,} questions"
    if not effect.decisions:
        return "The desk has decided nothing yet, so there is nothing to compare other costs with."
    if same:
        desk = "The desk" if ignored else "With the costs as they are, the desk"
        if effect.in_shadow:
            return f"{desk} would have asked {effect.asked:,} of {last}; in shadow mode everything is asked."
        return f"{desk} asked {effect.asked:,} of {last}."
    if effect.without_probability == effect.decisions:
        return (
            f"None of {last} has a recorded probability that these costs could be compared with: only the policy "
            "self-tuning records one, once it has learned enough."
        )
    text = (
        f"With these costs the desk would have asked {effect.would_ask:,} instead of {effect.asked:,} of {last}. "
        f"{_RELEARNED}"
    )
    if effect.without_probability:
        text += (
            f" {effect.without_probability:,} of them have no recorded probability and count as they were: the first "
            "questions of a desk, conflicts between experts, what the hulls decided, and decisions of other policies."
        )
    return text
