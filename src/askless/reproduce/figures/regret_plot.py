"""The drawings of regret against the round and against the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from askless.reproduce.figures.regret import SETTING, Curve, Size
from askless.reproduce.figures.style import DARK, GREY, LOOKS, PAGE, SIZE, SMALL, new_figure, open_frame
from askless.reproduce.jobs import Labelled
from askless.reproduce.paper import N_LABELS
from askless.types import PAPER_COSTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLE = f"{SETTING.distribution} queries on the {SETTING.space}, d={SETTING.dim}"
_LONGEST_TITLE = 44
_ABOVE = 1.25  # times the regret of asking every time: what is drawn; a policy that does worse leaves the panel


def draw_rounds(setting: Sequence[Curve], file: Sequence[Curve], data: Labelled, source: str, size: Size) -> Figure:
    """Regret against the round; left the synthetic setting, right the labelled file."""
    caption = (
        f"{_left(size)} {_right(data, source, size)} Parameters are those of the lowest regret: "
        "left, at 5,000 rounds, and GHC's and CC's in the paper's tables. Lines are means, bands one standard "
        f"deviation; the legend has the means after the last round. {_costs()}"
    )
    figure = new_figure(PAGE, 3.7, "Regret against the round (lower is better)", caption)
    (left, right), strips = figure.subplots(2, 2, height_ratios=(1, 0.27))
    for axes, strip, curves, title in ((left, strips[0], setting, _TITLE), (right, strips[1], file, source)):
        always = PAPER_COSTS.question * float(curves[0].at[-1])
        axes.plot([0, curves[0].at[-1]], [0, always], color=GREY, linewidth=1.0, linestyle=(0, (1, 2)))
        for k, curve in enumerate(curves):
            _draw_line(axes, curve, k)
        _draw_ends(axes, curves)
        axes.set_xlim(0, 1.02 * float(curves[0].at[-1]))
        axes.set_ylim(0, _ABOVE * always)
        axes.set_xlabel("round")
        _finish(axes, strip, title, always)
    left.set_ylabel("regret")
    return figure


def draw_taus(setting: Sequence[Curve], file: Sequence[Curve], data: Labelled, source: str, size: Size) -> Figure:
    """Regret after the last round against the threshold; left the synthetic setting, right the labelled file."""
    caption = (
        f"{_left(size)} {_right(data, source, size)} Lines are means, bands one standard deviation, on a logarithmic "
        f"scale. AMP's threshold is on its margin, and not the same quantity as GHC's ratio. {_costs()}"
    )
    figure = new_figure(PAGE, 3.5, "Regret after the last round against the threshold (lower is better)", caption)
    (left, right), strips = figure.subplots(2, 2, height_ratios=(1, 0.2))
    played = min(data.rounds, size.file_rounds or data.rounds)
    panels = ((left, strips[0], setting, _TITLE, size.rounds), (right, strips[1], file, source, played))
    for axes, strip, curves, title, rounds in panels:
        always = PAPER_COSTS.question * rounds
        axes.axhline(always, color=GREY, linewidth=1.0, linestyle=(0, (1, 2)))
        for k, curve in enumerate(curves):
            _draw_line(axes, curve, k, marked=True)
            _draw_paper(axes, curve, k)
        axes.set_yscale("log")
        axes.set_xlim(-0.02, 1.02)
        axes.set_xticks(np.linspace(0, 1, 6))
        axes.set_xlabel("threshold τ")
        _finish(axes, strip, title, always)
    left.set_ylabel("regret")
    return figure


def _draw_line(axes: Axes, curve: Curve, k: int, *, marked: bool = False) -> None:
    look = LOOKS[k % len(LOOKS)]
    name = curve.name if marked else f"{curve.name}: {curve.mean[-1]:,.0f}"
    axes.plot(
        curve.at,
        curve.mean,
        color=look.colour,
        linestyle=look.dash,
        linewidth=1.5,
        marker=look.marker if marked else None,
        markersize=3.2,
        label=name,
        zorder=3,
    )
    if len(curve.runs) > 1:
        low = np.maximum(curve.mean - curve.deviation, 1e-9)
        axes.fill_between(curve.at, low, curve.mean + curve.deviation, color=look.colour, alpha=0.2, linewidth=0)


def _draw_paper(axes: Axes, curve: Curve, k: int) -> None:
    """The paper's means, with its deviations, as open marks."""
    if not curve.paper:
        return
    at = sorted(curve.paper)
    axes.errorbar(
        at,
        [curve.paper[x].mean for x in at],
        yerr=[curve.paper[x].deviation for x in at],
        fmt=LOOKS[k % len(LOOKS)].marker,
        markerfacecolor="none",
        color=DARK,
        markersize=7,
        markeredgewidth=0.9,
        elinewidth=0.9,
        linestyle="",
        label=f"{curve.name}, in the paper",
        zorder=5,
    )


def _draw_ends(axes: Axes, curves: Sequence[Curve]) -> None:
    """The paper's means after the last round, where they lie in the panel."""
    always = PAPER_COSTS.question * float(curves[0].at[-1])
    for k, curve in enumerate(curves):
        for x, figure in curve.paper.items():
            if figure.mean < _ABOVE * always:
                axes.errorbar(
                    [x],
                    [figure.mean],
                    yerr=[figure.deviation],
                    fmt="o",
                    color=LOOKS[k % len(LOOKS)].colour,
                    markerfacecolor="white",
                    markeredgewidth=1.2,
                    markersize=4.5,
                    clip_on=False,
                    zorder=6,
                )
    if any(curve.paper for curve in curves):
        axes.plot([], [], "o", color=DARK, markerfacecolor="white", markersize=4.5, label="in the paper's tables")


def _finish(axes: Axes, strip: Axes, title: str, always: float) -> None:
    """The title, the ticks, and the legend in the strip below the panel."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    shown = title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"
    axes.set_title(shown, loc="left", fontsize=SIZE)
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_locator(LogLocator(subs="all", numticks=99))
    else:
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.plot([], [], color=GREY, linewidth=1.0, linestyle=(0, (1, 2)), label=f"always ask: {always:,.0f}")
    open_frame(axes)
    strip.set_axis_off()
    legend = strip.legend(
        *axes.get_legend_handles_labels(),
        loc="upper left",
        bbox_to_anchor=(-0.1, 1.05),
        ncols=2,
        frameon=False,
        fontsize=SMALL,
        columnspacing=0.9,
        handlelength=2.1,
        handletextpad=0.5,
        borderaxespad=0.0,
    )
    legend.set_in_layout(False)  # a wide legend must not make the panel narrow


def _left(size: Size) -> str:
    return (
        f"Left: {_TITLE}, {N_LABELS} labels by the nearest of uniform seeds, "
        f"{size.rounds:,} rounds, {size.data_sets} data sets of one draw of the seeds."
    )


def _right(data: Labelled, source: str, size: Size) -> str:
    played = min(data.rounds, size.file_rounds or data.rounds)
    return (
        f"Right: {source}, {data.n_labels:,} labels, one example of each given first, {played:,} rounds, "
        f"{size.file_runs} orders."
    )


def _costs() -> str:
    return f"A question adds {PAPER_COSTS.question:g} to the regret, a wrong guess {PAPER_COSTS.mistake:g}."
