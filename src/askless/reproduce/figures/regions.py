"""What GHC would do at every point of the unit square after 250 queries. [Réveillard et al. 2026, appendix E]"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from askless.policies.generalized_hull import GeneralizedHull
from askless.policies.hull_policy import HullPolicy
from askless.reproduce.figures.shapes import borders, closed
from askless.reproduce.figures.square import Taught, square, teach
from askless.reproduce.figures.style import DARK, GREY, PAGE, SMALL, new_figure, unit_square
from askless.reproduce.paper import N_LABELS
from askless.streams.partitions import Voronoi
from askless.types import Guess
from askless.workers import parallel

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUNDS, VARIANCE = 250, 0.0025
TAUS = tuple(round(0.1 * k, 1) for k in range(1, 10))
CELLS, QUICK_CELLS = 240, 48  # of the square, along each side
ASK, RIGHT, WRONG = 0, 1, 2
# Blue and vermilion for colour-blind readers; in grey, white, light and dark.
COLOURS = ("#F8F8F8", "#8CCBF0", "#C84E00")
_NAMES = {"uniform": "uniform queries", "mixture": f"mixture of truncated Gaussians, covariance {VARIANCE:g} I"}


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """One panel: the outcome at the middle of every square of a grid, row by row from below."""

    tau: float
    seeds: NDArray[np.float64]
    taught: Taught
    outcome: NDArray[np.intp]


def regions(
    distribution: str,
    seed: int,
    *,
    taus: Sequence[float] = TAUS,
    cells: int = CELLS,
    jobs: int = 1,
    done: Callable[[], None] = lambda: None,
) -> list[Regions]:
    """The panels of one distribution: GHC(tau) after the same queries, for each tau. `done` is called after each."""
    from joblib import delayed

    found = []
    for panel in parallel(jobs)(delayed(_panel)(distribution, seed, tau, cells) for tau in taus):
        found.append(panel)
        done()
    return found


def _panel(distribution: str, seed: int, tau: float, cells: int) -> Regions:
    example = square(distribution, ROUNDS, VARIANCE, seed)
    taught = teach(GeneralizedHull(tau, space="euclidean", n_labels=N_LABELS), example.stream)
    return Regions(tau, example.seeds, taught, outcomes(taught.policy, example.seeds, cells))


def grid(cells: int) -> NDArray[np.float64]:
    """The middles of the squares into which the unit square is cut, row by row from below."""
    middle = (np.arange(cells) + 0.5) / cells
    return np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)


def outcomes(policy: HullPolicy, seeds: NDArray[np.float64], cells: int) -> NDArray[np.intp]:
    """ASK, RIGHT or WRONG at each point of the grid: what the policy decides there, against the nearest seed."""
    points = grid(cells)
    truth = Voronoi(seeds, "euclidean").labels(points)
    guess = np.array([d.label if isinstance(d, Guess) else -1 for d in policy.decide_many(points)])
    found = np.where(guess < 0, ASK, np.where(guess == truth, RIGHT, WRONG))
    return found.reshape(cells, cells)


def draw_regions(distribution: str, panels: Sequence[Regions]) -> Figure:
    """Three panels a row, one for each tau."""
    rows = -(-len(panels) // 3)
    heading = f"Decision regions of GHC at t={ROUNDS}: {_NAMES[distribution]}"
    caption = (
        f"{N_LABELS} labels in the unit square; a query has the label of its nearest seed. Every panel has met the "
        f"same {ROUNDS} queries. Above each: expert calls and wrong guesses among these, and the shares of the square."
    )
    figure = new_figure(PAGE, 2.46 * rows, heading, caption, legend=_legend())
    axes = figure.subplots(rows, 3, squeeze=False).ravel()
    for panel, place in zip(panels, axes, strict=False):
        _draw_panel(place, panel)
    for place in axes[len(panels) :]:
        place.set_axis_off()
    return figure


def _draw_panel(axes: Axes, panel: Regions) -> None:
    from matplotlib.colors import ListedColormap

    axes.imshow(
        panel.outcome,
        origin="lower",
        extent=(0, 1, 0, 1),
        cmap=ListedColormap(COLOURS),
        vmin=ASK,
        vmax=WRONG,
        interpolation="nearest",
    )
    wrong = panel.outcome == WRONG
    if wrong.any() and not wrong.all():
        middle = (np.arange(len(wrong)) + 0.5) / len(wrong)
        axes.contour(middle, middle, wrong.astype(float), levels=[0.5], colors="black", linewidths=0.5)
    for border in borders(panel.seeds):
        axes.plot(*border.T, color=GREY, linewidth=0.6, linestyle=(0, (4, 2)))
    for polygon in panel.taught.hulls.values():
        axes.plot(*closed(polygon).T, color=DARK, linewidth=0.8)
    points = np.vstack(list(panel.taught.examples.values()))
    axes.plot(points[:, 0], points[:, 1], "o", color=DARK, markersize=1.9, markeredgewidth=0)
    axes.plot(*panel.seeds.T, "*", color="white", markeredgecolor="black", markersize=6, markeredgewidth=0.6)
    unit_square(axes)
    axes.set_title(_title(panel), loc="left", fontsize=SMALL, linespacing=1.3, pad=3)


def _title(panel: Regions) -> str:
    trace, outcome = panel.taught.trace, panel.outcome
    right, wrong, ask = (100.0 * float((outcome == kind).mean()) for kind in (RIGHT, WRONG, ASK))
    return (
        rf"$\bf{{\tau={panel.tau:g}}}$   {int(trace.calls[-1])} calls, {int(trace.mistakes[-1])} wrong"
        f"\nright {right:.0f}%, wrong {wrong:.1f}%, ask {ask:.0f}%"
    )


def _legend() -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = {RIGHT: "right guess", WRONG: "wrong guess", ASK: "expert call"}
    patches = [Patch(facecolor=COLOURS[k], edgecolor="black", linewidth=0.5, label=name) for k, name in names.items()]
    return [
        *patches,
        Line2D([], [], color=DARK, linewidth=0.8, marker="o", markersize=2.5, label="hull and its examples"),
        Line2D([], [], color=GREY, linewidth=0.6, linestyle=(0, (4, 2)), label="border of a cell"),
        Line2D([], [], linestyle="", marker="*", color="white", markeredgecolor="black", markersize=7, label="seed"),
    ]
