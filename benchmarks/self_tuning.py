"""The self-tuning policy's regret against GHC at its best tau in hindsight, and how true its probabilities are."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from askless.datasets.catalogue import load_dataset
from askless.embed.cache import CachedEmbedder, EmbeddingCache
from askless.embed.named import make_embedder
from askless.errors import MissingExtra
from askless.replay.data import Vectored, vectored
from askless.replay.protocol import TAUS
from askless.reproduce.jobs import SyntheticStream
from askless.reproduce.paper import ROUNDS, Setting, synthetic_cells
from askless.types import Costs
from benchmarks.rows import AT_MOST, Row
from benchmarks.self_tuning_runs import OURS, Outcome, SyntheticRun, TextRun, play_all, regret, split_in_two

PAIRS = ("banking77-minilm", "banking77-wordllama", "clinc150-minilm", "clinc150-wordllama")
FEW = {"self-tuning-few-texts-minilm": PAIRS[2], "self-tuning-few-texts-wordllama": PAIRS[3]}
OUT_OF_SCOPE = "oos"
SETTINGS = tuple(dict.fromkeys(c.setting for c in synthetic_cells() if c.setting.dim >= 4))
BINS = 15
SLOPE, FREE = 1.05, 60.0  # of the bound on the synthetic streams: so many times the best tau, and so much more


@dataclass(frozen=True)
class Size:
    """How much is run: the orders of the texts (none of which served to choose anything), and their rounds."""

    seeds: tuple[int, ...] = (200, 201, 202, 203, 204)
    rounds: int = 6000
    taus: tuple[float, ...] = TAUS
    draws: int = 5
    synthetic_rounds: int = ROUNDS
    synthetic_taus: tuple[float, ...] = tuple(k / 10 for k in range(11))
    workers: int = 2


FULL = Size()
QUICK = Size((200,), 100, (0.7, 0.85), 1, 80, (0.4, 0.9), 1)
QUICK_LABELS = 8


@dataclass(frozen=True)
class Trial:
    """A way of running the four pairs, and the ratios that it should reach: their geometric mean, and each of them."""

    run: TextRun
    mean: float
    each: float | None = None
    costs: Costs = field(default_factory=Costs)


class Side(NamedTuple):
    """One pair: our mean regret, GHC's with the best tau of each stream, what else was seen, and what is behind it."""

    ours: float
    other: float
    detail: str
    runs: list[Outcome]  # ours
    swept: dict[float, float]  # GHC's mean regret at each tau

    @property
    def ratio(self) -> float:
        """Ours over GHC's."""
        return self.ours / self.other


def _trial(mean: float, each: float | None = None, costs: Costs | None = None, **changes: float | str) -> Trial:
    return Trial(replace(TextRun("", "", 0), **changes), mean, each, costs or Costs())  # type: ignore[arg-type]


TRIALS = {
    "self-tuning-first": _trial(0.85, 0.95),
    "self-tuning-cold": _trial(0.85, 0.95, kind="cold"),
    "self-tuning-mistake-3": _trial(0.95, costs=Costs(wrong=-2.0)),
    "self-tuning-mistake-51": _trial(0.95, costs=Costs(wrong=-50.0)),
    "self-tuning-wrong-answers": _trial(0.95, error_rate=0.05),
    "self-tuning-late-answers": _trial(0.95, delay=50),
}
CALIBRATION = 0.03
_MEANS = "mean regret over the mean of GHC's at its best tau in hindsight"


def names_of(trial: str) -> tuple[str, ...]:
    """The rows that a trial gives."""
    if TRIALS[trial].each is None:
        return (trial,)
    kind = TRIALS[trial].run.kind
    return (trial, *(f"{trial}-{p}" for p in PAIRS), *(f"self-tuning-calibration-{kind}-{p}" for p in PAIRS))


def synthetic_name(setting: Setting) -> str:
    """The name of a setting's row."""
    return f"self-tuning-{setting.space}-d{setting.dim}-{setting.distribution}"


