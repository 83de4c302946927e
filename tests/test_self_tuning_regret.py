"""The self-tuning policy on askless's own sample: cheaper than GHC with the threshold chosen in hindsight."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from askless.datasets.sample import support_questions
from askless.embed.wordllama import WordLlama
from askless.policies.generalized_hull import GeneralizedHull
from askless.policies.self_tuning import SelfTuning
from askless.replay.protocol import ordered_rows
from askless.simulate import simulate
from askless.types import Policy

TAUS = (0.7, 0.75, 0.8, 0.85, 0.9)
SEEDS = (10, 11, 12)
Floats = NDArray[np.float32]


@pytest.fixture(scope="module")
def sample() -> tuple[Floats, list[str]]:
    texts, labels = support_questions()
    return WordLlama().embed(texts), list(labels)


def regret(policy: Policy, sample: tuple[Floats, list[str]], seed: int, first_examples: bool) -> float:
    X, y = sample
    order = ordered_rows(y, seed=seed, first_examples=first_examples)
    for row in order.given:
        policy.learn(X[row], y[row])
    return float(simulate(policy, X[order.stream], [y[row] for row in order.stream]).regret[-1])


@pytest.mark.parametrize("first_examples", [True, False], ids=["one example of each label", "nothing known"])
def test_regret_is_below_that_of_the_best_threshold_in_hindsight(
    sample: tuple[Floats, list[str]], first_examples: bool
) -> None:
    known = 33 if first_examples else None
    ours = [regret(SelfTuning(n_labels=known), sample, seed, first_examples) for seed in SEEDS]
    hulls = {
        tau: [regret(GeneralizedHull(tau, n_labels=known), sample, seed, first_examples) for seed in SEEDS]
        for tau in TAUS
    }
    best = [min(found[k] for found in hulls.values()) for k in range(len(SEEDS))]
    assert np.mean(ours) < np.mean(best), (ours, best)
