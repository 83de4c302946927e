"""The parts of the self-tuning policy, against closed forms, scipy and slow references."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from askless.policies.answer_value import AnswerValue
from askless.policies.candidate_kernels import judge
from askless.policies.choice_model import fit_binary, fit_choice
from askless.policies.guessed_labels import GuessedLabels
from askless.policies.history import History
from askless.policies.label_members import _MANY
from askless.policies.neighbourhoods import NEIGHBOURS, RIDGE, Neighbourhoods, neighbourhoods
from askless.policies.ordered_examples import OrderedExamples
from askless.policies.self_tuning import SelfTuning
from askless.types import Ask, Costs, Guess, NoExamples, TooUncertain

Floats = NDArray[np.float64]


def choice_probabilities(features: Floats, b: Floats) -> Floats:
    """P of each candidate, for one query."""
    z = features @ b
    e = np.exp(z - z.max())
    return np.asarray(e / e.sum())


spaces = pytest.mark.parametrize("space", ["sphere", "euclidean"])


def held(space: str, n: int, dim: int, n_labels: int, seed: int = 0) -> tuple[OrderedExamples, Floats, list[int]]:
    """Examples in clusters, as the policy keeps them, and as they were given."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n_labels, dim))
    y = rng.integers(n_labels, size=n)
    X = centres[y] + 0.5 * rng.standard_normal((n, dim))
    if space == "sphere":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    examples = OrderedExamples(space)
    for x, label in zip(X, y.tolist(), strict=True):
        examples.append(x, label, None)
    return examples, X, y.tolist()


def around(examples: OrderedExamples, *seen: NDArray[np.float32]) -> Neighbourhoods:
    """What all examples say to these queries."""
    queries = np.array(seen)
    return neighbourhoods(examples, queries, queries @ examples.rows.T, np.full(len(queries), len(examples)))


def nearest(examples: OrderedExamples, seen: NDArray[np.float32]) -> tuple[list[int], Floats]:
    """The positions of the nearest of one query, and their parts."""
    found = around(examples, seen)
    size = found.sizes[0]
    return found.near[0, :size].tolist(), found.part[0, :size]


def test_a_query_at_an_outlier_of_many_examples_has_finite_parts() -> None:
    """Seen from the outlier all others are one point in float32; their mean squared distance is a 50,000th of its."""
    X = np.random.default_rng(0).standard_normal((100_000, 8))
    X[50_000] = 1e6
    examples = OrderedExamples("euclidean")
    for k, x in enumerate(X):
        examples.append(x, k % 3, None)
    positions, part = nearest(examples, examples.seen_from(X[50_000]))
    assert np.isfinite(part).all()
    assert positions[int(part.argmax())] == 50_000
    assert part.max() == pytest.approx(1.0 / (1.0 + RIDGE))


def mean_square(X: Floats) -> float:
    """The mean squared distance between two rows, each pair counted both ways and each row with itself."""
    return float(np.mean([np.sum((a - b) ** 2) for a in X for b in X]))


# -- the ridge ------------------------------------------------------------------------------------------


@spaces
@pytest.mark.parametrize("n", [1, 2, 40, NEIGHBOURS])
def test_scores_are_those_of_kernel_ridge_on_all_examples(space: str, n: int) -> None:
    examples, X, y = held(space, n, 12, 4)
    q = X[0] + 0.3 * np.random.default_rng(5).standard_normal(12)
    if space == "sphere":
        q /= np.linalg.norm(q)
    positions, parts = nearest(examples, examples.seen_from(q))
    scale = 2.0 if space == "sphere" else mean_square(X) or float(np.sum((X[0] - q) ** 2))
    K = np.exp([[-np.sum((a - b) ** 2) / scale for b in X] for a in X])
    k = np.exp([-np.sum((a - q) ** 2) / scale for a in X])
    weights = np.linalg.inv(K + RIDGE * np.eye(n)) @ np.eye(4)[y]
    scores = [parts[np.array(y) == label].sum() for label in range(4)]
    assert positions == list(range(n))
    assert scores == pytest.approx(k @ weights, abs=2e-5)


@spaces
def test_with_more_examples_the_nearest_count_and_no_others(space: str) -> None:
    examples, X, _ = held(space, 400, 12, 4)
    seen = examples.seen_from(X[7] * 0.6 + X[8] * 0.4)
    positions, parts = nearest(examples, seen)
    distances = np.linalg.norm(examples.rows - seen, axis=1)
    assert positions == sorted(np.argsort(distances)[:NEIGHBOURS].tolist())
    near = OrderedExamples("sphere")  # the same regression over those alone, on the sphere
    if space == "sphere":
        for i in positions:
            near.append(examples.given(i), "any", None)
        assert nearest(near, seen)[1] == pytest.approx(parts, abs=1e-5)


