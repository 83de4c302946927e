"""What is forgotten is gone without a trace, and a decision stays the same when it is asked for again."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from askless.errors import UnknownExample
from askless.policies.self_tuning import SelfTuning


def clusters(n: int, dim: int, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((4, dim))
    k = rng.integers(4, size=n)
    return centres[k] + 0.5 * rng.standard_normal((n, dim)), [f"label {j}" for j in k]


def taught(X: np.ndarray, y: list[str]) -> SelfTuning:
    policy = SelfTuning()
    for x, label in zip(X, y, strict=True):
        policy.learn(x, label)
    return policy


# Hundredths: on these the second nearest hull seems to be another one at the second look, until it is found exactly.
LABELS = "bbbbbbbbbbbbaaabbaabddbabadbcb"
EXAMPLES = [
    [-32, 94, -1, -11],
    [-36, -35, 82, 26],
    [50, 27, 2, 83],
    [88, -22, -15, -39],
    [-24, 84, 46, -16],
    [-30, 21, -13, 92],
    [3, 94, 24, -25],
    [3, 67, 66, 34],
    [-23, -42, -15, 86],
    [43, 35, 30, 78],
    [51, 71, -34, -35],
    [41, -29, 2, 86],
    [-14, 69, 56, -44],
    [14, 88, -37, 26],
    [2, 98, 19, 3],
    [80, 38, -28, -37],
    [85, -6, -49, 18],
    [86, -27, 25, -36],
    [-76, -45, 40, 24],
    [-12, -82, 55, -8],
    [-31, 88, -6, -36],
    [98, 2, 19, -1],
    [-11, 11, 94, 30],
    [59, 5, -37, 72],
    [23, 37, 89, -13],
    [91, -41, 4, 5],
    [-50, -21, 6, 84],
    [-6, 57, 26, 78],
    [20, 1, -9, 98],
    [88, -17, 32, -30],
]
QUERY = [-78, -35, 27, 44]


def test_the_same_query_gets_the_same_decision_again() -> None:
    policy = SelfTuning()
    for x, label in zip(EXAMPLES, LABELS, strict=True):
        policy.learn([*x, 0], label)
    assert len({type(policy.decide([*QUERY, 0])) for _ in range(4)}) == 1


def test_which_of_two_equally_near_labels_was_learned_first_does_not_matter() -> None:
    """Of the two that are second nearest one has too few examples for a guess by hulls."""
    policy = SelfTuning()
    for x, label in ((1, "b"), (1, "c"), (1, "c"), (1, "b"), (-1, "a"), (-1, "a")):
        policy.learn([x], label)
    policy.forget(0)
    anew = SelfTuning()
    for example in policy.examples():
        anew.learn(example.x, example.label, example.id)
    assert type(policy.decide([-1])) is type(anew.decide([-1])) is type(copy.copy(policy).decide([-1]))


def test_forgetting_many_at_once_is_forgetting_them_one_by_one() -> None:
    X, y = clusters(120, 80)
    one, many = taught(X, y), taught(X, y)
    gone = [0, 3, 4, 50, 118, 119]
    for id in gone:
        one.forget(id)
    many.forget_many(gone)
    assert [(e.id, e.label) for e in one.examples()] == [(e.id, e.label) for e in many.examples()]
    for x in clusters(40, 80)[0]:
        assert one.decide(x) == many.decide(x)
    with pytest.raises(UnknownExample):
        many.forget_many([1, 0])
    assert [e.id for e in many.examples()][:2] == [1, 2]


@pytest.mark.parametrize("space", ["sphere", "euclidean"])
def test_nothing_of_a_forgotten_example_is_saved(space: str) -> None:
    X, y = clusters(60, 80)
    policy = SelfTuning(space=space)
    for x, label in zip(X, y, strict=True):
        policy.learn(x, label)
    first = next(policy.examples()).x
    left = [example.x for example in policy.examples()][1:]
    policy.forget(0)
    assert np.allclose([example.x for example in policy.examples()], left, atol=1e-6)
    for value in policy.state().values():
        if isinstance(value, np.ndarray) and value.shape[-1:] == first.shape:
            assert not np.isclose(np.atleast_2d(value), first, atol=1e-6).all(axis=1).any()
