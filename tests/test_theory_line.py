"""Dimension one: the exact regret against runs, the upper bound's range, the lower bound against a genie."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.policies.conservative_hull import ConservativeHull
from askless.simulate import simulate
from askless.theory import center_regret, hull_regret
from askless.theory.dimension_one import (
    exact_regret,
    minimax_lower_bound,
    minimax_lower_bound_mended,
    upper_bound,
    upper_bound_holds,
)
from askless.theory.wet_part import one_cell_regret_bound
from askless.types import Costs

SHARES = [(1.0,), (0.5, 0.5), (0.05, 0.2, 0.75), (0.2,) * 5, (0.001, 0.009, 0.09, 0.9)]


def draw(shares, runs, rounds, seed):
    """Uniform queries on [0, 1], one row a run, and their labels: intervals of these lengths."""
    X = np.random.default_rng(seed).random((runs, rounds))
    return X, np.searchsorted(np.cumsum(shares)[:-1], X)


def asked_on_the_line(X, y):
    """Where CHC asks: outside the span of the earlier queries of the same cell. All runs at once."""
    asked = np.ones(X.shape, dtype=bool)
    for label in range(int(y.max()) + 1):
        mine = y == label
        low = np.minimum.accumulate(np.where(mine, X, np.inf), axis=1)[:, :-1]
        high = np.maximum.accumulate(np.where(mine, X, -np.inf), axis=1)[:, :-1]
        inside = (low <= X[:, 1:]) & (X[:, 1:] <= high)
        asked[:, 1:] &= ~(mine[:, 1:] & inside)
    return asked


def papers_formula(shares, horizon, question=2.0):
    """The last line of the paper's remark B.9, as it stands there."""
    p, t = np.array(shares), np.arange(1, horizon + 1)
    n = len(p)
    second = sum(float(((1 - q) ** (t + 1) / (t + 1)).sum()) for q in p)
    return question * (
        2 * n * float((1 / (t + 1)).sum()) - 2 * second - (n - 1 - float(((1 - p) ** (horizon + 1)).sum()))
    )


@pytest.mark.parametrize("shares", SHARES)
def test_the_policy_asks_where_the_shortcut_does(shares):
    X, y = draw(shares, 8, 400, seed=5)
    asked = asked_on_the_line(X, y)
    for k in range(len(X)):
        policy = ConservativeHull(space="euclidean", n_labels=len(shares))
        trace = simulate(policy, X[k][:, None], y[k].tolist())
        assert trace.asked.tolist() == asked[k].tolist()
        assert trace.mistakes[-1] == 0


@pytest.mark.parametrize("horizon", [1, 7, 300])
@pytest.mark.parametrize("shares", SHARES)
def test_exact_regret_is_within_three_standard_errors_of_2000_runs(shares, horizon):
    calls = asked_on_the_line(*draw(shares, 2000, horizon, seed=1)).sum(axis=1)
    error = 2.0 * calls.std(ddof=1) / math.sqrt(2000)
    assert abs(2.0 * calls.mean() - exact_regret(shares, horizon)) <= 3.0 * error + 1e-12


def test_exact_regret_does_not_depend_on_the_distribution():
    shares, horizon = (0.3, 0.7), 200
    X, y = draw(shares, 2000, horizon, seed=2)
    skewed = asked_on_the_line(X**5, y).sum(axis=1)  # increasing, so cells stay intervals
    assert (skewed == asked_on_the_line(X, y).sum(axis=1)).all()


@pytest.mark.parametrize("shares", SHARES)
def test_the_papers_formula_is_ours_one_round_later_without_the_first(shares):
    for horizon in (1, 2, 50, 1000):
        shifted = exact_regret(shares, horizon + 1) - 2.0
        assert papers_formula(shares, horizon) == pytest.approx(shifted, rel=1e-12, abs=1e-12)


def test_the_papers_formula_is_off_by_more_than_chance():
    shares, horizon = (0.2,) * 5, 300
    calls = asked_on_the_line(*draw(shares, 2000, horizon, seed=1)).sum(axis=1)
    error = 2.0 * calls.std(ddof=1) / math.sqrt(2000)
    assert 2.0 * calls.mean() - papers_formula(shares, horizon) > 5.0 * error


def test_costs_scale_the_regret():
    costs = Costs(call=-3, right=2, wrong=-10)
    for value in (exact_regret((0.5, 0.5), 40, costs) / exact_regret((0.5, 0.5), 40),
                  upper_bound(3, 40, costs) / upper_bound(3, 40),
                  minimax_lower_bound(3, 40, costs) / minimax_lower_bound(3, 40),
                  minimax_lower_bound_mended(3, 40, costs) / minimax_lower_bound_mended(3, 40)):  # fmt: skip
        assert value == pytest.approx(2.5)