@spaces
def test_where_all_nearest_have_one_label_the_nearest_of_another_comes_along(space: str) -> None:
    rng = np.random.default_rng(2)
    examples = OrderedExamples(space)
    for i in range(300):
        x = np.eye(20)[i % 2] + 0.05 * rng.standard_normal(20)
        examples.append(x / np.linalg.norm(x), i % 2, None)
    seen = examples.seen_from(np.eye(20)[0])
    positions, _ = nearest(examples, seen)
    distances = np.linalg.norm(examples.rows - seen, axis=1)
    assert [i for i in positions if i % 2] == [2 * int(distances[1::2].argmin()) + 1]
    assert len(positions) == NEIGHBOURS + 1
    assert positions == sorted(positions)


@spaces
@pytest.mark.parametrize("n", [300, 1500, 3000])
def test_keys_that_are_off_by_rounding_change_nothing(space: str, n: int) -> None:
    """The products only say where to look: with their last digits changed, everything comes out the same."""
    examples, X, _ = held(space, n, 40, 6, seed=7)
    seen = np.array([examples.seen_from(x) for x in X[:20] + 0.1])
    products = seen @ examples.rows.T
    sizes = np.linalg.norm(seen, axis=1)[:, None] * np.linalg.norm(examples.rows, axis=1)
    off = 20 * 2.0**-24 * sizes * np.random.default_rng(1).choice([-1.0, 1.0], products.shape)
    upto = np.full(len(seen), n)
    one = neighbourhoods(examples, seen, products, upto)
    other = neighbourhoods(examples, seen, (products + off).astype(np.float32), upto)
    assert not np.array_equal(products, (products + off).astype(np.float32))
    for name in Neighbourhoods.__slots__:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_of_equally_near_examples_the_oldest_count() -> None:
    examples = OrderedExamples("sphere")
    for i in range(3000):
        examples.append(np.eye(8)[i % 4], i % 4, None)
    positions, _ = nearest(examples, examples.seen_from(np.eye(8)[1]))
    assert positions[:-1] == sorted([*range(1, 4 * NEIGHBOURS, 4), 0])[:NEIGHBOURS]
    assert len(positions) == NEIGHBOURS + 1


@spaces
def test_the_second_feature_is_the_likeness_to_the_mean_of_the_label(space: str) -> None:
    """Labels with many examples, whose sums are kept, and with few."""
    examples, X, y = held(space, 3 * _MANY, 12, 5, seed=11)
    counts = np.bincount(y)
    assert counts.min() < _MANY
    for k in range(_MANY):
        examples.append(X[k], y[0], None)
    seen = examples.seen_from(X[3] + 0.2)
    found = around(examples, seen)
    rows, q = examples.rows.astype(np.float64), seen.astype(np.float64)
    scale = mean_square(rows)
    for k in range(found.found[0]):
        own = rows[examples.numbers == found.labels[0, k]]
        mean = own.mean(axis=0)
        likeness = q @ mean / np.linalg.norm(mean) if space == "sphere" else 1.0 - np.sum((q - mean) ** 2) / scale
        assert found.features[0, k, 1] == pytest.approx(likeness, abs=1e-6)
        assert found.counts[0, k] == len(own)
        nearest_own = np.linalg.norm(own - q, axis=1).min()
        assert np.linalg.norm(rows[found.near[0, found.closest[0, k]]] - q) == pytest.approx(nearest_own)


# -- the two models -------------------------------------------------------------------------------------


def choice_rows(n: int, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, 4, 3))
    valid = rng.random((n, 4)) < 0.8
    valid[:, 0] = True
    z = np.where(valid, features @ np.array([2.0, -1.0, 0.5]), -np.inf)
    target = np.array([rng.choice(4, p=np.exp(row - row.max()) / np.exp(row - row.max()).sum()) for row in z])
    return features, valid, target.astype(np.intp), rng.uniform(0.1, 2.0, n)


@pytest.mark.parametrize(("n", "precision"), [(5, 0.1), (200, 0.1), (200, 3.0)])
def test_the_choice_model_is_the_minimum_that_scipy_finds(n: int, precision: float) -> None:
    features, valid, target, weights = choice_rows(n, n)
    prior = np.array([6.0, 6.0, 0.0])

    def loss(b: Floats) -> float:
        total = 0.5 * precision * float((b - prior) @ (b - prior))
        for x, ok, hit, weight in zip(features, valid, target, weights, strict=True):
            z = x[ok] @ b
            total += weight * float(np.logaddexp.reduce(z) - x[hit] @ b)
        return total

    b = fit_choice(features, valid, target, weights, prior, precision)
    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-7})
    assert b == pytest.approx(best.x, abs=1e-4)
    steps = 1e-5 * np.eye(3)
    gradient = [(loss(b + step) - loss(b - step)) / 2e-5 for step in steps]
    assert gradient == pytest.approx(np.zeros(3), abs=1e-4)


