"""How often a label was guessed, and what all examples say together: both are as if a forgotten one had never been."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from askless.policies import history
from askless.policies.guessed_labels import GuessedLabels
from askless.policies.neighbourhoods import RIDGE, Neighbourhoods, neighbourhoods
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
    assert [found.before("a", n) for n in range(5)] == [0, 0, 2, 3, 4]


def test_many_guesses_take_no_more_room_than_examples() -> None:
    found = noted(*(("a", 3 + i // 1000) for i in range(5000)))
    assert [len(entries) for entries in found.state().values()] == [1, 1, 5, 5]
    assert [found.before("a", n) for n in (3, 4, 8)] == [0, 1000, 5000]


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


@pytest.mark.parametrize("runs_out", [True, False])
def test_a_label_that_is_used_up_is_found_out_where_labels_are(runs_out: bool) -> None:
    """Two labels share each place, so that only how often each came up can tell them apart."""
    rng, centres = np.random.default_rng(0), np.random.default_rng(5).standard_normal((76, 70))
    labels = rng.permutation(np.repeat(np.arange(150), 3)) if runs_out else rng.integers(150, size=450)
    policy = SelfTuning()
    for label in [*labels.tolist(), 150, 150, 151, 151, 150]:
        policy.learn(centres[label // 2] + 0.5 * rng.standard_normal(70), label)
    shares = {150: 0.0, 151: 0.0}
    for x in centres[75] + 0.5 * rng.standard_normal((20, 70)):
        decision = policy.decide(x)
        found = decision.suggestions if isinstance(decision, Ask) else [decision]
        for one in found:
            shares[one.label] = shares.get(one.label, 0.0) + (one.probability or 0.0) / 20
    if runs_out:
        assert shares[151] > 0.9 > 0.1 > shares[150]
    else:
        assert 0.3 < shares[150] < 0.7
        assert 0.3 < shares[151] < 0.7


def test_a_saved_policy_decides_as_before(played) -> None:  # type: ignore[no-untyped-def]
    policy, queries = replayed(played, {}), clusters(40, 7)[0]
    assert [copy.deepcopy(policy).decide(x) for x in queries[:5]] == [policy.decide(x) for x in queries[:5]]


def test_rows_that_an_earlier_version_saved_are_made_anew(played) -> None:  # type: ignore[no-untyped-def]
    policy, queries = replayed(played, {}), clusters(40, 7)[0]
    policy.decide(queries[0])  # makes the rows
    state = policy.state()
    assert np.abs(state["history_features"]).max() > 0.0
    earlier = {name: value for name, value in state.items() if name != "history_version"}
    earlier["history_features"] = np.full(state["history_features"].shape, 99.0)[:, :, :3]
    loaded = SelfTuning()
    loaded.restore(earlier)
    assert [loaded.decide(x) for x in queries] == [policy.decide(x) for x in queries]


def taught(n: int, seed: int) -> OrderedExamples:
    examples = OrderedExamples("sphere")
    X, y = clusters(n, seed)
    for x, label in zip(X / np.linalg.norm(X, axis=1, keepdims=True), y, strict=True):
        examples.append(x, label, None)
    return examples


def found_for(examples: OrderedExamples, queries: np.ndarray, upto: np.ndarray) -> Neighbourhoods:
    return neighbourhoods(examples, queries, queries @ examples.rows.T, upto)


def solved(examples: OrderedExamples, q: np.ndarray, upto: int, labels: np.ndarray) -> list[float]:
    """The scores of these labels by numpy, from the whole system."""
    rows = examples.rows[:upto].astype(np.float64)
    parts = np.linalg.solve(np.exp(rows @ rows.T - 1.0) + RIDGE * np.eye(upto), np.exp(rows @ q - 1.0))
    return [float(parts[examples.numbers[:upto] == label].sum()) for label in labels]


def said(whole: WholeRegression, examples: OrderedExamples, queries: np.ndarray) -> np.ndarray:
    return whole.scores(queries, found_for(examples, queries, np.full(len(queries), len(examples))))


def test_the_scores_are_those_of_the_regression_on_all_examples_however_they_came() -> None:
    examples, later, queries = taught(90, 3), taught(200, 4), taught(6, 5).rows
    whole = WholeRegression(examples)
    for n in (90, 91, 200):  # the weights grow by one answer and by many
        for position in range(len(examples), n):
            examples.append(later.rows[position].astype(np.float64), later.names[later.numbers[position]], None)
        found = found_for(examples, queries, np.full(6, n))
        scores = whole.scores(queries, found)
        for k, count in enumerate(found.found.tolist()):
            wanted = solved(examples, queries[k], n, found.labels[k, :count])
            assert scores[k, :count] == pytest.approx(wanted, abs=1e-6)
        assert (scores == said(WholeRegression(examples), examples, queries)).all()


def test_weights_that_grew_with_the_answers_solve_the_whole_system() -> None:
    """Of vectors of signs, so that float32 rounds nothing off a product: what is left are the weights' own digits."""
    rng, examples = np.random.default_rng(2), OrderedExamples("sphere")
    whole = WholeRegression(examples)
    for x, label in zip(rng.choice([-0.125, 0.125], (400, 64)), rng.integers(7, size=400).tolist(), strict=True):
        examples.append(x, label, None)
        if len(examples) > 3:
            said(whole, examples, examples.rows[:1])
    rows = examples.rows.astype(np.float64)
    told = examples.numbers[:, None] == np.arange(7)
    wanted = np.linalg.solve(np.exp(rows @ rows.T - 1.0) + RIDGE * np.eye(400), told.astype(np.float64))
    assert whole._weights[whole._line, :400] == pytest.approx(wanted.T, abs=1e-11)


