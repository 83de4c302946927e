"""Run a policy on a stream whose labels are known, and keep what happened in every round."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.inputs import as_costs, as_flag, as_fraction, as_label, as_matrix
from askless.streams.synthetic import Stream, as_whole
from askless.trace import Trace
from askless.types import PAPER_COSTS, Ask, Costs, Guess, Label, Matrix, Policy
from askless.workers import parallel

Progress: TypeAlias = Callable[[int, int], None]  # rounds done, rounds in all
_ROUNDS_BETWEEN_REPORTS = 64
_CALLED = ("decide", "observe", "learn")  # what a run calls of a policy


class StreamFactory(Protocol):
    """Makes a stream from a generator."""

    def __call__(self, *, rng: np.random.Generator) -> Stream:
        """A stream that depends on what the generator gives and on nothing else."""
        ...


def simulate(
    policy: Policy,
    X: ArrayLike,
    y: Sequence[Label] | NDArray[Any],
    *,
    costs: Costs | Sequence[float] = PAPER_COSTS,
    seed: int = 0,
    delay: int = 0,
    error_rate: float = 0.0,
    first_examples: bool = False,
    progress: Progress | None = None,
) -> Trace:
    """The trace of a policy that meets the rows of X in their order, with a simulated expert.

    The expert answers an asked query with its label in y, or at `error_rate` with another label, `delay`
    rounds later: with 0 before the next query, with k after the decisions on k further ones. Answers under
    way at the end are learned at the end. With `first_examples` the policy first learns one row of each
    label, drawn by the seed, and these rows leave the stream. The expert's errors depend on the seed and the
    row only, so that policies can be compared on the same answers. The policy is changed: it has learned what
    the expert said.
    """
    _check_policy(policy)
    prices, first_examples = as_costs(costs), as_flag(first_examples, "first_examples")
    X = as_matrix(X)
    labels, truth = _indexed(y)
    _check_arguments(len(X), len(truth), len(labels), delay, error_rate, seed)
    start = time.perf_counter()
    given = _first_rows(truth, seed) if first_examples else np.zeros(0, dtype=np.intp)
    answers = _answers(truth, len(labels), error_rate, seed)
    rows = np.delete(np.arange(len(X)), given)
    unseen = set(labels).difference(getattr(policy, "labels", ()))
    for row in given:
        policy.learn(X[row], labels[truth[row]])
        unseen.discard(labels[truth[row]])
    played = X[rows] if len(given) else X
    expert = _Expert(policy, played, [labels[k] for k in answers[rows]], delay, unseen)
    guess, names = _play(policy, played, labels, expert, progress)
    return Trace(
        _name(policy),
        prices,
        names,
        rows,
        truth[rows],
        guess,
        expert.all_seen_round,
        time.perf_counter() - start,
    )


@dataclass(frozen=True, slots=True)
class Job:
    """One run: small enough to be sent to another process, which makes policy and stream itself.

    `policy` is a name as the command line takes it (`ghc:0.9`), or makes a policy when called; a name gets
    the costs, the stream's space and length, and `n_labels`. `stream` is called with a generator as `rng` that depends
    on the seed only, so that jobs of the same seed see the same stream. `name` is what its trace is called.
    """

    policy: str | Callable[[], Policy]
    stream: StreamFactory
    seed: int = 0
    name: str | None = None
    n_labels: int | None = None
    costs: Costs | Sequence[float] = PAPER_COSTS
    delay: int = 0
    error_rate: float = 0.0
    first_examples: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", as_costs(self.costs))  # a policy of the user's own is told Costs
        if not isinstance(self.policy, str) and not callable(self.policy):
            raise InvalidInput(
                f"The policy of a job is a name such as 'ghc:0.9', or makes a policy when called, such as a class or a "
                f"functools.partial; found {self.policy!r}."
            )
        if not callable(self.stream):
            raise InvalidInput(
                "The stream of a job makes a Stream when called with a generator as rng, such as a functools.partial "
                f"of askless.streams.synthetic; found a {type(self.stream).__name__}."
            )

    def run(self, progress: Progress | None = None) -> Trace:
        """The trace of this run."""
        stream = self.stream(rng=np.random.default_rng([as_whole(self.seed, 0, "The seed"), 0]))
        if not isinstance(stream, Stream):
            raise InvalidInput(
                f"The stream of a job gives a Stream when called; found a {type(stream).__name__}. Return "
                "Stream(X, y, space)."
            )
        trace = simulate(
            self._policy(stream),
            stream.X,
            stream.y,
            costs=self.costs,
            seed=self.seed,
            delay=self.delay,
            error_rate=self.error_rate,
            first_examples=self.first_examples,
            progress=progress,
        )
        name = self.name or (self.policy if isinstance(self.policy, str) else None)
        return trace if name is None else replace(trace, policy=name)

    def _policy(self, stream: Stream) -> Policy:
        if not isinstance(self.policy, str):
            return self.policy()
        from askless.policies.named import make_policy

        return make_policy(
            self.policy, costs=self.costs, space=stream.space, n_labels=self.n_labels, horizon=len(stream.X)
        )


def simulate_many(jobs: Iterable[Job], *, n_jobs: int = 1, progress: bool = True) -> list[Trace]:
    """The traces of all jobs, in their order and the same whatever `n_jobs` is: that many run at a time.

    `n_jobs` is joblib's: -1 takes every core. A bar on the standard error shows how far they are, if that is
    a terminal and `progress` is left on.
    """
    jobs = list(jobs)
    if n_jobs == 0:
        raise InvalidInput(f"n_jobs is the number of runs at a time, or -1 for every core; found {n_jobs!r}.")
    traces: list[Trace] = []
    with _bar(len(jobs), progress) as show:
        if n_jobs == 1:
            for job in jobs:
                traces.append(job.run(lambda done, rounds: show(len(traces) + done / max(rounds, 1))))
            return traces
        from joblib import delayed

        from askless.geometry.labels import warm_up

        warm_up("float64")  # once, and not in every worker
        for trace in parallel(int(n_jobs))(delayed(_run_elsewhere)(job, sys.path) for job in jobs):
            traces.append(trace)
            show(len(traces))
    return traces


def _run_elsewhere(job: Job, path: list[str]) -> Trace:
    """Run a job in a worker, which may have started before the caller learned where to find some module."""
    sys.path.extend(folder for folder in path if folder not in sys.path)
    return job.run()


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Callable[[float], None]]:
    """A function that moves the progress bar to a number of runs done, or does nothing."""
    if not shown or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=total)
        yield lambda done: bar.update(task, completed=done)


def _play(
    policy: Policy, X: Matrix, labels: tuple[Label, ...], expert: _Expert, progress: Progress | None
) -> tuple[NDArray[np.intp], tuple[Label, ...]]:
    """The label index guessed in each round, or -1, and the labels: the stream's, then others guessed."""
    index = {label: k for k, label in enumerate(labels)}
    guess = np.full(len(X), -1, dtype=np.intp)
    stream = getattr(policy, "stream", None)
    decisions = map(policy.decide, X) if stream is None else stream(X)
    observe, done = policy.observe, 0
    for x, decision in zip(X, decisions, strict=False):
        observe(x, decision)
        if isinstance(decision, Guess):
            guess[done] = index.setdefault(decision.label, len(index))
        elif isinstance(decision, Ask):
            expert.asked(done)
        else:
            raise InvalidInput(f"A policy decides Guess or Ask; {_name(policy)} decided {decision!r}.")
        expert.answer(done)
        done += 1
        if progress is not None and done % _ROUNDS_BETWEEN_REPORTS == 0:
            progress(done, len(X))
    if done != len(X):
        raise InvalidInput(f"stream(X) yields one decision a row; {_name(policy)} gave {done} of {len(X)}.")
    expert.finish(done)
    if progress is not None:
        progress(done, len(X))
    return guess, tuple(index)


