"""A block of queries gets the decisions that the queries get one by one, whatever is learned between them."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from askless import Ask, Guess, SelfTuning
from askless.errors import InvalidInput
from askless.policies.neighbourhoods import NEIGHBOURS, neighbourhoods
from askless.policies.ordered_examples import OrderedExamples


def queries(dim: int, n: int = 600, labels: int = 12) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((labels, dim))
    y = rng.integers(0, labels, n)
    return centres[y] + 0.7 * rng.standard_normal((n, dim)), [f"label {k}" for k in y]


@pytest.mark.parametrize("space", ["sphere", "euclidean"])
@pytest.mark.parametrize("forgetting", [False, True])
def test_a_stream_decides_as_the_queries_one_by_one(space: str, forgetting: bool) -> None:
    X, y = queries(80)
    one, block = SelfTuning(space=space), SelfTuning(space=space)
    stream = block.stream(X)
    guesses = 0
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        decision, other = one.decide(x), next(stream)
        assert type(decision) is type(other)
        if isinstance(decision, Guess) and isinstance(other, Guess):
            guesses += 1
            assert decision.label == other.label
            assert decision.probability == pytest.approx(other.probability, abs=1e-5)
        for policy in (one, block):
            policy.observe(x, decision)
            if isinstance(decision, Ask):
                policy.learn(x, label, id=i)
            if forgetting and i % 37 == 5:
                policy.forget(next(iter(policy.examples())).id)
    assert guesses > 50
    assert next(stream, None) is None


@pytest.mark.parametrize(("space", "dim"), [("sphere", 80), ("euclidean", 80), ("sphere", 3), ("euclidean", 3)])
def test_the_size_of_a_block_changes_no_digit(space: str, dim: int) -> None:
    X, y = queries(dim, 1500)
    policy = SelfTuning(space=space)
    for x, label in zip(X[:1200], y, strict=False):
        policy.learn(x, label)
    alone = [policy.decide(x) for x in X[1200:]]
    assert any(isinstance(decision, Guess) for decision in alone)
    for size in (2, 7, 300):
        blocks = [X[start : start + size] for start in range(1200, 1500, size)]
        assert [decision for block in blocks for decision in policy.stream(block)] == alone


def test_many_at_once_are_decided_as_things_stand() -> None:
    X, y = queries(8)
    policy = SelfTuning()
    for x, label in zip(X[:300], y, strict=False):
        policy.learn(x, label)
    many = policy.decide_many(X[300:])
    one_by_one = [policy.decide(x) for x in X[300:]]
    assert [type(d) for d in many] == [type(d) for d in one_by_one]
    found = [(m, o) for m, o in zip(many, one_by_one, strict=True) if isinstance(m, Guess) and isinstance(o, Guess)]
    assert 50 < len(found) < len(many)
    for together, alone in found:
        assert together.label == alone.label
        assert together.probability == pytest.approx(alone.probability, abs=1e-5)


def test_a_block_that_was_looked_at_ahead_is_dropped_when_something_changes() -> None:
    """After a long calm the next block is being looked at while one is decided; a change in between counts at once."""
    X, y = queries(80, 1500)
    one, block = SelfTuning(), SelfTuning()
    for i, (x, label) in enumerate(zip(X[:800], y, strict=False)):
        for policy in (one, block):
            policy.learn(x, label, id=i)
    assert list(block.stream(X[800:1100])) == [one.decide(x) for x in X[800:1100]]
    for i, decision in enumerate(block.stream(X[1100:])):
        assert decision == one.decide(X[1100 + i])
        for policy in (one, block):
            if i in (3, 64, 140):
                policy.learn(X[1100 + i], y[1100 + i], id=1100 + i)
            elif i == 200:
                policy.forget(7)
            elif i == 280:
                policy.relabel(9, "label 3")
    names = {thread.name for thread in threading.enumerate()}
    assert not any(name.startswith("askless-ahead") for name in names)


def test_what_is_relabelled_between_two_queries_counts_for_the_next() -> None:
    X, y = queries(80)
    one, block = SelfTuning(), SelfTuning()
    for i, (x, label) in enumerate(zip(X[:300], y, strict=False)):
        for policy in (one, block):
            policy.learn(x, label, id=i)
    for i, decision in enumerate(block.stream(X[300:])):
        assert decision == one.decide(X[300 + i])
        if i % 40 == 20:
            for policy in (one, block):
                policy.relabel(i, "another")


def test_a_saved_policy_decides_the_same_to_the_last_digit() -> None:
    """The sums of the labels are not saved, and are made anew in the order in which they came to be."""
    X, y = queries(80)
    policy = SelfTuning()
    for x, label in zip(X[:500], y, strict=False):
        policy.learn(x, label)
        policy.decide(x)
    again = SelfTuning()
    again.restore(policy.state())
    assert [again.decide(x) for x in X[500:]] == [policy.decide(x) for x in X[500:]]


@pytest.mark.parametrize("kind", ["random", "equal", "few stand out", "sorted"])
@pytest.mark.parametrize("n", [NEIGHBOURS + 1, 800, 5000])
def test_the_nearest_are_those_of_a_full_sort(kind: str, n: int) -> None:
    """On a line, where every distance is known."""
    rng = np.random.default_rng(n)
    places = rng.uniform(1.0, 2.0, n)
    if kind == "equal":
        places[:] = 1.5
    elif kind == "few stand out":  # all of them where the sample does not look
        places[:] = 2.0
        places[1 : 1 + 8 * NEIGHBOURS : 8] = 1.0
    elif kind == "sorted":
        places.sort()
    examples = OrderedExamples("euclidean")
    for i, place in enumerate([0.0, *places]):
        examples.append(np.array([place, 0.0]), i % 3, None)
    seen = np.zeros((1, 2), dtype=np.float32)
    found = neighbourhoods(examples, seen, seen @ examples.rows.T, np.array([n + 1]))
    wanted = np.argsort(np.abs(examples.rows[:, 0]), kind="stable")[:NEIGHBOURS]
    assert found.near[0, : found.sizes[0]].tolist() == sorted(wanted.tolist())


def test_a_stream_takes_vectors_of_any_length() -> None:
    X, y = queries(80)
    policy = SelfTuning()
    for x, label in zip(X[:300], y, strict=False):
        policy.learn(x, label)
    lengths = np.array([1.0, 1e-150, 1e150, 1e-300, 3.0])[np.arange(300) % 5]
    X = X[300:] * lengths[:, None]
    assert list(policy.stream(X)) == [policy.decide(x) for x in X]
    with pytest.raises(InvalidInput, match="A zero vector has no direction"):
        policy.stream(np.vstack([X, np.zeros(80)]))


def test_a_stream_of_large_numbers_before_the_first_example() -> None:
    X = 1e300 * np.random.default_rng(0).standard_normal((5, 3))
    policy = SelfTuning(space="euclidean")
    for k, decision in enumerate(policy.stream(X)):
        assert isinstance(decision, Ask)
        policy.learn(X[k], k)


def test_a_stream_that_is_given_up_waits_for_nobody() -> None:
    X, y = queries(80, 2000)
    policy = SelfTuning()
    for x, label in zip(X[:500], y, strict=False):
        policy.learn(x, label)
    list(policy.stream(X[500:1000]))  # from here on it looks ahead
    stream, unused = policy.stream(X[1000:]), policy.stream(X[1000:])
    next(stream)
    with policy._examples.lock:  # as while something is learned; those that look ahead wait for it
        stream.close()
        del unused
    for _ in range(200):
        if not any(thread.name.startswith("askless-ahead") for thread in threading.enumerate()):
            return
        time.sleep(0.05)
    pytest.fail("a thread goes on although nobody wants its blocks")