def test_what_the_examples_before_one_say_to_it_is_what_they_say_to_a_query() -> None:
    examples, positions = taught(150, 3), np.array([1, 40, 149])
    found = found_for(examples, examples.rows[positions], positions)
    scores = WholeRegression(examples).earlier_scores(positions, found)
    for k, (position, count) in enumerate(zip(positions.tolist(), found.found.tolist(), strict=True)):
        wanted = solved(examples, examples.rows[position], position, found.labels[k, :count])
        assert scores[k, :count] == pytest.approx(wanted, abs=1e-6)


def test_forgotten_and_relabelled_examples_leave_no_trace_in_the_scores() -> None:
    examples, queries = taught(150, 3), taught(6, 5).rows
    whole = WholeRegression(examples)
    before = said(whole, examples, queries)
    examples.relabel([30], "label 0" if examples.names[examples.numbers[30]] != "label 0" else "label 1")
    whole.relabelled()
    relabelled = said(whole, examples, queries)
    assert (relabelled != before).any()
    assert (relabelled == said(WholeRegression(examples), examples, queries)).all()
    examples.remove([20, 60])
    whole.forgotten(20)
    assert not whole._weights.any()
    assert np.count_nonzero(whole._inverse) <= 20 * 21 // 2
    assert (said(whole, examples, queries) == said(WholeRegression(examples), examples, queries)).all()


def test_beyond_its_limit_the_regression_is_let_go_and_comes_back_with_fewer_examples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history, "_WHOLE", 60)
    X, y = clusters(120, 3)
    policy, queries = SelfTuning(), clusters(40, 7)[0]
    for k, (x, label) in enumerate(zip(X, y, strict=True)):
        policy.learn(x, label, k)
        if k == 59:
            policy.decide(x)
            assert policy._history._whole._inverse.size
    beyond = [policy.decide(x) for x in queries]
    assert not policy._history._whole._inverse.size
    policy.forget_many(range(70, 120))
    anew = SelfTuning()
    for k in range(70):
        anew.learn(X[k], y[k], k)
    assert [policy.decide(x) for x in queries] == [anew.decide(x) for x in queries]
    assert policy._history._whole._inverse.size
    monkeypatch.setattr(history, "_WHOLE", 0)
    without = SelfTuning()
    for k, (x, label) in enumerate(zip(X, y, strict=True)):
        without.learn(x, label, k)
    assert beyond == [without.decide(x) for x in queries]
