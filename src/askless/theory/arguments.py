"""What the files of this package share: checked arguments, and products too large for a float."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.inputs import as_floats

_BLOCK = 1 << 18


def from_log(value: float) -> float:
    """exp(value), infinite where no float can hold it: bounds in high dimensions are that large."""
    with np.errstate(over="ignore"):
        return float(np.exp(value))


def blocks(start: int, stop: int) -> Iterator[NDArray[np.float64]]:
    """The whole numbers from `start` up to and without `stop`, some at a time: a sum over them needs no more memory."""
    for first in range(start, stop, _BLOCK):
        yield np.arange(first, min(first + _BLOCK, stop), dtype=np.float64)


def as_shares(shares: ArrayLike, what: str = "shares") -> NDArray[np.float64]:
    """Probabilities of the labels: positive numbers that sum to 1."""
    p = np.asarray(as_floats(shares, what), dtype=np.float64)
    if p.ndim != 1 or p.size == 0:
        raise InvalidInput(f"Expected one number a label for {what}; found an array of shape {p.shape}.")
    if not (p > 0.0).all() or not abs(p.sum() - 1.0) <= 1e-9:
        raise InvalidInput(f"Expected positive numbers that sum to 1 for {what}; found {_shown(p)}.")
    return p


def at_least(value: float, least: float, name: str) -> float:
    """A finite number of at least `least`."""
    number = float(value)
    if not least <= number < np.inf:
        raise InvalidInput(f"{name} is a finite number of at least {least:g}; found {value!r}.")
    return number


def _shown(p: NDArray[np.float64]) -> str:
    first = ", ".join(f"{value:g}" for value in p[:4])
    more = ", ..." if p.size > 4 else ""
    return f"{first}{more} with the sum {p.sum():g}"