# -- texts --------------------------------------------------------------------------------------------------------
def trial(name: str, quick: bool, folder: Path | None) -> Iterator[Row]:
    """The ratio of the regrets for each pair, and their geometric mean; where each has a bound, the calibration too."""
    size, chosen = _size(quick), TRIALS[name]
    found, repeats = sides(name, quick, folder), len(size.seeds)
    if len(found) == len(PAIRS):
        ours, other = (_geometric_mean(one) for one in zip(*((s.ours, s.other) for s in found.values()), strict=True))
        detail = ", ".join(f"{pair} {side.ratio:.3f}" for pair, side in found.items())
        measure = "regret over GHC's at its best tau in hindsight, geometric mean of four pairs"
        yield _row(name, _text(size), measure, ours / other, chosen.mean, ours, other, repeats, detail, quick)
    if chosen.each is None:
        return
    for pair, side in found.items():
        label, bound = f"{name}-{pair}", chosen.each
        yield _row(label, _text(size), _MEANS, side.ratio, bound, side.ours, side.other, repeats, side.detail, quick)
    for pair, side in found.items():
        label = f"self-tuning-calibration-{chosen.run.kind}-{pair}"
        error = float(np.mean([calibration_error(run) for run in side.runs]))
        detail = f"{sum(len(run['sure']) for run in side.runs):,} guesses in all"
        measure = f"calibration error of the guesses, {BINS} bins of equal mass"
        yield _row(label, _text(size), measure, error, CALIBRATION, error, 1.0, repeats, detail, quick)


def sides(name: str, quick: bool, folder: Path | None) -> dict[str, Side]:
    """What a trial gave, by pair."""
    with _kept(folder) as place:
        return {pair: _played(pair, data, TRIALS[name], _size(quick), place) for pair, data in _pairs(quick)}


def few_texts(name: str, quick: bool, folder: Path | None) -> Iterator[Row]:
    """Many labels with three texts each: CLINC150's in-scope labels, each cut in two."""
    size, pair = _size(quick), FEW[name]
    for found, data in _pairs(quick, (pair,)):
        chosen = _trial(0.95, 0.95, kind="few")
        with _kept(folder) as place:
            side = _played(found, split_in_two(data, OUT_OF_SCOPE), chosen, size, place)
        text = f"{len(size.seeds)} draws of three texts a label, cold"
        yield _row(name, text, _MEANS, side.ratio, 0.95, side.ours, side.other, len(size.seeds), side.detail, quick)


def _played(pair: str, data: Vectored, chosen: Trial, size: Size, place: Path) -> Side:
    """Play the pair with our policy and with every tau."""
    base, wrong = replace(chosen.run, pair=pair, rounds=size.rounds), chosen.costs.wrong
    ours = [replace(base, policy=OURS, seed=seed, wrong=wrong) for seed in size.seeds]
    swept = {(s, tau): replace(base, policy=f"ghc:{tau:g}", seed=s) for s in size.seeds for tau in size.taus}
    outcomes = play_all([*ours, *swept.values()], data, place, size.workers)
    found = {at: regret(outcomes[run], chosen.costs) for at, run in swept.items()}
    mine = [regret(outcomes[run], chosen.costs) for run in ours]
    best = [min(size.taus, key=lambda tau: found[s, tau]) for s in size.seeds]
    other = [found[at] for at in zip(size.seeds, best, strict=True)]
    ratios = ", ".join(f"{a / b:.3f}" for a, b in zip(mine, other, strict=True))
    detail = f"by order: {ratios}; best taus {', '.join(f'{tau:g}' for tau in dict.fromkeys(best))}"
    means = {tau: float(np.mean([found[s, tau] for s in size.seeds])) for tau in size.taus}
    return Side(float(np.mean(mine)), float(np.mean(other)), detail, [outcomes[run] for run in ours], means)


