"""A whole run of 5,000 rounds, against what the same rounds would cost with scipy, label by label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askless.policies.generalized_hull import GeneralizedHull
from askless.simulate import simulate
from askless.streams.synthetic import Stream, synthetic
from askless.trace import Trace
from benchmarks.reference import LabelByLabel
from benchmarks.rows import AT_LEAST, Row
from benchmarks.timing import timed

LABELS = 5
RUNS: dict[str, tuple[str, float, float]] = {
    "run-sphere-tau0": ("sphere", 0.0, 80.0),
    "run-cube-tau0": ("euclidean", 0.0, 80.0),
    "run-sphere-tau0.9": ("sphere", 0.9, 15.0),
    "run-cube-tau0.9": ("euclidean", 0.9, 30.0),
}


@dataclass(frozen=True)
class Plan:
    """The length of a run, its dimension, the rounds near which scipy is timed, `each` of them, and how often all that.

    One comparison takes seconds, in which other work of the machine may fall on one side alone.
    """

    rounds: int
    dim: int
    near: tuple[int, ...]
    each: int
    repeats: int


FULL = Plan(rounds=5000, dim=50, near=(500, 2000, 4500), each=25, repeats=7)
QUICK = Plan(rounds=300, dim=8, near=(60, 120, 270), each=4, repeats=1)


class _Comparison(NamedTuple):
    ours: float  # seconds of a run
    other: float
    per_round: list[float]  # scipy's seconds near each place
    equal: int  # decisions

    @property
    def ratio(self) -> float:
        return self.other / self.ours


def whole_run(name: str, quick: bool) -> Iterator[Row]:
    """The comparison whose ratio is the median of all of them."""
    space, tau, bound = RUNS[name]
    plan = QUICK if quick else FULL
    stream = synthetic(space, plan.dim, LABELS, plan.rounds, rng=np.random.default_rng(0))
    trace = _run(stream, tau)
    found = sorted((_compared(stream, trace, tau, plan) for _ in range(plan.repeats)), key=lambda one: one.ratio)
    middle = found[len(found) // 2]
    places = " / ".join(f"{cost * 1e3:.2f}" for cost in middle.per_round)
    detail = (
        f"{plan.repeats} comparisons: {', '.join(f'{one.ratio:.1f}' for one in found)}; scipy {places} ms a round near "
        f"rounds {plan.near}; {min(one.equal for one in found)} of {len(plan.near) * plan.each} decisions equal; "
        f"{trace.calls[-1]:,} calls"
    )
    yield Row(
        name, f"T={plan.rounds:,}, {LABELS} labels, d={plan.dim}", "a whole run by scipy over one of ours",
        middle.ratio, AT_LEAST, bound, middle.ours, middle.other, "s", plan.repeats, detail, quick,
    )  # fmt: skip


def _compared(stream: Stream, trace: Trace, tau: float, plan: Plan) -> _Comparison:
    """The run is repeated once for each place where scipy is timed, in turn with it; its median counts."""
    runs, costs, equal = [], [], 0
    for near in plan.near:
        runs.append(timed(lambda: _run(stream, tau))[1])
        first = near - plan.each // 2
        for t in range(first, first + plan.each):
            agrees, seconds = _by_scipy(stream, trace, t, tau)
            costs.append(seconds)
            equal += agrees
    per_round: list[float] = np.mean(np.reshape(costs, (len(plan.near), plan.each)), axis=1).tolist()
    return _Comparison(float(np.median(runs)), extrapolated(plan.near, per_round, plan.rounds), per_round, equal)


def extrapolated(rounds: Sequence[int], seconds: Sequence[float], total: int) -> float:
    """The sum over all rounds of the quadratic through three (round, seconds); below zero it counts as zero."""
    quadratic = np.polynomial.Polynomial.fit(rounds, seconds, deg=2)
    return float(np.maximum(quadratic(np.arange(total)), 0.0).sum())


def _run(stream: Stream, tau: float) -> Trace:
    return simulate(GeneralizedHull(tau, space=stream.space, n_labels=LABELS), stream.X, stream.y)


def _by_scipy(stream: Stream, trace: Trace, t: int, tau: float) -> tuple[bool, float]:
    """Whether scipy decides round t as the run did, with the examples of that round, and the seconds it took."""
    known = np.flatnonzero(trace.asked[:t])
    systems = LabelByLabel(stream.X[known], np.asarray(stream.y)[known], stream.space)
    guessed, seconds = timed(lambda: systems.decide(stream.X[t], tau))
    in_trace = None if trace.guess[t] < 0 else trace.labels[trace.guess[t]]
    return bool(guessed == in_trace), seconds