def test_costs_may_be_three_numbers():
    costs, three = Costs(-3, 2, -10), (-3, 2, -10)
    for bound in (
        lambda c: exact_regret((0.5, 0.5), 40, c),
        lambda c: upper_bound(3, 40, c),
        lambda c: minimax_lower_bound(3, 40, c),
        lambda c: minimax_lower_bound_mended(3, 40, c),
        lambda c: minimax_lower_bound_mended(1, 40, c),
        lambda c: one_cell_regret_bound(2, 40, c),
        lambda c: hull_regret.leading_term("euclidean", 2, 40, 12, costs=c),
        lambda c: hull_regret.voronoi_leading_term("euclidean", 2, 40, 3, costs=c),
        lambda c: hull_regret.lower_leading_term("euclidean", 2, 40, 12, c),
        lambda c: center_regret.general_bound(3, 2, 40, 0.2, costs=c),
        lambda c: center_regret.short_horizon_bound(3, 0.2, c),
        lambda c: center_regret.longer_horizon_bound(3, 2, 0.2, c),
    ):
        assert bound(three) == bound(costs)
        with pytest.raises(InvalidInput, match="Costs are"):
            bound((-3, 2))


LONG_SUMS = (
    lambda horizon: exact_regret((0.2, 0.8), horizon),
    lambda horizon: minimax_lower_bound_mended(3, horizon),
    lambda horizon: one_cell_regret_bound(2, horizon),
)


def test_the_blocks_of_a_long_sum_leave_no_round_out_and_count_none_twice(monkeypatch):
    horizon = 1000
    whole = [total(horizon) for total in LONG_SUMS]
    t = np.arange(1, horizon + 1)
    terms = [2.0 * (1.0 - (1.0 - p) ** t) / t - p * (1.0 - p) ** (t - 1) for p in (0.2, 0.8)]
    assert whole[0] == pytest.approx(2.0 * np.sum(terms))
    assert whole[1] == pytest.approx(2.0 * np.sum(1.0 / (t - 1 + 12)))
    monkeypatch.setattr("askless.theory.arguments._BLOCK", 7)
    assert [total(horizon) for total in LONG_SUMS] == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize("total", LONG_SUMS)
