"""The plot of `askless bounds`: the regret of a policy against the round, and the bounds on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askless.cli.bounds import amount, described

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from askless.theory.report import Bound, Setting
    from askless.trace import Trace

_SIMULATED = "#0072B2"
_COLOURS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00")  # of Okabe and Ito, apart for colour-blind readers
_DASHES: tuple[Any, ...] = ((0, (6, 2)), (0, (1.5, 1.5)), (0, (7, 2, 1.5, 2)), (0, (3, 1, 1, 1, 1, 1)))
_GREY = "#6b6b6b"
_POINTS = 80
_HEADROOM = 30.0  # bounds up to this many times the cost of asking every time are drawn
_LABEL_SIZE = 8.5
_TITLES = {"CHC": "CHC, uniform queries", "CC": "CC, separated mixture"}


def draw_bounds(setting: Setting, bounds: Sequence[Bound], by_policy: dict[str, list[Trace]]) -> Figure:
    """One panel a policy: mean regret with a band of one deviation, the bounds that apply, and asking every time."""
    from matplotlib.figure import Figure

    panel, beside, height = 3.9, 2.95, 4.5
    width = 0.75 + len(by_policy) * (panel + beside)
    figure = Figure(figsize=(width, height), layout=None)
    for k, (policy, traces) in enumerate(by_policy.items()):
        left = (0.75 + k * (panel + beside)) / width
        axes = figure.add_axes((left, 0.2, panel / width, 0.7))
        _draw_panel(axes, setting, [b for b in bounds if b.about == policy and not b.why_not and b.at], traces)
        axes.set_title(f"{_TITLES[policy]}: regret", loc="left", fontsize=11, fontweight="bold")
        axes.set_xlabel("round")
    runs = len(next(iter(by_policy.values())))
    band = f"Mean of {runs} runs, with a band of one standard deviation. " if runs > 1 else "One run. "
    text = (
        f"On the {described(setting)}. {band}\n"
        "Leading terms hold as T grows, up to slower terms; bounds on CC are those at the last round."
    )
    figure.text(0.75 / width, 0.02, text, fontsize=8, color=_GREY)
    return figure


def _draw_panel(axes: Axes, setting: Setting, bounds: Sequence[Bound], traces: list[Trace]) -> None:
    horizon, question = setting.horizon, setting.costs.question
    at = np.unique(np.geomspace(1, horizon, _POINTS).astype(np.int64))
    values = np.array([trace.regret[at - 1] for trace in traces])
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1 if len(traces) > 1 else 0)
    floor = 0.5 * max(question, 1e-9)
    axes.plot(at, question * at, color=_GREY, linestyle=(0, (1, 3)), linewidth=1.2)
    axes.fill_between(at, np.maximum(mean - spread, floor), mean + spread, color=_SIMULATED, alpha=0.18, linewidth=0)
    axes.plot(at, mean, color=_SIMULATED, linewidth=2.2, zorder=4)
    ends = [(question * horizon, "asking every time", _GREY), (float(mean[-1]), "simulated", _SIMULATED)]
    beyond = []
    for k, bound in enumerate(bounds):
        curve = _curve(bound, at, horizon)
        colour = _COLOURS[k % len(_COLOURS)]
        name = f"{bound.name}{' (limit)' if bound.in_the_limit else ''}"
        if curve[-1] > _HEADROOM * question * horizon:
            beyond.append(f"{name}  {amount(float(curve[-1]))}")
            continue
        over = 5 if bound.sense == "exact" else 3  # which the simulated line would hide
        axes.plot(at, curve, color=colour, linestyle=_DASHES[k % len(_DASHES)], linewidth=1.7, zorder=over)
        ends.append((float(curve[-1]), name, colour))
    heights = [value for value, _, _ in ends if value > 0.0]
    _style(axes, horizon, min(floor, 0.5 * min(heights)), max(heights))
    _write_labels(axes, ends)
    if beyond:
        text = "above the frame:\n" + "\n".join(beyond)
        axes.text(0.03, 0.97, text, transform=axes.transAxes, va="top", fontsize=_LABEL_SIZE, color=_GREY)


def _curve(bound: Bound, at: NDArray[np.int64], horizon: int) -> NDArray[np.float64]:
    """The bound at each round; CC is told the horizon, so its bounds speak of the last round, and of all before."""
    if bound.at is None or bound.about == "CC":
        return np.full(len(at), bound.value(horizon) or np.nan)
    return np.array([bound.at(int(t)) if t > 1 or not bound.in_the_limit else np.nan for t in at])


def _style(axes: Axes, horizon: int, floor: float, top: float) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1, horizon)
    axes.set_ylim(floor, 1.6 * top)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axes.tick_params(which="both", labelsize=8.5, color=_GREY, length=3)
    axes.tick_params(which="minor", length=0, labelleft=False, labelbottom=False)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#b0b0b0")


def _write_labels(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Name each line at its end, moved apart where the ends lie too near to each other."""
    low, high = np.log(axes.get_ylim())
    tall = axes.get_position().height * axes.figure.get_figheight()  # type: ignore[union-attr]
    gap = 1.3 * _LABEL_SIZE / 72 / tall
    ends = sorted(ends)
    places = [(float(np.log(max(value, 1e-9))) - low) / (high - low) for value, _, _ in ends]
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + gap)
    over = max(0.0, places[-1] - 1.0)
    for k in range(len(places) - 1, -1, -1):
        ceiling = places[k + 1] - gap if k + 1 < len(places) else places[k] - over
        places[k] = min(places[k], ceiling)
    for place, (value, name, colour) in zip(places, ends, strict=True):
        axes.annotate(
            f"{name}  {amount(value)}",
            (1.0, place),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=_LABEL_SIZE,
            color=colour,
            annotation_clip=False,
        )
