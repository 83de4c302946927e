"""A mixture that meets the assumption of CC's bounds exactly, for runs to set beside them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.policies.center_based import closest_pair
from askless.streams.partitions import Voronoi
from askless.streams.stream import Stream, as_generator, as_whole
from askless.theory.arguments import at_least
from askless.theory.center_regret import LEAST_SEPARATION


class Noise(NamedTuple):
    """How far queries lie from their seed: `sigma` is the subgaussian parameter, `angle` that of the rings."""

    sigma: float
    angle: float


def noise(seeds: ArrayLike, space: str, separation: float) -> Noise:
    """The most noise that the seeds bear: the squared gap between two centres is separation * sigma^2 * d.

    In the cube queries are Gaussian around the seeds. On the sphere no query can have a seed as its mean, so queries
    lie on a ring at one angle from the seed: their mean is cos(angle) times the seed, which leaves the cells as they
    are, and sin(angle) times a uniform unit vector of d-1 dimensions is subgaussian with sin(angle) / sqrt(d-1).
    """
    cells = Voronoi(seeds, space)
    c = at_least(separation, LEAST_SEPARATION, "The separation c")
    if cells.n_labels < 2:
        raise InvalidInput("The gap between centres needs two labels or more; found one.")
    one, other = closest_pair(cells.seeds)
    gap = float(np.linalg.norm(cells.seeds[one] - cells.seeds[other]))
    if space == "euclidean":
        return Noise(gap / math.sqrt(c * cells.dim), 0.0)
    angle = math.atan(gap * math.sqrt((cells.dim - 1) / (c * cells.dim)))
    return Noise(math.sin(angle) / math.sqrt(cells.dim - 1), angle)


def separated_stream(
    seeds: ArrayLike, space: str, rounds: int, *, rng: np.random.Generator, separation: float
) -> Stream:
    """A stream from the mixture of `noise`, with equal weights; in the cube some queries may lie outside it."""
    cells, level = Voronoi(seeds, space), noise(seeds, space, separation)
    picked = as_generator(rng).integers(cells.n_labels, size=as_whole(rounds, 1, "rounds"))
    around = cells.seeds[picked]
    steps = rng.standard_normal(around.shape)
    if space == "euclidean":
        return cells.stream(around + level.sigma * steps)
    return cells.stream(math.cos(level.angle) * around + math.sin(level.angle) * _tangent(steps, around))


def _tangent(steps: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vectors at right angles to the rows of `at`, uniform where the steps are Gaussian."""
    steps = steps - np.einsum("ij,ij->i", steps, at)[:, None] * at
    return np.asarray(steps / np.linalg.norm(steps, axis=1, keepdims=True))
