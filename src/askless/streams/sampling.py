"""Where queries come from: uniform, from a mixture of Gaussians, or from a mixture that drifts.

Every sampler draws all its points at once, and rejects none. [Réveillard et al. 2026, appendix F.1]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.streams.stream import as_dim, as_generator, as_points, as_whole

_FLAT = 1e6  # a Gaussian of this deviation varies by less than 1e-12 of itself over the unit cube


def uniform(space: str, dim: int, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Points drawn uniformly from the cube (euclidean) or the unit sphere."""
    shape = (as_whole(count, 0, "The number of points"), as_dim(space, dim))
    as_generator(rng)
    if space == "euclidean":
        return rng.random(shape)
    return _normalised(rng.standard_normal(shape))


def mixture(
    space: str,
    seeds: ArrayLike,
    count: int,
    variance: ArrayLike,
    rng: np.random.Generator,
    weights: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Points around seeds picked at random: Gaussian, then kept in the cube or put onto the sphere.

    A seed is picked in proportion to its weight, or each as often as the others where there are no weights.
    The covariance is the identity times `variance`, which is one number or one for each seed.
    """
    centres = as_points(space, seeds, "the centres of a mixture")
    deviation = as_deviations(variance, len(centres))
    chances = None if weights is None else _chances(weights, len(centres))
    count = as_whole(count, 0, "The number of points")
    picked = _pick(len(centres), chances, count, as_generator(rng))
    return _gaussian(space, centres, deviation, picked, rng)


def drift(
    space: str,
    start: ArrayLike,
    end: ArrayLike,
    count: int,
    variance: ArrayLike,
    rng: np.random.Generator,
    weights: ArrayLike | None = None,
    end_weights: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Points of a mixture that moves with the round, from one mixture to another.

    Point t of `count` comes from the mixture at s = t / (count - 1), t = 0, 1, ..: each centre has gone the
    share s of the shortest way from its row of `start` to its row of `end`, straight in the cube, along the
    great circle on the sphere; the weights are (1 - s) times `weights` plus s times `end_weights`. Where
    `end_weights` are left out the weights stay. A weight may be zero here: that Gaussian comes, or goes.
    """
    start, end = as_points(space, start, "the first centres"), as_points(space, end, "the last centres")
    if start.shape != end.shape:
        raise InvalidInput(f"A drift has as many first as last centres; found shapes {start.shape} and {end.shape}.")
    n, count = len(start), as_whole(count, 0, "The number of points")
    deviation = as_deviations(variance, n)
    first, last = (None if w is None else _chances(w, n, "not negative") for w in (weights, end_weights))
    share = np.linspace(0.0, 1.0, count)
    picked = _pick(n, first, count, as_generator(rng))
    if last is not None:  # weights that are mixed mean that either weights are used, by chance
        picked = np.where(rng.random(count) < share, _pick(n, last, count, rng), picked)
    return _gaussian(space, _on_the_way(space, start, end, picked, share), deviation[picked], slice(None), rng)


def _on_the_way(
    space: str,
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    picked: NDArray[np.int64],
    share: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Where the picked centres are when they have gone this share of their ways."""
    if space == "euclidean":
        return start[picked] + share[:, None] * (end - start)[picked]
    cosine = np.einsum("ij,ij->i", start, end)
    tangent = end - cosine[:, None] * start
    sine = np.linalg.norm(tangent, axis=1)
    if ((sine < 1e-9) & (cosine < 0.0)).any():
        row = int(np.flatnonzero((sine < 1e-9) & (cosine < 0.0))[0])
        raise InvalidInput(f"Centre {row} would go to the opposite point, and no way there is the shortest. Move it.")
    tangent /= np.where(sine > 0.0, sine, 1.0)[:, None]
    angle = (share * np.arctan2(sine, cosine)[picked])[:, None]
    return np.asarray(np.cos(angle) * start[picked] + np.sin(angle) * tangent[picked], dtype=np.float64)


def _gaussian(
    space: str,
    centres: NDArray[np.float64],
    deviation: NDArray[np.float64],
    rows: NDArray[np.int64] | slice,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """One point around each of these rows of the centres.

    An isotropic Gaussian cut to the cube is a product of cut Gaussians of one dimension, so each coordinate
    is drawn by its inverse distribution function; nothing has to be rejected.
    """
    around, spread = centres[rows], deviation[rows]
    if space == "sphere":
        return _normalised(around + spread * rng.standard_normal(around.shape))
    from scipy.special import ndtr, ndtri

    below = ndtr((0.0 - centres) / deviation)
    width = ndtr((1.0 - centres) / deviation) - below
    chance = rng.random(around.shape)
    drawn = around + spread * ndtri(below[rows] + width[rows] * chance)
    if (deviation > _FLAT).any():  # so wide that the digits of `width` are lost: uniform to the last digits
        drawn = np.where(spread > _FLAT, chance, drawn)
    return np.asarray(np.clip(drawn, 0.0, 1.0), dtype=np.float64)


def _pick(n: int, chances: NDArray[np.float64] | None, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The Gaussian that each point comes from."""
    if chances is None:
        return rng.integers(n, size=count)
    return rng.choice(n, size=count, p=chances)


def _chances(weights: ArrayLike, n: int, least: str = "positive") -> NDArray[np.float64]:
    """The weights over their sum: one positive number each or, with "not negative", some of them zero."""
    rule = f"The weights are {least} numbers, one for each of the {n} Gaussians"
    values = _numbers(weights, rule)
    wrong = (values <= 0.0) if least == "positive" else (values < 0.0)
    if values.shape != (n,) or wrong.any() or not np.isfinite(values).all() or not values.any():
        raise InvalidInput(f"{rule}; found {weights!r}.")
    values = values / values.max()  # so that the sum of very large ones is finite
    return np.asarray(values / values.sum(), dtype=np.float64)


def as_deviations(variance: ArrayLike, n: int) -> NDArray[np.float64]:
    """The standard deviation of each Gaussian, as a column."""
    rule = f"The variance is a positive number, or one for each of the {n} Gaussians"
    values = _numbers(variance, rule)
    if values.shape not in ((), (n,)) or not ((values > 0.0) & (values < np.inf)).all():
        raise InvalidInput(f"{rule}; found {variance!r}.")
    widest = 1e100  # uniform either way, and its square is no infinity
    return np.minimum(np.sqrt(np.broadcast_to(values, (n,))), widest)[:, None]


def _numbers(values: ArrayLike, rule: str) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{rule}; found {values!r}.") from None


def _normalised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True), dtype=np.float64)
