"""Labels on the sphere with examples that lie nearly opposite each other, where weights all but cancel."""

from __future__ import annotations

import numpy as np
import pytest

from askless.geometry.store import ExampleStore
from askless.policies.generalized_hull import GeneralizedHull
from askless.types import Ask, Conflict
from cases import SHARE, Array, Rng
from reference import ReferenceStore

TAU = 0.9
OFF = 1e-9  # what a certified interval may be off by, as tests/test_search.py has it


def flat_label(rng: Rng, dim: int, height: float) -> Array:
    """Two examples opposite each other up to about that height, and sometimes a third."""
    x = rng.standard_normal(dim)
    x /= np.linalg.norm(x)
    more = rng.standard_normal((int(rng.integers(0, 2)), dim))
    return np.array([x, -x + height * rng.standard_normal(dim), *more])


def at_distance(rng: Rng, q: Array, distance: float) -> Array:
    """A unit vector at that distance of the unit vector q."""
    away = rng.standard_normal(len(q))
    away -= (away @ q) * q
    away /= np.linalg.norm(away)
    cosine = 1.0 - distance**2 / 2.0
    return np.asarray(cosine * q + np.sqrt(1.0 - cosine**2) * away)


@pytest.mark.parametrize("power", [2, 3, 4, 5, 6])
def test_a_ratio_near_tau_is_told_from_it_where_a_label_is_all_but_flat(power: int) -> None:
    rng, checked = np.random.default_rng(power), 0
    for _ in range(int(500 * SHARE)):
        dim = int(rng.integers(3, 7))
        q = rng.standard_normal(dim)
        q /= np.linalg.norm(q)
        store = ExampleStore("sphere")
        for x in flat_label(rng, dim, 10.0**-power * rng.uniform(0.5, 2.0)):
            store.append(x, "flat")
        distance = ReferenceStore(store.examples(), "sphere").distances(q)["flat"] / TAU
        distance *= 1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** -rng.uniform(3.0, 9.0)
        if not 1e-3 < distance < 1.4:
            continue
        store.append(at_distance(rng, q, distance), "other")
        found, held = store.nearest_two(q, TAU), store.rounded(q[None])[0]
        true = ReferenceStore(store.examples(), "sphere").distances(held)
        label, other = true[found.label], max(true.values())
        assert found.low - OFF <= label <= found.high + OFF
        assert found.runner_low - OFF <= other <= found.runner_high + OFF
        ratio = min(true.values()) / other
        if abs(ratio - TAU) > 1e-7:
            assert found.guessable == (ratio < TAU)
        if found.guessable:
            assert label <= TAU * other * (1.0 + 1e-10)
        checked += 1
    assert checked > 100 * SHARE


@pytest.mark.parametrize("height", [1e-7, 1e-8, 1e-9, 1e-10, 1e-12])
def test_a_query_that_cannot_be_told_from_one_inside_a_flat_label_is_asked(height: float) -> None:
    """Both examples lie on the query's side of the plane, so that their hull holds it, and so does its own label."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        q = np.array([rng.standard_normal(), rng.uniform(0.1, 1.0)])
        policy = GeneralizedHull(TAU)
        policy.learn([1.0, height * rng.uniform(0.5, 2.0)], "flat")
        policy.learn([-1.0, height * rng.uniform(0.5, 2.0)], "flat")
        policy.learn(q, "other")
        decision = policy.decide(q)
        assert isinstance(decision, Ask)
        assert decision.reason in (Conflict(("flat", "other")), Conflict(("other", "flat")))
