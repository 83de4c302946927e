"""SKM against its definition, computed the long way round."""

from __future__ import annotations

import numpy as np
import pytest

from askless.policies.sequential_kmeans import SequentialKMeans
from askless.types import Ask, Exploring, Guess
from baselines import SPACES, clusters, nearest_label


@pytest.mark.parametrize("space", SPACES)
def test_kmeans_guesses_the_nearest_mean_of_a_labels_guesses_and_of_its_start(space):
    X, y = clusters(space, noise=0.5)
    examples, assigned = {}, {}
    policy = SequentialKMeans(space=space, n_labels=4)
    for x, label in zip(X, y, strict=True):
        decision = policy.decide(x)
        policy.observe(x, decision)
        if len(examples) < 4:
            assert isinstance(decision, Ask)
            policy.learn(x, label)
            examples.setdefault(label, []).append(x)
            # however many examples there are, their mean counts as one point
            assigned = {k: [np.mean(v, axis=0)] for k, v in examples.items()}
        else:
            assert decision.label == nearest_label({k: np.mean(v, axis=0) for k, v in assigned.items()}, x)
            assigned[decision.label].append(x)
    assert max(map(len, examples.values())) > 1
    assert min(map(len, assigned.values())) > 10


def test_kmeans_moves_only_when_a_guess_is_acted_on():
    policy = SequentialKMeans(space="euclidean", n_labels=2)
    policy.learn([0.0], "a")
    policy.learn([10.0], "b")
    for _ in range(5):
        assert policy.decide([4.0]) == Guess("a", 4.0, "b", 4.0 / 6.0)
    policy.observe([4.0], policy.decide([4.0]))
    assert policy.decide([4.0]).distance == pytest.approx(4.0 - (0.0 + 4.0) / 2)
    policy.observe([5.0], policy.decide([5.0]))
    assert policy.decide([5.0]).distance == pytest.approx(5.0 - (0.0 + 4.0 + 5.0) / 3)


def test_a_late_answer_moves_the_centroid_by_its_share_of_all_that_the_label_was_given():
    policy = SequentialKMeans(space="euclidean", n_labels=2)
    policy.learn([0.0], "a")
    policy.learn([10.0], "b")
    policy.observe([4.0], policy.decide([4.0]))  # the centroid of a is now 2
    policy.learn([8.0], "a")
    assert policy.decide([5.0]).distance == pytest.approx(5.0 - 4.0)  # 2 + (8 - 2) / (two examples and one guess)


def test_kmeans_asks_again_once_the_only_example_of_a_label_is_forgotten():
    policy = SequentialKMeans(space="euclidean", n_labels=2)
    policy.learn([0.0], "a", id="first")
    policy.learn([10.0], "b")
    policy.observe([1.0], policy.decide([1.0]))
    policy.forget("first")
    assert policy.decide([1.0]).reason == Exploring("1 of 2 labels have an example")
    policy.learn([2.0], "a")
    assert policy.decide([1.0]).distance == pytest.approx(1.0)  # the guess of [1.0] had no centroid to move
