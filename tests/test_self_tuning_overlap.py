"""Few dimensions where labels overlap, threads, and what equals two examples: where the hulls' rule must keep out."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from askless import Ask, Costs, SelfTuning
from askless.simulate import simulate
from askless.streams.synthetic import synthetic
from askless.types import Conflict, HullsDisagree


@pytest.mark.parametrize("dim", [3, 8])
def test_overlapping_labels_cost_less_than_asking_every_time(dim: int) -> None:
    """Two clouds that overlap on the sphere: the cone of a few examples is soon nearly all of it."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 1200)
    X = rng.normal(size=(1200, dim))
    X[:, 0] += 2.0 * y
    trace = simulate(SelfTuning(), X, y)
    assert trace.mistakes[-1] < 0.05 * len(X)
    assert trace.regret[-1] < 2.0 * len(X)


def test_a_hull_guesses_nothing_where_a_mistake_is_too_dear_for_so_few_answers() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = rng.normal(size=(600, 2)) + 1.5 * np.eye(2)[y]
    costs = Costs(wrong=-10_000.0)
    trace = simulate(SelfTuning(costs, space="euclidean"), X, y, costs=costs)
    assert trace.mistakes[-1] == 0


def test_convex_cells_are_guessed_by_their_hulls_still() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, size=(800, 2))
    y = (X[:, 0] > 0.0).astype(int)
    trace = simulate(SelfTuning(space="euclidean", n_labels=2), X, y)
    assert trace.calls[-1] < 100
    assert trace.mistakes[-1] <= 5


def test_a_query_that_equals_two_labels_is_a_conflict_also_once_the_first_example_is_forgotten() -> None:
    """The rows are measured from another origin then, which rounds them."""
    policy = SelfTuning(space="euclidean")
    policy.learn([5.1, 3.3], "b", id="first")
    points = [(0.5, 0.5), (1.5, 0.5), (0.5, 1.5), (0.7, 0.7), (1.7, 2.1), (2.3, 1.1), (0.7, 0.7)]
    for i, (x, label) in enumerate(zip(points, "aaabbba", strict=True)):
        policy.learn(x, label, id=i)
    policy.forget("first")
    decision = policy.decide([0.7, 0.7])
    assert isinstance(decision, Ask)
    assert isinstance(decision.reason, Conflict)


@pytest.mark.parametrize("dim", [6, 80])
def test_one_thread_decides_while_another_learns_and_forgets(dim: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(700, dim)), [f"label {k}" for k in rng.integers(0, 4, 700)]
    policy, failed, done = SelfTuning(), list[BaseException](), threading.Event()
    for i in range(60):
        policy.learn(X[i], y[i], id=i)

    def decide() -> None:
        try:
            while not done.is_set():
                for x in X[:40]:
                    policy.decide(x)
                assert len(list(policy.stream(X[:40]))) == 40
        except BaseException as error:  # noqa: BLE001  (told to the test)
            failed.append(error)

    threads = [threading.Thread(target=decide) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(60, 400):
        policy.learn(X[i], y[i], id=i)
        if i % 7 == 0:
            policy.forget(i - 50)
        if i % 31 == 0:
            policy.relabel(i, "label 1")
    done.set()
    for thread in threads:
        thread.join()
    assert not failed
    fresh = SelfTuning()
    for example in policy.examples():
        fresh.learn(example.x, example.label, id=example.id)
    assert [type(policy.decide(x)) for x in X[400:]] == [type(fresh.decide(x)) for x in X[400:]]


def test_a_likely_label_is_asked_about_where_the_hulls_are_clearly_for_another() -> None:
    """On the paper's uniform stream such a guess would be wrong more often than not."""
    likely = nearer = 0
    for seed in range(3):
        stream = synthetic("sphere", 4, 5, 2000, rng=np.random.default_rng([11, seed]))
        policy = SelfTuning(n_labels=5)
        for x, label in zip(stream.X, stream.y, strict=True):
            decision = policy.decide(x)
            policy.observe(x, decision)
            if isinstance(decision, Ask):
                if isinstance(decision.reason, HullsDisagree):
                    assert decision.suggestions[0].label == decision.reason.likely
                    likely += decision.reason.likely == label
                    nearer += decision.reason.nearer == label
                policy.learn(x, label)
    assert nearer > 2 * likely
    assert str(HullsDisagree("a", "b")) == "'a' seems likely, but it lies far nearer to the hull of 'b'"
