"""CC against the paper's definition, computed the long way round."""

from __future__ import annotations

import math

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.policies.center_based import CenterBased, closest_pair, smallest_first
from askless.policies.center_then_hull import CenterThenHull
from askless.policies.sequential_kmeans import SequentialKMeans
from askless.types import Ask, Exploring, Guess, NoExamples, Support
from baselines import SPACES, clusters, kind, kinds, learn_all, means, nearest_label, run


def end_of_exploration(X, y, n_labels, constant, sigma, horizon):
    """The paper's T_1, from its definition: the number of answers after which the first phase ends."""
    for t in range(1, len(X) + 1):
        centers = means(X[:t], y[:t])
        if len(centers) < n_labels:
            continue
        points = list(centers.values())
        gap = min(np.linalg.norm(a - b) for i, a in enumerate(points) for b in points[:i])
        enough = constant * sigma**2 / gap**2 * (X.shape[1] + 2 * math.log(horizon))
        if all(y[:t].count(label) >= enough for label in centers):
            return t
    return None


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("constant", [0.0, 5.0, 25.0])
def test_center_based_asks_until_the_papers_round_and_then_guesses_the_nearest_mean(space, constant):
    X, y = clusters(space)
    end = end_of_exploration(X, y, 4, constant, sigma=0.2, horizon=300)
    assert end is not None
    assert 4 <= end < 250
    decisions = run(CenterBased(constant, 0.2, 300, space=space, n_labels=4), X, y)
    assert all(isinstance(d, Ask) for d in decisions[:end])
    centers = means(X[:end], y[:end])
    assert [kind(d) for d in decisions[end:]] == [nearest_label(centers, x) for x in X[end:]]


def test_center_based_explores_longer_the_larger_the_constant():
    X, y = clusters("euclidean")
    asked = [
        sum(isinstance(d, Ask) for d in run(CenterBased(c, space="euclidean", n_labels=4), X, y))
        for c in (0, 10, 50, 1e6)
    ]
    assert asked == sorted(asked)
    assert asked[0] < asked[1] < asked[2] < asked[3] == len(X)


def test_center_based_guess_carries_the_examples_whose_mean_the_centre_is():
    X, y = clusters("sphere")
    policy = CenterBased(5.0, n_labels=4)
    run(policy, X, y)
    examples = {e.id: e for e in policy.examples()}
    for q in X[-20:]:
        guess = policy.decide(q)
        center = sum(s.weight * examples[s.id].x for s in guess.evidence)
        assert {examples[s.id].label for s in guess.evidence} == {guess.label}
        assert np.linalg.norm(q - center) == pytest.approx(guess.distance, abs=1e-12)
        others = means(*zip_arrays(examples.values()))
        assert guess.runner_up == sorted(others, key=lambda k: np.linalg.norm(q - others[k]))[1]
        assert guess.ratio == pytest.approx(guess.distance / np.linalg.norm(q - others[guess.runner_up]))


def zip_arrays(examples):
    examples = list(examples)
    return np.array([e.x for e in examples]), [e.label for e in examples]


def test_center_based_never_moves_its_centres_after_the_first_phase():
    X, y = clusters("sphere")
    policy = CenterBased(0.0, n_labels=4)
    run(policy, X[:100], y[:100])
    before = [policy.decide(x) for x in X]
    for x in X[:50]:
        policy.learn(x, "label 0")
        policy.learn(-x, "a late one")
    assert [policy.decide(x) for x in X] == before


def test_center_based_says_what_is_missing():
    policy = CenterBased(n_labels=3, space="euclidean")
    assert policy.decide([0.0, 0.0]).reason == NoExamples()
    policy.learn([0.0, 0.0], "a")
    assert policy.decide([0.0, 0.0]).reason == Exploring("1 of 3 labels have an example")
    policy.learn([1.0, 0.0], "b")
    policy.learn([0.0, 3.0], "c")
    question = policy.decide([0.9, 0.1])
    # 108 * 0.01 * (2 + 2 log 10000) / 1 = 22.05, and the closest two centres are 1 apart
    assert question.reason == Exploring("label 'a' has 1 of 23 examples or more")
    assert [s.label for s in question.suggestions] == ["b", "a", "c"]
    assert question.suggestions[0].distance == pytest.approx(math.hypot(0.1, 0.1))


