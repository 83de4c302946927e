"""What callers hand in, turned into what the code works with, or refused in one sentence."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.types import SPACES, ExampleId, Label, Matrix, Vector


def as_floats(x: ArrayLike, what: str = "a query") -> NDArray[np.float32] | NDArray[np.float64]:
    """The same numbers as float32 (from float16 or float32) or float64 (from anything else), contiguous."""
    try:
        array = np.asarray(x)
    except (ValueError, TypeError):
        raise InvalidInput(f"Expected numbers for {what}; found rows of different lengths.") from None
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and size < 8:
        return np.asarray(array, dtype=np.float32, order="C")
    if kind == "f" and size == 8:
        return np.asarray(array, dtype=np.float64, order="C")
    if kind in "iuf" or (kind == "O" and all(isinstance(v, numbers.Real) for v in array.ravel())):
        try:
            with np.errstate(over="ignore"):  # what overflows comes out infinite, and is refused as such
                return np.asarray(array, dtype=np.float64, order="C")
        except OverflowError:
            raise InvalidInput(f"Expected numbers for {what}; found one that no float64 can hold.") from None
    raise InvalidInput(
        f"Expected numbers for {what}; found {array.dtype.name} values. Embed texts before they come here."
    )


def as_vector(x: ArrayLike, dim: int | None = None, what: str = "a query") -> Vector:
    """One vector of finite numbers, of dimension `dim` where that is known."""
    v = as_floats(x, what)
    if v.ndim != 1:
        raise InvalidInput(f"Expected one vector for {what}; found an array of shape {v.shape}.")
    _check_dim(v.shape[0], dim, what)
    if not math.isfinite(_square(v)) and not np.isfinite(v).all():
        raise InvalidInput(f"Expected finite numbers for {what}; found NaN or infinity. Leave that row out or mend it.")
    return v


def as_matrix(X: ArrayLike, dim: int | None = None, what: str = "queries") -> Matrix:
    """Rows of finite numbers, each of dimension `dim` where that is known; no rows at all is fine."""
    M = as_floats(X, what)
    if M.shape == (0,):
        M = M.reshape(0, dim or 0)
    if M.ndim != 2:
        raise InvalidInput(f"Expected one row a vector for {what}; found an array of shape {M.shape}.")
    if M.shape[0]:
        _check_dim(M.shape[1], dim, what)
    if not np.isfinite(M).all():
        row = int(np.flatnonzero(~np.isfinite(M).all(axis=1))[0])
        raise InvalidInput(f"Expected finite numbers for {what}; found NaN or infinity in row {row}.")
    return M


def _check_dim(found: int, expected: int | None, what: str) -> None:
    if found == 0:
        raise InvalidInput(f"Expected at least one number for {what}; found an empty array.")
    if expected is not None and found != expected:
        raise InvalidInput(
            f"Expected {expected} dimensions for {what}, as the examples have; found {found}. "
            "Use the embedder that made the examples."
        )


def unit(v: Vector) -> NDArray[np.float64]:
    """The vector over its norm, in float64; a zero vector has no direction and is refused."""
    w = v.astype(np.float64)
    norm = math.sqrt(_square(w))
    if not 1e-100 < norm < 1e100:  # squares under- or overflow: scale first
        largest = float(np.abs(w).max())
        if largest == 0.0:
            raise InvalidInput("A zero vector has no direction on the sphere; use space='euclidean', or leave it out.")
        w /= largest
        norm = math.sqrt(_square(w))
    w /= norm
    return w


def _square(v: Vector) -> float:
    """The squared norm, infinite where it overflows: np.vdot warns of that no more than of infinite input."""
    return float(np.vdot(v, v))


def as_label(label: object) -> Label:
    """A label as a Python str or int."""
    if type(label) is int or type(label) is str:  # nearly always
        return label
    if isinstance(label, str):
        return str(label)
    if not isinstance(label, bool) and isinstance(label, numbers.Integral):
        return int(label)
    raise InvalidInput(f"A label is a string or an integer; found {label!r} ({type(label).__name__}).")


def as_id(id: object) -> ExampleId:
    """An example id as a Python str or int."""
    try:
        return as_label(id)
    except InvalidInput:
        raise InvalidInput(f"An example id is a string or an integer; found {id!r} ({type(id).__name__}).") from None


def as_space(space: str) -> str:
    """One of the two spaces."""
    if space not in SPACES:
        raise InvalidInput(f"The space is 'sphere' or 'euclidean'; found {space!r}.")
    return space


def as_n_labels(n_labels: object) -> int | None:
    """A known number of labels, or None in the open world."""
    if n_labels is None:
        return None
    if isinstance(n_labels, bool) or not isinstance(n_labels, numbers.Integral) or int(n_labels) < 1:
        raise InvalidInput(f"n_labels is a positive integer, or None where the number is unknown; found {n_labels!r}.")
    return int(n_labels)


def as_fraction(value: object, name: str) -> float:
    """A number in [0, 1]."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number: Any = value
    if not is_number or not 0.0 <= number <= 1.0:
        raise InvalidInput(f"{name} lies in [0, 1]; found {value!r}.")
    return float(number)
