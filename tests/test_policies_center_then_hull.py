"""CC, then CHC: the turn, and both halves after it."""

from __future__ import annotations

import math

import pytest

from askless.errors import InvalidInput, UnknownExample
from askless.policies.center_based import CenterBased
from askless.policies.center_then_hull import CenterThenHull
from askless.policies.conservative_hull import ConservativeHull
from askless.types import Ask, Guess
from baselines import SPACES, clusters, kind, kinds, run


def turned(space="euclidean", constant=1e9, dim=2, rounds=40):
    """A hybrid past its turn, the CHC that learned the same, and the stream."""
    X, y = clusters(space, dim=dim, n_labels=3, rounds=rounds, noise=0.4, seed=2)
    hybrid = CenterThenHull(constant, space=space, n_labels=3)
    run(hybrid, X, y)
    hull = ConservativeHull(space=space)
    for example in hybrid.examples():
        hull.learn(example.x, example.label, example.id)
    return hybrid, hull, X, y


@pytest.mark.parametrize("space", SPACES)
def test_hybrid_turns_to_the_hulls_when_the_round_passes_e_to_the_d(space):
    X, y = clusters(space, dim=3, n_labels=3, rounds=60, noise=0.4, seed=1)
    hybrid, center = CenterThenHull(0.5, space=space, n_labels=3), CenterBased(0.5, space=space, n_labels=3)
    hull = ConservativeHull(space=space)
    turn = math.floor(math.exp(3)) + 1  # 21 decisions acted on: the first count above 20.09
    seen = set()
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        decision = hybrid.decide(x)
        expected = center if t < turn else hull
        assert kind(decision) == kind(expected.decide(x))
        seen.add((t < turn, type(decision)))
        for policy in (hybrid, center):
            policy.observe(x, decision)
        if isinstance(decision, Ask):
            for policy in (hybrid, center, hull):
                policy.learn(x, label)
    assert seen == {(True, Ask), (True, Guess), (False, Ask), (False, Guess)}


def test_hybrid_that_would_explore_for_ever_still_guesses_after_the_turn():
    hybrid, hull, X, _ = turned()
    assert kinds(hybrid, X) == kinds(hull, X)
    assert any(isinstance(hybrid.decide(x), Guess) for x in X)
    assert len({e.id for e in hybrid.examples()}) < len(X)
    guess = next(d for d in map(hybrid.decide, X) if isinstance(d, Guess))
    assert {s.id for s in guess.evidence} <= {e.id for e in hybrid.examples() if e.label == guess.label}


@pytest.mark.parametrize("space", SPACES)
def test_both_halves_of_the_hybrid_forget_relabel_rename_merge_and_restore(space):
    hybrid, hull, X, _ = turned(space)
    for policy in (hybrid, hull):
        policy.forget(1)
        policy.relabel(2, "label 0")
        policy.rename_label("label 1", "one")
        policy.rename_label("one", "one")
        policy.merge_labels("label 2", "one")
        policy.learn(X[-1], "late", id="late")
    hybrid.merge_labels("one", "one")
    assert kinds(hybrid, X) == kinds(hull, X)
    assert set(hybrid.labels) == set(hull.labels)
    restored = hybrid.fresh()
    restored.restore(hybrid.state())
    assert kinds(restored, X) == kinds(hybrid, X)
    with pytest.raises(UnknownExample):
        hybrid.forget(1)
    with pytest.raises(InvalidInput, match="in use already"):
        hybrid.learn(X[0], "label 0", id="late")
    assert kinds(hybrid, X) == kinds(restored, X)
