"""A self-tuning policy after changes of its examples, in any order, equals one that was told so at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from askless.errors import InvalidInput, UnknownExample, UnknownLabel
from askless.persist import load, save
from askless.policies.self_tuning import SelfTuning
from askless.types import Ask, Guess

Floats = NDArray[np.float64]
NAMES = ["a", "b", 3, "d"]
cases = pytest.mark.parametrize(("space", "dim"), [("sphere", 3), ("euclidean", 3), ("sphere", 80), ("euclidean", 80)])


@dataclass(frozen=True)
class Taught:
    """An example that a policy was given."""

    x: Floats
    label: str | int
    id: int


def points(dim: int, count: int, seed: int) -> tuple[Floats, list[int]]:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((len(NAMES), dim))
    k = rng.integers(len(NAMES), size=count)
    return centres[k] + 0.35 * rng.standard_normal((count, dim)), k.tolist()


def said(policy: SelfTuning, X: Floats) -> list[tuple[str, Any]]:
    """Kind and label of each decision, with the figures to compare by nearness."""
    found = []
    for x in X:
        decision = policy.decide(x)
        if isinstance(decision, Guess):
            found.append((f"guess {decision.label!r}", decision.probability))
        else:
            reason = decision.reason
            found.append((type(reason).__name__, getattr(reason, "probability", None)))
    return found


def told_at_once(space: str, lines: list[Taught], rounds: list[tuple[Floats, Any]]) -> SelfTuning:
    """A policy given the same calls in the same order: each round's decision, then its example, where that is left."""
    policy, by_id = SelfTuning(space=space), {line.id: line for line in lines}
    for i, (x, decision) in enumerate(rounds):
        policy.observe(x, decision)
        if i in by_id:
            policy.learn(by_id[i].x, by_id[i].label, i)
    for line in lines:
        if line.id >= len(rounds):
            policy.learn(line.x, line.label, line.id)
    return policy


def equal(one: SelfTuning, other: SelfTuning, X: Floats) -> None:
    mine, theirs = said(one, X), said(other, X)
    assert [kind for kind, _ in mine] == [kind for kind, _ in theirs]
    for (_, p), (_, r) in zip(mine, theirs, strict=True):
        assert p == pytest.approx(r, abs=1e-4)
    assert one.labels == other.labels
    assert [(e.id, e.label) for e in one.examples()] == [(e.id, e.label) for e in other.examples()]


change = st.tuples(
    st.sampled_from(["forget", "relabel", "merge", "rename", "learn", "decide", "save"]), st.integers(0, 999)
)


@cases
@given(seed=st.integers(0, 10_000), changes=st.lists(change, min_size=1, max_size=12))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_changes_leave_the_policy_as_if_told_so_at_once(
    space: str, dim: int, seed: int, changes: list[tuple[str, int]], tmp_path: Path
) -> None:
    X, k = points(dim, 100, seed)
    policy = SelfTuning(space=space)
    lines: list[Taught] = []
    rounds: list[tuple[Floats, Any]] = []
    for i in range(70):
        decision = policy.decide(X[i])
        policy.observe(X[i], decision)
        rounds.append((X[i], decision))
        policy.learn(X[i], NAMES[k[i]], i)
        lines.append(Taught(X[i], NAMES[k[i]], i))
    for step, (kind, number) in enumerate(changes):
        before = list(policy.labels)
        policy = apply(policy, lines, kind, number, X[70 + step % 30], 100 + step, tmp_path)
        if kind == "rename":  # its guesses are of the label with the new name from now on
            old = before[number % len(before)]
            rounds = [(x, renamed(decision, old, f"renamed {100 + step}")) for x, decision in rounds]
    equal(policy, told_at_once(space, lines, rounds), X[75:])


def renamed(decision: Any, old: str | int, new: str) -> Any:
    return replace(decision, label=new) if isinstance(decision, Guess) and decision.label == old else decision