def calibration_error(outcome: Outcome) -> float:
    """The mean distance between how sure the guesses were and how many were right, over bins of equal mass."""
    sure, right = np.array(outcome["sure"]), np.array(outcome["right"], dtype=float)
    if not len(sure):
        return 0.0
    order = np.argsort(sure, kind="stable")
    bins = np.array_split(order, min(BINS, len(order)))
    return float(sum(len(b) * abs(sure[b].mean() - right[b].mean()) for b in bins) / len(sure))


# -- the paper's streams ----------------------------------------------------------------------------------------------
def synthetic(setting: Setting, quick: bool, folder: Path | None) -> Iterator[Row]:
    """By how much the regret exceeds 1.05 times that of the best tau plus 60."""
    size = _size(quick)
    streams = [SyntheticStream(setting, size.synthetic_rounds, draw, 0) for draw in range(size.draws)]
    specs = [OURS, *(f"ghc:{tau:g}" for tau in size.synthetic_taus)]
    runs = {(k, spec): SyntheticRun(stream, spec) for k, stream in enumerate(streams) for spec in specs}
    with _kept(folder) as place:
        outcomes = play_all(runs.values(), None, place, size.workers)
    found = {at: regret(outcomes[run], Costs()) for at, run in runs.items()}
    mine = [found[k, OURS] for k in range(size.draws)]
    best = [min(found[k, spec] for spec in specs[1:]) for k in range(size.draws)]
    ours, other = float(np.mean(mine)), float(np.mean([SLOPE * b + FREE for b in best]))
    detail = "by draw, ours / best tau: " + ", ".join(f"{a:.0f} / {b:.0f}" for a, b in zip(mine, best, strict=True))
    text = f"T={size.synthetic_rounds:,}, 5 labels"
    measure = f"regret less {SLOPE:g} times GHC's at its best tau in hindsight and {FREE:g}"
    yield _row(synthetic_name(setting), text, measure, ours - other, 0.0, ours, other, size.draws, detail, quick)


# -- parts ------------------------------------------------------------------------------------------------------------
def _row(
    name: str, size: str, measure: str, value: float, bound: float, ours: float, other: float, repeats: int,
    detail: str, quick: bool,
) -> Row:  # fmt: skip
    return Row(name, size, measure, value, AT_MOST, bound, ours, other, "", repeats, detail, quick)


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _size(quick: bool) -> Size:
    return QUICK if quick else FULL


def _text(size: Size) -> str:
    return f"first {size.rounds:,} texts of {len(size.seeds)} orders"


@contextmanager
def _kept(folder: Path | None) -> Iterator[Path]:
    """The folder for finished runs, or one that goes away at the end."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def _pairs(quick: bool, wanted: Sequence[str] = PAIRS) -> Iterator[tuple[str, Vectored]]:
    """The pairs that can be made here, one at a time; a note says which one is left out."""
    for pair in wanted:
        try:
            yield pair, _small(pair) if quick else load_pair(pair)
        except MissingExtra as problem:
            print(f"{pair} is left out: {problem}", file=sys.stderr)


@cache
def load_pair(pair: str) -> Vectored:
    """The data set with its vectors; those made before come from the cache."""
    name, _, spec = pair.partition("-")
    texts = load_dataset(name)
    embedder = CachedEmbedder(make_embedder(spec), EmbeddingCache())
    return vectored(name, texts.texts, texts.labels, embedder)


@cache
def _small(pair: str) -> Vectored:
    """A few labels of the sample that comes with askless, in place of any pair."""
    sample = load_dataset("support-questions")
    kept = sorted(set(sample.labels))[:QUICK_LABELS]
    texts, labels = zip(*(row for row in zip(sample.texts, sample.labels, strict=True) if row[1] in kept), strict=True)
    dims: Mapping[str, int] = dict(zip(PAIRS, (64, 128, 64, 128), strict=True))
    return vectored(pair, texts, labels, make_embedder(f"wordllama:{dims[pair]}"))
