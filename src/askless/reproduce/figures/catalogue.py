"""The figures by name: what each shows, and how its files are made."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from askless.datasets.whole import write_whole
from askless.errors import InvalidInput
from askless.reproduce.figures.style import FORMATS, look, plain, rendered
from askless.reproduce.run import STORE
from askless.reproduce.store import RowStore
from askless.streams.stream import as_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from askless.reproduce.figures.group_sizes import GroupSizes
    from askless.reproduce.jobs import Labelled

Progress: TypeAlias = Callable[[int, int], None]  # steps done, steps in all
Drawings: TypeAlias = Iterator[tuple[str, "Figure"]]  # names of files without a suffix

FIGURES = {
    "voronoi-sphere": "Voronoi cells on the sphere, and the gnomonic projection of one of them",
    "hulls": "CHC's hulls after 200 queries in the unit square",
    "regions": "GHC's decision regions after 250 queries for nine thresholds, uniform and mixture",
    "regret-rounds": "Regret against the round, with bands",
    "regret-tau": "Regret against the threshold, with bands",
    "group-sizes": "Histogram of the number of questions per label",
    "lower-bound": "The construction behind the lower bound in dimension one",
}
REGRET = ("regret-rounds", "regret-tau")
ON_A_FILE = (*REGRET, "group-sizes")  # on the user's file, where there is one


@dataclass(frozen=True, slots=True)
class Request:
    """What figures are made from. `folder` holds the rows of runs; `data` and `groups` are the user's labelled file.

    Where `data` or `groups` is None, the sample that comes with askless stands for it.
    """

    folder: Path
    seed: int = 0
    quick: bool = False
    jobs: int = 1
    data: Labelled | None = None
    groups: GroupSizes | None = None
    source: str = "your file"
    progress: Progress | None = None

    def __post_init__(self) -> None:
        as_whole(self.seed, 0, "--seed")
        if self.jobs == 0:
            raise InvalidInput("--jobs is the number of runs at a time, or -1 for every core; found 0.")


def known_figure(name: str) -> str:
    """The name, where a figure has it."""
    if name in FIGURES:
        return name
    close = difflib.get_close_matches(name.lower(), FIGURES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InvalidInput(f"No figure is named {name!r}.{hint} The figures are {', '.join(FIGURES)}.")


def make_figure(name: str, request: Request, folder: Path) -> list[Path]:
    """Write the files of a figure into `folder`, an .svg and a .png for each drawing, and return where they are.

    The same request gives the same bytes. A file is written whole or not at all.
    """
    drawings = _DRAWERS[known_figure(name)](request)
    written = []
    with look():
        for stem, figure in drawings:
            files = {kind: rendered(figure, kind) for kind in FORMATS}
            written += [write_whole(folder / f"{stem}.{kind}", contents) for kind, contents in files.items()]
    return written


def _voronoi_sphere(request: Request) -> Drawings:
    from askless.reproduce.figures.voronoi_sphere import draw_tessellation, tessellation

    yield "voronoi-sphere", draw_tessellation(tessellation(request.seed))


def _hulls(request: Request) -> Drawings:
    from askless.reproduce.figures.hulls import draw_hulls, hulls

    yield "hulls", draw_hulls(*hulls(request.seed))


def _regions(request: Request) -> Drawings:
    from askless.reproduce.figures.regions import CELLS, QUICK_CELLS, TAUS, draw_regions, regions

    kinds, done = ("uniform", "mixture"), -1
    cells = QUICK_CELLS if request.quick else CELLS

    def advance() -> None:
        nonlocal done
        done += 1
        if request.progress is not None:
            request.progress(done, len(kinds) * len(TAUS))

    advance()  # shows that nothing is done yet
    for kind in kinds:
        panels = regions(kind, request.seed, cells=cells, jobs=request.jobs, done=advance)
        yield f"regions-{kind}", draw_regions(kind, panels)


def _regret_rounds(request: Request) -> Drawings:
    from askless.reproduce.figures.regret import QUICK, Size, rounds_on_file, rounds_on_setting, sample
    from askless.reproduce.figures.regret_plot import draw_rounds

    size, data = QUICK if request.quick else Size(), request.data or sample()
    setting = rounds_on_setting(request.seed, size, request.jobs)
    with RowStore(request.folder / STORE) as store:
        file = rounds_on_file(data, request.seed, size, request.jobs, store, request.progress)
    yield "regret-rounds", draw_rounds(setting, file, data, _source(request), size)


def _regret_tau(request: Request) -> Drawings:
    from askless.reproduce.figures.regret import QUICK, Size, sample, taus_on_file, taus_on_setting
    from askless.reproduce.figures.regret_plot import draw_taus

    size, data = QUICK if request.quick else Size(), request.data or sample()
    with RowStore(request.folder / STORE) as store:
        setting = taus_on_setting(request.seed, size, request.jobs, store, request.progress)
        file = taus_on_file(data, request.seed, size, request.jobs, store, request.progress)
    yield "regret-tau", draw_taus(setting, file, data, _source(request), size)


def _source(request: Request) -> str:
    return plain(request.source) if request.data is not None else "askless's support questions, wordllama"


def _group_sizes(request: Request) -> Drawings:
    from askless.reproduce.figures.group_sizes import draw_group_sizes, sample_groups

    yield "group-sizes", draw_group_sizes(request.groups or sample_groups())


def _lower_bound(request: Request) -> Drawings:
    from askless.reproduce.figures.lower_bound import construction, draw_construction

    yield "lower-bound", draw_construction(construction(request.seed))


_DRAWERS: dict[str, Callable[[Request], Drawings]] = {
    "voronoi-sphere": _voronoi_sphere,
    "hulls": _hulls,
    "regions": _regions,
    "regret-rounds": _regret_rounds,
    "regret-tau": _regret_tau,
    "group-sizes": _group_sizes,
    "lower-bound": _lower_bound,
}
