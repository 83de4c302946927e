"""The paper's synthetic environments: queries at random, labelled by the nearest of a few seeds.

[Réveillard et al. 2026, appendix F.1]
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.errors import InvalidInput
from askless.inputs import as_space
from askless.types import Matrix

DISTRIBUTIONS = ("uniform", "mixture")


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Queries in their order, one row each, with their true labels, and their texts where they have any."""

    X: Matrix
    y: NDArray[Any] | Sequence[str | int]
    space: str = "sphere"
    texts: Sequence[str] | None = None


def synthetic(
    space: str,
    dim: int,
    n_labels: int,
    rounds: int,
    *,
    rng: np.random.Generator,
    distribution: str = "uniform",
    variance: float = 0.01,
) -> Stream:
    """A stream of `rounds` queries whose labels, 0 to n_labels - 1, are Voronoi cells of uniform seeds.

    Queries lie in the cube [0, 1]^dim (euclidean) or on the unit sphere of R^dim. They are uniform, or come
    from a mixture with equal weights of Gaussians around the seeds with covariance `variance` times the
    identity: truncated to the cube, or normalised onto the sphere. A query's label is its cell's, whichever
    Gaussian it came from.
    """
    as_space(space)
    dim = as_whole(dim, 2 if space == "sphere" else 1, f"dim in the {space} space")
    n_labels, rounds = as_whole(n_labels, 1, "n_labels"), as_whole(rounds, 1, "rounds")
    if distribution not in DISTRIBUTIONS:
        raise InvalidInput(f"The distribution is 'uniform' or 'mixture'; found {distribution!r}.")
    if not 0.0 < variance < math.inf:
        raise InvalidInput(f"The variance is a positive number; found {variance!r}.")
    seeds = uniform(space, dim, n_labels, rng)
    if distribution == "uniform":
        X = uniform(space, dim, rounds, rng)
    else:
        X = mixture(space, seeds, rounds, float(variance), rng)
    return Stream(X, voronoi_labels(space, X, seeds), space)


def uniform(space: str, dim: int, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Points drawn uniformly from the cube (euclidean) or the unit sphere."""
    if space == "euclidean":
        return rng.random((count, dim))
    return _normalised(rng.standard_normal((count, dim)))


def mixture(
    space: str, seeds: NDArray[np.float64], count: int, variance: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Points around seeds that are picked uniformly: Gaussian, then kept in the cube or put onto the sphere.

    An isotropic Gaussian cut to the cube is a product of cut Gaussians of one dimension, so each coordinate
    is drawn by its inverse distribution function; nothing has to be rejected.
    """
    centres = seeds[rng.integers(len(seeds), size=count)]
    deviation = math.sqrt(variance)
    if space == "sphere":
        return _normalised(centres + deviation * rng.standard_normal(centres.shape))
    from scipy.special import ndtr, ndtri

    below, above = ndtr((0.0 - centres) / deviation), ndtr((1.0 - centres) / deviation)
    drawn = centres + deviation * ndtri(below + (above - below) * rng.random(centres.shape))
    return np.asarray(np.clip(drawn, 0.0, 1.0), dtype=np.float64)


def voronoi_labels(space: str, X: Matrix, seeds: Matrix) -> NDArray[np.int64]:
    """The index of each row's nearest seed; on the sphere that is the one with the largest inner product."""
    scores = X @ seeds.T
    if space == "euclidean":
        scores = scores - 0.5 * np.einsum("ij,ij->i", seeds, seeds)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def _normalised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True), dtype=np.float64)


def as_whole(value: object, least: int, name: str) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidInput(f"{name} is a whole number of at least {least}; found {value!r}.")
    return int(value)
