"""Regret against the round and against the threshold, each with a band of one deviation.

The paper draws both on Quora Question Groups, which is not distributed. Here the left panel is one of its synthetic
settings, with the means of its tables beside ours, and the right panel a labelled file in the paper's form: the sample
that comes with askless, or the user's own. [Réveillard et al. 2026, section 5 and appendix F]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askless.reproduce.execute import Progress, run_jobs
from askless.reproduce.file_tables import AMP_THRESHOLDS, NEAREST_THRESHOLDS
from askless.reproduce.jobs import FileStream, Job, Labelled, SyntheticStream
from askless.reproduce.paper import DATA_SETS, FILE_RUNS, N_LABELS, ROUNDS, Figure, Setting, synthetic_cells
from askless.reproduce.store import Row, RowStore
from askless.reproduce.tables import AMP_THRESHOLDS as SYNTHETIC_AMP_THRESHOLDS
from askless.simulate import Job as Run
from askless.simulate import simulate_many
from askless.streams.stream import Stream

SETTING = Setting("sphere", 10, "uniform")
QUICK_ROUNDS, QUICK_RUNS = 500, 2
TAUS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
# name in the figure: how the policy is written before its threshold, and the thresholds on the setting and on a file
FAMILIES = {
    "GHC": ("ghc", TAUS, NEAREST_THRESHOLDS),
    "nearest-query GHC": ("ghc-nearest", TAUS, NEAREST_THRESHOLDS),
    "AMP": ("amp", SYNTHETIC_AMP_THRESHOLDS, AMP_THRESHOLDS),
}
# The parameters with the lowest regret in the paper's tables; AMP's is not in them, and is the one that is lowest here.
POLICIES: dict[str, tuple[str, str, float | str | None]] = {
    "GHC": ("ghc:0.6", "GHC", 0.6),
    "AMP": ("amp:0.95", "AMP", "best of 0.05k"),
    "CHC": ("chc", "CHC", 0.0),
    "CC": ("cc:108", "CC", 108.0),
    "SKM": ("skm", "SKM", None),
}
_OTHERS_ON_A_FILE = {"CC": "cc:0", "SKM": "skm"}  # without a threshold to choose
_POINTS = 240


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run: rounds and data sets of the setting, runs on the file and their rounds (None: all rows)."""

    rounds: int = ROUNDS
    data_sets: int = DATA_SETS
    file_runs: int = FILE_RUNS
    file_rounds: int | None = None


QUICK = Size(QUICK_ROUNDS, QUICK_RUNS, QUICK_RUNS, QUICK_ROUNDS)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One line of a figure: a row of regrets for each run, at these rounds or thresholds, and the paper's figures."""

    name: str
    at: NDArray[np.float64]
    runs: NDArray[np.float64]
    paper: Mapping[float, Figure]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Over the runs."""
        return np.asarray(self.runs.mean(axis=0))

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Over the runs, as the tables have it."""
        return np.asarray(self.runs.std(axis=0))


@dataclass(frozen=True, slots=True)
class _Given:
    """A stream that is made where the run is, and depends on no generator."""

    stream: SyntheticStream

    def __call__(self, *, rng: np.random.Generator) -> Stream:
        return self.stream.make()


def rounds_on_setting(seed: int, size: Size, jobs: int) -> list[Curve]:
    """Regret against the round on the paper's setting; the label seeds are those of draw `seed` of the tables."""
    runs = [
        Run(policy, _Given(SyntheticStream(SETTING, size.rounds, seed, k)), name=name, n_labels=N_LABELS)
        for name, (policy, _, _) in POLICIES.items()
        for k in range(size.data_sets)
    ]
    traces = simulate_many(runs, n_jobs=jobs)
    at = np.unique(np.linspace(1, size.rounds, _POINTS).astype(np.intp))
    curves = []
    for name, (policy, algorithm, parameter) in POLICIES.items():
        regrets = np.array([trace.regret[at - 1] for trace in traces if trace.policy == name])
        end = _paper(algorithm, size).get(parameter)
        paper = {} if end is None else {float(size.rounds): end}
        curves.append(Curve(_shown(name, policy), at.astype(np.float64), regrets, paper))
    return curves


