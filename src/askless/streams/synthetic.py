"""The paper's synthetic environments: queries at random, labelled by the nearest of a few seeds.

[Réveillard et al. 2026, appendix F.1]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from askless.errors import InvalidInput
from askless.inputs import as_matrix
from askless.streams.partitions import Voronoi, voronoi_labels
from askless.streams.sampling import as_deviations, drift, mixture, uniform
from askless.streams.stream import Stream, as_dim, as_generator, as_whole
from askless.types import Matrix

__all__ = ["DISTRIBUTIONS", "Stream", "as_whole", "mixture", "synthetic", "uniform", "voronoi_labels"]

DISTRIBUTIONS = ("uniform", "mixture", "drift")


def synthetic(
    space: str,
    dim: int,
    n_labels: int,
    rounds: int,
    *,
    rng: np.random.Generator,
    distribution: str = "uniform",
    variance: ArrayLike = 0.01,
    weights: ArrayLike | None = None,
    seeds: ArrayLike | None = None,
) -> Stream:
    """A stream of `rounds` queries whose labels, 0 to n_labels - 1, are Voronoi cells of uniform seeds.

    Queries lie in the cube [0, 1]^dim (euclidean) or on the unit sphere of R^dim. A query's label is its
    cell's, wherever it came from. `distribution` says how queries are drawn:

    "uniform"   from the whole space
    "mixture"   from Gaussians around the seeds with covariance `variance` times the identity, truncated to
                the cube or normalised onto the sphere; `variance` is one number or one for each Gaussian,
                and they have equal weights or `weights`
    "drift"     from the same mixture in the first round; then each Gaussian goes steadily, on the shortest
                way, to a place drawn uniformly, which it reaches in the last round. The cells stay.

    `seeds`, one row a label, stand for those that would be drawn.
    """
    dim = as_dim(space, dim)
    n_labels, rounds = as_whole(n_labels, 1, "n_labels"), as_whole(rounds, 1, "rounds")
    as_generator(rng)
    as_deviations(variance, n_labels)
    if distribution not in DISTRIBUTIONS:
        raise InvalidInput(f"The distribution is 'uniform', 'mixture' or 'drift'; found {distribution!r}.")
    if distribution == "uniform" and weights is not None:
        raise InvalidInput("Weights are those of a mixture's Gaussians; a uniform stream has none.")
    cells = Voronoi(uniform(space, dim, n_labels, rng) if seeds is None else _given(dim, n_labels, seeds), space)
    if distribution == "uniform":
        X = uniform(space, dim, rounds, rng)
    elif distribution == "mixture":
        X = mixture(space, cells.seeds, rounds, variance, rng, weights)
    else:
        X = drift(space, cells.seeds, uniform(space, dim, n_labels, rng), rounds, variance, rng, weights)
    return cells.stream(X)


def _given(dim: int, n_labels: int, seeds: ArrayLike) -> Matrix:
    """The caller's seeds, where there is one for each label."""
    rows = as_matrix(seeds, what="the seeds")
    if rows.shape != (n_labels, dim):
        raise InvalidInput(
            f"Expected {n_labels} seeds of dimension {dim}, one for each label; found {len(rows)} of dimension "
            f"{rows.shape[1]}."
        )
    return rows
