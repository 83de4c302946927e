"""The paper's two-dimensional example: five labels in the unit square, which several figures look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askless.policies.hull_policy import HullPolicy
from askless.reproduce.figures.shapes import corners
from askless.reproduce.paper import N_LABELS
from askless.simulate import simulate
from askless.streams.stream import Stream
from askless.streams.synthetic import synthetic, uniform
from askless.trace import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Square:
    """A stream in the unit square, with the seeds whose Voronoi cells label it."""

    seeds: NDArray[np.float64]
    stream: Stream


def square(distribution: str, rounds: int, variance: float, seed: int) -> Square:
    """Queries in the unit square. The label seeds depend on `seed` alone, whatever the distribution."""
    seeds = uniform("euclidean", 2, N_LABELS, np.random.default_rng([seed, 0]))
    rng = np.random.default_rng([seed, 1])
    stream = synthetic(
        "euclidean", 2, N_LABELS, rounds, rng=rng, distribution=distribution, variance=variance, seeds=seeds
    )
    return Square(seeds, stream)


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """A hull policy after a stream: what it did, the examples it asked for by label, and the hulls they span."""

    policy: HullPolicy
    trace: Trace
    examples: dict[int, NDArray[np.float64]]

    @property
    def hulls(self) -> dict[int, NDArray[np.float64]]:
        """The corners of each label's hull, in order around it."""
        return {label: corners(points) for label, points in self.examples.items()}


def teach(policy: HullPolicy, stream: Stream) -> Taught:
    """Run the policy on the stream."""
    trace = simulate(policy, stream.X, stream.y)
    found: dict[int, list[NDArray[np.float64]]] = {}
    for example in policy.examples():
        found.setdefault(int(example.label), []).append(np.asarray(example.x, dtype=np.float64))
    return Taught(policy, trace, {label: np.array(found[label]) for label in sorted(found)})