@pytest.mark.parametrize("n", [6, 300])
def test_the_model_of_new_labels_is_the_minimum_that_scipy_finds(n: int) -> None:
    rng = np.random.default_rng(n)
    features = np.column_stack([np.ones(n), rng.standard_normal((n, 2))])
    target = (rng.random(n) < 1 / (1 + np.exp(-features @ [0.5, 2.0, -1.0]))).astype(float)
    weights, prior, precision = rng.uniform(0.1, 1.0, n), np.array([0.0, -6.0, 1.0]), np.array([0.1, 0.02, 0.3])

    def loss(b: Floats) -> float:
        z = features @ b
        return float(weights @ (np.logaddexp(0.0, z) - target * z) + 0.5 * precision @ (b - prior) ** 2)

    b = fit_binary(features, target, weights, prior, precision)
    assert b == pytest.approx(minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x, abs=1e-4)


def test_without_rows_the_models_are_their_priors() -> None:
    prior = np.array([6.0, 6.0, 0.0])
    nothing = np.zeros(0)
    empty = np.zeros((0, 6, 3)), np.zeros((0, 6), dtype=bool), np.zeros(0, dtype=np.intp), nothing
    assert fit_choice(*empty, prior, 0.1).tolist() == prior.tolist()
    assert fit_binary(np.zeros((0, 3)), nothing, nothing, prior, np.ones(3)).tolist() == prior.tolist()


def test_rows_that_are_separated_perfectly_stay_finite() -> None:
    features = np.zeros((50, 2, 3))
    features[:, 0, 0] = 1.0
    b = fit_choice(features, np.ones((50, 2), bool), np.zeros(50, np.intp), np.ones(50), np.array([6.0, 6.0, 0.0]), 0.1)
    assert np.isfinite(b).all()
    assert choice_probabilities(features[0], b)[0] < 1.0


def test_candidates_are_judged_by_the_models() -> None:
    rng = np.random.default_rng(0)
    features, found = rng.standard_normal((50, 6, 3)), rng.integers(1, 7, 50)
    choice, new, newness = np.array([3.0, 1.0, -0.5]), np.array([0.3, -2.0, 1.0]), rng.standard_normal((50, 3))
    for weights in (new, np.zeros(0)):
        likely, order = np.zeros((50, 6)), np.zeros((50, 6), dtype=np.int64)
        judge(features, found, choice, 0.9, weights, newness, likely, order)
        for line in range(50):
            p = choice_probabilities(features[line, : found[line]], choice)
            p = np.minimum(p / (1.0 + np.exp(newness[line] @ new)) if len(weights) else p, 0.9)
            expected = np.argsort(-p, kind="stable")
            assert order[line, : found[line]].tolist() == expected.tolist()
            assert likely[line, : found[line]] == pytest.approx(p[expected])


# -- rows of the past -----------------------------------------------------------------------------------


def look(history: History, examples: OrderedExamples, x: Floats, *, closed: bool = False) -> None:
    seen = examples.seen_from(x)[None]
    found = neighbourhoods(examples, seen, seen @ examples.rows.T, np.array([len(examples)]))
    history.outlooks(seen, found, closed=closed)


@spaces
def test_rows_are_what_a_fresh_policy_with_the_earlier_examples_computes(space: str) -> None:
    examples, X, y = held(space, 130, 6, 5, seed=3)
    history = History(examples, GuessedLabels())
    look(history, examples, X[0])  # makes the rows that the fit needs
    made = np.flatnonzero(history._made)
    assert len(made) == 125
    for t in (1, 2, 7, 60, 124):
        earlier = OrderedExamples(space)
        for x, label in zip(X[:t], y[:t], strict=True):
            earlier.append(x, label, None)
        found = around(earlier, earlier.seen_from(X[t]))
        count = found.found[0]
        names = [earlier.names[k] for k in found.labels[0, :count]]
        assert history._valid[t].sum() == count
        assert history._features[t, :count, :2] == pytest.approx(found.features[0, :count], abs=2e-5)
        counted = 0.5 * np.log(1 + np.array([list(y[:t]).count(name) for name in names]))
        assert history._features[t, :count, 2:4] == pytest.approx(
            np.column_stack([counted, counted])
        )  # without guesses
        assert history._target[t] == (names.index(y[t]) if y[t] in names else -1)
        newness = [1.0, found.similarity[0].max() - 0.7, np.log((earlier.singles(t) + 0.5) / (t + 1))]
        assert history._newness[t] == pytest.approx(newness, abs=2e-5)
        assert bool(history._is_new[t]) == (y[t] not in y[:t])


