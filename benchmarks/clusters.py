"""Examples in clusters, one for each label, at the sizes of the paper's data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from askless.policies.generalized_hull import GeneralizedHull

Floats: TypeAlias = NDArray[np.float32]
TAU = 0.9


@dataclass(frozen=True)
class Shape:
    """How many examples of how many labels, and what they are made of.

    An example is sqrt(common) m + sqrt(own) c + sqrt(1 - common - own) n: m a direction that all share, c its
    label's centre and n its noise, of norm 1 and, but for chance, orthogonal. So two examples of a label have
    cosine about common + own, two of different labels about common. Noise of a `rank` lies in a subspace of
    that dimension, the same for all labels. On the sphere examples are scaled to norm 1.
    """

    labels: int
    examples: int
    dim: int
    common: float = 0.0
    own: float = 0.8
    rank: int | None = None
    space: str = "sphere"

    def __str__(self) -> str:
        return f"{self.labels:,} labels, {self.examples:,} examples, d={self.dim:,}"


class Clusters:
    """Examples `P` with their labels `y`, as float32, and queries like them; all from one seed."""

    def __init__(self, shape: Shape, seed: int = 0) -> None:
        self.shape = shape
        self._rng = np.random.default_rng(seed)
        self._basis = None if shape.rank is None else self._orthonormal(shape.rank)
        self._centres = self._directions(shape.labels)
        self.y = label_sizes(shape, self._rng)
        self.P = self._around(self._centres[self.y])

    def queries(self, count: int) -> Floats:
        """Half of them from a label's cluster, half between two labels', in random order.

        Between two labels the centre is (1-t) c + t c' over its norm, with t uniform in [0.3, 0.7]: some of
        these are clear and some are not, with ratios on both sides of 0.9.
        """
        first, second = self._rng.integers(self.shape.labels, size=(2, count))
        t = self._rng.uniform(0.3, 0.7, (count, 1)).astype(np.float32)
        t[: count // 2] = 0.0
        centres = _normalised((1.0 - t) * self._centres[first] + t * self._centres[second])
        return self._rng.permutation(self._around(centres))

    def taught(self) -> GeneralizedHull:
        """A policy that has learned every example."""
        policy = GeneralizedHull(TAU, space=self.shape.space)
        for x, label in zip(self.P, self.y.tolist(), strict=True):
            policy.learn(x, label)
        return policy

    def _around(self, centres: Floats) -> Floats:
        """A point around each centre."""
        shape = self.shape
        noise = self._noise(len(centres))
        X = np.sqrt(np.float32(shape.own)) * centres
        noise *= np.sqrt(np.float32(1.0 - shape.common - shape.own))
        X += noise
        X += np.sqrt(np.float32(shape.common / shape.dim))
        return _normalised(X) if shape.space == "sphere" else X

    def _directions(self, count: int) -> Floats:
        """Random directions; orthogonal to the shared one, which is that of (1, .., 1), where there is one."""
        X = self._rng.standard_normal((count, self.shape.dim), dtype=np.float32)
        if self.shape.common:
            X -= X.mean(axis=1, keepdims=True)
        return _normalised(X)

    def _noise(self, count: int) -> Floats:
        if self._basis is None:
            return self._directions(count)
        weights = self._rng.standard_normal((count, len(self._basis)), dtype=np.float32)
        return np.asarray(_normalised(weights) @ self._basis)

    def _orthonormal(self, rank: int) -> Floats:
        return np.linalg.qr(self._directions(rank).T)[0].T.astype(np.float32)


def label_sizes(shape: Shape, rng: np.random.Generator) -> NDArray[np.int64]:
    """The label of each example, in random order: one example for each label, the rest dealt at random."""
    extra = rng.integers(shape.labels, size=shape.examples - shape.labels)
    return rng.permutation(np.concatenate([np.arange(shape.labels), extra]))


def cosine_range(P: Floats, Q: Floats) -> tuple[float, float]:
    """The least and the largest cosine between two rows of P, or a row of P and one of Q; all of norm 1."""
    low, high = 1.0, -1.0
    for start in range(0, len(P), 1024):
        block = P[start : start + 1024]
        products = np.concatenate([block @ P.T, block @ Q.T], axis=1)
        products[np.arange(len(block)), start + np.arange(len(block))] = products[0, -1]  # not with itself
        low, high = min(low, float(products.min())), max(high, float(products.max()))
    return low, high


def _normalised(X: Floats) -> Floats:
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X
