"""The self-tuning policy where clusters lie far apart: it may guess early there, and should."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from askless.policies.generalized_hull import GeneralizedHull
from askless.policies.self_tuning import SelfTuning
from askless.simulate import simulate

TAUS = (0.8, 0.85, 0.9, 0.95)
DIM, SPREAD = 256, 0.07
Stream: TypeAlias = tuple[NDArray[np.float32], list[int]]


def around(rng: np.random.Generator, centres: NDArray[np.float64], chosen: NDArray[np.int64]) -> NDArray[np.float32]:
    """A unit vector around each of the chosen centres, with a cosine of some 0.45 to others of the same."""
    centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)
    X = centres[chosen] + SPREAD * rng.standard_normal((len(chosen), DIM))
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True), dtype=np.float32)


def seldom_and_often(rng: np.random.Generator) -> Stream:
    """Sixty labels, some of which come up all the time and some hardly ever, with a direction that all share."""
    share = 1.0 / np.arange(1, 61) ** 1.5
    y = rng.choice(60, size=3000, p=share / share.sum())
    centres = rng.standard_normal((60, DIM)) + 0.8 * rng.standard_normal(DIM)
    return around(rng, centres, y), y.tolist()


def ever_more(rng: np.random.Generator) -> Stream:
    """A new label every forty rounds."""
    y = rng.integers(0, 1 + np.arange(3000) // 40)
    return around(rng, rng.standard_normal((75, DIM)), y), y.tolist()


def many_kinds(rng: np.random.Generator) -> Stream:
    """Two labels, each with twenty kinds of queries: an unknown kind is no unknown label."""
    kind = rng.integers(40, size=2000)
    return around(rng, rng.standard_normal((40, DIM)), kind), (kind % 2).tolist()


@pytest.mark.parametrize("made", [seldom_and_often, ever_more, many_kinds])
def test_far_clusters_cost_little_more_than_with_the_best_threshold_in_hindsight(
    made: Callable[[np.random.Generator], Stream],
) -> None:
    ours, best = [], []
    for seed in (50, 51):
        X, y = made(np.random.default_rng(seed))
        ours.append(float(simulate(SelfTuning(), X, y).regret[-1]))
        best.append(min(float(simulate(GeneralizedHull(tau), X, y).regret[-1]) for tau in TAUS))
    assert np.mean(ours) < 1.5 * np.mean(best) + 60.0, (ours, best)


@pytest.mark.parametrize(("dim", "most"), [(10, 700.0), (64, 400.0)])
def test_a_first_fit_that_has_seen_one_label_alone_does_not_silence_the_questions(dim: int, most: float) -> None:
    """Where the first answers have one label, nothing says how far the next one is. Always asking costs 3,000."""
    regrets = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 1 + np.arange(1500) // 60)
        X = 3.0 * rng.standard_normal((25, dim))[y] + 0.5 * rng.standard_normal((len(y), dim))
        regrets.append(float(simulate(SelfTuning(space="euclidean"), X, y.tolist()).regret[-1]))
    assert np.mean(regrets) < most, regrets


@pytest.mark.parametrize("magnitude", [1e6, 1e16, 1e20, 1e30])
def test_far_outliers_spoil_no_fit(magnitude: float) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((110, int(rng.choice([2, 3, 7, 9, 64]))))
        X[rng.random(110) < 0.05] *= magnitude
        policy = SelfTuning(space="euclidean")
        for x, label in zip(X, rng.integers(0, 2, 110).tolist(), strict=True):
            policy.decide(x)
            policy.learn(x, label)
