"""What the policies the paper compares with have in common: forgetting, relabelling, saving."""

from __future__ import annotations

import numpy as np
import pytest

from askless.policies.active_perceptron import ActivePerceptron
from askless.policies.always_ask import AlwaysAsk
from askless.policies.center_based import CenterBased
from askless.policies.center_then_hull import CenterThenHull
from askless.policies.sequential_kmeans import SequentialKMeans
from askless.policies.similarity_threshold import SimilarityThreshold
from askless.types import Ask, Guess, NoExamples
from baselines import SPACES, clusters, kinds

MAKERS = {
    "cc": lambda space: CenterBased(2.0, space=space, n_labels=4),
    "cc, labels given": lambda space: CenterBased(2.0, space=space, labels_given=True),
    "hybrid": lambda space: CenterThenHull(2.0, space=space, n_labels=4),
    "skm": lambda space: SequentialKMeans(space=space, n_labels=4),
    "amp": lambda space: ActivePerceptron(0.9, space=space),
    "amp, known": lambda space: ActivePerceptron(0.9, space=space, n_labels=4),
    "similarity": lambda space: SimilarityThreshold(0.8, space=space),
    "always": lambda space: AlwaysAsk(space=space),
}


def script(X, y, rng):
    """A random list of calls: given examples, decisions acted on (some guesses of any label), answers."""
    calls = [("learn", X[i], y[i], i) for i in range(6)]
    for i in range(6, 60):
        guess = Guess(y[rng.integers(60)]) if rng.random() < 0.4 else Ask(NoExamples())
        calls.append(("observe", X[i], guess, None))
        if isinstance(guess, Ask):
            calls.append(("learn", X[i], y[i], i))
    return calls


def play(policy, calls):
    for what, x, value, id in calls:
        if what == "learn":
            policy.learn(x, value, id)
        else:
            policy.observe(x, value)
    return policy


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", MAKERS)
def test_forget_and_relabel_leave_what_the_same_calls_would_have_made(name, space):
    rng = np.random.default_rng(5)
    X, y = clusters(space, dim=2, rounds=160, noise=0.3)
    calls = script(X, y, rng)
    ids = [id for _, _, _, id in calls if id is not None]
    policy = play(MAKERS[name](space), calls)
    for id in rng.choice(ids, size=8, replace=False).tolist():
        policy.forget(id)
        calls = [c for c in calls if c[3] != id]
    for id in rng.choice([c[3] for c in calls if c[3] is not None], size=8, replace=False).tolist():
        policy.relabel(id, "label 1")
        calls = [(w, x, "label 1" if k == id else v, k) for w, x, v, k in calls]
    fresh = play(MAKERS[name](space), calls)
    assert kinds(policy, X) == kinds(fresh, X)
    for _, _, _, id in [c for c in calls if c[3] is not None]:
        policy.forget(id)
    assert kinds(policy, X[:5]) == [NoExamples] * 5


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_restored_decides_as_what_was_saved_and_carries_its_parameters(name):
    X, y = clusters("sphere", dim=2, rounds=160, noise=0.3)
    policy = play(MAKERS[name]("sphere"), script(X, y, np.random.default_rng(6)))
    copy = policy.fresh()
    assert copy.params() == policy.params()
    copy.restore(policy.state())
    assert kinds(copy, X) == kinds(policy, X)
    assert repr(policy).startswith(f"{type(policy).__name__}(")
