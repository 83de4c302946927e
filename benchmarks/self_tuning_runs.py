"""The runs behind the rows of the self-tuning policy: one policy on one stream, kept once it is done."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

import askless.policies
from askless.policies.named import make_policy
from askless.policies.self_tuning import SelfTuning
from askless.replay.data import Vectored
from askless.replay.protocol import Order, ordered_rows
from askless.reproduce.jobs import STREAM_VERSION, VERSIONS, SyntheticStream
from askless.reproduce.paper import N_LABELS
from askless.reproduce.store import RowStore
from askless.simulate import simulate
from askless.types import Costs, Decision, ExampleId, Guess, Label, Policy

OURS = "self-tuning"
STORE = "runs.sqlite"
TEXTS_A_LABEL = 3
Outcome: TypeAlias = dict[str, Any]  # calls, mistakes; of our runs also `sure` and `right`, a figure for each guess
_SOURCES = (
    "self_tuning",
    "lookahead",
    "hull_rule",
    "history",
    "guessed_labels",
    "whole_regression",
    "neighbourhoods",
    "neighbourhood_kernels",
    "regression_kernels",
    "candidate_kernels",
    "label_members",
    "choice_model",
    "answer_value",
    "ordered_examples",
)


@dataclass(frozen=True, slots=True)
class TextRun:
    """A policy on the texts of one pair, in the order of one seed.

    `kind` is "first" (an example of each label given, their number told), "cold" (nothing is known), or "few" (cold,
    three texts of each label). `wrong` is what a wrong guess earns, or None for a policy that does not look at it.
    """

    pair: str
    policy: str
    seed: int
    kind: str = "first"
    rounds: int = 6000
    wrong: float | None = None
    error_rate: float = 0.0
    delay: int = 0

    def key(self, data: Vectored | None) -> str:
        """The address of what it gave: a digest of all that it depends on."""
        return _digest(asdict(self) | {"data": "" if data is None else data.digest}, self.policy)

    def play(self, data: Vectored | None) -> Outcome:
        """What came of it. A text of which the embedder knows nothing is asked, whatever the policy."""
        if data is None:
            raise ValueError("A run on texts needs their vectors; pass the pair's data.")
        order = self._order(data)
        known, given = (rows[data.known[rows]] for rows in (order.stream, order.given))
        policy = self._policy(len(data.classes) if self.kind == "first" else None)
        for row in given:
            policy.learn(data.vectors[row], data.labels[row])
        labels = [data.labels[row] for row in known]
        return _outcome(
            policy, data.vectors[known], labels, len(order.stream) - len(known), seed=self.seed, delay=self.delay,
            error_rate=self.error_rate,
        )  # fmt: skip

    def _order(self, data: Vectored) -> Order:
        if self.kind == "few":
            return Order(np.zeros(0, dtype=np.intp), few_texts(data.labels, self.seed))
        return ordered_rows(data.labels, seed=self.seed, rounds=self.rounds, first_examples=self.kind == "first")

    def _policy(self, n_labels: int | None) -> Policy:
        costs = Costs() if self.wrong is None else Costs(wrong=self.wrong)
        return make_policy(self.policy, costs=costs, n_labels=n_labels, space="sphere")


@dataclass(frozen=True, slots=True)
class SyntheticRun:
    """A policy on one of the paper's synthetic streams."""

    stream: SyntheticStream
    policy: str

    def key(self, data: Vectored | None) -> str:
        """The address of what it gave."""
        return _digest(asdict(self) | {"stream_version": STREAM_VERSION}, self.policy)

    def play(self, data: Vectored | None) -> Outcome:
        """What came of it."""
        made = self.stream.make()
        policy = make_policy(self.policy, costs=Costs(), n_labels=N_LABELS, space=made.space)
        return _outcome(policy, made.X, np.asarray(made.y).tolist(), 0)


Run: TypeAlias = TextRun | SyntheticRun


def regret(outcome: Outcome, costs: Costs) -> float:
    """What its questions and mistakes cost."""
    return float(costs.question * outcome["calls"] + costs.mistake * outcome["mistakes"])


