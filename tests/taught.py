"""Every policy, taught a few examples, and the proof that a refused input left one as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from askless.check_scripts import decisions
from askless.errors import AsklessError
from askless.policies.base import PolicyBase
from askless.policies.named import policy_class
from askless.types import SPACES

DIM = 4
LABELS: tuple[str | int, ...] = ("a", 3, "c")
MADE: list[tuple[str, dict[str, Any]]] = [
    ("AlwaysAsk", {}),
    ("ConservativeHull", {}),
    ("ConservativeHull", {"refine": True, "n_labels": 3}),
    ("GeneralizedHull", {"tau": 0.9}),
    ("GeneralizedHull", {"tau": 0.9, "distance": "nearest"}),
    ("SimilarityThreshold", {"threshold": 0.7}),
    ("CenterBased", {"constant": 1.0, "n_labels": 3}),
    ("CenterThenHull", {"constant": 1.0, "labels_given": True}),
    ("SequentialKMeans", {"n_labels": 3}),
    ("ActivePerceptron", {"tau": 0.95}),
    ("SelfTuning", {}),
]
every_policy = pytest.mark.parametrize(("name", "params"), MADE, ids=str)
every_space = pytest.mark.parametrize("space", SPACES)

Floats = NDArray[np.float64]


def make(name: str, params: dict[str, Any], space: str = "sphere") -> PolicyBase:
    kind: Callable[..., Any] = policy_class(name)
    policy = kind(**params, space=space)
    assert isinstance(policy, PolicyBase)
    return policy


def examples() -> list[tuple[Floats, str | int, str | int]]:
    """Eight examples of each label around its corner, in numbers that float16 holds."""
    rng = np.random.default_rng(1)
    found: list[tuple[Floats, str | int, str | int]] = []
    for i in range(24):
        x = (np.eye(DIM)[i % 3] + 0.3 * rng.standard_normal(DIM)).astype(np.float16).astype(np.float64)
        found.append((x, LABELS[i % 3], i if i % 2 else f"e{i}"))
    return found


def queries() -> list[Floats]:
    rng = np.random.default_rng(2)
    near = np.eye(DIM)[rng.integers(3, size=30)] + 0.4 * rng.standard_normal((30, DIM))
    return [*near.astype(np.float16).astype(np.float64), *(x for x, _, _ in examples()[:6])]


def taught(name: str, params: dict[str, Any], space: str, form: Callable[[Floats], Any] = np.copy) -> PolicyBase:
    """A policy that has seen a stream; each vector is handed over in the form that is asked for."""
    policy = make(name, params, space)
    for i, (x, label, id) in enumerate(examples()):
        if i >= 6:
            policy.observe(form(x), policy.decide(form(x)))
        policy.learn(form(x), label, id)
    return policy


def everything(policy: PolicyBase) -> tuple[Any, ...]:
    """What the policy holds, and how it decides on queries of both kinds."""
    held = [(repr(e.id), repr(e.label), e.x.tobytes()) for e in policy.examples()]
    return held, policy.labels, policy.dim, decisions(policy, queries()[::3])


class Refusals:
    """What a policy is like before it is handed anything bad, and must be like after each time."""

    def __init__(self, policy: PolicyBase) -> None:
        self._policy, self._before = policy, everything(policy)

    @contextmanager
    def of(self, kind: type[AsklessError]) -> Iterator[None]:
        """The block must raise this kind of error, with one sentence or two on one line, and change nothing."""
        with pytest.raises(kind) as caught:
            yield
        said = str(caught.value)
        assert "\n" not in said
        assert said.endswith(".")
        assert len(said) > 20
        assert everything(self._policy) == self._before
