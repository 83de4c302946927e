"""The prior behind the lower bound in dimension one, and what it costs the best guess. [Réveillard et al. 2026, B.3]

Seed i of N is uniform on I_i = [(i-1)/N, i/N], for itself. The border phi between the cells i and i+1 is the mean of
two seeds, (i - 1/2 + z/2) / N with z the sum of two uniform numbers, so its density is 2N min(z, 2 - z). (The paper
has z for z/2.) The examples tell no more than that phi lies between r, the last example of label i, and l, the first of
label i+1. There no guess is sure; given the gap the best one errs at q with probability min(P(phi < q), P(phi > q)).
As the density is at most 2N, that is at least 1/2 - 2N |q - m| / I, with m the median and I the probability of the gap.
(The paper has the slope 2 for 2N.) As in the proof, each border is looked at by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from askless.policies.conservative_hull import ConservativeHull
from askless.reproduce.figures.style import BLUE, DARK, GREY, LOOKS, PAGE, SMALL, VERMILION, new_figure, open_frame
from askless.simulate import simulate
from askless.streams.synthetic import synthetic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS, ROUNDS = 4, 24

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Construction:
    """One draw from the prior, and what CHC knows after some uniform queries.

    `spans` has a row for each label, its first and its last example; NaN where it has none.
    """

    seeds: Numbers
    queries: Numbers
    asked: NDArray[np.bool_]
    spans: Numbers

    @property
    def n_labels(self) -> int:
        """N."""
        return len(self.seeds)

    @property
    def borders(self) -> Numbers:
        """Where the cells meet."""
        return np.asarray(0.5 * (self.seeds[1:] + self.seeds[:-1]))

    @property
    def gaps(self) -> Numbers:
        """Row i: the last example of label i and the first of label i+1, between which the border lies.

        Where a label has no example, all that is known is where the border can lie at all.
        """
        i, last, first = np.arange(1, self.n_labels), self.spans[:-1, 1], self.spans[1:, 0]
        low = np.where(np.isnan(last), (i - 0.5) / self.n_labels, last)
        high = np.where(np.isnan(first), (i + 0.5) / self.n_labels, first)
        return np.column_stack((low, high))


def construction(seed: int, n_labels: int = LABELS, rounds: int = ROUNDS) -> Construction:
    """Seeds from the prior, uniform queries, and CHC's examples."""
    rng = np.random.default_rng(seed)
    seeds = (np.arange(n_labels) + rng.random(n_labels)) / n_labels
    stream = synthetic("euclidean", 1, n_labels, rounds, rng=rng, seeds=seeds[:, None])
    policy = ConservativeHull(space="euclidean", n_labels=n_labels)
    trace = simulate(policy, stream.X, stream.y)
    spans = np.full((n_labels, 2), np.nan)
    for example in policy.examples():
        k, x = int(example.label), float(example.x[0])
        spans[k] = np.fmin(spans[k, 0], x), np.fmax(spans[k, 1], x)
    return Construction(seeds, np.asarray(stream.X[:, 0], dtype=np.float64), trace.asked, spans)


def density(x: Numbers, i: int, n_labels: int) -> Numbers:
    """The prior density at x of the border between the cells i and i+1, which count from 1."""
    z = 2.0 * (n_labels * np.asarray(x) - i + 0.5)
    return np.asarray(2.0 * n_labels * np.clip(np.minimum(z, 2.0 - z), 0.0, None))


def below(x: Numbers | float, i: int, n_labels: int) -> Numbers:
    """The prior probability that this border lies below x."""
    z = np.clip(2.0 * (n_labels * np.asarray(x) - i + 0.5), 0.0, 2.0)
    return np.asarray(np.where(z < 1.0, 0.5 * z**2, 1.0 - 0.5 * (2.0 - z) ** 2))


def best_error(q: Numbers, gap: Numbers, i: int, n_labels: int) -> Numbers:
    """How likely the best guess at q is wrong, when all that is known is that the border lies in the gap."""
    low, high = below(gap[0], i, n_labels), below(gap[1], i, n_labels)
    left = (below(q, i, n_labels) - low) / (high - low)
    return np.asarray(np.clip(np.minimum(left, 1.0 - left), 0.0, None))


def proof_bound(q: Numbers, gap: Numbers, i: int, n_labels: int) -> Numbers:
    """The tent that the proof puts below that error."""
    low, high = below(gap[0], i, n_labels), below(gap[1], i, n_labels)
    return np.asarray(np.clip(0.5 - 2.0 * n_labels * np.abs(q - median(gap, i, n_labels)) / (high - low), 0.0, None))


def median(gap: Numbers, i: int, n_labels: int) -> float:
    """The point of the gap that the border lies below as likely as above."""
    half = 0.5 * float(below(gap[0], i, n_labels) + below(gap[1], i, n_labels))
    z = np.sqrt(2.0 * half) if half < 0.5 else 2.0 - np.sqrt(2.0 * (1.0 - half))
    return float((i - 0.5 + 0.5 * z) / n_labels)