def test_a_long_horizon_takes_no_more_memory(total):
    total(10)  # what is loaded at the first call is not counted
    tracemalloc.start()
    total(3_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000 * 8  # one array of all rounds


def test_equal_shares_cost_most():
    rng = np.random.default_rng(3)
    for n in (2, 3, 10):
        for horizon in (1, 2, 5, 100):
            worst = exact_regret([1.0 / n] * n, horizon)
            assert all(exact_regret(rng.dirichlet(np.full(n, 0.5)), horizon) <= worst + 1e-9 for _ in range(20))


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_the_upper_bound_holds_where_it_is_said_to_and_nowhere_else(n):
    for horizon in (*range(1, 40), 1000, 30_000):
        worst = exact_regret([1.0 / n] * n, horizon)
        assert (worst <= upper_bound(n, horizon)) == upper_bound_holds(n, horizon), horizon


def test_one_label_breaks_the_upper_bound_from_round_six():
    assert upper_bound_holds(1, 5)
    assert not upper_bound_holds(1, 6)
    calls = asked_on_the_line(*draw((1.0,), 2000, 3000, seed=4)).sum(axis=1)
    assert exact_regret((1.0,), 3000) > upper_bound(1, 3000)
    assert 2.0 * calls.mean() == pytest.approx(exact_regret((1.0,), 3000), abs=6 * calls.std() / math.sqrt(2000))


def genie_regret(horizon, runs, seed):
    """What the best policy pays for two labels if the label of every earlier query is told to it for nothing.

    The boundary is the mean of a seed in [0, 1/2] and one in [1/2, 1], so it lies in [1/4, 3/4], and earlier queries
    leave it between `low` and `high`. A query there is asked, or guessed with the smaller posterior probability of
    being wrong; the integral over the query is taken by the midpoint rule.
    """
    rng = np.random.default_rng(seed)
    boundary = (rng.random((runs, 1)) + rng.random((runs, 1)) + 1.0) / 4.0
    X = rng.random((runs, horizon - 1))
    start = np.full((runs, 1), 0.25)
    is_below = boundary > X
    below, above = np.where(is_below, X, 0.25), np.where(is_below, 0.75, X)
    low = np.maximum.accumulate(np.concatenate((start, np.maximum(below, 0.25)), axis=1), axis=1)[..., None]
    high = np.minimum.accumulate(np.concatenate((start + 0.5, np.minimum(above, 0.75)), axis=1), axis=1)[..., None]

    def chance(x):  # that the boundary lies below x: the sum of two uniform numbers, z = 4x - 1
        z = 4.0 * x - 1.0
        return np.where(z <= 1.0, z**2 / 2.0, 1.0 - (2.0 - z) ** 2 / 2.0)

    q = low + (high - low) * (np.arange(40) + 0.5) / 40
    wrong = np.minimum(chance(q) - chance(low), chance(high) - chance(q)) / (chance(high) - chance(low))
    paid = np.minimum(2.0, 11.0 * wrong).mean(axis=2) * (high - low)[..., 0]
    return paid.sum(axis=1)


@pytest.mark.parametrize("horizon", [2, 30, 400])
def test_no_policy_beats_the_minimax_lower_bound_not_even_a_genie(horizon):
    paid = genie_regret(horizon, 300, seed=6)
    least = paid.mean() - 3.0 * paid.std() / math.sqrt(len(paid))
    assert 0.0 < minimax_lower_bound(2, horizon) < least
    assert 0.0 < minimax_lower_bound_mended(2, horizon) < least
    assert least < exact_regret((0.5, 0.5), horizon)  # or the genie would be no genie


def every_other_seed_regret(n_labels, horizon, runs, seed):
    """What the best guesses and questions cost a genie who knows every earlier label, by the mended bound's placing.

    Seeds of even number stand in the middle of their N-th of the line; those of odd number are uniform on theirs.
    """
    rng = np.random.default_rng(seed)
    width, paid = 1.0 / (2 * n_labels), np.zeros(runs)
    for i in range(1, n_labels + 1, 2):
        starts = [(i - 1.25) / n_labels] * (i > 1) + [(i - 0.25) / n_labels] * (i < n_labels)  # its boundaries' windows
        offset, low, high = rng.random(runs) * width, np.zeros(runs), np.full(runs, width)
        for _ in range(horizon):
            gap = high - low
            x = (np.arange(200) + 0.5) / 200  # places within the gap
            cost = np.minimum(2.0, 11.0 * np.minimum(x, 1.0 - x)).mean()
            paid += len(starts) * gap * cost
            q = rng.random(runs)
            for start in starts:
                at = q - start
                below = (at >= 0.0) & (at <= offset)
                above = (at > offset) & (at <= width)
                low, high = np.where(below, np.maximum(low, at), low), np.where(above, np.minimum(high, at), high)
    return paid


@pytest.mark.parametrize(("n_labels", "horizon"), [(2, 100), (5, 60), (6, 300), (30, 100)])
def test_the_mended_bound_holds_for_any_number_of_labels(n_labels, horizon):
    paid = every_other_seed_regret(n_labels, horizon, 400, seed=7)
    least = paid.mean() - 3.0 * paid.std() / math.sqrt(len(paid))
    assert 0.0 < minimax_lower_bound_mended(n_labels, horizon) < least


def test_the_minimax_lower_bound_cannot_hold_with_many_labels_and_few_rounds():
    assert minimax_lower_bound(1000, 3) > 2.0 * 3  # what asking every time costs
    assert minimax_lower_bound_mended(1000, 3) < 2.0 * 3
    for n in (2, 5, 30):  # it holds in the end
        assert minimax_lower_bound(n, 10**6) < minimax_lower_bound_mended(n, 10**6)
    assert minimax_lower_bound(1, 100) == minimax_lower_bound_mended(1, 100) == 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: exact_regret((0.5, 0.6), 10), "sum to 1"),
        (lambda: exact_regret((1.5, -0.5), 10), "positive"),
        (lambda: exact_regret((), 10), "one number a label"),
        (lambda: exact_regret((float("nan"),), 10), "positive"),
        (lambda: exact_regret((1.0,), 0), "horizon"),
        (lambda: upper_bound(0, 10), "n_labels"),
        (lambda: upper_bound_holds(2, 2.5), "horizon"),
        (lambda: minimax_lower_bound(2, True), "horizon"),
        (lambda: minimax_lower_bound_mended(0, 10), "n_labels"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InvalidInput, match=words) as raised:
        call()
    assert "found" in str(raised.value)
