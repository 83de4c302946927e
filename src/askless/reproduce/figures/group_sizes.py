"""How many questions each label has. [Réveillard et al. 2026, appendix F.2]"""

from __future__ import annotations

import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askless.datasets.tables import format_of, read_table
from askless.datasets.values import is_blank
from askless.errors import InvalidInput, UnreadableFile
from askless.reproduce.figures.style import BLUE, COLUMN, DARK, VERMILION, new_figure, open_frame, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLE = "the support questions that come with askless"
_MOST_BARS = 40
_UNEVEN = 50  # where the highest bar is this many times the lowest, the heights are drawn on a logarithmic scale


@dataclass(frozen=True, slots=True, eq=False)
class GroupSizes:
    """The number of questions of each group, and where they come from."""

    source: str
    sizes: NDArray[np.int64]

    @property
    def width(self) -> int:
        """How many sizes share a bar: one, or more where the bars would be too many."""
        return -(-int(self.sizes.max() - self.sizes.min() + 1) // _MOST_BARS)

    def bars(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The smallest size of each bar, and the number of groups in it."""
        first = self.sizes.min() + self.width * np.arange(_MOST_BARS)
        first = first[first <= self.sizes.max()]
        counts = np.bincount((self.sizes - self.sizes.min()) // self.width, minlength=len(first))
        return first, counts.astype(np.int64)


def group_sizes(labels: object, source: str) -> GroupSizes:
    """The sizes of the groups of equal labels."""
    names = np.asarray(labels)
    if names.ndim != 1 or not len(names):
        raise InvalidInput(f"Expected one label a row in {source}; found labels of shape {names.shape}.")
    return GroupSizes(source, np.array(sorted(Counter(names.tolist()).values()), dtype=np.int64))


def sample_groups() -> GroupSizes:
    """Those of the sample."""
    from askless.datasets.sample import support_questions

    return group_sizes(support_questions()[1], SAMPLE)


def read_groups(path: Path, label: str | None) -> GroupSizes:
    """The sizes of the groups of a file.

    Labels are that array of a .npz (or y), a .npy of labels, for a .npy of vectors the file `label`, another .npy
    or a text with one label a line, and for any table of `askless.datasets.tables` its column `label`.
    """
    try:
        return group_sizes(_labels(path, label), path.name)
    except OSError as error:
        raise UnreadableFile(f"Cannot read {error.filename or path}: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise UnreadableFile(f"Cannot read {path}: {error}.") from error


def _labels(path: Path, label: str | None) -> object:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        beside = path if label is None else Path(label)
        if beside.suffix.lower() == ".npy":
            return np.load(beside, allow_pickle=False)
        return beside.read_text(encoding="utf-8").splitlines()
    if suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            return _chosen(path, {name: archive[name] for name in archive.files}, label or "y")
    format_of(path)
    if label is None:
        raise InvalidInput(f"{path.name} holds a table: name its column of labels with --label.")
    names = read_table(path, text=label).texts
    blank = next((row for row, name in enumerate(names, start=1) if is_blank(name)), None)
    if blank is not None:
        raise InvalidInput(f"Row {blank} of {path.name} has no label; fill it in or leave the row out.")
    return names


def _chosen(path: Path, found: dict[str, Any], label: str) -> Any:
    if label not in found:
        raise InvalidInput(f"{path.name} has no {label!r}; it has {', '.join(found)}. Name one of them with --label.")
    return found[label]


def draw_group_sizes(found: GroupSizes) -> Figure:
    """A histogram, with the mean and the median."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    sizes, width = found.sizes, found.width
    mean, middle = float(sizes.mean()), float(np.median(sizes))
    together = f" A bar holds {width} sizes." if width > 1 else ""
    caption = (
        f"Source: {plain(found.source)}; {sizes.sum():,} questions in {len(sizes):,} groups of {sizes.min():,} to "
        f"{sizes.max():,}. A group is the questions with one label.{together}"
    )
    figure = new_figure(COLUMN, 2.2, "Questions per group", caption)
    axes = figure.add_subplot()
    first, counts = found.bars()
    axes.bar(first - 0.5, counts, width=width, align="edge", color="#9ccbe6", edgecolor=BLUE, linewidth=0.6)
    axes.axvline(mean, color=VERMILION, linewidth=1.4, linestyle=(0, (4, 2)), label=f"mean {mean:,.2f}")
    axes.axvline(middle, color=DARK, linewidth=1.2, linestyle=(0, (1, 1.5)), label=f"median {middle:,.4g}")
    if counts.max() > _UNEVEN * counts[counts > 0].min():
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("questions in a group")
    axes.set_ylabel("groups")
    open_frame(axes)
    axes.legend(frameon=False)
    return figure
