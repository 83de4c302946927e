"""A stream of queries with their true labels, and the checks of what callers ask of one."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.inputs import as_matrix, as_space
from askless.types import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Queries in their order, one row each, with their true labels, and their texts where they have any."""

    X: Matrix
    y: NDArray[Any] | Sequence[str | int]
    space: str = "sphere"
    texts: Sequence[str] | None = None

    def __post_init__(self) -> None:
        as_space(self.space)
        for what, found in (("labels", self.y), ("texts", self.texts)):
            if found is not None and len(found) != len(self.X):
                raise InvalidInput(f"The stream has {len(self.X)} rows and {len(found)} {what}; give one a row.")


def as_whole(value: object, least: int, name: str) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidInput(f"{name} is a whole number of at least {least}; found {value!r}.")
    return int(value)


def as_dim(space: str, dim: object) -> int:
    """A dimension that the space can have: the unit sphere of R^1 is only two points."""
    as_space(space)
    return as_whole(dim, 2 if space == "sphere" else 1, f"dim in the {space} space")


def as_generator(rng: object) -> np.random.Generator:
    """A numpy generator."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput(f"rng is a generator, as numpy.random.default_rng(0) makes one; found {rng!r}.")
    return rng


def as_points(space: str, points: ArrayLike, name: str) -> NDArray[np.float64]:
    """At least one row, each a point of the unit cube (euclidean) or of the unit sphere; `name` is a plural."""
    as_space(space)
    rows = np.asarray(as_matrix(points, what=name), dtype=np.float64)
    if not len(rows):
        raise InvalidInput(f"Expected at least one row for {name}; found none.")
    as_dim(space, rows.shape[1])
    if space == "sphere":
        norms = np.linalg.norm(rows, axis=1)
        wrong = np.abs(norms - 1.0) > 1e-6  # what float32 leaves of a norm of 1
        rule, remedy = "a row has norm 1", "divide each row by its norm"
    else:
        wrong = ((rows < 0.0) | (rows > 1.0)).any(axis=1)
        rule, remedy = "a row lies in the cube from 0 to 1", "scale the rows into it"
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidInput(f"For {name} in the {space} space {rule}; row {row} is {shown(rows[row])}: {remedy}.")
    return rows


def shown(row: NDArray[Any]) -> str:
    """A point for a message: not more than four of its numbers."""
    return "[" + ", ".join(f"{value:.6g}" for value in row[:4]) + (", ...]" if len(row) > 4 else "]")
