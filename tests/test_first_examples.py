"""The examples from which a projection starts: about the largest of some values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from askless.geometry.jit import kernel
from askless.geometry.refine import GROUPS, about_the_largest

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
    "falling": -np.arange(700.0),
    "rising": np.arange(700.0),
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
    found = choose(x, room)
    assert len(set(found)) == len(found)
    assert min(len(x), room - room // 3) <= len(found) <= room
    assert x[found[0]] == x.max()
    left = np.delete(x, found)
    if len(found) < room and len(left):  # nothing larger is left out than what was taken
        assert left.max() <= x[found].min()


@pytest.mark.parametrize("seed", range(5))
def test_where_too_many_are_large_the_last_are_left_out(seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal(GROUPS * 11)
    x[::GROUPS] += 100.0  # all in one of the groups
    found = choose(x, 7)
    assert len(found) == 7
    assert found[1:] == sorted(found[1:])
    peaks = np.sort(x.reshape(-1, GROUPS).max(axis=0))
    assert x[found].min() >= peaks[-5]  # two thirds of the room, rounded up
