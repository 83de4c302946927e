"""How every figure looks, and how it becomes the same bytes each time."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.35, 6.9  # inches: a figure is drawn at the size of one column or of both
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = (  # of Okabe and Ito, apart for colour-blind readers
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
DARK, GREY, PALE = "#333333", "#5c5c5c", "#d9d9d9"
SIZE, SMALL = 8.0, 7.0  # points
FORMATS = ("svg", "png")
_DPI = 300
_RC: Any = {  # the keys that matplotlib knows are a type of its own
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine has it
    "font.size": SIZE,
    "axes.titlesize": SIZE,
    "axes.labelsize": SIZE,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "axes.edgecolor": "#8c8c8c",
    "axes.linewidth": 0.7,
    "xtick.color": "#8c8c8c",
    "ytick.color": "#8c8c8c",
    "xtick.labelcolor": DARK,
    "ytick.labelcolor": DARK,
    "text.color": DARK,
    "axes.labelcolor": DARK,
    "hatch.linewidth": 0.5,
    "svg.hashsalt": "askless",  # else the names inside an SVG file differ from run to run
    "svg.fonttype": "path",
}


class Look(NamedTuple):
    """What tells one of several things apart, in colour and without it."""

    colour: str
    dash: Any
    marker: str
    hatch: str


LOOKS = (
    Look(BLUE, "-", "o", "////"),
    Look(VERMILION, (0, (5, 1.6)), "s", "\\\\\\\\"),
    Look(GREEN, (0, (1.2, 1.2)), "^", "...."),
    Look(PURPLE, (0, (6, 1.5, 1.2, 1.5)), "D", "xxxx"),
    Look(ORANGE, (0, (3, 1, 1, 1, 1, 1)), "v", "||||"),
    Look(BLACK, (0, (8, 3)), "P", "----"),
)


@contextmanager
def look() -> Iterator[None]:
    """Draw and save under the settings above, whatever the user's own are."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def plain(text: str) -> str:
    """A text of the user's, in which a dollar sign is one and begins no formula."""
    return text.replace("$", r"\$")


def new_figure(
    width: float, body: float, heading: str, caption: str, *, legend: Sequence[Artist] = (), columns: int = 6
) -> Figure:
    """A figure whose panels get a strip `body` inches high.

    Above it the heading, which says what is shown, and the legend; below it the caption, broken to the width, with
    the parameters and how to read it.
    """
    from matplotlib.figure import Figure

    letters = int(width * 72 / (0.54 * SMALL))  # a letter is about 0.54 of the size wide
    lines = textwrap.wrap(caption, letters)
    legend_rows = -(-len(legend) // columns)
    top, bottom = 0.27 + 0.19 * legend_rows, 0.09 + 0.128 * len(lines)
    height = top + body + bottom
    figure = Figure(figsize=(width, height), layout="constrained")
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.04, h_pad=0.04, wspace=0.03, hspace=0.03, rect=(0.0, bottom / height, 1.0, body / height))
    left = 0.06 / width
    figure.text(left, 1 - 0.06 / height, heading, va="top", fontsize=SIZE + 1, fontweight="bold")
    figure.text(left, 0.05 / height, "\n".join(lines), va="bottom", fontsize=SMALL, color=GREY, linespacing=1.25)
    if legend:
        found = figure.legend(
            handles=list(legend),
            loc="upper left",
            bbox_to_anchor=(0.0, 1 - 0.22 / height),
            ncols=columns,
            frameon=False,
            columnspacing=1.1,
            handlelength=1.7,
            handletextpad=0.45,
            borderaxespad=0.15,
            borderpad=0.2,
        )
        found.set_in_layout(False)
    return figure


def open_frame(axes: Axes) -> None:
    """Axes with a pale grid and without the lines above and on the right."""
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=2.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def unit_square(axes: Axes) -> None:
    """The square [0, 1] x [0, 1], without ticks."""
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])


def rendered(figure: Figure, kind: str) -> bytes:
    """The file of a figure, "svg" or "png"; no date or version in it, so that the same figure gives the same bytes."""
    contents = io.BytesIO()
    unsigned = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # in a file's name; it is drawn as a box
        figure.savefig(contents, format=kind, dpi=_DPI, metadata=unsigned)  # in an SVG, of the images that it holds
    return contents.getvalue()
