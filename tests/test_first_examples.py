"""The examples from which a projection starts: about the largest of some values, found by counting."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from askless.geometry.jit import kernel
from askless.geometry.refine import BINS, about_the_largest

Array = NDArray[np.float64]


@kernel
def chosen(x, n, room, top):  # type: ignore[no-untyped-def]
    """The part, with a way in from Python."""
    return about_the_largest(x, n, room, top)


def choose(x: Array, room: int) -> list[int]:
    top = np.full(room, -1)
    count = chosen(x, len(x), room, top)
    return [int(j) for j in top[:count]]


VALUES = {
    "spread out": np.random.default_rng(0).standard_normal(700),
    "all equal": np.full(90, 0.3),
    "two values": np.repeat([1.0, 0.0], 60),
    "one outlier": np.append(np.random.default_rng(1).random(200), 1e12),
    "one outlier below": np.append(np.random.default_rng(2).random(200), -1e12),
    "closer than can be told": 1.0 + np.arange(80) * 5e-324,
    "a spread that has no inverse": np.arange(80) * 5e-324,
    "large": np.random.default_rng(3).standard_normal(120) * 1e150,
    "as many as there is room for": np.random.default_rng(4).standard_normal(40),
    "one": np.array([-2.0]),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("room", [1, 7, 40])
def test_about_the_largest(name: str, room: int) -> None:
    x = VALUES[name]
    room = min(room, len(x))
    found = choose(x, room)
    assert len(found) == room
    assert len(set(found)) == room
    assert x[found].max() == x.max()
    left, width = np.delete(x, found), (x.max() - x.min()) / BINS
    if len(left) and width > 1e-300:  # nothing larger is left out than what was taken, but for the width of a bin
        assert left.max() - x[found].min() <= width * (1.0 + 1e-9)
