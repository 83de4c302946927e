"""The data behind each figure, checked apart from its drawing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from askless import GeneralizedHull
from askless.datasets.sample import support_questions
from askless.errors import InvalidInput, UnreadableFile
from askless.reproduce.figures import lower_bound
from askless.reproduce.figures.group_sizes import group_sizes, read_groups, sample_groups
from askless.reproduce.figures.hulls import hulls
from askless.reproduce.figures.regions import ASK, COLOURS, RIGHT, ROUNDS, VARIANCE, WRONG, grid, regions
from askless.reproduce.figures.shapes import borders, corners
from askless.reproduce.figures.square import square
from askless.reproduce.figures.voronoi_sphere import arc, from_plane, gnomonic, tangent_basis, tessellation
from askless.simulate import simulate
from askless.streams.partitions import Voronoi
from askless.streams.synthetic import uniform


def is_inside(points: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """Whether points lie in a convex polygon whose corners go round it counter-clockwise."""
    sides = np.roll(polygon, -1, axis=0) - polygon
    offsets = points[:, None, :] - polygon
    return (sides[:, 0] * offsets[..., 1] - sides[:, 1] * offsets[..., 0] >= 0.0).all(axis=1)


def distance(points: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """The distance to a convex polygon, a segment or a point, side by side."""
    found = np.full(len(points), np.inf)
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        along = end - start
        share = np.clip((points - start) @ along / max(along @ along, 1e-300), 0.0, 1.0)
        found = np.minimum(found, np.linalg.norm(points - start - share[:, None] * along, axis=1))
    return np.where(is_inside(points, polygon), 0.0, found) if len(polygon) > 2 else found


# -- the unit square ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_chc_hulls_hold_exactly_the_points_that_the_policy_would_guess(seed: int) -> None:
    found, taught = hulls(seed)
    assert taught.trace.rounds == 200
    assert taught.trace.mistakes[-1] == 0
    points = np.random.default_rng(seed).random((2000, 2))
    labels, exact = taught.policy.distances(points)
    for k, label in enumerate(labels):
        assert np.array_equal(is_inside(points, taught.hulls[int(label)]), exact[:, k] <= 1e-9)
    asked = found.stream.X[taught.trace.asked]
    assert sorted(map(tuple, np.vstack(list(taught.examples.values())))) == sorted(map(tuple, asked))


@pytest.mark.parametrize(("distribution", "tau"), [("uniform", 0.3), ("uniform", 0.9), ("mixture", 0.5)])
def test_every_colour_of_the_regions_is_the_one_of_exact_distances(distribution: str, tau: float) -> None:
    panel = regions(distribution, 1, taus=(tau,), cells=30)[0]
    points, polygons = grid(30), panel.taught.hulls
    away = np.stack([distance(points, polygons[label]) for label in sorted(polygons)], axis=1)
    first, second = np.sort(away, axis=1)[:, :2].T
    guess = np.array(sorted(polygons))[away.argmin(axis=1)]
    truth = np.linalg.norm(points[:, None] - panel.seeds, axis=2).argmin(axis=1)
    expected = np.where(first > tau * second, ASK, np.where(guess == truth, RIGHT, WRONG))
    assert np.array_equal(panel.outcome.ravel(), expected)
    assert set(expected) == ({ASK, RIGHT} if distribution == "mixture" else {ASK, RIGHT, WRONG})


def test_every_panel_has_met_the_same_queries() -> None:
    panels = regions("mixture", 3, taus=(0.2, 0.7), cells=4)
    example = square("mixture", ROUNDS, VARIANCE, 3)
    for panel in panels:
        policy = GeneralizedHull(panel.tau, space="euclidean", n_labels=5)
        assert simulate(policy, example.stream.X, example.stream.y) == panel.taught.trace
    assert np.array_equal(panels[0].seeds, square("uniform", ROUNDS, VARIANCE, 3).seeds)


def test_the_regions_can_be_told_apart_in_grey() -> None:
    shades = [np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) @ (0.299, 0.587, 0.114) for colour in COLOURS]
    assert np.diff(sorted(shades)).min() > 0.2 * 255


@pytest.mark.parametrize("seed", range(4))
def test_borders_are_where_two_cells_meet_and_nowhere_else(seed: int) -> None:
    seeds = uniform("euclidean", 2, 5, np.random.default_rng(seed))
    segments = borders(seeds)
    for start, end in segments:
        points = start + np.linspace(0, 1, 9)[:, None] * (end - start)
        away = np.sort(np.linalg.norm(points[:, None] - seeds, axis=2), axis=1)
        assert np.allclose(away[:, 0], away[:, 1], atol=1e-9)
        assert ((points >= -1e-9) & (points <= 1 + 1e-9)).all()
    pairs = np.random.default_rng(seed).random((300, 2, 2))
    for a, b in pairs:
        changes = np.diff(Voronoi(seeds, "euclidean").labels([a, b]))[0] != 0
        crossed = sum(crosses(a, b, start, end) for start, end in segments)
        assert crossed >= 1 if changes else crossed != 1


def crosses(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> bool:
    """Whether two segments meet."""
    share = np.linalg.solve(np.column_stack((b - a, c - d)), c - a)
    return bool(((share >= 0.0) & (share <= 1.0)).all())


def test_corners_of_points_without_an_area() -> None:
    one = np.array([[0.2, 0.3]])
    assert np.array_equal(corners(one), one)
    line = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.25, 0.25]])
    assert sorted(map(tuple, corners(line))) == [(0.0, 0.0), (1.0, 1.0)]
    assert len(corners(np.array([[0.4, 0.4], [0.4, 0.4]]))) == 1


# -- the sphere ---------------------------------------------------------------------------------------------


def test_the_gnomonic_projection_makes_great_circles_straight() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        pole = uniform("sphere", 3, 1, rng)[0]
        ends = [x if x @ pole > 0 else -x for x in uniform("sphere", 3, 2, rng)]
        image = gnomonic(arc(*ends, 50), pole)
        sides = image - image[0]
        areas = sides[:, 0] * sides[-1, 1] - sides[:, 1] * sides[-1, 0]
        assert np.abs(areas).max() < 1e-9 * max(1.0, np.linalg.norm(sides, axis=1).max() ** 2)


def test_the_gnomonic_projection_keeps_rays_and_can_be_undone() -> None:
    rng = np.random.default_rng(1)
    pole = uniform("sphere", 3, 1, rng)[0]
    X = uniform("sphere", 3, 200, rng)
    X *= np.sign(X @ pole)[:, None]
    image = gnomonic(X, pole)
    assert np.allclose(np.linalg.norm(image, axis=1), np.tan(np.arccos(X @ pole)))
    in_space = pole + image @ tangent_basis(pole)
    assert np.allclose(np.cross(in_space, X), 0.0, atol=1e-9 * np.abs(image).max())
    assert np.allclose(from_plane(image, pole), X)
    with pytest.raises(InvalidInput, match="half-sphere"):
        gnomonic(-X, pole)


@pytest.mark.parametrize("seed", range(6))
def test_the_polygon_is_the_image_of_the_cell(seed: int) -> None:
    found = tessellation(seed)
    cells, pole = Voronoi(found.seeds), found.seeds[found.cell]
    plane = np.random.default_rng(seed).uniform(-1.5, 1.5, (4000, 2)) * np.abs(found.image).max()
    in_cell = cells.labels(from_plane(plane, pole)) == found.cell
    assert np.array_equal(in_cell, is_inside(plane, found.image))
    assert 0 < in_cell.sum() < len(plane)
    assert np.allclose(gnomonic(found.outline, pole), found.image)


def test_arcs_lie_between_two_nearest_seeds_and_close_the_cells() -> None:
    found = tessellation(0)
    for border in found.borders:
        near = np.sort(border @ found.seeds.T, axis=1)
        assert np.allclose(near[:, -1], near[:, -2])
    # Euler's formula on the sphere, with three arcs at every corner
    assert len(found.borders) == 3 * len(found.seeds) - 6


# -- the lower bound ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_labels", "i"), [(2, 1), (4, 2), (7, 6)])
def test_the_law_of_a_border_is_that_of_drawn_seeds(n_labels: int, i: int) -> None:
    rng, draws = np.random.default_rng(n_labels), 40_000
    seeds = (np.array([[i - 1], [i]]) + rng.random((2, draws))) / n_labels
    borders_drawn = seeds.mean(axis=0)
    for x in (i + np.array([-0.4, -0.1, 0.0, 0.3])) / n_labels:
        p = float(lower_bound.below(x, i, n_labels))
        assert abs((borders_drawn < x).mean() - p) < 4.0 * np.sqrt(p * (1.0 - p) / draws)
    x = np.linspace(0.0, 1.0, 20_001)
    integral = np.cumsum(lower_bound.density(x, i, n_labels)) * (x[1] - x[0])
    assert np.abs(integral - lower_bound.below(x, i, n_labels)).max() < 1e-3


def test_the_best_guess_errs_as_often_as_in_a_simulation_and_no_less_than_the_tent() -> None:
    n_labels, i, gap = 4, 2, np.array([0.41, 0.57])
    rng = np.random.default_rng(0)
    drawn = (np.array([[i - 1], [i]]) + rng.random((2, 400_000))).mean(axis=0) / n_labels
    drawn = drawn[(drawn > gap[0]) & (drawn < gap[1])]
    q = np.linspace(*gap, 41)[1:-1]
    error = lower_bound.best_error(q, gap, i, n_labels)
    above = (drawn > q[:, None]).mean(axis=1)
    assert np.abs(error - np.minimum(above, 1.0 - above)).max() < 4.0 * 0.5 / np.sqrt(len(drawn))
    tent = lower_bound.proof_bound(q, gap, i, n_labels)
    assert (tent <= error + 1e-12).all()
    fine = np.linspace(*gap, 200_001)
    probability = float(np.diff(lower_bound.below(gap, i, n_labels))[0])
    area = lower_bound.proof_bound(fine, gap, i, n_labels).mean() * (gap[1] - gap[0])
    assert area == pytest.approx(probability / (8 * n_labels), rel=1e-3)
    middle = lower_bound.median(gap, i, n_labels)
    assert lower_bound.best_error(np.array([middle]), gap, i, n_labels)[0] == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(5))
def test_spans_gaps_and_borders_of_the_construction_agree(seed: int) -> None:
    found = lower_bound.construction(seed, rounds=12 if seed % 2 else 60)
    nearest = np.abs(found.queries[:, None] - found.seeds).argmin(axis=1)
    for k in range(found.n_labels):
        own = found.queries[nearest == k]
        expected = [own.min(), own.max()] if len(own) else [np.nan, np.nan]
        assert np.array_equal(found.spans[k], expected, equal_nan=True)
    assert (found.gaps[:, 0] <= found.borders).all()
    assert (found.borders <= found.gaps[:, 1]).all()
    first_of_label = [found.queries[nearest == k][:1] for k in range(found.n_labels)]
    assert all(found.asked[found.queries == x].all() for x in first_of_label)


# -- group sizes --------------------------------------------------------------------------------------------


def test_the_histogram_counts_every_group_once() -> None:
    found, labels = sample_groups(), support_questions()[1]
    first, counts = found.bars()
    by_size = Counter(Counter(labels).values())
    assert found.width == 1
    assert {int(s): int(c) for s, c in zip(first, counts, strict=True) if c} == dict(by_size)
    assert found.sizes.sum() == len(labels) == 863


def test_many_sizes_share_bars() -> None:
    sizes = np.random.default_rng(0).integers(1, 500, 300)
    found = group_sizes(np.repeat(np.arange(300), sizes), "here")
    first, counts = found.bars()
    assert len(first) <= 40
    assert counts.sum() == 300
    edges = np.append(first, first[-1] + found.width)
    assert np.array_equal(counts, np.histogram(sizes, edges)[0])
    assert edges[-1] > sizes.max()


def test_labels_come_from_any_labelled_file(tmp_path: Path) -> None:
    names = ["a", "b", "a", "c", "a"]
    (tmp_path / "t.csv").write_text("group,text\n" + "".join(f"{n},x\n" for n in names), encoding="utf-8")
    (tmp_path / "t.tsv").write_text("group\ttext\n" + "".join(f"{n}\tx\n" for n in names), encoding="utf-8")
    (tmp_path / "t.jsonl").write_text("".join(f'{{"group": "{n}"}}\n' for n in names), encoding="utf-8")
    (tmp_path / "t.txt").write_text("\n".join(names), encoding="utf-8")
    np.savez(tmp_path / "t.npz", X=np.eye(5), y=names, group=names)
    np.save(tmp_path / "y.npy", names)
    np.save(tmp_path / "X.npy", np.eye(5))
    cases = [("t.csv", "group"), ("t.tsv", "group"), ("t.jsonl", "group"), ("t.npz", "group"), ("t.npz", None)]
    cases += [("y.npy", None), ("X.npy", str(tmp_path / "y.npy")), ("X.npy", str(tmp_path / "t.txt"))]
    for name, label in cases:
        assert read_groups(tmp_path / name, label).sizes.tolist() == [1, 1, 3], name


def test_files_without_labels_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("group,text\na,x\n,y\n", encoding="utf-8")
    np.save(tmp_path / "X.npy", np.eye(5))
    (tmp_path / "bad.npz").write_bytes(b"PK nothing")
    for name, label, error, says in (
        ("t.csv", None, InvalidInput, "--label"),
        ("t.csv", "grp", InvalidInput, "Its columns are group, text"),
        ("t.csv", "group", InvalidInput, "Row 2"),
        ("X.npy", None, InvalidInput, r"shape \(5, 5\)"),
        ("t.pdf", "group", InvalidInput, "t.pdf"),
        ("absent.csv", "group", UnreadableFile, "No such file"),
        ("bad.npz", None, UnreadableFile, "bad.npz"),
    ):
        with pytest.raises(error, match=says):
            read_groups(tmp_path / name, label)
