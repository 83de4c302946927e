"""AMP against the reading of the notes, computed the long way round."""

from __future__ import annotations

import math

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.policies.active_perceptron import ActivePerceptron
from askless.types import Ask, Exploring, Guess, LowMargin, NoExamples
from baselines import SPACES, clusters, run


def perceptron(X, y, tau, n_labels):
    """The reading of the notes, with a list of weights and the unseen labels kept as zero weights."""
    weights, needed, out = {}, 2 * (1 - tau), []
    for x, label in zip(X, y, strict=True):
        scores = {k: (x @ w / np.linalg.norm(w) if w.any() else 0.0) for k, w in weights.items()}
        unseen = n_labels - len(weights)
        ranked = sorted([*scores.values(), *[0.0] * unseen], reverse=True)
        best = max(scores, key=scores.get) if scores else None
        if best is not None and unseen and scores[best] < 0:
            best = None
        if len(scores) >= 2 and best is not None and ranked[0] - ranked[1] > needed:
            out.append(best)
            continue
        out.append(None)
        weights[label] = weights.get(label, np.zeros(len(x))) + x
        if best not in (None, label):
            weights[best] = weights[best] - x
    return out


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("tau", [0.6, 0.9, 1.0])
def test_perceptron_follows_the_notes(space, tau):
    X, y = clusters(space, noise=0.3, rounds=400)
    decisions = run(ActivePerceptron(tau, space=space, n_labels=4), X, y)
    expected = perceptron(X, y, tau, n_labels=4)
    assert [d.label if isinstance(d, Guess) else None for d in decisions] == expected
    assert 0 < expected.count(None) < 400


def test_perceptron_asks_always_at_tau_zero_and_says_why():
    X, y = clusters("sphere", rounds=100)
    policy = ActivePerceptron(0.0)
    decisions = run(policy, X, y)
    assert all(isinstance(d, Ask) for d in decisions)
    reason = decisions[-1].reason
    assert isinstance(reason, LowMargin)
    assert 0.0 < reason.margin <= reason.needed == 2.0
    assert [s.distance for s in decisions[-1].suggestions] == sorted(s.distance for s in decisions[-1].suggestions)


def test_perceptron_asks_where_the_margin_is_just_what_is_needed():
    policy = ActivePerceptron(1.0)
    policy.learn([1.0, 0.0, 0.0], "a")
    policy.learn([0.0, 1.0, 0.0], "b")
    assert policy.decide([0.0, 0.0, 1.0]).reason == LowMargin(0.0, 0.0)
    assert policy.decide([0.0, 1e-9, 1.0]).label == "b"


def test_perceptron_measures_the_chord_to_a_labels_weights():
    policy = ActivePerceptron(0.9)
    policy.learn([1.0, 0.0], "a")
    policy.learn([0.0, 1.0], "b")  # scores a zero, so a's weights lose it and become (1, -1)
    guess = policy.decide([1.0, -1.0])
    assert (guess.label, guess.runner_up) == ("a", "b")
    assert guess.distance == pytest.approx(0.0, abs=1e-7)
    chord = np.linalg.norm(np.array([1.0, 0.0]) - np.array([1.0, -1.0]) / math.sqrt(2))
    assert policy.decide([1.0, 0.0]).distance == pytest.approx(chord)


def test_perceptron_never_guesses_with_one_label_and_grows_in_the_open_world():
    policy = ActivePerceptron(1.0)
    assert policy.decide([1.0, 0.0]).reason == NoExamples()
    policy.learn([1.0, 0.0], "a")
    assert isinstance(policy.decide([1.0, 0.0]).reason, Exploring)
    policy.learn([-1.0, 0.0], "b")
    assert policy.decide([-1.0, 0.1]).label == "b"
    policy.learn([0.0, 1.0], "c")
    assert policy.decide([0.0, 1.0]).label == "c"
    assert policy.labels == ("a", "b", "c")


def test_perceptron_asks_where_a_label_without_an_example_scores_best():
    closed, opened = ActivePerceptron(1.0, n_labels=3), ActivePerceptron(1.0)
    for policy in (closed, opened):
        policy.learn([1.0, 0.0], "a")
        policy.learn([0.6, -0.8], "b")
    assert isinstance(closed.decide([-1.0, 0.1]).reason, Exploring)
    assert isinstance(opened.decide([-1.0, 0.1]), Guess)


def test_weights_that_cancel_score_zero():
    policy = ActivePerceptron(1.0, space="euclidean")
    x, z = np.random.default_rng(0).normal(size=(2, 5))
    policy.learn(x, "a")
    policy.learn(z, "a")
    policy.learn(x, "b")
    policy.learn(z, "b")  # a scored best both times: its weights are x + z - x - z, zero but for rounding
    assert (x + z - x - z).any()
    guess = policy.decide(-(x + z))
    assert guess.label == "a"
    assert guess.distance == pytest.approx(math.sqrt(2.0), abs=1e-12)


def test_equal_scores_go_to_the_label_that_appeared_first():
    policy = ActivePerceptron(0.5, space="euclidean")
    policy.learn([1.0, 0.0, 0.0], "late in the alphabet")
    policy.learn([0.0, 0.0, 0.0], "early")
    assert policy.decide([0.0, 1.0, 0.0]).reason == LowMargin(0.0, 1.0)
    policy.learn([0.0, 1.0, 0.0], "new")  # both score zero: the first one loses it
    assert policy.decide([1.0, -1.0, 0.0]).label == "late in the alphabet"
    assert policy.decide([1.0, -1.0, 0.0]).distance == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("tau", [-0.1, 1.1, math.nan, "high"])
def test_perceptron_refuses_a_tau_outside_the_unit_interval(tau):
    with pytest.raises(InvalidInput, match=r"tau lies in \[0, 1\]"):
        ActivePerceptron(tau)
