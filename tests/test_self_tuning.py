"""What the self-tuning policy promises: it asks while it knows little, guesses when it may, and is never absurd."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from askless.policies.self_tuning import SelfTuning
from askless.types import Ask, Conflict, Costs, Decision, Exploring, Guess, Label, NoExamples, TooUncertain

Floats = NDArray[np.float64]
spaces = pytest.mark.parametrize("space", ["sphere", "euclidean"])
dims = pytest.mark.parametrize("dim", [3, 80])  # with hulls, and without


def clusters(
    n: int, dim: int, n_labels: int = 3, noise: float = 0.2, seed: int = 0
) -> tuple[Floats, list[Label], Floats]:
    """Rows around well separated centres, their labels, and the centres."""
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(rng.standard_normal((max(dim, n_labels), max(dim, n_labels))))[0][:n_labels, :dim]
    k = rng.integers(n_labels, size=n)
    return centres[k] + noise * rng.standard_normal((n, dim)) / np.sqrt(dim), [int(j) for j in k], centres


def play(policy: SelfTuning, X: Floats, y: list[Label], observe: bool = True) -> list[Decision]:
    """Decide on every row, and learn where it was asked."""
    found = []
    for x, label in zip(X, y, strict=True):
        decision = policy.decide(x)
        sound(decision)
        if observe:
            policy.observe(x, decision)
        if isinstance(decision, Ask):
            policy.learn(x, label)
        found.append(decision)
    return found


def taught(X: Floats, y: list[Label], **options: object) -> SelfTuning:
    policy = SelfTuning(**options)  # type: ignore[arg-type]
    for x, label in zip(X, y, strict=True):
        policy.learn(x, label)
    return policy


def sound(decision: Decision) -> None:
    """Every figure is finite, and every probability is one."""
    if isinstance(decision, Guess):
        given, distances = [decision.probability], [decision.distance]
    else:
        given = [s.probability for s in decision.suggestions]
        given += [decision.reason.probability] if isinstance(decision.reason, TooUncertain) else []
        distances = [s.distance for s in decision.suggestions]
    assert all(p is None or 0.0 <= p <= 1.0 for p in given)  # NaN fails as well
    assert np.isfinite(distances).all()
    assert min(distances, default=0.0) >= 0.0


def questions(decisions: list[Decision]) -> int:
    return sum(isinstance(decision, Ask) for decision in decisions)


# -- when it asks and when it guesses ---------------------------------------------------------------------


@spaces
@dims
def test_clusters_far_apart_are_guessed_early_and_right(space: str, dim: int) -> None:
    X, y, _ = clusters(400, dim)
    decisions = play(SelfTuning(space=space), X, y)
    assert questions(decisions) < 40
    wrong = [d for d, label in zip(decisions, y, strict=True) if isinstance(d, Guess) and d.label != label]
    assert not wrong


@spaces
def test_the_mixture_of_the_paper_takes_fewer_than_forty_questions(space: str) -> None:
    from askless.streams.synthetic import synthetic

    stream = synthetic(space, 50, 5, 1000, rng=np.random.default_rng(1), distribution="mixture", variance=0.01)
    decisions = play(SelfTuning(space=space, n_labels=5), stream.X, [int(label) for label in stream.y])
    assert questions(decisions) < 40


@dims
def test_the_first_answers_are_all_asked_for(dim: int) -> None:
    X, y, _ = clusters(60, dim, n_labels=2)
    first = 25 if dim > 64 else dim + 2  # in few dimensions full hulls may guess before
    assert questions(play(SelfTuning(), X, y)[:first]) == first


def test_one_label_only_is_never_guessed() -> None:
    X, _, _ = clusters(120, 80)
    decisions = play(SelfTuning(), X, ["only"] * 120)
    assert questions(decisions) == 120
    assert "two are needed" in str(decisions[-1].reason)  # type: ignore[union-attr]


@dims
@pytest.mark.parametrize("start", ["one label", "separated"])
def test_a_start_that_looks_easy_does_not_silence_the_questions(start: str, dim: int) -> None:
    """25 answers of one label, or of labels that are told apart perfectly; then a stream from elsewhere."""
    rng = np.random.default_rng(3)
    X, y, centres = clusters(40, dim, n_labels=2, noise=0.05)
    if start == "one label":
        X, y = centres[0] + 0.02 * rng.standard_normal((25, dim)), [0] * 25
    policy = SelfTuning()
    play(policy, X, y)
    elsewhere, labels, _ = clusters(300, dim, n_labels=3 if dim == 3 else 12, noise=0.3, seed=7)
    names: list[Label] = [f"new {label}" for label in labels]
    decisions = play(policy, -np.abs(elsewhere) if dim == 3 else elsewhere, names)
    seen: set[Label] = set()
    for decision, name in zip(decisions, names, strict=True):
        if name not in seen and dim > 3:
            assert isinstance(decision, Ask)  # nothing like it was ever seen
        seen.add(name)
    if dim > 3:
        assert not [d for d, name in zip(decisions, names, strict=True) if isinstance(d, Guess) and d.label != name]


@spaces
def test_a_point_far_from_everything_is_asked_however_sure_the_rest(space: str) -> None:
    X, y, centres = clusters(300, 80, n_labels=2, noise=0.05)
    policy = taught(X, y, space=space)
    assert isinstance(policy.decide(centres[0]), Guess)
    aside = np.random.default_rng(1).standard_normal(80)
    aside -= centres.T @ (centres @ aside)
    for far in (-centres.sum(axis=0), aside, 50.0 * aside):
        decision = policy.decide(far)
        assert isinstance(decision, Ask)
        assert isinstance(decision.reason, TooUncertain)


def test_known_labels_spare_the_doubt_about_new_ones() -> None:
    X, y, centres = clusters(60, 80, n_labels=4, noise=0.9, seed=2)
    between = centres[0] + 0.95 * centres[1]
    told, untold = taught(X, y, n_labels=4).decide(between), taught(X, y).decide(between)
    assert probability(told) > probability(untold)


def probability(decision: Decision) -> float:
    found = decision.probability if isinstance(decision, Guess) else decision.suggestions[0].probability
    assert found is not None
    return found


# -- costs --------------------------------------------------------------------------------------------------


@dims
def test_dearer_mistakes_mean_more_questions(dim: int) -> None:
    X, y, _ = clusters(400, dim, n_labels=4, noise=1.4, seed=1)
    counts = [questions(play(SelfTuning(Costs(wrong=wrong)), X, y)) for wrong in (-2.0, -10.0, -50.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]


@dims
def test_free_questions_are_always_asked(dim: int) -> None:
    X, y, _ = clusters(120, dim)
    assert questions(play(SelfTuning(Costs(1, 1, -10)), X, y)) == 120


@dims
@pytest.mark.parametrize("costs", [(-1, 1, -1), (1, 1, 1), (-1, 1, -1e9), (-1e-9, 0, -1e-9), (-1e9, 1e9, -1e9)])
def test_costs_at_the_edge_are_fine(costs: tuple[float, float, float], dim: int) -> None:
    X, y, _ = clusters(120, dim)
    decisions = play(SelfTuning(costs), X, y)
    mistake_is_cheap = costs[2] == costs[0]
    assert (questions(decisions) < 60) == mistake_is_cheap or dim == 3


def test_observe_need_not_be_called() -> None:
    X, y, _ = clusters(300, 80)
    assert questions(play(SelfTuning(), X, y, observe=False)) < 40


# -- what it says -------------------------------------------------------------------------------------------


@spaces
@dims
def test_evidence_is_of_the_guessed_label_and_the_largest_part_comes_first(space: str, dim: int) -> None:
    X, y, centres = clusters(200, dim, n_labels=3)
    policy = taught(X, y, space=space)
    label_of = {example.id: example.label for example in policy.examples()}
    for label, centre in enumerate(centres):
        decision = policy.decide(centre)
        assert isinstance(decision, Guess)
        assert decision.label == label
        assert decision.runner_up not in (label, None)
        assert {label_of[support.id] for support in decision.evidence} == {label}
        weights = [support.weight for support in decision.evidence]
        assert weights == sorted(weights, reverse=True)
        assert 1 <= len(weights) <= 8


def test_distances_are_those_to_the_nearest_example_in_the_units_given() -> None:
    X, y, _ = clusters(60, 80)
    for scale in (1.0, 1e6):
        decision = taught(scale * X, y, space="euclidean").decide(scale * X.mean(axis=0))
        assert isinstance(decision, Ask)
        for suggestion in decision.suggestions:
            own = X[np.array(y) == suggestion.label]
            nearest = np.linalg.norm(own - X.mean(axis=0), axis=1).min()
            assert suggestion.distance == pytest.approx(scale * nearest, rel=1e-3)


def test_reasons_read_as_sentences() -> None:
    policy = SelfTuning()
    X, y, centres = clusters(100, 80, n_labels=2)
    assert str(asked(policy, X[0])) == str(NoExamples())
    policy.learn(X[0], "first")
    assert str(asked(policy, X[1])) == "still exploring: 1 of the first 25 answers"
    for i in range(1, 40):
        policy.learn(np.roll(X[i], i), f"label {i}")
    reason = asked(policy, X[1])
    assert isinstance(reason, Exploring)
    assert "too few of the answers so far had a label that was known before" in str(reason)
    decision = taught(X, y).decide(centres.sum(axis=0))
    assert isinstance(decision, Ask)
    assert isinstance(decision.reason, TooUncertain)
    assert decision.reason.probability < decision.reason.needed
    assert str(decision.reason).startswith(f"{decision.suggestions[0].label!r} has probability 0.")
    shown = [s.probability or 0.0 for s in decision.suggestions]
    assert shown == sorted(shown, reverse=True)


def asked(policy: SelfTuning, x: Floats) -> object:
    decision = policy.decide(x)
    assert isinstance(decision, Ask)
    return decision.reason


# -- degenerate examples --------------------------------------------------------------------------------------


@spaces
@dims
def test_two_labels_on_the_same_vector_are_a_conflict(space: str, dim: int) -> None:
    X, y, _ = clusters(60, dim)
    policy = taught(X, y, space=space)
    policy.learn(X[5], "other")
    reason = asked(policy, X[5])
    assert isinstance(reason, Conflict)
    assert set(reason.labels) == {y[5], "other"}


@spaces
@dims
def test_examples_that_are_all_equal(space: str, dim: int) -> None:
    x = np.full(dim, 0.7)
    policy = taught(np.tile(x, (60, 1)), [0] * 60, space=space)
    sound(policy.decide(x))
    sound(policy.decide(-x))
    policy.learn(x, 1)
    assert isinstance(asked(policy, x), Conflict)
    sound(policy.decide(-x))


@dims
def test_duplicates_and_antipodal_examples(dim: int) -> None:
    x = clusters(1, dim)[0][0]
    policy = taught(np.array([x, -x] * 40), ["here", "there"] * 40)
    here, there = policy.decide(x), policy.decide(-x)
    assert isinstance(here, Guess)
    assert isinstance(there, Guess)
    assert (here.label, there.label) == ("here", "there")
    sideways = np.roll(x, 1) - (np.roll(x, 1) @ x) / (x @ x) * x
    assert isinstance(policy.decide(sideways), Ask)


def test_one_dimension() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80)
    policy = taught((5.0 * y + 0.1 * rng.standard_normal(80))[:, None], [int(k) for k in y], space="euclidean")
    assert [getattr(policy.decide([x]), "label", None) for x in (0.0, 5.0, 2.5, 1000.0)] == [0, 1, None, None]


@dims
@pytest.mark.parametrize(
    "given",
    [
        lambda X: 1e-200 * X,
        lambda X: 1e200 * X,
        lambda X: 1e8 + X,
        lambda X: 1e8 + 1e-3 * X,
        lambda X: 1e200 * np.vstack([0 * X[:1], X[1:]]),
        lambda X: np.vstack([1e-30 + 0 * X[:1], X[1:]]),
        lambda X: -3e307 * X / np.abs(X).max(),
    ],
    ids=["tiny", "huge", "far away", "far away and small", "zero first", "noise first", "the largest floats"],
)
def test_units_and_origin_do_not_matter_in_euclidean_space(given: Callable[[Floats], Floats], dim: int) -> None:
    X, y, centres = clusters(90, dim)
    both = given(np.vstack([X, centres]))
    policy = SelfTuning(space="euclidean")
    play(policy, both[:90], y)
    assert [getattr(policy.decide(x), "label", None) for x in both[90:]] == [0, 1, 2]
    largest = np.abs(both[:90] - both[0]).max()
    kept = {example.id: example.x for example in policy.examples()}
    assert np.abs(kept[0] - both[0]).max() <= 1e-6 * largest


@dims
@pytest.mark.parametrize("far", [1e3, 1e10, 1e20, 1e200])
def test_a_query_at_any_distance_is_asked(far: float, dim: int) -> None:
    X, y, _ = clusters(90, dim)
    policy = taught(X, y, space="euclidean")
    for x in (np.full(dim, far), np.full(dim, -far), far * np.eye(dim)[0]):
        decision = policy.decide(x)
        sound(decision)
        assert isinstance(decision, Ask)


def test_ten_thousand_labels_are_quick() -> None:
    X = np.random.default_rng(0).standard_normal((10_000, 80))
    policy = taught(X, list(range(10_000)))
    sound(policy.decide(X[3]))  # the first fit
    start = time.perf_counter()
    for x in X[:40]:
        decision = policy.decide(x + 0.01)
        sound(decision)
        assert isinstance(decision, Ask)
    assert (time.perf_counter() - start) / 40 < 0.1
