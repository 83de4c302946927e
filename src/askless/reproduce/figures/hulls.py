"""CHC's hulls after 200 queries. [Réveillard et al. 2026, section 4.1]"""

from __future__ import annotations

from typing import TYPE_CHECKING

from askless.policies.conservative_hull import ConservativeHull
from askless.reproduce.figures.shapes import borders
from askless.reproduce.figures.square import Square, Taught, square, teach
from askless.reproduce.figures.style import COLUMN, DARK, GREY, LOOKS, new_figure, unit_square
from askless.reproduce.paper import N_LABELS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUNDS, VARIANCE = 200, 0.01


def hulls(seed: int, rounds: int = ROUNDS) -> tuple[Square, Taught]:
    """The stream, and what CHC knows after it."""
    found = square("mixture", rounds, VARIANCE, seed)
    return found, teach(ConservativeHull(space="euclidean", n_labels=N_LABELS), found.stream)


def draw_hulls(found: Square, taught: Taught) -> Figure:
    """Each label's hull with the examples that span it, its seed and its cell; guessed queries as dots."""
    rounds, asked, wrong = taught.trace.rounds, taught.trace.asked, int(taught.trace.mistakes[-1])
    caption = (
        f"{N_LABELS} labels in the unit square; a query has the label of its nearest seed. Queries: Gaussians around "
        f"the seeds, truncated to the square, equal weights, covariance {VARIANCE:g} I. CHC asked about "
        f"{int(asked.sum())} of {rounds} queries and guessed the others, {wrong or 'none'} of them wrong."
    )
    figure = new_figure(COLUMN, COLUMN, f"Hulls of CHC at t={rounds}", caption, legend=_legend(), columns=5)
    axes = figure.add_subplot()
    for border in borders(found.seeds):
        axes.plot(*border.T, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
    guessed = found.stream.X[~asked]
    axes.plot(guessed[:, 0], guessed[:, 1], ".", color=DARK, markersize=2.2, markeredgewidth=0, zorder=3)
    for label, polygon in taught.hulls.items():
        _draw_label(axes, label, polygon, taught)
    axes.plot(*found.seeds.T, "*", color="white", markeredgecolor="black", markersize=9, markeredgewidth=0.9, zorder=6)
    unit_square(axes)
    return figure


def _draw_label(axes: Axes, label: int, polygon: object, taught: Taught) -> None:
    from matplotlib.patches import Polygon

    style = LOOKS[label % len(LOOKS)]
    area = Polygon(polygon, closed=True, facecolor=style.colour, alpha=0.22, linewidth=0)  # type: ignore[arg-type]
    edge = Polygon(
        polygon,  # type: ignore[arg-type]
        closed=True,
        fill=False,
        edgecolor=style.colour,
        linewidth=1.2,
        zorder=4,
    )
    axes.add_patch(area)
    axes.add_patch(edge)
    points = taught.examples[label]
    axes.plot(
        points[:, 0],
        points[:, 1],
        "o",
        color="white",
        markeredgecolor=style.colour,
        markersize=3.6,
        markeredgewidth=1.0,
        zorder=5,
        clip_on=False,
    )


def _legend() -> list[Artist]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="", marker="*", color="white", markeredgecolor="black", markersize=9, label="seed"),
        Line2D(
            [], [], linestyle="", marker="o", color="white", markeredgecolor=DARK, markersize=4, label="expert call"
        ),
        Line2D([], [], linestyle="", marker=".", color=DARK, markersize=4, label="guess"),
        Line2D([], [], color=DARK, linewidth=1.2, label="hull"),
        Line2D([], [], color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), label="border"),
    ]