class _Expert:
    """Answers questions in their order, each `delay` rounds after it was put."""

    def __init__(self, policy: Policy, X: Matrix, answers: list[Label], delay: float, unseen: set[Label]) -> None:
        self._learn, self._X, self._answers = policy.learn, X, answers
        self._delay, self._unseen = delay, unseen
        self._waiting: deque[int] = deque()
        self.all_seen_round = None if unseen else 0

    def asked(self, t: int) -> None:
        self._waiting.append(t)

    def answer(self, t: int) -> None:
        """Give the answers that are due once round t is over."""
        while self._waiting and self._waiting[0] + self._delay <= t:
            self._give(self._waiting.popleft(), t + 1)

    def finish(self, rounds: int) -> None:
        """Give the answers that are still under way."""
        while self._waiting:
            self._give(self._waiting.popleft(), rounds)

    def _give(self, t: int, rounds_done: int) -> None:
        label = self._answers[t]
        self._learn(self._X[t], label)
        if self._unseen:
            self._unseen.discard(label)
            if not self._unseen:
                self.all_seen_round = rounds_done


def _indexed(y: Sequence[Label] | NDArray[Any]) -> tuple[tuple[Label, ...], NDArray[np.intp]]:
    """The labels in the order of their first appearance, and the index of each row's."""
    index: dict[Label, int] = {}
    given: Sequence[Any] = y.tolist() if isinstance(y, np.ndarray) else y
    truth = [index.setdefault(as_label(label), len(index)) for label in given]
    return tuple(index), np.array(truth, dtype=np.intp)


