"""A block of queries gets the decisions that the queries get one by one, whatever is learned between them."""

from __future__ import annotations

import numpy as np
import pytest

from askless import Ask, Guess, SelfTuning
from askless.policies.local_ridge import NEIGHBOURS, _largest


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


@pytest.mark.parametrize("kind", ["random", "equal", "few stand out", "sorted"])
@pytest.mark.parametrize("n", [97, 800, 5000])
def test_the_largest_are_those_of_a_full_sort(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.standard_normal(n).astype(np.float32)
    if kind == "equal":
        values[:] = 0.5
    elif kind == "few stand out":  # all of them where the sample does not look
        values[:] = 0.0
        values[1 : 1 + 8 * 96 : 8][: len(values)] = 1.0
    elif kind == "sorted":
        values.sort()
    found = _largest(values)
    assert len(set(found.tolist())) == NEIGHBOURS
    np.testing.assert_array_equal(np.sort(values[found]), np.sort(values)[-NEIGHBOURS:])