def draw_construction(found: Construction) -> Figure:
    """Above the prior and the examples on [0, 1]; below the widest gap, enlarged."""
    n, asked = found.n_labels, int(found.asked.sum())
    caption = (
        f"N={n}. Above: the seed sᵢ is uniform on Iᵢ, so the border φᵢⱼ = (sᵢ + sⱼ)/2 between neighbours has the "
        f"triangular density in grey. Dots: {len(found.queries)} uniform queries, filled where CHC asked ({asked}). "
        "Bars: what each label's examples span. In a hatched gap, from rᵢ to lⱼ, two labels are possible. Below: "
        "the widest gap. There the best guess errs with the probability of the solid line, and no policy can do better "
        "without asking; the proof bounds it from below by the tent around the median m."
    )
    figure = new_figure(PAGE, 3.9, "The lower bound in dimension one: one seed drawn from each interval", caption)
    upper, lower = figure.subplots(2, 1, height_ratios=(1.45, 1))
    _draw_line(upper, found)
    _draw_gap(lower, found)
    return figure


def _draw_line(axes: Axes, found: Construction) -> None:
    n = found.n_labels
    x = np.linspace(0.0, 1.0, 1601)
    for i in range(1, n):
        heights = 0.85 * density(x, i, n) / (2.0 * n)
        inside = heights > 0.0
        axes.fill_between(x[inside], 0.0, heights[inside], color="#dedede", linewidth=0)
        axes.plot(x[inside], heights[inside], color=GREY, linewidth=0.8)
        border = found.borders[i - 1]
        axes.plot([border, border], [-0.72, 0.95], color=VERMILION, linewidth=1.2, linestyle=(0, (4, 2)))
        axes.text(border, 0.99, rf"$\varphi_{{{i}{i + 1}}}$", ha="center", va="bottom", color=VERMILION)
        low, high = found.gaps[i - 1]
        axes.fill_between([low, high], -0.62, -0.38, facecolor="white", edgecolor=DARK, hatch="/////", linewidth=0.6)
        if not np.isnan(found.spans[i - 1, 1]):
            axes.text(low, -0.68, f"$r_{i}$", ha="right", va="top", fontsize=SMALL)
        if not np.isnan(found.spans[i, 0]):
            axes.text(high, -0.68, f"$l_{i + 1}$", ha="left", va="top", fontsize=SMALL)
    for k, (seed, (first, last)) in enumerate(zip(found.seeds, found.spans, strict=True)):
        if not np.isnan(first):
            axes.plot([first, last], [-0.5, -0.5], color=LOOKS[k].colour, linewidth=5, solid_capstyle="butt", zorder=4)
        axes.plot(seed, 0.0, "*", color="white", markeredgecolor="black", markersize=9, zorder=6)
        axes.text(seed, 0.09, f"$s_{k + 1}$", ha="center", va="bottom", zorder=7)
        axes.text((k + 0.5) / n, -1.12, f"$I_{k + 1}$", ha="center", va="center")
    axes.plot([0, 1], [0, 0], color=DARK, linewidth=1.0, zorder=3)
    for colour, chosen in ((DARK, found.asked), ("white", ~found.asked)):
        axes.plot(
            found.queries[chosen], np.full(int(chosen.sum()), -0.2), "o", color=colour, markeredgecolor=DARK,
            markersize=3.4, markeredgewidth=0.8, zorder=5,
        )  # fmt: skip
    for edge in np.arange(n + 1) / n:
        axes.plot([edge, edge], [-1.25, 0.06], color=GREY, linewidth=0.7, zorder=1)
    for height, name in ((0.45, "density"), (-0.2, "queries"), (-0.5, "known")):
        axes.text(-0.012, height, name, ha="right", va="center", fontsize=SMALL, color=GREY)
    axes.set_xlim(-0.075, 1.01)
    axes.set_ylim(-1.3, 1.2)
    axes.set_axis_off()


def _draw_gap(axes: Axes, found: Construction) -> None:
    n = found.n_labels
    widest = int(np.diff(found.gaps, axis=1).argmax())
    gap, i = found.gaps[widest], widest + 1
    q = np.union1d(np.linspace(gap[0], gap[1], 801), [median(gap, i, n)])
    error, tent, middle = best_error(q, gap, i, n), proof_bound(q, gap, i, n), median(gap, i, n)
    axes.plot(q, error, color=BLUE, linewidth=1.8, label="error of the best guess")
    axes.fill_between(q, 0.0, tent, color="#f3d3bf", linewidth=0)
    axes.plot(q, tent, color=VERMILION, linewidth=1.3, linestyle=(0, (5, 1.6)), label="the proof's bound")
    axes.axvline(middle, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.text(middle, 0.525, "m", ha="center", va="bottom", fontsize=SMALL, color=GREY)
    ends = (f"$r_{i}$ = {gap[0]:.3f}", f"$l_{i + 1}$ = {gap[1]:.3f}")
    axes.set_xticks([*gap, found.borders[widest]], [*ends, rf"$\varphi_{{{i}{i + 1}}}$"])
    axes.set_xlim(gap[0], gap[1])
    axes.set_ylim(0.0, 0.52)
    axes.set_yticks([0.0, 0.25, 0.5], ["0", "1/4", "1/2"])
    axes.set_ylabel("probability")
    axes.set_xlabel(f"query q in the gap between labels {i} and {i + 1}")
    open_frame(axes)
    axes.legend(frameon=False, loc="upper left")
