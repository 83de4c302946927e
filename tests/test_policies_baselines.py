"""The policies the paper compares with: each against its own definition, computed the long way round."""

from __future__ import annotations

import math

import numpy as np
import pytest

from askless.errors import InvalidInput, UnknownExample
from askless.policies.active_perceptron import ActivePerceptron
from askless.policies.always_ask import AlwaysAsk
from askless.policies.center_based import CenterBased, closest_pair, smallest_first
from askless.policies.center_then_hull import CenterThenHull
from askless.policies.conservative_hull import ConservativeHull
from askless.policies.sequential_kmeans import SequentialKMeans
from askless.policies.similarity_threshold import SimilarityThreshold
from askless.types import Always, Ask, Conflict, Exploring, Guess, LowMargin, NoExamples, NotSimilar, Support

SPACES = ("sphere", "euclidean")


def clusters(space, dim=6, n_labels=4, rounds=300, noise=0.15, seed=0):
    """Queries around random centres, and the label of the nearest centre, as text."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_labels, dim))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    X = centers[rng.integers(n_labels, size=rounds)] + noise * rng.normal(size=(rounds, dim))
    if space == "sphere":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    return X, [f"label {i}" for i in y]


def run(policy, X, y):
    """Decide, act, and learn the answer to each question, as a desk does."""
    decisions = []
    for x, label in zip(X, y, strict=True):
        decision = policy.decide(x)
        policy.observe(x, decision)
        if isinstance(decision, Ask):
            policy.learn(x, label)
        decisions.append(decision)
    return decisions


def learn_all(policy, X, y):
    for x, label in zip(X, y, strict=True):
        policy.learn(x, label)
    return policy


def kind(decision):
    """What "the same decision" compares."""
    return decision.label if isinstance(decision, Guess) else type(decision.reason)


def kinds(policy, X):
    return [kind(policy.decide(x)) for x in X]


def means(X, y):
    return {label: X[[i for i, other in enumerate(y) if other == label]].mean(axis=0) for label in dict.fromkeys(y)}


def nearest_label(centers, x):
    return min(centers, key=lambda label: np.linalg.norm(x - centers[label]))


# -- CC -----------------------------------------------------------------------------------------------------


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


# -- SKM ----------------------------------------------------------------------------------------------------


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


# -- AMP ----------------------------------------------------------------------------------------------------


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


# -- CC, then CHC -------------------------------------------------------------------------------------------


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


# -- the plain alternatives ---------------------------------------------------------------------------------


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


# -- all of them --------------------------------------------------------------------------------------------

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