def test_a_fit_looks_at_the_first_answers_only_and_not_at_those_after_it() -> None:
    examples, X, y = held("sphere", 49, 6, 5, seed=4)
    history = History(examples, GuessedLabels())
    look(history, examples, X[3], closed=True)
    before = None if history._choice is None else history._choice.copy()
    assert before is not None
    assert history._fitted_at == 25
    examples.append(-X[3], y[3], None)
    look(history, examples, X[3], closed=True)
    assert history._fitted_at == 50
    assert not np.allclose(history._choice, before)  # type: ignore[arg-type]


# -- the value of an answer -----------------------------------------------------------------------------


def test_the_value_follows_its_formula() -> None:
    value = AnswerValue(Costs())
    assert value.value == 4.0
    assert value.needed == pytest.approx(1 - 2 / 15)
    value.observe(Ask(NoExamples()))  # a round and a question, of which nothing is known
    for k in range(120):
        value.observe(Guess("a", probability=0.95) if k % 2 else Ask(TooUncertain(0.5, 0.9)))
    loss = (60 * 2.0 + 60 * 0.05 * 11) / 120
    assert value.value == pytest.approx((121 + 1000) * loss / (61 * 0.5))
    again = AnswerValue(Costs())
    again.restore(value.state())
    assert again.value == value.value


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e9, 1e300])
def test_the_value_depends_on_the_recent_figures_alone(unit: float) -> None:
    """However many came before them, and whatever those were; a policy that was saved has no others."""
    rng = np.random.default_rng(0)
    value = AnswerValue(Costs(-unit, unit, -10 * unit))
    for p in rng.uniform(0.0, 1.0, 3000):
        value.observe(Ask(TooUncertain(float(p), 0.9)))
    again = AnswerValue(Costs(-unit, unit, -10 * unit))
    again.restore(value.state())
    assert again.needed == value.needed
    losses = value.state()["losses"]
    assert len(losses) == 500
    assert value._losses.mean == pytest.approx(float(sum(map(Fraction, losses.tolist())) / 500), rel=1e-14)
    plain = AnswerValue(Costs())
    plain.restore(value.state() | {"losses": losses / unit})
    assert plain.needed == pytest.approx(value.needed, rel=1e-12)


@pytest.mark.parametrize("costs", [Costs(1, 1, -10), Costs(-1e308, 1e308, -1e308)])
def test_costs_at_the_ends_of_what_there_is_are_taken(costs: Costs) -> None:
    value = AnswerValue(costs)
    for _ in range(200):
        value.observe(Ask(TooUncertain(0.5, 0.9)))
        value.observe(Guess("a", probability=float("nan")))
    assert 0.0 <= value.needed <= 1.0
    again = AnswerValue(costs)
    again.restore(value.state() | {"losses": np.array([np.nan, np.inf, 1.0] * 100)})  # as an earlier version may say
    assert 0.0 <= again.needed <= 1.0


def test_the_value_has_a_ceiling() -> None:
    value = AnswerValue(Costs())
    for k in range(2000):
        value.observe(Guess("a", probability=0.5) if k % 20 else Ask(TooUncertain(0.999, 0.9)))
    assert value.value == 50.0


def test_the_policy_reports_the_parts_it_guessed_by() -> None:
    """The scores of the evidence are the ridge's parts, recomputed densely from the examples."""
    rng = np.random.default_rng(8)
    policy = SelfTuning()
    centres = rng.standard_normal((3, 80))
    for i in range(60):
        policy.learn(centres[i % 3] + 0.3 * rng.standard_normal(80), i % 3)
    q = centres[1] / np.linalg.norm(centres[1])
    decision = policy.decide(q)
    assert isinstance(decision, Guess)
    X = np.array([e.x for e in policy.examples()])
    parts = np.linalg.solve(np.exp(X @ X.T - 1.0) + RIDGE * np.eye(60), np.exp(X @ q - 1.0))
    own = [i for i in np.argsort(-parts) if i % 3 == 1 and parts[i] > 0][:8]
    assert [s.id for s in decision.evidence] == own
    assert [s.weight for s in decision.evidence] == pytest.approx(parts[own], abs=1e-4)