def test_centres_that_coincide_are_explored_for_ever():
    policy = CenterBased(n_labels=2, space="euclidean")
    for _ in range(200):
        policy.learn([1.0, 2.0], "a")
        policy.learn([1.0, 2.0], "b")
    assert policy.decide([1.0, 2.0]).reason == Exploring("the examples of 'a' and 'b' have the same mean")


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_the_nearest_of_many_centres_is_exact_far_from_the_origin_too(offset):
    rng = np.random.default_rng(3)
    X = offset + rng.normal(size=(900, 12))
    policy = learn_all(CenterBased(0.0, space="euclidean", n_labels=900), X, range(900))
    for q in offset + rng.normal(size=(50, 12)):
        distances = np.linalg.norm(X - q, axis=1)
        guess = policy.decide(q)
        assert [guess.label, guess.runner_up] == distances.argsort()[:2].tolist()
        assert guess.distance == pytest.approx(distances.min(), rel=1e-6)
    assert policy.decide(X[17]).label == 17
    assert policy.decide(X[17]).distance == 0.0


def test_closest_pair_and_smallest_first_agree_with_a_full_sort():
    rng = np.random.default_rng(4)
    for n in (2, 5, 700):
        rows = 1e8 + rng.normal(size=(n, 3))
        distances = np.linalg.norm(rows[:, None] - rows, axis=2)
        distances[np.diag_indices(n)] = np.inf
        assert distances[closest_pair(rows)] == distances.min()
    for _ in range(200):
        values = rng.integers(0, 6, size=rng.integers(1, 30)).astype(float)
        assert smallest_first(values, 5).tolist() == np.argsort(values, kind="stable")[:5].tolist()


@pytest.mark.parametrize("make", [CenterBased, CenterThenHull, SequentialKMeans])
def test_the_open_world_is_refused_unless_labels_are_given_first(make):
    with pytest.raises(InvalidInput, match=r"labels_given=True"):
        make()
    with pytest.raises(InvalidInput, match=r"labels_given is True or False; found 'yes'"):
        make(labels_given="yes")
    assert make(labels_given=True).params()["labels_given"] is True


@pytest.mark.parametrize("make", [CenterBased, CenterThenHull, SequentialKMeans])
def test_labels_given_first_are_counted_at_the_first_observe(make):
    X, y = clusters("sphere", dim=8)
    first = [y.index(f"label {i}") for i in range(4)]
    counted, told = make(labels_given=True), make(n_labels=4)
    for policy in (counted, told):
        assert isinstance(policy.decide(X[0]), Ask)
        learn_all(policy, X[first], [y[i] for i in first])
    assert kinds(counted, X) == kinds(told, X)
    assert [kind(d) for d in run(counted, X, y)] == [kind(d) for d in run(told, X, y)]


def test_labels_given_first_do_not_freeze_the_centres_before_the_first_observe():
    policy = CenterBased(0.0, space="euclidean", labels_given=True)
    policy.learn([0.0], "a")
    policy.learn([1.0], "b")
    policy.learn([10.0], "c")
    assert policy.decide([9.0]) == Guess("c", 1.0, "b", 1.0 / 8.0, (Support(2, 1.0),))
    policy.learn([8.0], "c")
    assert policy.decide([9.0]) == Guess("c", 0.0, "b", 0.0, (Support(2, 0.5), Support(3, 0.5)))
    policy.observe([9.0], policy.decide([9.0]))
    policy.learn([8.9], "d")
    policy.learn([5.0], "c")
    assert policy.decide([9.0]) == Guess("c", 0.0, "b", 0.0, (Support(2, 0.5), Support(3, 0.5)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"constant": -1}, "constant is a finite number"),
        ({"constant": "108"}, "constant is a finite number"),
        ({"sigma": math.nan}, "sigma is a finite number"),
        ({"sigma": math.inf}, "sigma is a finite number"),
        ({"horizon": None}, "horizon is the number of rounds"),
        ({"horizon": 0}, "horizon is the number of rounds"),
        ({"horizon": 2.5}, "horizon is the number of rounds"),
        ({"horizon": True}, "horizon is the number of rounds"),
    ],
)
def test_center_based_refuses_bad_parameters(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        CenterBased(**arguments, n_labels=2)
