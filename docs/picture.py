"""The README's picture, from two real runs: `python docs/picture.py` writes docs/askless.png.

On the left, what GHC decides for every point of the unit square after 250 queries; on the right, regret on the support
questions that come with askless, in the order of `askless demo`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from askless import GeneralizedHull, Guess, make_policy
from askless.datasets.sample import support_questions
from askless.embed.wordllama import WordLlama
from askless.simulate import simulate
from askless.streams.synthetic import mixture, uniform, voronoi_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUT = Path(__file__).with_name("askless.png")
TAU, LABELS, ROUNDS, VARIANCE = 0.6, 6, 250, 0.006
SEED = 2  # of 0 to 59 the one whose six cells have their seeds furthest apart, so that the hulls can be seen
CELLS = 400  # of the square, along each side
POLICIES = {
    "SelfTuning": "self-tuning",
    "GHC, tau=0.8": "ghc:0.8",
    "similarity 0.75": "similarity-threshold:0.75",
    "always ask": "always-ask",
}

# Okabe and Ito's blue and vermilion, which colour-blind readers tell apart, on grey; the blue is thinned.
RIGHT, WRONG, ASK = "#a6cee8", "#d55e00", "#efefef"
LINES = ("#009e73", "#0072b2", "#cc79a7", "#6b6b6b")
DARK = "#333333"


def draw(cells: int = CELLS) -> Figure:
    """The whole figure."""
    figure = Figure(figsize=(10.6, 4.6))
    regions = figure.add_axes((0.02, 0.10, 0.353, 0.80))
    regret = figure.add_axes((0.50, 0.13, 0.335, 0.77))
    draw_regions(regions, cells)
    draw_regret(regret)
    return figure


def draw_regions(axes: Axes, cells: int) -> None:
    """What the policy would do at every point, with the hulls and the examples behind that."""
    rng = np.random.default_rng(SEED)
    seeds = uniform("euclidean", 2, LABELS, rng)
    X = mixture("euclidean", seeds, ROUNDS, VARIANCE, rng)
    policy = GeneralizedHull(TAU, space="euclidean", n_labels=LABELS)
    trace = simulate(policy, X, voronoi_labels("euclidean", X, seeds))
    outcome = outcomes(policy, seeds, cells)
    axes.imshow(
        outcome, origin="lower", extent=(0, 1, 0, 1), cmap=ListedColormap([ASK, RIGHT, WRONG]), vmin=0, vmax=2,
        interpolation="nearest",
    )  # fmt: skip
    for label in policy.labels:
        points = np.array([example.x for example in policy.examples() if example.label == label])
        outline(axes, points)
        axes.plot(points[:, 0], points[:, 1], "o", color=DARK, markersize=2.6, markeredgewidth=0)
    axes.set_xticks([])
    axes.set_yticks([])
    calls, mistakes = int(trace.calls[-1]), int(trace.mistakes[-1])
    title(axes, f"{ROUNDS} queries: {calls} asked, {ROUNDS - calls - mistakes} right, {mistakes} wrong")
    keys = ((RIGHT, "right guess"), (WRONG, "wrong guess"), (ASK, "ask"))
    for at, (colour, name) in zip((0.0, 0.29, 0.60), keys, strict=True):
        axes.plot(at + 0.02, -0.055, "s", color=colour, markeredgecolor=DARK, markeredgewidth=0.5, clip_on=False)
        axes.text(at + 0.05, -0.055, name, va="center", fontsize=9, color=DARK)
    axes.plot(0.77, -0.055, "o", color=DARK, markersize=3, clip_on=False)
    axes.text(0.80, -0.055, "example", va="center", fontsize=9, color=DARK)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def outcomes(policy: GeneralizedHull, seeds: NDArray[np.float64], cells: int) -> NDArray[np.intp]:
    """0 where the policy asks, 1 where it guesses right, 2 where it guesses wrong, row by row from below."""
    middle = (np.arange(cells) + 0.5) / cells
    grid = np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)
    truth = voronoi_labels("euclidean", grid, seeds).tolist()
    found = np.zeros(len(grid), dtype=np.intp)
    for k, decision in enumerate(policy.decide_many(grid)):
        if isinstance(decision, Guess):
            found[k] = 1 if decision.label == truth[k] else 2
    return found.reshape(cells, cells)


def outline(axes: Axes, points: NDArray[np.float64]) -> None:
    """The border of a hull."""
    order = ConvexHull(points).vertices if len(points) > 2 else np.arange(len(points))
    corners = points[np.append(order, order[:1])]
    axes.plot(corners[:, 0], corners[:, 1], color=DARK, linewidth=1.0)


def draw_regret(axes: Axes) -> None:
    """Regret against the number of questions, one line a policy."""
    texts, labels = support_questions()
    order = np.random.default_rng(0).permutation(len(texts))  # as `askless demo` shuffles them
    X, y = WordLlama().embed([texts[k] for k in order]), [labels[k] for k in order]
    for colour, (name, spec) in zip(LINES, POLICIES.items(), strict=True):
        regret = simulate(make_policy(spec), X, y).regret
        axes.plot(np.arange(1, len(y) + 1), regret, color=colour, linewidth=2.0)
        axes.annotate(
            f"{name}  {regret[-1]:,.0f}", (len(y), regret[-1]), xytext=(5, 0), textcoords="offset points",
            va="center", fontsize=9, color=colour, annotation_clip=False,
        )  # fmt: skip
    title(axes, f"Regret on {len(y)} support questions (lower is better)")
    axes.set_xlim(0, len(y))
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("questions so far", fontsize=9, color=DARK)
    axes.tick_params(labelsize=8.5, color="#b0b0b0", labelcolor=DARK)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#b0b0b0")


def title(axes: Axes, text: str) -> None:
    """A heading above a panel."""
    axes.set_title(text, loc="left", fontsize=11, fontweight="bold", color=DARK, pad=9)


if __name__ == "__main__":
    draw().savefig(OUT, dpi=160)
