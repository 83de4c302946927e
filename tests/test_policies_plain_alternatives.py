"""The plain alternatives: always asking, and a threshold on the similarity."""

from __future__ import annotations

import math

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.policies.always_ask import AlwaysAsk
from askless.policies.similarity_threshold import SimilarityThreshold
from askless.types import Always, Ask, Conflict, Exploring, Guess, NoExamples, NotSimilar
from baselines import SPACES, clusters, kind, kinds, learn_all, run


@pytest.mark.parametrize("space", SPACES)
def test_always_ask_offers_the_labels_of_the_closest_examples(space):
    X, y = clusters(space, rounds=60)
    policy = AlwaysAsk(space=space)
    assert policy.decide(X[0]) == Ask(NoExamples())
    decisions = run(policy, X, y)
    assert all(d.reason == Always() for d in decisions[1:])
    for t in (20, 59):
        distances = np.linalg.norm(X[:t] - X[t], axis=1)
        first = decisions[t].suggestions[0]
        assert first.label == y[distances.argmin()]
        assert first.distance == pytest.approx(distances.min(), abs=1e-7)


@pytest.mark.parametrize(("space", "threshold"), [("sphere", 0.9), ("sphere", 0.95), ("euclidean", 0.65)])
def test_similarity_threshold_is_the_nearest_neighbour_with_a_threshold(space, threshold):
    X, y = clusters(space, noise=0.25, rounds=150)
    policy = learn_all(SimilarityThreshold(threshold, space=space), X[:60], y[:60])
    guessed = 0
    for q in X[60:]:
        distances = np.linalg.norm(X[:60] - q, axis=1)
        similarity = (X[:60] @ q).max() if space == "sphere" else 1 / (1 + distances.min())
        decision = policy.decide(q)
        if similarity >= threshold:
            guessed += 1
            assert decision.label == y[distances.argmin()]
            assert [(s.id, s.weight) for s in decision.evidence] == [(distances.argmin(), 1.0)]
            assert decision.distance == pytest.approx(distances.min(), abs=1e-7)
        else:
            assert isinstance(decision.reason, NotSimilar)
            assert decision.reason.similarity == pytest.approx(similarity, abs=1e-7)
            assert decision.suggestions[0].label == y[distances.argmin()]
    assert 10 < guessed < 80


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("space", SPACES)
def test_similarity_threshold_decides_the_same_one_by_one_in_a_batch_and_in_a_stream(space, dtype):
    X, y = clusters(space, noise=0.25, rounds=80)
    policy = SimilarityThreshold(0.7, space=space, dtype=dtype)
    assert policy.decide_many(X[:2]) == [Ask(NoExamples())] * 2
    twin = policy.fresh()
    decisions = []
    for x, label, decision in zip(X, y, policy.stream(X), strict=True):
        assert kind(decision) == kind(twin.decide(x))
        decisions.append(decision)
        if isinstance(decision, Ask):
            policy.learn(x, label)
            twin.learn(x, label)
    assert {type(d) for d in decisions} == {Guess, Ask}
    assert [kind(d) for d in policy.decide_many(X)] == kinds(policy, X)


@pytest.mark.parametrize("space", SPACES)
def test_equally_similar_labels_are_a_conflict(space):
    policy = SimilarityThreshold(0.1, space=space)
    policy.learn([1.0, 0.3], "a")
    policy.learn([1.0, -0.3], "b")
    assert set(policy.decide([1.0, 0.0]).reason.labels) == {"a", "b"}
    assert policy.decide([1.0, 0.001]).label == "a"
    policy.learn([1.0, 0.3], "b")
    assert isinstance(policy.decide([1.0, 0.3]).reason, Conflict)


@pytest.mark.parametrize("space", SPACES)
def test_similarity_threshold_guesses_only_what_it_has_seen_before_two_labels_are_known(space):
    for n_labels, labels in ((None, ["a"]), (1, ["a"]), (3, ["a", "b"])):
        policy = SimilarityThreshold(0.5, space=space, n_labels=n_labels)
        for i, label in enumerate(labels):
            policy.learn([1.0, float(i)], label)
        assert isinstance(policy.decide([1.0, 0.01]).reason, Exploring)
        assert policy.decide([1.0, 0.0]).label == "a"


@pytest.mark.parametrize("space", SPACES)
def test_a_repeated_query_is_guessed_at_every_threshold(space):
    X, y = clusters(space, rounds=30)
    policy = learn_all(SimilarityThreshold(1.0, space=space), X, y)
    assert kinds(policy, X) == y
    assert isinstance(policy.decide(X[0] + 0.1).reason, NotSimilar)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, None])
def test_similarity_threshold_refuses_what_is_no_threshold(threshold):
    with pytest.raises(InvalidInput, match=r"threshold lies in \[0, 1\]"):
        SimilarityThreshold(threshold)
