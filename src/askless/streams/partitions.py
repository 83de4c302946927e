"""Convex partitions: which label owns which part of the space.

The paper's labels are convex cells: those of a Voronoi diagram in its experiments, any in its theorems.
[Réveillard et al. 2026, section 3]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.inputs import as_matrix, as_space, as_vector
from askless.streams.stream import Stream, as_dim, as_points, shown
from askless.types import Matrix

_BORDER = 1e-9  # so close to a border, rounding decides on which side of it a point lies


class Partition(ABC):
    """Cells numbered 0 to n_labels - 1; the number of its cell is a query's label."""

    space: str
    dim: int
    n_labels: int

    @abstractmethod
    def labels(self, X: ArrayLike) -> NDArray[np.int64]:
        """The cell of each row."""

    def stream(self, X: ArrayLike) -> Stream:
        """The stream of these queries, in their order, with the labels of their cells."""
        return Stream(self._queries(X), self.labels(X), self.space)

    def _queries(self, X: ArrayLike) -> Matrix:
        rows = as_matrix(X)
        if len(rows) and rows.shape[1] != self.dim:
            raise InvalidInput(f"The cells have dimension {self.dim}; found queries of dimension {rows.shape[1]}.")
        if self.space == "sphere" and not rows.any(axis=1).all():
            row = int((~rows.any(axis=1)).argmax())
            raise InvalidInput(f"Query {row} is the zero vector, which has no direction on the sphere. Leave it out.")
        return rows


class Voronoi(Partition):
    """Each point belongs to its nearest seed.

    Seeds are rows in the unit cube (euclidean) or on the unit sphere. The cells cover everything; of seeds
    that are equally near, the first has the point.
    """

    def __init__(self, seeds: ArrayLike, space: str = "sphere") -> None:
        self.seeds = as_points(space, seeds, "the seeds")
        self.space = space
        self.n_labels, self.dim = self.seeds.shape
        _, first = np.unique(self.seeds, axis=0, return_index=True)
        if len(first) < self.n_labels:
            row = int(np.setdiff1d(np.arange(self.n_labels), first)[0])
            raise InvalidInput(f"Seed {row} repeats an earlier one: its cell would be empty. Give each label its own.")

    def labels(self, X: ArrayLike) -> NDArray[np.int64]:
        """The index of each row's nearest seed."""
        return voronoi_labels(self.space, self._queries(X), self.seeds)


def voronoi_labels(space: str, X: Matrix, seeds: Matrix) -> NDArray[np.int64]:
    """The index of each row's nearest seed; on the sphere that is the one with the largest inner product."""
    scores = X @ seeds.T
    if space == "euclidean":
        scores = scores - 0.5 * np.einsum("ij,ij->i", seeds, seeds)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


class HalfSpaces(Partition):
    """Cells given by half-spaces: pairs (A, b) for A x <= b (euclidean), or A alone for A x <= 0 (sphere).

    A has a row for each half-space; a cell is where all its half-spaces meet. On the sphere only directions
    count, and a cell is a cone cut by the sphere. Nothing is said about the cells as such; what is checked is
    every point that is labelled. How deep it lies in a cell is its distance to the nearest border hyperplane,
    negative outside. It must not lie outside every cell, nor inside two, by more than 1e-9; nearer to a border
    than that, it belongs to the cell in which it lies deepest.
    """

    def __init__(self, cells: Iterable[Any], space: str = "sphere") -> None:
        self.space = as_space(space)
        if not isinstance(cells, Iterable):
            raise InvalidInput(f"Expected a list of cells; found {cells!r}.")
        pairs = [_half_spaces(cell, k, space) for k, cell in enumerate(cells)]
        if not pairs:
            raise InvalidInput("A partition has at least one cell; found none.")
        self.n_labels, self.dim = len(pairs), as_dim(space, pairs[0][0].shape[1])
        for k, (A, _) in enumerate(pairs):
            if A.shape[1] != self.dim:
                raise InvalidInput(
                    f"All cells have one dimension; cell 0 has {self.dim} and cell {k} has {A.shape[1]}."
                )
        self.cells = tuple(pairs)

    def labels(self, X: ArrayLike) -> NDArray[np.int64]:
        """The cell of each row; refused where a row lies in no cell or in several."""
        depth = self._depth(np.asarray(self._queries(X), dtype=np.float64))
        if not len(depth):
            return np.zeros(0, dtype=np.int64)
        self._check(depth, X)
        return np.asarray(depth.argmax(axis=1), dtype=np.int64)

    def _depth(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """How deep each row lies in each cell; infinitely in a cell without borders."""
        if self.space == "sphere":
            X = X / np.abs(X).max(axis=1, keepdims=True)  # first, as the square of a tiny number is zero
            X = X / np.linalg.norm(X, axis=1, keepdims=True)
        columns = [(b - X @ A.T).min(axis=1, initial=np.inf) for A, b in self.cells]
        return np.stack(columns, axis=1)

    def _check(self, depth: NDArray[np.float64], X: ArrayLike) -> None:
        """Refuse points in no cell and points in several."""
        nowhere, several = depth.max(axis=1) < -_BORDER, (depth > _BORDER).sum(axis=1) > 1
        if not (nowhere | several).any():
            return
        row = int((nowhere | several).argmax())
        who, order = f"Query {row}, {shown(np.asarray(X)[row])},", depth[row].argsort()[::-1]
        if nowhere[row]:
            raise InvalidInput(
                f"{who} lies in no cell; it misses cell {order[0]}, the nearest, by {-depth[row, order[0]]:.3g}. "
                f"The cells must cover every query: {nowhere.sum():,} of {len(depth):,} lie in none."
            )
        raise InvalidInput(
            f"{who} lies in the cells {min(order[:2])} and {max(order[:2])} at once, {depth[row, order[1]]:.3g} deep. "
            f"Cells may share no more than a border: {several.sum():,} of {len(depth):,} queries lie in several."
        )


def _half_spaces(cell: Any, k: int, space: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rows of A at length 1, so that b - A x is a distance, and b to match; b is zero on the sphere."""
    name, pair = f"the half-spaces of cell {k}", _is_pair(cell)
    if space == "euclidean" and not pair:
        raise InvalidInput(
            f"In the euclidean space a cell is a pair (A, b), a matrix and a vector, for A x <= b; cell {k} is none."
        )
    if space == "sphere" and pair:
        raise InvalidInput(f"On the sphere a cell is a matrix A alone, for the cone A x <= 0; cell {k} is a pair.")
    A = np.asarray(as_matrix(cell[0] if pair else cell, what=name), dtype=np.float64)
    b = np.zeros(0 if pair else len(A))
    if pair and len(cell[1]):
        b = np.asarray(as_vector(cell[1], what=name), dtype=np.float64)
    if len(b) != len(A):
        raise InvalidInput(f"A x <= b needs a number in b for each row of A; cell {k} has {len(A)} rows and {len(b)}.")
    norms = np.linalg.norm(A, axis=1)
    if not norms.all():
        row = int(np.flatnonzero(norms == 0.0)[0])
        raise InvalidInput(f"Row {row} of A is zero in cell {k}, and bounds no half-space. Leave it out.")
    return A / norms[:, None], b / norms


def _is_pair(cell: Any) -> bool:
    """Whether it is a matrix and a vector."""
    if not isinstance(cell, Sequence) or len(cell) != 2:
        return False
    try:
        return np.ndim(cell[0]) == 2 and np.ndim(cell[1]) == 1
    except ValueError:  # rows of different lengths
        return False
