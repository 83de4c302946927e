"""The bisecting adversary: exact queries, fair labels, and a regret that no policy brings down."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import stats

from askless.errors import InvalidInput
from askless.policies.named import make_policy
from askless.simulate import Job, simulate, simulate_many
from askless.streams.bisection import MOST_ROUNDS, bisection

QUESTION, MISTAKE = 2, 11
# Two labels equally near are a case for asking: of the policies that are told every answer at once, these always ask.
ASKING = ("always-ask", "chc", "ghc:0.9", "ghc:1", "ghc-nearest:0.9", "similarity-threshold:0.9", "cc:5", "cc-chc:5")
GUESSING = ("cc:0", "skm", "amp:0.5", "amp:0.95")


def bisected(digits):
    """The queries and labels for a boundary with these binary digits, in whole fractions."""
    low, high, queries = Fraction(0), Fraction(1), []
    for digit in digits:
        queries.append((low + high) / 2)
        low, high = (queries[-1], high) if digit else (low, queries[-1])
    return queries, [1 - digit for digit in digits]


@pytest.mark.parametrize("seed", range(20))
def test_every_query_halves_the_interval_exactly(seed):
    stream = bisection(MOST_ROUNDS, rng=np.random.default_rng(seed))
    queries, labels = bisected([1 - int(label) for label in stream.y])
    assert stream.X.shape == (MOST_ROUNDS, 1)
    assert stream.space == "euclidean"
    assert [Fraction(x) for x in stream.X[:, 0].tolist()] == queries
    assert stream.y.tolist() == labels
    assert len(set(queries)) == MOST_ROUNDS


def test_one_boundary_parts_the_labels():
    for seed in range(50):
        stream = bisection(40, rng=np.random.default_rng(seed))
        below, above = stream.X[stream.y == 0, 0], stream.X[stream.y == 1, 0]
        assert below.max(initial=0.0) < above.min(initial=1.0)


def test_the_boundary_is_uniform_and_the_labels_are_fair_coins():
    streams = [bisection(30, rng=np.random.default_rng(seed)) for seed in range(3000)]
    assert stats.kstest([stream.X[-1, 0] for stream in streams], "uniform").pvalue > 1e-4
    first_four = [int("".join(map(str, stream.y[:4])), 2) for stream in streams]
    assert stats.chisquare(np.bincount(first_four, minlength=16)).pvalue > 1e-4


@pytest.mark.parametrize("spec", ASKING + GUESSING)
def test_the_expected_regret_over_all_boundaries(spec):
    """The 2^7 boundaries of seven digits are equally likely, so means over them are expectations without error."""
    regret, guessed = np.zeros(7), np.zeros(7)
    for digits in product((0, 1), repeat=7):
        queries, labels = bisected(digits)
        X = [[float(q)] for q in queries]
        trace = simulate(make_policy(spec, space="euclidean", n_labels=2, horizon=7), X, labels)
        regret += np.diff(trace.regret, prepend=0) / 128
        guessed += (trace.guess >= 0) / 128
    assert (regret >= QUESTION).all()
    assert regret == pytest.approx(QUESTION * (1 - guessed) + MISTAKE / 2 * guessed, abs=1e-12)
    assert (guessed.sum() > 1) == (spec in GUESSING)


@pytest.mark.parametrize(("spec", "delay"), [*((spec, 0) for spec in ASKING + GUESSING), ("ghc:0.9", 3)])
def test_regret_per_round_is_constant_over_25_rounds(spec, delay):
    """A guess is a fair coin whatever was learned: so in every part of the run mistakes are half the guesses,
    to four standard errors, and a round costs 2 where it is asked and 5.5 where it is guessed, never less."""
    stream, runs = partial(bisection, 25), 150
    traces = simulate_many([Job(spec, stream, seed, n_labels=2, delay=delay) for seed in range(runs)], progress=False)
    per_round = np.diff([trace.regret for trace in traces], axis=1, prepend=0)
    guessed = np.array([trace.guess >= 0 for trace in traces])
    for part in np.split(np.arange(25), 5):
        guesses, mistakes = guessed[:, part].sum(), (per_round[:, part] == MISTAKE).sum()
        assert abs(mistakes - guesses / 2) <= 4 * np.sqrt(guesses) / 2
        floor = QUESTION - 4 * MISTAKE * np.sqrt(guesses) / 2 / (runs * len(part))
        assert per_round[:, part].mean() >= floor
    if delay:
        assert guessed.mean() > 0.5  # answers that come late leave one label nearer than the other
    elif spec in ASKING:
        assert (per_round == QUESTION).all()


@pytest.mark.parametrize(
    ("rounds", "rng", "words"),
    [
        (0, np.random.default_rng(0), "at least 1"),
        (2.5, np.random.default_rng(0), "2.5"),
        (MOST_ROUNDS + 1, np.random.default_rng(0), "at most 53 rounds.*found 54"),
        (25, None, "numpy.random.default_rng"),
    ],
)
def test_bad_arguments_are_named(rounds, rng, words):
    with pytest.raises(InvalidInput, match=words):
        bisection(rounds, rng=rng)