def few_texts(labels: list[str], seed: int) -> NDArray[np.intp]:
    """Rows with three texts of each label, or all where it has fewer, drawn and shuffled by the seed."""
    rng, names = np.random.default_rng(seed), np.asarray(labels)
    drawn = [rng.permutation(np.flatnonzero(names == name))[:TEXTS_A_LABEL] for name in sorted(set(labels))]
    return rng.permutation(np.concatenate(drawn))


def split_in_two(data: Vectored, without: str) -> Vectored:
    """Each label cut in two by k-means over its texts' vectors; the label `without` is left out."""
    from sklearn.cluster import KMeans

    kept = np.flatnonzero((np.asarray(data.labels) != without) & data.known)
    vectors, names = data.vectors[kept], np.asarray(data.labels)[kept]
    labels = [""] * len(kept)
    for name in sorted(set(names.tolist())):
        own = np.flatnonzero(names == name)
        halves = KMeans(2, n_init=4, random_state=0).fit_predict(vectors[own])
        for row, half in zip(own.tolist(), halves.tolist(), strict=True):
            labels[row] = f"{name} {half + 1}"
    texts = [data.texts[row] for row in kept]
    return replace(data, name=f"{data.name}, labels split", texts=texts, labels=labels, vectors=vectors)


def play_all(runs: Iterable[Run], data: Vectored | None, folder: Path, workers: int) -> dict[Run, Outcome]:
    """What came of all runs; each is kept in the folder as it ends, and not played again."""
    keys = {run: run.key(data) for run in runs}
    with RowStore(folder / STORE) as store:
        found = store.rows()
        todo = [run for run, key in keys.items() if key not in found]
        for done, (run, outcome) in enumerate(_played(todo, data, workers), start=1):
            store.put(keys[run], outcome)
            found[keys[run]] = outcome
            if sys.stderr.isatty():
                print(f"\r{done} of {len(todo)} runs ", end="", file=sys.stderr, flush=True)
    return {run: found[key] for run, key in keys.items()}


def _played(todo: list[Run], data: Vectored | None, workers: int) -> Iterator[tuple[Run, Outcome]]:
    if workers == 1 or len(todo) < 2:
        yield from ((run, run.play(data)) for run in todo)
        return
    from joblib import Parallel, delayed, parallel_config

    from askless.geometry.labels import warm_up

    for kind in ("float32", "float64"):
        warm_up(kind)  # compiles the kernels, if need be, once and not in every worker
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
        yield from parallel(delayed(_play_elsewhere)(run, data) for run in todo)


def _play_elsewhere(run: Run, data: Vectored | None) -> tuple[Run, Outcome]:
    return run, run.play(data)


def _outcome(policy: Policy, X: NDArray[Any], y: list[Label], unknown: int, **options: Any) -> Outcome:
    """Play, and count; `unknown` more queries are asked without the policy."""
    watched = _Watched(policy) if isinstance(policy, SelfTuning) else None
    trace = simulate(watched or policy, X, y, **options)
    found = {"calls": int(trace.asked.sum()) + unknown, "mistakes": int(trace.mistakes[-1]), "seconds": trace.seconds}
    if watched is None:
        return found
    guessed = ~trace.asked
    return found | {"sure": watched.sure, "right": trace.correct[guessed].astype(int).tolist()}


class _Watched:
    """A policy whose guesses are noted with their probabilities; otherwise it is the policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.sure: list[float] = []

    def decide(self, x: ArrayLike) -> Decision:
        return self._policy.decide(x)

    def observe(self, x: ArrayLike, decision: Decision) -> None:
        self._policy.observe(x, decision)
        if isinstance(decision, Guess) and decision.probability is not None:
            self.sure.append(round(float(decision.probability), 6))

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        return self._policy.learn(x, label, id)

    def forget(self, id: ExampleId) -> None:
        self._policy.forget(id)

    def relabel(self, id: ExampleId, label: Label) -> None:
        self._policy.relabel(id, label)


def _digest(parameters: dict[str, Any], policy: str) -> str:
    version = _source() if policy == OURS else VERSIONS["ghc"]
    text = json.dumps(parameters | {"version": version}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _source() -> str:
    """A digest of what decides, so that runs of an earlier version are not taken for this one's."""
    folder = Path(next(iter(askless.policies.__path__)))
    found = hashlib.sha256()
    for name in _SOURCES:
        found.update((folder / f"{name}.py").read_bytes())
    return found.hexdigest()
