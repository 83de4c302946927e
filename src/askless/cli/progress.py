"""How far a command is, on the standard error of a terminal, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Show(Protocol):
    """Moves a bar: to so many done, of so many in all where that has changed."""

    def __call__(self, done: float, total: float | None = None, /) -> None:
        """Show it."""
        ...


@contextmanager
def bar(description: str, total: float | None = None) -> Iterator[Show]:
    """A bar that is gone when the block ends: `with bar("embedding", len(texts)) as show: show(17)`.

    `show` fits wherever a function of (done, total) is wanted, such as `embed_texts(progress=show)`.
    """
    if not sys.stderr.isatty():
        yield _show_nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total)

        def show(done: float, total: float | None = None, /) -> None:
            progress.update(task, completed=done, total=total)  # a total of None leaves it as it is

        yield show


@contextmanager
def working(description: str) -> Iterator[None]:
    """A spinner for what has no length, such as loading a model; it is gone when the block ends."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(description):
        yield


def _show_nothing(done: float, total: float | None = None, /) -> None:
    pass
