"""How often a label was guessed, and what all examples say together: both are as if a forgotten one had never been."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from askless.policies.guessed_labels import GuessedLabels
from askless.policies.neighbourhoods import RIDGE, neighbourhoods
from askless.policies.ordered_examples import OrderedExamples
from askless.policies.self_tuning import SelfTuning
from askless.policies.whole_regression import WholeRegression
from askless.types import Ask, Decision, Guess, NoExamples


def noted(*guesses: tuple[str, int]) -> GuessedLabels:
    found = GuessedLabels()
    for label, examples in guesses:
        found.observe(Guess(label), examples)
    return found


def test_a_guess_counts_from_the_next_example_on_and_a_question_never() -> None:
    found = noted(("a", 3), ("a", 3), ("b", 4), ("a", 5))
    found.observe(Ask(NoExamples()), 5)
    assert [found.before("a", n) for n in (3, 4, 5, 6)] == [0, 2, 2, 3]
    assert found.before("b", 9) == 1
    assert found.before("c", 9) == 0


def test_guesses_after_a_forgotten_example_had_one_less() -> None:
    found = noted(("a", 1), ("a", 2), ("a", 3), ("a", 5))
    found.forgotten([1, 3])
    assert found.state()["guessed_with"].tolist() == [1, 1, 2, 3]


def test_a_renamed_label_keeps_its_guesses_and_a_saved_one_has_them_again() -> None:
    found, again = noted(("a", 3), ("b", 4), ("b", 4)), GuessedLabels()
    found.renamed("b", "c")
    again.restore(found.state())
    assert [again.before(label, 9) for label in "abc"] == [1, 0, 2]


def clusters(n: int, seed: int) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((9, 70))
    k = rng.integers(9, size=n)
    return centres[k] + 2.0 * rng.standard_normal((n, 70)), [f"label {j}" for j in k]


@pytest.fixture(scope="module")
def played() -> list[tuple[np.ndarray, str, Decision]]:
    """A stream with guesses and questions, and the decision on each query."""
    policy, calls = SelfTuning(), []
    for x, label in zip(*clusters(400, 0), strict=True):
        decision = policy.decide(x)
        policy.observe(x, decision)
        if isinstance(decision, Ask):
            policy.learn(x, label, len(calls))
        calls.append((x, label, decision))
    return calls


def replayed(calls: list[tuple[np.ndarray, str, Decision]], changed: dict[int, str | None]) -> SelfTuning:
    """A policy given the same calls, but with these labels in these places, or no example where that is None."""
    policy = SelfTuning()
    for k, (x, label, decision) in enumerate(calls):
        policy.observe(x, decision)
        said = changed.get(k, label)
        if isinstance(decision, Ask) and said is not None:
            policy.learn(x, said, k)
    return policy


def test_forgotten_and_relabelled_examples_are_as_in_the_same_calls_without_them(played) -> None:  # type: ignore[no-untyped-def]
    asked = [k for k, (_, _, decision) in enumerate(played) if isinstance(decision, Ask)]
    assert 30 < len(asked) < 350
    policy = replayed(played, {})
    policy.decide(played[0][0])  # fits, so that there is something to undo
    policy.forget_many([asked[3], asked[20]])
    policy.relabel(asked[11], "label 0")
    anew = replayed(played, {asked[3]: None, asked[20]: None, asked[11]: "label 0"})
    queries = clusters(40, 7)[0]
    assert [policy.decide(x) for x in queries] == [anew.decide(x) for x in queries]


def test_how_often_a_label_was_guessed_has_a_say(played) -> None:  # type: ignore[no-untyped-def]
    queries, told, untold = clusters(40, 7)[0], replayed(played, {}), SelfTuning()
    for k, (x, label, decision) in enumerate(played):
        if isinstance(decision, Ask):
            untold.observe(x, decision)
            untold.learn(x, label, k)
    sure = [[d.probability for d in map(policy.decide, queries) if isinstance(d, Guess)] for policy in (told, untold)]
    assert sure[0] != sure[1]


def test_a_saved_policy_decides_as_before(played) -> None:  # type: ignore[no-untyped-def]
    policy, queries = replayed(played, {}), clusters(40, 7)[0]
    assert [copy.deepcopy(policy).decide(x) for x in queries[:5]] == [policy.decide(x) for x in queries[:5]]


def test_the_scores_are_those_of_the_regression_on_all_examples() -> None:
    X, y = clusters(150, 3)
    examples = OrderedExamples("sphere")
    for x, label in zip(X / np.linalg.norm(X, axis=1, keepdims=True), y, strict=True):
        examples.append(x, label, None)
    whole, rows = WholeRegression(examples), examples.rows.astype(np.float64)
    for upto in (150, 40):  # the larger first: what fewer examples say comes from the same factor
        queries = examples.rows[:6]
        found = neighbourhoods(examples, queries, queries @ examples.rows.T, np.full(6, upto))
        K = np.exp(rows[:upto] @ rows[:upto].T - 1.0) + RIDGE * np.eye(upto)
        parts = np.linalg.solve(K, np.exp(rows[:upto] @ rows[:6].T - 1.0))
        scores = whole.scores(queries, found, np.full(6, upto))
        for k, count in enumerate(found.found.tolist()):
            wanted = [parts[examples.numbers[:upto] == c, k].sum() for c in found.labels[k, :count]]
            assert scores[k, :count] == pytest.approx(wanted, abs=1e-5)
