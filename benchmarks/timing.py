"""Two things timed in turn, so that whatever slows the machine down slows both."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def interleaved(
    items: Sequence[Any] | NDArray[Any],
    ours: Callable[[Any], object],
    other: Callable[[Any], object],
    warm_up: int,
) -> tuple[float, float]:
    """Median seconds that each of two functions takes on an item, over all items but the first `warm_up`.

    Both get the same item, one right after the other, and take turns in going first: what one leaves in the
    processor's cache helps or harms both alike.
    """
    gc.collect()
    seconds = np.zeros((len(items), 2))
    for i, item in enumerate(items):
        for side in (0, 1) if i % 2 else (1, 0):
            act = other if side else ours
            start = time.perf_counter()
            act(item)
            seconds[i, side] = time.perf_counter() - start
    mine, theirs = np.median(seconds[warm_up:], axis=0)
    return float(mine), float(theirs)


def timed(act: Callable[[], T]) -> tuple[T, float]:
    """What a function returns, and the seconds it took."""
    start = time.perf_counter()
    result = act()
    return result, time.perf_counter() - start