def apply(
    policy: SelfTuning, lines: list[Taught], kind: str, number: int, x: Floats, id: int, folder: Path
) -> SelfTuning:
    """One change of the policy, and of the list of what it should have been told."""
    at = number % len(lines)
    labels = list(dict.fromkeys(line.label for line in lines))
    if kind == "forget":
        policy.forget(lines[at].id)
        del lines[at]
    elif kind == "relabel":
        label = [*NAMES, "new"][number % 5]
        policy.relabel(lines[at].id, label)
        lines[at] = replace(lines[at], label=label)
    elif kind in ("merge", "rename"):
        old = labels[number % len(labels)]
        new = labels[(number + 1) % len(labels)] if kind == "merge" else f"renamed {id}"
        (policy.merge_labels if kind == "merge" else policy.rename_label)(old, new)
        lines[:] = [replace(line, label=new) if line.label == old else line for line in lines]
    elif kind == "learn":
        policy.learn(x, NAMES[number % 4], id)
        lines.append(Taught(x, NAMES[number % 4], id))
    elif kind == "decide":
        policy.decide(x)
    else:
        save(policy, folder / f"{id}.askless")
        loaded = load(folder / f"{id}.askless")
        (folder / f"{id}.askless").unlink()
        assert isinstance(loaded, SelfTuning)
        policy = loaded
    return policy


@cases
def test_saved_and_loaded_it_decides_the_same_to_the_last_digit(space: str, dim: int, tmp_path: Path) -> None:
    X, k = points(dim, 260, 1)
    policy = SelfTuning((-1, 1, -5), space=space, n_labels=4)
    for i in range(200):
        decision = policy.decide(X[i])
        policy.observe(X[i], decision)
        if isinstance(decision, Ask):
            policy.learn(X[i], NAMES[k[i]])
    save(policy, tmp_path / "policy.askless")
    loaded = load(tmp_path / "policy.askless")
    assert isinstance(loaded, SelfTuning)
    assert loaded.params() == policy.params()
    for i in range(200, 260):
        one, other = policy.decide(X[i]), loaded.decide(X[i])
        assert one == other
        policy.learn(X[i], NAMES[k[i]])
        loaded.learn(X[i], NAMES[k[i]])


def test_a_name_given_up_is_free_for_another_label() -> None:
    X, _ = points(80, 6, 0)
    policy = SelfTuning()
    for x, label in zip(X[:3], "aab", strict=True):
        policy.learn(x, label)
    policy.rename_label("a", "c")
    with pytest.raises(UnknownLabel, match="'a'"):
        policy.rename_label("a", "d")
    policy.learn(X[3], "a")
    assert [e.label for e in policy.examples()] == ["c", "c", "b", "a"]
    policy.merge_labels("a", "b")
    policy.rename_label("c", "a")  # a name whose label has no example left
    assert [e.label for e in policy.examples()] == ["a", "a", "b", "b"]
    with pytest.raises(InvalidInput, match="in use already"):
        policy.rename_label("a", "b")
    policy.rename_label("b", "b")
    assert policy.labels == ("a", "b")


@pytest.mark.parametrize("dims", [(3, 80), (80, 3), (3, 5)])
def test_when_all_is_forgotten_another_dimension_may_come(dims: tuple[int, int]) -> None:
    policy = SelfTuning()
    for dim in dims:
        ids = [policy.learn(x, label) for x, label in zip(points(dim, 3, 0)[0], "aba", strict=True)]
        assert policy.dim == dim
        assert isinstance(policy.decide(np.ones(dim)), Ask)
        for id in ids:
            policy.forget(id)
    assert policy.dim is None
    assert policy.labels == ()


def test_what_is_refused_changes_nothing() -> None:
    X, k = points(3, 60, 2)
    policy = told_at_once("sphere", [Taught(x, NAMES[j], i) for i, (x, j) in enumerate(zip(X, k, strict=True))], [])
    before = said(policy, X)
    for act, error in (
        (lambda: policy.forget("none"), UnknownExample),
        (lambda: policy.relabel(99, "a"), UnknownExample),
        (lambda: policy.relabel(5, 1.5), InvalidInput),
        (lambda: policy.learn(X[0], "a", 5), InvalidInput),
        (lambda: policy.learn(X[0][:2], "a"), InvalidInput),
        (lambda: policy.learn([np.nan, 0, 0], "a"), InvalidInput),
        (lambda: policy.merge_labels("a", "none"), UnknownLabel),
        (lambda: policy.merge_labels("none", "a"), UnknownLabel),
    ):
        with pytest.raises(error):
            act()
    assert said(policy, X) == before
