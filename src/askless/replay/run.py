"""All runs of a replay, each kept as soon as it is done, and the entries of its table."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple, TypeAlias

from askless.errors import InvalidInput
from askless.replay.data import Vectored
from askless.replay.peers.table import PEERS, Peer
from askless.replay.play import Contender, Row, Run, source_digest
from askless.replay.protocol import Setting
from askless.reproduce.store import RowStore
from askless.trace import Trace
from askless.workers import parallel

Progress: TypeAlias = Callable[[int, int], None]  # runs done now, runs to do
STORE = "rows.sqlite"


class Figure(NamedTuple):
    """A mean over the runs and their standard deviation, which is 0 for a single run."""

    mean: float
    deviation: float


class Played(NamedTuple):
    """A run, its trace, and the row of the store that both came from."""

    run: Run
    trace: Trace
    row: Row


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of the table: a policy, or of a method that was swept the value with the lowest mean regret.

    `runs` holds a run for each seed. `of` counts the values that were tried.
    """

    contender: Contender
    of: int
    at_end: bool  # the best value is the first or the last that was tried
    runs: tuple[Played, ...]

    @property
    def title(self) -> str:
        """What the table calls it."""
        peer = None if self.contender.peer is None else PEERS[self.contender.peer]
        if peer is not None:
            return f"{peer.title}, {peer.parameter} {self.contender.value:g}"
        return self.contender.spec

    @property
    def choice(self) -> str:
        """How its value came about."""
        if self.of == 1:
            return ""
        return f"best of {self.of} in hindsight" + (", at the end of the range" if self.at_end else "")

    @property
    def note(self) -> str:
        """What to know when reading its figures."""
        return "" if self.contender.peer is None else PEERS[self.contender.peer].note

    def figure(self, name: str) -> Figure:
        """One of the figures of `Trace.summary`, or `seconds`, over the runs."""
        traces = [played.trace for played in self.runs]
        values = [trace.seconds if name == "seconds" else float(trace.summary()[name]) for trace in traces]
        return Figure(mean(values), stdev(values) if len(values) > 1 else 0.0)


class Outcome(NamedTuple):
    """The lines of the table, and every run behind them."""

    entries: list[Entry]
    played: list[Played]


def contenders(
    policies: Sequence[str], data: Vectored, setting: Setting, peers: Sequence[Peer] = (), taus: Sequence[float] = ()
) -> list[Contender]:
    """What is compared: the policies, GHC at each of `taus`, and the alternatives at each of their values.

    Every policy is made once, so that a name that does not work is refused before the first run.
    """
    order = setting.order(data.labels, 0)
    named = []
    for spec in dict.fromkeys(policies):
        contender = Contender(spec, spec)
        named.append(replace(contender, source=source_digest(contender.make(data, setting, order, 0))))
    swept = [Contender(f"ghc:{tau:g}", "GHC", tau) for tau in taus]
    others = [
        Contender(f"{peer.name}:{value:g}", peer.name, value, peer.name) for peer in peers for value in peer.values
    ]
    return [*named, *swept, *others]


def replay(
    chosen: Sequence[Contender],
    data: Vectored,
    setting: Setting,
    seeds: Sequence[int],
    folder: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Outcome:
    """What became of all contenders; only the runs that the folder does not hold yet are played.

    Each run is in the folder's store before the next is taken, so that an interrupted replay goes on where it was.
    The result does not depend on `jobs`, the number of runs at a time (-1: one a core).
    """
    if jobs == 0:
        raise InvalidInput("--jobs is the number of runs at a time, or -1 for every core; found 0.")
    plan = {(one, seed): Run(one, setting, seed) for one in chosen for seed in seeds}
    keys = {place: run.key(data) for place, run in plan.items()}
    with RowStore(folder / STORE) as store:
        rows = store.rows()
        todo = {key: plan[place] for place, key in keys.items() if key not in rows}
        if progress is not None:
            progress(0, len(todo))
        for done, (key, row) in enumerate(_played(todo, data, jobs), start=1):
            store.put(key, row)
            rows[key] = row
            if progress is not None:
                progress(done, len(todo))
    played = [Played(run, run.trace(rows[keys[place]], data), rows[keys[place]]) for place, run in plan.items()]
    return Outcome(_entries(chosen, played), played)


def _played(todo: dict[str, Run], data: Vectored, jobs: int) -> Iterator[tuple[str, Row]]:
    from askless.geometry.labels import warm_up

    if todo:
        warm_up("float32")  # compiles the kernels, if need be, once and not in every worker
    if jobs == 1 or len(todo) < 2:
        for key, run in todo.items():
            yield key, run.play(data)
        return
    from joblib import delayed

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped", UserWarning)  # joblib replaces one that grew, and goes on
        yield from parallel(jobs, in_order=False)(
            delayed(_play_elsewhere)(key, run, data, sys.path) for key, run in todo.items()
        )


def _play_elsewhere(key: str, run: Run, data: Vectored, path: list[str]) -> tuple[str, Row]:
    """Play in a worker, which may have started before the caller learned where to find some module."""
    sys.path.extend(folder for folder in path if folder not in sys.path)
    return key, run.play(data)


def _entries(chosen: Sequence[Contender], played: Sequence[Played]) -> list[Entry]:
    """An entry for each family, in their order."""
    entries = []
    for family in dict.fromkeys(one.family for one in chosen):
        members = [one for one in chosen if one.family == family]
        runs = {one: tuple(p for p in played if p.run.contender == one) for one in members}
        best = min(members, key=lambda one: mean(float(p.trace.regret[-1]) for p in runs[one]))
        at_end = len(members) > 2 and best in (members[0], members[-1])
        entries.append(Entry(best, len(members), at_end, runs[best]))
    return entries
