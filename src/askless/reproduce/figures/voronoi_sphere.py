"""Voronoi cells on the sphere, and one of them in the plane that touches the sphere at its seed.

The gnomonic projection sends a point x of the open half-sphere around a pole e along its ray to x / <x, e>, in the
plane that touches the sphere at e. Great circles become straight lines, so a spherical polytope becomes a flat one, to
which theorems about random polytopes apply. [Réveillard et al. 2026, sections 3.1 and 4.1]
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askless.errors import InvalidInput
from askless.reproduce.figures.shapes import closed, corners
from askless.reproduce.figures.style import BLUE, DARK, GREY, PAGE, SMALL, new_figure
from askless.streams.partitions import Voronoi
from askless.streams.synthetic import uniform
from askless.theory.polytopes import Polytope, voronoi_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEEDS = 16
_REACH = np.cos(np.radians(42.0))  # the cell shown reaches this far at most, so that its image is not huge
_TILT, _TURN = np.radians(52.0), np.radians(24.0)  # of the seed against the eye, and against the horizontal
_PIXELS = 700
_CIRCLES = (15, 30, 45)  # degrees around the seed

Points = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Tessellation:
    """The seeds, the borders of their cells, and the cell that is projected: its corners in order and their images."""

    seeds: Points
    borders: list[Points]  # arcs, each a row of points on the sphere
    cell: int
    outline: Points
    image: Points


def tessellation(seed: int, count: int = SEEDS) -> Tessellation:
    """The Voronoi cells of uniform seeds, and the image of the one in which the seed lies deepest.

    Cells that reach further than 42 degrees from their seeds are passed over, where there is another.
    """
    seeds = uniform("sphere", 3, count, np.random.default_rng(seed))
    cells = voronoi_cells(seeds, "sphere")
    reach = np.array([float((cell.vertices @ pole).min()) for cell, pole in zip(cells, seeds, strict=True)])
    if reach.max() <= 0.0:
        raise InvalidInput(f"With the seed {seed} no cell lies in the half-sphere around its own; choose another.")
    nearest = (seeds @ seeds.T - 2.0 * np.eye(count)).max(axis=1)  # the cosine of the angle to the next seed
    chosen = int(np.where(reach >= min(_REACH, reach.max()), nearest, np.inf).argmin())
    pole = seeds[chosen]
    image = corners(gnomonic(cells[chosen].vertices, pole))
    return Tessellation(seeds, _borders(cells), chosen, from_plane(image, pole), image)


def tangent_basis(pole: Points) -> Points:
    """Two unit vectors at right angles to the pole and to each other, as rows."""
    return np.asarray(np.linalg.svd(pole[None, :])[2][1:])


def gnomonic(X: Points, pole: Points) -> Points:
    """Where the rays of these points meet the plane that touches the sphere at the pole, in its two coordinates."""
    height = X @ pole
    if not (height > 0.0).all():
        raise InvalidInput("The gnomonic projection takes points of the open half-sphere around its pole only.")
    return np.asarray((X / height[:, None]) @ tangent_basis(pole).T)


def from_plane(plane: Points, pole: Points) -> Points:
    """The points of the sphere that have these images."""
    X = pole + plane @ tangent_basis(pole)
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def arc(start: Points, end: Points, count: int = 60) -> Points:
    """Points on the shorter great circle from one point of the sphere to another."""
    share = np.linspace(0.0, 1.0, count)[:, None]
    chord = (1.0 - share) * start + share * end
    return np.asarray(chord / np.linalg.norm(chord, axis=1, keepdims=True))


def _borders(cells: list[Polytope]) -> list[Points]:
    found = []
    for i, cell in enumerate(cells):
        for j in range(i + 1, len(cells)):
            ends = cell.vertices[cell.incident[:, j - 1]]  # the half-spaces of a cell are those of the other seeds
            if len(ends) == 2:
                found.append(arc(*ends))
    return found


def draw_tessellation(found: Tessellation) -> Figure:
    """Left the sphere with the plane that touches it; right that plane, seen from the front."""
    caption = (
        f"{len(found.seeds)} seeds drawn uniformly on the unit sphere of R³ (white dots); a point belongs to its "
        "nearest seed, and cells meet in arcs of great circles. The blue cell is sent along the rays from the centre "
        "to the plane that touches the sphere at its seed. There it is a polygon: arcs of great circles become "
        "straight. Right: the polygon from the front; dotted circles show angles from the seed."
    )
    figure = new_figure(PAGE, 3.0, "Voronoi cells on the sphere and the gnomonic projection of one of them", caption)
    left, right = figure.subplots(1, 2, width_ratios=(1.32, 1))
    _draw_sphere(left, found)
    _draw_plane(right, found)
    return figure


def _eye(pole: Points) -> Points:
    """Rows: right, up and towards the eye, such that the pole looks to the right, and upwards a little."""
    across = tangent_basis(pole)[0]
    eye = np.cos(_TILT) * pole - np.sin(_TILT) * across
    aside = np.sin(_TILT) * pole + np.cos(_TILT) * across
    third = np.cross(eye, aside)
    right = np.cos(_TURN) * aside - np.sin(_TURN) * third
    up = np.sin(_TURN) * aside + np.cos(_TURN) * third
    return np.array([right, up, eye])


def _draw_sphere(axes: Axes, found: Tessellation) -> None:
    view, pole = _eye(found.seeds[found.cell]), found.seeds[found.cell]
    axes.imshow(_shaded(found, view), extent=(-1, 1, -1, 1), origin="lower", interpolation="bilinear", zorder=1)
    axes.use_sticky_edges = False
    circle = np.linspace(0.0, 2.0 * np.pi, 241)
    axes.plot(np.cos(circle), np.sin(circle), color=DARK, linewidth=1.1, zorder=5)
    for border in found.borders:
        _seen(axes, border @ view.T, color="white", linewidth=1.5)
    outline = closed(found.outline)
    for start, end in pairwise(outline):
        _seen(axes, arc(start, end) @ view.T, color=BLUE, linewidth=1.6)
    dots = found.seeds @ view.T
    _mark(axes, dots[dots[:, 2] > 0.0])
    _draw_touching_plane(axes, found, pole, view)
    axes.margins(0.02)
    axes.autoscale_view()
    axes.set_aspect("equal")
    axes.set_axis_off()


def _shaded(found: Tessellation, view: Points) -> NDArray[Any]:
    """The sphere as the eye sees it: the chosen cell blue, the others in greys, darker towards the rim."""
    side = (np.arange(_PIXELS) + 0.5) / _PIXELS * 2.0 - 1.0
    x, y = np.meshgrid(side, side)
    inside = x * x + y * y < 1.0
    towards = np.sqrt(1.0 - x[inside] ** 2 - y[inside] ** 2)
    points = np.column_stack((x[inside], y[inside], towards)) @ view
    label = Voronoi(found.seeds).labels(points)
    greys = 0.70 + 0.045 * (np.arange(len(found.seeds)) * 5 % 6)
    colours = np.repeat(greys[:, None], 3, axis=1)
    colours[found.cell] = (0.47, 0.72, 0.90)
    image = np.zeros((_PIXELS, _PIXELS, 4))
    image[inside, :3] = colours[label] * (0.72 + 0.28 * towards[:, None])
    image[inside, 3] = 1.0
    return image


def _draw_touching_plane(axes: Axes, found: Tessellation, pole: Points, view: Points) -> None:
    from matplotlib.patches import Polygon

    basis = tangent_basis(pole)
    (left, right), (bottom, top) = _frame(found.image)
    flat = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
    sheet = (pole + flat @ basis) @ view.T
    polygon = (pole + found.image @ basis) @ view.T
    axes.add_patch(
        Polygon(sheet[:, :2], closed=True, facecolor="#f2f2f2", alpha=0.35, edgecolor=GREY, linewidth=0.9, zorder=6)
    )
    axes.add_patch(Polygon(sheet[:, :2], closed=True, fill=False, edgecolor=GREY, linewidth=0.9, zorder=6))
    axes.add_patch(Polygon(polygon[:, :2], closed=True, facecolor=BLUE, alpha=0.30, linewidth=0, zorder=7))
    axes.add_patch(Polygon(polygon[:, :2], closed=True, fill=False, edgecolor=BLUE, linewidth=1.6, zorder=8))
    on_sphere = found.outline @ view.T
    for near, far in zip(on_sphere, polygon, strict=True):
        axes.plot([0.0, near[0]], [0.0, near[1]], color=DARK, linewidth=0.6, linestyle=(0, (1, 2)), zorder=5)
        axes.plot([near[0], far[0]], [near[1], far[1]], color=DARK, linewidth=0.7, zorder=9)
    axes.plot(0.0, 0.0, "o", color=DARK, markersize=2.5, zorder=5)
    _mark(axes, (pole @ view.T)[None, :], zorder=10)


def _frame(image: Points) -> Points:
    """The part of the plane that is drawn: from and to, across and upwards."""
    low, high = image.min(axis=0), image.max(axis=0)
    margin = 0.12 * float((high - low).max())
    return np.column_stack((low - margin, high + margin))


def _seen(axes: Axes, points: Points, **style: Any) -> None:
    """The part of a line that faces the eye."""
    hidden = np.repeat((points[:, 2] < 0.0)[:, None], 2, axis=1)
    axes.plot(*np.ma.masked_array(points[:, :2], hidden).T, zorder=4, solid_capstyle="round", **style)


def _mark(axes: Axes, points: Points, zorder: int = 4) -> None:
    axes.plot(
        points[:, 0], points[:, 1], "o", color="white", markeredgecolor="black", markersize=4.2, markeredgewidth=0.8,
        zorder=zorder,
    )  # fmt: skip


def _draw_plane(axes: Axes, found: Tessellation) -> None:
    from matplotlib.patches import Circle, Polygon

    (left, right), (bottom, top) = _frame(found.image)
    for degrees in _CIRCLES:
        radius = np.tan(np.radians(degrees))
        if radius > -0.95 * bottom:  # there would be no room for its name
            continue
        axes.add_patch(
            Circle((0, 0), radius, fill=False, edgecolor=GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=4)
        )
        axes.text(
            0,
            -radius,
            f"{degrees}°",
            fontsize=SMALL,
            color=GREY,
            ha="center",
            va="center",
            zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
        )
    axes.add_patch(Polygon(found.image, closed=True, facecolor=BLUE, alpha=0.30, linewidth=0))
    axes.add_patch(Polygon(found.image, closed=True, fill=False, edgecolor=BLUE, linewidth=1.6))
    _mark(axes, np.zeros((1, 2)), zorder=6)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