def _check_policy(policy: object) -> None:
    """Refuse what decides nothing: a policy's name or its class, which stand for a policy elsewhere."""
    if isinstance(policy, str):
        raise InvalidInput(f"Expected a policy; found the text {policy!r}. Make it with make_policy({policy!r}).")
    if isinstance(policy, type):
        raise InvalidInput(f"Expected a policy; found the class {policy.__name__}. Make one: {policy.__name__}(...).")
    lacks = [method for method in _CALLED if not callable(getattr(policy, method, None))]
    if lacks:
        raise InvalidInput(
            f"Expected a policy; found a {type(policy).__name__}, which lacks {', '.join(lacks)}. askless.types.Policy "
            "says what each of them does."
        )


def _check_arguments(n_rows: int, n_truths: int, n_labels: int, delay: int, error_rate: float, seed: int) -> None:
    if n_rows != n_truths:
        raise InvalidInput(f"X has {n_rows} rows and y has {n_truths} labels; give one label a row.")
    as_whole(delay, 0, "The delay, in rounds,")
    as_whole(seed, 0, "The seed")
    if as_fraction(error_rate, "error_rate") > 0.0 and n_labels < 2:
        raise InvalidInput(
            f"With error_rate={error_rate:g} the expert must have another label to name; y has only one."
        )


def _first_rows(truth: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """One row of each label."""
    order = np.random.default_rng([seed, 1]).permutation(len(truth))
    _, first = np.unique(truth[order], return_index=True)
    return order[first]


def _answers(truth: NDArray[np.intp], n_labels: int, error_rate: float, seed: int) -> NDArray[np.intp]:
    """What the expert would say on each row: the truth or, at the error rate, any other label."""
    if error_rate == 0.0:
        return truth
    rng = np.random.default_rng([seed, 2])
    wrong = rng.random(len(truth)) < error_rate
    others = (truth + rng.integers(1, n_labels, size=len(truth))) % n_labels
    return np.where(wrong, others, truth)


def _name(policy: Policy) -> str:
    """What the policy says of itself; its class where that is only an address in memory."""
    cls = type(policy)
    return cls.__name__ if cls.__repr__ is object.__repr__ else repr(policy)
