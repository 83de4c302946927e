"""The coupon collector against runs and other formulas, and CC's bounds against each other and against runs."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.policies.center_based import CenterBased
from askless.simulate import simulate
from askless.streams.synthetic import uniform
from askless.theory import center_regret
from askless.theory.coupon_collector import (
    _by_integral,
    _by_sets,
    bound_by_rarest,
    bound_by_sum,
    expected_rounds,
)
from askless.theory.separated import noise, separated_stream


def rounds_until_all(shares, runs, seed):
    """Rounds until every label has come up, in each of many runs."""
    rng = np.random.default_rng(seed)
    count = np.zeros(runs)
    seen = np.zeros((runs, len(shares)), dtype=bool)
    open_runs = np.arange(runs)
    while len(open_runs):
        seen[open_runs, rng.choice(len(shares), size=len(open_runs), p=shares)] = True
        count[open_runs] += 1
        open_runs = open_runs[~seen[open_runs].all(axis=1)]
    return count


@pytest.mark.parametrize("shares", [(1.0,), (0.5, 0.5), (0.02, 0.08, 0.9), [0.05] * 20, np.arange(1, 31) / 465])
def test_expected_rounds_agree_with_runs(shares):
    count = rounds_until_all(shares, 4000, seed=1)
    error = count.std(ddof=1) / math.sqrt(len(count))
    assert abs(count.mean() - expected_rounds(shares)) <= 3.0 * error


@pytest.mark.parametrize("n", [1, 2, 12, 13, 100, 10_000])
def test_equal_shares_take_n_times_the_harmonic_number(n):
    harmonic = math.fsum(1.0 / k for k in range(1, n + 1))
    assert expected_rounds(np.full(n, 1.0 / n)) == pytest.approx(n * harmonic, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_sets_and_integral_agree(seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(rng.integers(2, 13), 0.3)) + 1e-9
    shares /= shares.sum()
    assert _by_integral(shares) == pytest.approx(_by_sets(shares), rel=1e-9)


def test_shares_of_very_different_size_keep_their_digits():
    shares = np.concatenate((np.full(12, 1e-9), np.full(4, 1e-4)))
    shares = np.append(shares, 1.0 - shares.sum())
    with mpmath.workdps(40):  # groups of equal shares: 13 * 5 * 2 sets instead of 2^17
        exact = mpmath.mpf(0)
        for i, j, k in np.ndindex(13, 5, 2):
            if i + j + k:
                ways = mpmath.binomial(12, i) * mpmath.binomial(4, j)
                total = i * mpmath.mpf(1e-9) + j * mpmath.mpf(1e-4) + k * mpmath.mpf(shares[-1])
                exact += (-1) ** (i + j + k + 1) * ways / total
    assert expected_rounds(shares) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_both_bounds_lie_above_and_each_is_sometimes_the_sharper(seed):
    shares = np.random.default_rng(seed).dirichlet(np.full(2 + seed, 1.0))
    assert expected_rounds(shares) <= min(bound_by_rarest(shares), bound_by_sum(shares))
    assert bound_by_rarest([0.5, 0.5]) < bound_by_sum([0.5, 0.5])
    assert bound_by_sum([0.01, 0.99]) < bound_by_rarest([0.01, 0.99])


# -- CC -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("dim", [2, 6, 20])
def test_the_special_bounds_follow_from_the_general_one(n, dim):
    for rarest in (1.0 / n, 0.1 / n):
        longest = int(math.exp(dim))
        assert center_regret.within_short_horizon(dim, longest)
        assert not center_regret.within_short_horizon(dim, longest + 1)
        general = center_regret.general_bound(n, dim, longest, rarest)
        assert general <= center_regret.short_horizon_bound(n, rarest)
        further = int(math.exp(dim) * math.sqrt(math.log(n) / rarest))
        assert center_regret.within_longer_horizon(n, dim, further, rarest)
        assert not center_regret.within_longer_horizon(n, dim, further + 1, rarest)
        general = center_regret.general_bound(n, dim, further, rarest)
        assert general <= center_regret.longer_horizon_bound(n, dim, rarest)


def test_the_bounds_are_the_sums_that_the_paper_writes():
    n, dim, horizon, rarest, c = 4, 5, 700, 0.1, 50.0
    first = 2 * (math.log(4) + 1) / 0.1 * (1 + 192 * (5 + 2 * math.log(700)) / 250)
    last = 11 * 700 * (math.exp(-18 / 48 * 5) + 700 * math.exp(-42 / 12 * 5))
    assert center_regret.general_bound(n, dim, horizon, rarest, c) == pytest.approx(first + 13 * 4 + last)
    assert center_regret.short_horizon_bound(4, 0.1) == pytest.approx(8.2 * 2 * (math.log(4) + 1) / 0.1 + 22 * 5)
    odds = math.log(4) / 0.1
    longer = 2 * (math.log(4) + 1) / 0.1 * (41 / 5 + 12 / 5 * math.log(odds) / 5) + 22 * (4 + odds)
    assert center_regret.longer_horizon_bound(4, 5, 0.1) == pytest.approx(longer)


@pytest.mark.parametrize(("space", "dim"), [("sphere", 3), ("sphere", 8), ("euclidean", 2), ("euclidean", 8)])
def test_center_based_stays_below_its_bounds(space, dim):
    n, horizon = 5, 1500
    seeds = uniform(space, dim, n, np.random.default_rng(dim))
    sigma = noise(seeds, space, 80.0).sigma
    regrets = []
    for run in range(5):
        stream = separated_stream(seeds, space, horizon, rng=np.random.default_rng(run), separation=80.0)
        policy = CenterBased(108.0, sigma, horizon, space=space, n_labels=n)
        regrets.append(float(simulate(policy, stream.X, stream.y).regret[-1]))
    assert max(regrets) < center_regret.general_bound(n, dim, horizon, 1.0 / n)
    if center_regret.within_short_horizon(dim, horizon):
        assert max(regrets) < center_regret.short_horizon_bound(n, 1.0 / n)


@pytest.mark.parametrize(("space", "dim"), [("sphere", 2), ("sphere", 5), ("euclidean", 3)])
def test_the_separated_mixture_meets_its_assumption(space, dim):
    seeds = uniform(space, dim, 4, np.random.default_rng(9))
    level = noise(seeds, space, 60.0)
    stream = separated_stream(seeds, space, 40_000, rng=np.random.default_rng(1), separation=60.0)
    if space == "sphere":
        assert np.linalg.norm(stream.X, axis=1) == pytest.approx(1.0)
    means = np.array([stream.X[np.asarray(stream.y) == k].mean(axis=0) for k in range(4)])
    gaps = [float(np.sum((means[i] - means[j]) ** 2)) for i in range(4) for j in range(i)]
    assert min(gaps) == pytest.approx(60.0 * level.sigma**2 * dim, rel=0.03)
    steps = stream.X - means[np.asarray(stream.y)]
    directions = np.random.default_rng(2).standard_normal((50, dim))
    for direction in directions / np.linalg.norm(directions, axis=1, keepdims=True):
        for size in (0.5, 1.0, 2.0):  # E exp(<l, w>) <= exp(sigma^2 |l|^2 / 2), up to the error of the mean
            moment = np.exp(size / level.sigma * (steps @ direction))
            assert moment.mean() - 4.0 * moment.std() / 200.0 <= math.exp(size**2 / 2.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: expected_rounds([0.5, 0.4]), "sum to 1"),
        (lambda: bound_by_sum([1.0, 0.0]), "positive"),
        (lambda: bound_by_rarest([[0.5, 0.5]]), "one number a label"),
        (lambda: center_regret.general_bound(5, 4, 100, 0.2, 31.0), "separation"),
        (lambda: center_regret.general_bound(5, 4, 100, 0.21), "rarest"),
        (lambda: center_regret.general_bound(5, 0, 100, 0.2), "dim"),
        (lambda: center_regret.short_horizon_bound(5, 0.0), "rarest"),
        (lambda: center_regret.longer_horizon_bound(1, 4, 1.0), "n_labels"),
        (lambda: noise([[0.5, 0.5]], "euclidean", 80.0), "two labels"),
        (lambda: noise([[0.5, 0.5], [0.1, 0.1]], "euclidean", float("nan")), "separation"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InvalidInput, match=words) as raised:
        call()
    assert "found" in str(raised.value)
