"""A plot of what a desk did over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from askless.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from askless.desk.live.statistics import Statistics

_PLOTS = (".png", ".svg", ".pdf")
_WIDTHS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 28.0}  # of a bar, in days
_GUESSED, _ASKED = "#2a6f97", "#e9c46a"


def checked_plot(path: Path | None) -> None:
    """Refuse, before anything is counted, a file that no plot can be written to."""
    if path is not None and path.suffix.lower() not in _PLOTS:
        raise InvalidInput(f"--plot is a {', '.join(_PLOTS[:-1])} or {_PLOTS[-1]} file; found {path}.")


def save_plot(path: Path, desk: str, figures: Statistics, by: str) -> None:
    """Write the plot; whole, or not at all."""
    from askless.datasets.whole import whole_file

    if not figures.buckets:
        raise InvalidInput(f"There is nothing to plot: the desk {desk} received no query in that time.")
    with whole_file(path) as temporary:
        draw(desk, figures, by).savefig(temporary, format=path.suffix.lower()[1:], dpi=160)


def draw(desk: str, figures: Statistics, by: str) -> Figure:
    """Bars of the queries received in each span: guessed, and the rest on top; the share guessed above each."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    starts = [float(date2num(bucket.start)) for bucket in figures.buckets]  # type: ignore[no-untyped-call]
    guesses = [bucket.guesses for bucket in figures.buckets]
    others = [bucket.received - bucket.guesses for bucket in figures.buckets]
    span = _WIDTHS[by]
    width = 0.85 * span
    axes.bar(starts, guesses, width, align="edge", color=_GUESSED, label="guessed")
    axes.bar(starts, others, width, guesses, align="edge", color=_ASKED, label="asked")
    if len(figures.buckets) <= 31:
        for start, bucket in zip(starts, figures.buckets, strict=True):
            place = (start + width / 2, bucket.received)
            axes.annotate(f"{bucket.automated:.0%}", place, (0, 2), textcoords="offset points", ha="center", fontsize=8)
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(starts[0] - span / 4, starts[-1] + 1.25 * span)
    axes.set_ylabel(f"queries received in a{'n' if by == 'hour' else ''} {by}")
    axes.set_title(f"{desk}: {figures.guesses:,} of {figures.received:,} queries guessed", loc="left", parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure
