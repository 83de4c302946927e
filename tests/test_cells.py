"""Policies on known cells: how wrong a wrong guess can be, and that the conservative rule never errs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy.spatial import HalfspaceIntersection

from askless.policies.conservative_hull import ConservativeHull
from askless.policies.generalized_hull import GeneralizedHull
from askless.types import Ask, Conflict, Guess
from cases import SPACES, Array, Rng
from reference import ReferenceHull, reference_distance, unit_rows


@dataclass(frozen=True)
class Cells:
    """A partition into convex cells whose shapes are known."""

    space: str
    draw: Callable[[Rng], Array]  # one query
    label: Callable[[Array], int]  # the cell it lies in
    distance: Callable[[Array, int], float]  # from a query to a cell
    hausdorff: Callable[[Array, int], float]  # between the hull of some of a cell's points and the cell


def intervals() -> Cells:
    """The line from 0 to 1, cut at four places: everything by hand."""
    cuts = np.array([0.0, 0.2, 0.55, 0.7, 1.0])
    return Cells(
        "euclidean",
        lambda rng: rng.uniform(size=1),
        lambda x: int(np.searchsorted(cuts, x[0], side="right")) - 1,
        lambda q, i: float(max(cuts[i] - q[0], q[0] - cuts[i + 1], 0.0)),
        lambda P, i: float(max(P.min() - cuts[i], cuts[i + 1] - P.max())),
    )


def farthest(points: Array, P: Array, space: str) -> float:
    """The largest distance from some points to the hull of P."""
    hull = ReferenceHull(P, space)
    return max(float(hull.distance(point).distance) for point in points)


def squares() -> Cells:
    """Nine unit squares. The distance to a hull is convex, so it is largest at a corner of the cell."""
    corners = np.array(list(product([0.0, 1.0], repeat=2)))

    def corner(i: int) -> Array:
        return np.array([i // 3, i % 3], dtype=float)

    return Cells(
        "euclidean",
        lambda rng: rng.uniform(0.0, 3.0, size=2),
        lambda x: int(x[0]) * 3 + int(x[1]),
        lambda q, i: float(np.linalg.norm(q - np.clip(q, corner(i), corner(i) + 1.0))),
        lambda P, i: farthest(corner(i) + corners, P, "euclidean"),
    )


def voronoi(d: int) -> Cells:
    """Voronoi cells of six seeds in the cube, their corners as the intersections of half-spaces."""
    seeds = np.random.default_rng(d).uniform(size=(6, d))
    box = np.vstack([np.hstack([np.eye(d), -np.ones((d, 1))]), np.hstack([-np.eye(d), np.zeros((d, 1))])])
    corners = []
    for i, seed in enumerate(seeds):
        others = np.delete(seeds, i, axis=0)  # |x - s| <= |x - o|
        offsets = (np.sum(seed**2) - np.sum(others**2, axis=1)) / 2.0
        planes = np.vstack([box, np.hstack([others - seed, offsets[:, None]])])
        corners.append(HalfspaceIntersection(planes, seed).intersections)
    return Cells(
        "euclidean",
        lambda rng: rng.uniform(size=d),
        lambda x: int(np.linalg.norm(seeds - x, axis=1).argmin()),
        lambda q, i: float(reference_distance(q, corners[i], "euclidean").distance),
        lambda P, i: farthest(corners[i], P, "euclidean"),
    )


def arcs() -> Cells:
    """The circle, cut into five arcs shorter than a half circle: angles by hand."""
    cuts = np.array([0.0, 1.0, 2.5, 3.1, 5.0, 2.0 * np.pi])

    def angle(x: Array) -> float:
        return float(np.arctan2(x[..., 1], x[..., 0]) % (2.0 * np.pi))

    def chord(a: float) -> float:
        return float(2.0 * np.sin(min(a % (2.0 * np.pi), -a % (2.0 * np.pi)) / 2.0))

    def distance(q: Array, i: int) -> float:
        if cuts[i] <= angle(q) <= cuts[i + 1]:
            return 0.0
        return min(chord(angle(q) - cuts[i]), chord(angle(q) - cuts[i + 1]))

    def hausdorff(P: Array, i: int) -> float:
        angles = [angle(p) for p in P]
        return max(chord(min(angles) - cuts[i]), chord(cuts[i + 1] - max(angles)))

    return Cells(
        "sphere",
        lambda rng: unit_rows(rng.normal(size=(1, 2)))[0],
        lambda x: int(np.searchsorted(cuts, angle(x), side="right")) - 1,
        distance,
        hausdorff,
    )


def octants() -> Cells:
    """The eight octants of the sphere, whose Hausdorff distances are bounded from above by a grid.

    The grid on the simplex is n to a side, so every point of the octant lies within sqrt(2)/n of it: within
    sqrt(2/3)/n on the simplex, times sqrt(3) for the way out to the sphere. A distance moves no faster.
    """
    n = 12
    grid = unit_rows(np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)], dtype=float))

    def signs(i: int) -> Array:
        return np.array([1.0 if i >> axis & 1 else -1.0 for axis in range(3)])

    def distance(q: Array, i: int) -> float:
        turned = q * signs(i)
        r = float(np.linalg.norm(np.maximum(turned, 0.0)))
        return float(np.sqrt(max(0.0, 2.0 - 2.0 * (r if r > 0.0 else turned.max()))))

    return Cells(
        "sphere",
        lambda rng: unit_rows(rng.normal(size=(1, 3)))[0],
        lambda x: int((x > 0.0) @ np.array([1, 2, 4])),
        distance,
        lambda P, i: farthest(grid * signs(i), P, "sphere") + np.sqrt(2.0) / n,
    )


CELLS: dict[str, Callable[[], Cells]] = {
    "intervals": intervals,
    "squares": squares,
    "voronoi, d=2": lambda: voronoi(2),
    "voronoi, d=3": lambda: voronoi(3),
    "arcs": arcs,
    "octants": octants,
}


def wrong_guesses(
    policy: GeneralizedHull, cells: Cells, rng: Rng, rounds: int
) -> Iterator[tuple[Array, int, int, dict[int, Array]]]:
    """Each wrong guess of a run: query, guess, truth, and the examples of all labels at that time."""
    known: dict[int, list[Array]] = {}
    for _ in range(rounds):
        x = cells.draw(rng)
        truth, decision = cells.label(x), policy.decide(x)
        if isinstance(decision, Ask):
            policy.learn(x, truth)
            known.setdefault(truth, []).append(x)
        elif truth in known and isinstance(decision.label, int) and decision.label != truth:
            yield x, decision.label, truth, {label: np.array(rows) for label, rows in known.items()}


@pytest.mark.parametrize("tau", [0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("name", CELLS)
def test_a_wrong_guess_is_near_the_cell_it_names(name: str, tau: float) -> None:
    """A wrong guess i for a query of cell k implies d(q, C_i) <= e_i + tau e_k (appendix E of the paper).

    The guess's ratio gives d(q, hull_i) <= tau d(q, hull_k) <= tau e_k, and C_i holds hull_i.
    """
    cells = CELLS[name]()
    mistakes = 0
    for seed in range(40):
        policy = GeneralizedHull(tau, space=cells.space)
        rng = np.random.default_rng([seed, 7])
        for q, i, k, known in wrong_guesses(policy, cells, rng, 80):
            mistakes += 1
            reach = tau * cells.hausdorff(known[k], k)
            assert cells.distance(q, i) <= cells.hausdorff(known[i], i) + reach + 1e-9
            assert float(reference_distance(q, known[i], cells.space).distance) <= reach + 1e-9
            if mistakes % 3 == 0:
                break
        if mistakes >= 12:
            break
    assert mistakes >= 12


# -- the conservative rule --------------------------------------------------------------------------------

Labelling = Callable[[Array], int]


def voronoi_partition(rng: Rng, d: int, space: str) -> Labelling:
    seeds = rng.normal(size=(5, d))
    if space == "sphere":
        seeds = unit_rows(seeds)
    return lambda x: int(np.linalg.norm(seeds - x, axis=1).argmin())


def half_space_partition(rng: Rng, d: int, space: str) -> Labelling:
    """Three planes, through the origin on the sphere: a label is the sides on which a point lies."""
    normals = rng.normal(size=(3, d))
    offsets = np.zeros(3) if space == "sphere" else 0.7 * rng.normal(size=3)
    return lambda x: int((normals @ x > offsets) @ np.array([1, 2, 4]))


def run(policy: ConservativeHull, label: Labelling, X: Array) -> int:
    """The number of guesses, none of them wrong; no expert was contradicted either."""
    guesses = 0
    for x in X:
        decision = policy.decide(x)
        if isinstance(decision, Guess):
            guesses += 1
            assert decision.label == label(x)
        else:
            assert not isinstance(decision.reason, Conflict)
            policy.learn(x, label(x))
    return guesses


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("partition", [voronoi_partition, half_space_partition])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_conservative_rule_never_errs(
    d: int, space: str, partition: Callable[[Rng, int, str], Labelling], refine: bool
) -> None:
    guesses = 0
    for seed in range(3):
        rng = np.random.default_rng([seed, d])
        label = partition(rng, d, space)
        X = rng.normal(size=(60 if refine else 200, d))
        if space == "sphere":
            X = unit_rows(X)
        n_labels = len({label(x) for x in X})
        policy = ConservativeHull(refine, space=space, n_labels=n_labels if refine else None)
        guesses += run(policy, label, X)
    assert guesses > 0
