"""askless labels a stream of queries while asking a human expert as rarely as possible.

    from askless import Ask, GeneralizedHull

    policy = GeneralizedHull(tau=0.9)
    for vector in stream:
        decision = policy.decide(vector)
        policy.observe(vector, decision)
        if isinstance(decision, Ask):
            policy.learn(vector, ask_the_expert(vector))

Names are loaded where they are first used, so that `import askless` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from askless.errors import AsklessError
from askless.types import Ask, Costs, Decision, Embedder, Example, Guess, Policy, Suggestion, Support

if TYPE_CHECKING:
    from askless.checks import check_policy
    from askless.persist import load, save
    from askless.policies.active_perceptron import ActivePerceptron
    from askless.policies.always_ask import AlwaysAsk
    from askless.policies.center_based import CenterBased
    from askless.policies.center_then_hull import CenterThenHull
    from askless.policies.conservative_hull import ConservativeHull
    from askless.policies.generalized_hull import GeneralizedHull
    from askless.policies.named import make_policy
    from askless.policies.self_tuning import SelfTuning
    from askless.policies.sequential_kmeans import SequentialKMeans
    from askless.policies.similarity_threshold import SimilarityThreshold

_HOMES = {
    "ActivePerceptron": "askless.policies.active_perceptron",
    "AlwaysAsk": "askless.policies.always_ask",
    "CenterBased": "askless.policies.center_based",
    "CenterThenHull": "askless.policies.center_then_hull",
    "ConservativeHull": "askless.policies.conservative_hull",
    "GeneralizedHull": "askless.policies.generalized_hull",
    "SelfTuning": "askless.policies.self_tuning",
    "SequentialKMeans": "askless.policies.sequential_kmeans",
    "SimilarityThreshold": "askless.policies.similarity_threshold",
    "check_policy": "askless.checks",
    "load": "askless.persist",
    "make_policy": "askless.policies.named",
    "save": "askless.persist",
}

__all__ = [
    "ActivePerceptron",
    "AlwaysAsk",
    "Ask",
    "AsklessError",
    "CenterBased",
    "CenterThenHull",
    "ConservativeHull",
    "Costs",
    "Decision",
    "Embedder",
    "Example",
    "GeneralizedHull",
    "Guess",
    "Policy",
    "SelfTuning",
    "SequentialKMeans",
    "SimilarityThreshold",
    "Suggestion",
    "Support",
    "check_policy",
    "load",
    "make_policy",
    "save",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("askless")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'askless' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