def taus_on_setting(seed: int, size: Size, jobs: int, store: RowStore, progress: Progress | None) -> list[Curve]:
    """Regret after the last round against the threshold, on the paper's setting."""
    streams = [SyntheticStream(SETTING, size.rounds, seed, k) for k in range(size.data_sets)]
    plan = {
        name: [[Job(_policy(kind, tau), stream) for tau in taus] for stream in streams]
        for name, (kind, taus, _) in FAMILIES.items()
    }
    rows = run_jobs(_flat(plan.values()), store, workers=jobs, progress=progress)
    papers = {
        "GHC": _paper("CHC", size) | _paper("GHC", size),
        "nearest-query GHC": _paper("GHC-nearest", size),
        "AMP": {},  # the paper does not say which threshold is the best
    }
    return [
        Curve(name, np.array(FAMILIES[name][1]), _regrets(grid, rows), _by_threshold(papers[name]))
        for name, grid in plan.items()
    ]


def taus_on_file(
    data: Labelled, seed: int, size: Size, jobs: int, store: RowStore, progress: Progress | None
) -> list[Curve]:
    """Regret after the last round against the threshold, on a labelled file."""
    plan = _file_plan(data, seed, size)
    rows = run_jobs(_flat(plan.values()), store, workers=jobs, data=data, progress=progress)
    return [
        Curve(name, np.array(thresholds), _regrets(plan[name], rows), {})
        for name, (_, _, thresholds) in FAMILIES.items()
    ]


def rounds_on_file(
    data: Labelled, seed: int, size: Size, jobs: int, store: RowStore, progress: Progress | None
) -> list[Curve]:
    """Regret against the round on a labelled file, every policy at its best threshold."""
    plan = _file_plan(data, seed, size)
    streams = _file_streams(data, seed, size)
    others = {name: [[Job(policy, stream)] for stream in streams] for name, policy in _OTHERS_ON_A_FILE.items()}
    plan |= others
    rows = run_jobs(_flat(plan.values()), store, workers=jobs, data=data, progress=progress)
    curves = []
    for name, grid in plan.items():
        best = int(_regrets(grid, rows).mean(axis=0).argmin())
        found = np.array([rows[line[best].key()]["curve"] for line in grid])
        curves.append(Curve(_shown(name, grid[0][best].policy), found[0, :, 0], found[:, :, 1], {}))
    return curves


def sample() -> Labelled:
    """The support questions that come with askless, embedded."""
    from askless.datasets.sample import support_questions
    from askless.embed.wordllama import WordLlama
    from askless.reproduce.labelled import labelled

    texts, labels = support_questions()
    return labelled(WordLlama().embed(texts), labels)


def _file_streams(data: Labelled, seed: int, size: Size) -> list[FileStream]:
    rounds = None if size.file_rounds is None else min(size.file_rounds, data.rounds)
    first = seed * size.file_runs
    return [FileStream(data.digest, "sphere", first + k, rounds) for k in range(size.file_runs)]


def _file_plan(data: Labelled, seed: int, size: Size) -> dict[str, list[list[Job]]]:
    """By family: a line for each run, with a job for each threshold."""
    return {
        name: [[Job(_policy(kind, tau), stream) for tau in thresholds] for stream in _file_streams(data, seed, size)]
        for name, (kind, _, thresholds) in FAMILIES.items()
    }


def _policy(kind: str, tau: float) -> str:
    """The name under which the tables know this policy, so that both share their rows."""
    return "chc" if (kind, tau) == ("ghc", 0.0) else f"{kind}:{tau:g}"


def _flat(plans: Iterable[Sequence[Sequence[Job]]]) -> list[Job]:
    return [job for grid in plans for line in grid for job in line]


def _regrets(grid: Sequence[Sequence[Job]], rows: Mapping[str, Row]) -> NDArray[np.float64]:
    return np.array([[float(rows[job.key()]["regret"]) for job in line] for line in grid])


def _paper(algorithm: str, size: Size) -> dict[float | str | None, Figure]:
    """The paper's regrets of an algorithm on the setting, by parameter; none where fewer rounds are run."""
    cells = synthetic_cells() if size.rounds == ROUNDS else ()
    return {cell.parameter: cell.regret for cell in cells if cell.setting == SETTING and cell.algorithm == algorithm}


def _by_threshold(figures: Mapping[float | str | None, Figure]) -> dict[float, Figure]:
    return {float(tau): figure for tau, figure in figures.items() if isinstance(tau, (int, float))}


def _shown(name: str, policy: str) -> str:
    """A policy's name in the legend, with its parameter."""
    value = policy.partition(":")[2]
    if not value:
        return "CHC" if policy == "chc" else name
    return f"{name}, {'C' if name == 'CC' else 'τ'}={value}"
