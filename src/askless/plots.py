"""Figures from traces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askless.errors import InvalidInput
from askless.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The colours of Okabe and Ito stay apart for colour-blind readers; their yellow is too pale on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)))
_GREY = "#6b6b6b"
_POINTS = 1000  # more than a line can show
_LABEL_SIZE = 8.5
_LONGEST_NAME = 26


def plot_run(traces: Trace | Iterable[Trace], path: str | Path) -> Path:
    """Draw regret, questions and mistakes against the round, save the figure, and return where it is.

    One line a policy; several traces of one policy are drawn as their mean, with a band of one standard
    deviation. A grey line shows what asking every time would give. The suffix of `path`, .svg or .png, is the
    format.
    """
    path = Path(path)
    if path.suffix.lower() not in (".svg", ".png"):
        raise InvalidInput(f"A figure is saved as .svg or .png; found {path.name!r}.")
    if not path.parent.is_dir():
        raise InvalidInput(f"No folder {str(path.parent)!r} for the figure; make it first.")
    figure = draw_run([traces] if isinstance(traces, Trace) else list(traces))
    settings = {"metadata": {"Date": None}} if path.suffix.lower() == ".svg" else {"dpi": 160}
    figure.savefig(path, **settings)
    return path


def draw_run(traces: Sequence[Trace]) -> Figure:
    """The figure that `plot_run` saves."""
    from matplotlib.figure import Figure

    runs = _by_policy(traces)
    names = [*runs, "always ask"]
    margin = 0.3 + 0.068 * (min(max(map(len, names)), _LONGEST_NAME) + 8)  # inches beside a panel for labels
    width, height = 7.4 + 2 * margin, 4.6
    figure = Figure(figsize=(width, height), layout=None)
    left, big, small = 0.75 / width, 4.1 / width, 2.1 / width
    second = left + big + (margin + 0.45) / width
    panels = {
        "regret": figure.add_axes((left, 0.15, big, 0.77)),
        "calls": figure.add_axes((second, 0.6, small, 0.32)),
        "mistakes": figure.add_axes((second, 0.15, small, 0.32)),
    }
    titles = {
        "regret": "Regret (lower is better)",
        "calls": "Questions to the expert",
        "mistakes": "Wrong guesses",
    }
    for what, axes in panels.items():
        _draw_panel(axes, what, runs)
        axes.set_title(titles[what], loc="left", fontsize=11, fontweight="bold")
    panels["regret"].set_xlabel("round")
    panels["mistakes"].set_xlabel("round")
    figure.text(left, 0.025, _footnote(runs), fontsize=8, color=_GREY)
    return figure


def _by_policy(traces: Sequence[Trace]) -> dict[str, list[Trace]]:
    runs: dict[str, list[Trace]] = {}
    for trace in traces:
        runs.setdefault(trace.policy, []).append(trace)
    if not runs or min(trace.rounds for trace in traces) == 0:
        raise InvalidInput("There is nothing to draw: give at least one trace, and no trace without a round.")
    if len({trace.costs for trace in traces}) > 1:
        raise InvalidInput("The traces have different costs: their regrets do not compare; draw them apart.")
    return runs


def _draw_panel(axes: Axes, what: str, runs: dict[str, list[Trace]]) -> None:
    labels: list[tuple[float, str, str]] = []
    longest, top = 0, 0.0
    for k, (name, traces) in enumerate(runs.items()):
        rounds = min(trace.rounds for trace in traces)
        values = np.array([getattr(trace, what)[:rounds] for trace in traces], dtype=np.float64)
        mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1 if len(traces) > 1 else 0)
        at = _thinned(rounds)
        colour, dash = _COLOURS[k % len(_COLOURS)], _DASHES[k // len(_COLOURS) % len(_DASHES)]
        axes.plot(at + 1, mean[at], color=colour, linestyle=dash, linewidth=1.8, zorder=3)
        if len(traces) > 1:
            low, high = np.maximum(mean - spread, 0.0)[at], (mean + spread)[at]
            axes.fill_between(at + 1, low, high, color=colour, alpha=0.15, linewidth=0)
        labels.append((float(mean[-1]), _label(name, float(mean[-1])), colour))
        longest, top = max(longest, rounds), max(top, float((mean + spread).max()))
    per_round = {"regret": next(iter(runs.values()))[0].costs.question, "calls": 1.0, "mistakes": 0.0}[what]
    always = per_round * longest
    axes.plot([0, longest], [0, always], color=_GREY, linestyle=(0, (4, 3)), linewidth=1.2, zorder=2)
    labels.append((always, _label("always ask", always), _GREY))
    _style(axes, longest, max(top, always, 1.0))
    _write_labels(axes, labels)


def _style(axes: Axes, rounds: int, top: float) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axes.set_xlim(0, rounds)
    axes.set_ylim(0, 1.05 * top)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.tick_params(labelsize=8.5, color=_GREY, length=3)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#b0b0b0")


def _write_labels(axes: Axes, labels: list[tuple[float, str, str]]) -> None:
    """Name each line at its end, moved apart where the ends lie too near to each other."""
    low, high = axes.get_ylim()
    figure_height = axes.figure.get_figheight()  # type: ignore[union-attr]
    gap = (high - low) * (1.25 * _LABEL_SIZE / 72) / (axes.get_position().height * figure_height)
    labels = sorted(labels)
    heights = [value for value, _, _ in labels]
    for k in range(1, len(heights)):
        heights[k] = max(heights[k], heights[k - 1] + gap)
    overshoot = max(0.0, heights[-1] - high)
    for k in range(len(heights) - 1, -1, -1):
        ceiling = heights[k + 1] - gap if k + 1 < len(heights) else heights[k] - overshoot
        heights[k] = min(heights[k], ceiling)
    for height, (_, text, colour) in zip(heights, labels, strict=True):
        axes.annotate(
            text,
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=_LABEL_SIZE,
            color=colour,
            annotation_clip=False,
        )


def _label(name: str, value: float) -> str:
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    return f"{short}  {value:,.0f}"


def _footnote(runs: dict[str, list[Trace]]) -> str:
    costs = next(iter(runs.values()))[0].costs
    text = f"Regret: a question adds {costs.question:g}, a wrong guess {costs.mistake:g}, a right guess nothing."
    most = max(len(traces) for traces in runs.values())
    return text if most == 1 else f"{text} Mean of {most} runs, with a band of one standard deviation."


def _thinned(rounds: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, rounds - 1, min(rounds, _POINTS)).astype(np.intp))
