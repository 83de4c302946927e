"""What `askless datasets` shows on the terminal."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import compress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from askless.datasets.values import is_blank
from askless.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from askless.datasets.catalogue import Dataset, LabelledTexts

_SHOWN = 5  # labels at each end, and examples
_PLOTS = (".png", ".svg", ".pdf")


def print_list(console: Console, folder: Path) -> None:
    """A line for each data set."""
    from rich.table import Table

    from askless.datasets.catalogue import DATASETS

    table = Table(title=f"Data sets; those that are here lie in {folder}", title_justify="left", title_style="bold")
    table.add_column("name", no_wrap=True)
    table.add_column("texts", justify="right")
    table.add_column("labels", justify="right")
    table.add_column("what")
    table.add_column("here")
    for dataset in DATASETS.values():
        here = "no" if dataset.missing(folder) else "yes"
        table.add_row(dataset.name, _count(dataset.rows), _count(dataset.labels), dataset.what, here)
    console.print(table)
    console.print("`askless datasets fetch NAME` fetches one, `askless datasets describe NAME` shows what is in it.")


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def without_blank(found: LabelledTexts) -> LabelledTexts:
    """The rows in which there is something to read."""
    kept = [not is_blank(text) for text in found.texts]
    if not any(kept):
        raise InvalidInput(f"Every text of {found.name} is blank; is --text the right column?")
    texts, labels, split = (list(compress(column, kept)) for column in (found.texts, found.labels, found.split))
    return replace(found, texts=texts, labels=labels, split=split)


def print_description(console: Console, found: LabelledTexts) -> None:
    """Counts, the sizes of the labels, and a few texts."""
    from rich.markup import escape

    blank = sum(map(is_blank, found.texts))
    found = without_blank(found)
    sizes = Counter(found.labels)
    lengths = sorted(map(len, found.texts))
    repeated = len(found.texts) - len(set(found.texts))
    console.print(f"[bold]{escape(found.name)}[/bold]")
    for remark in found.remarks:
        console.print(escape(remark), soft_wrap=True)
    console.print(f"{_counted(len(found), 'text')} {_under(len(sizes))}", _splits(found), sep="")
    if found.unlabelled:
        console.print(f"{found.unlabelled:,} more have no label and are left out")
    if blank:
        console.print(f"{blank:,} more have a blank text and are not counted")
    console.print(
        f"a text has {lengths[0]:,} to {lengths[-1]:,} characters, the middle one {lengths[len(lengths) // 2]:,}; "
        f"{repeated:,} repeat an earlier text"
    )
    if sizes:
        _print_sizes(console, sizes)
    _print_examples(console, found)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _under(labels: int) -> str:
    return f"under {_counted(labels, 'label')}" if labels else "without labels (--label names their column)"


def _print_sizes(console: Console, sizes: Counter[str]) -> None:
    console.print(
        f"a label has {min(sizes.values()):,} to {max(sizes.values()):,} texts, the middle one "
        f"{median(sizes.values()):,.4g}"
    )
    _print_labels(console, sizes)


def _splits(found: LabelledTexts) -> str:
    counts = Counter(found.split)
    return "" if len(counts) < 2 else ": " + ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _print_labels(console: Console, sizes: Counter[str]) -> None:
    from rich.table import Table

    ordered = sizes.most_common()
    shown = ordered if len(ordered) <= 2 * _SHOWN else [*ordered[:_SHOWN], None, *ordered[-_SHOWN:]]
    widest = ordered[0][1]
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=60)
    table.add_column(justify="right")
    table.add_column()
    for one in shown:
        if one is None:
            table.add_row(f"... {len(ordered) - 2 * _SHOWN:,} more", "", "")
        else:
            table.add_row(_plain(one[0]), f"{one[1]:,}", "█" * max(1, round(30 * one[1] / widest)))
    console.print()
    console.print(table)


def _print_examples(console: Console, found: LabelledTexts) -> None:
    """Texts from the beginning, the end and between."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=34, style="dim")
    table.add_column(overflow="ellipsis", no_wrap=True)
    last = len(found) - 1
    for place in dict.fromkeys(round(last * k / (_SHOWN - 1)) for k in range(_SHOWN)):
        table.add_row(_plain(found.labels[place]) if found.labels else "", _plain(found.texts[place]))
    console.print()
    console.print(table)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(" ".join(text.split()))


def print_origin(console: Console, dataset: Dataset, folder: Path) -> None:
    """Where a data set comes from, under which licence, and how to cite it."""
    lines = [("licence", dataset.licence), ("home", dataset.home), ("citation", dataset.citation)]
    if dataset.files:
        prepared = dataset.prepared(folder)
        paths = [prepared] if prepared.is_file() else dataset.paths(folder)
        lines.append(("read from", ", ".join(map(str, paths))))
    console.print()
    for name, value in lines:
        console.print(f"[bold]{name}[/bold]: {_plain(value)}", soft_wrap=True)


def save_sizes(found: LabelledTexts, path: Path) -> None:
    """A plot of how many texts the labels have."""
    from askless.datasets.whole import whole_file
    from askless.reproduce.figures.group_sizes import draw_group_sizes, group_sizes

    if path.suffix.lower() not in _PLOTS:
        raise InvalidInput(f"--plot is a {', '.join(_PLOTS[:-1])} or {_PLOTS[-1]} file; found {path}.")
    figure = draw_group_sizes(group_sizes(without_blank(found).labels, found.name))
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lower()[1:], dpi=160)
