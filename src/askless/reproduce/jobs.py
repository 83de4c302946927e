"""One job is one run of one policy on one stream: small enough to be interrupted, sent away and run again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.errors import InvalidInput
from askless.reproduce.paper import N_LABELS, VARIANCE, Setting
from askless.streams.synthetic import Stream
from askless.trace import Trace

# What a row depends on besides its parameters. Raise a number when a change makes that policy decide otherwise, or
# these streams come out otherwise, and only its rows are run again; tests/test_reproduce_versions.py says when.
VERSIONS = {"chc": 1, "ghc": 1, "ghc-nearest": 1, "cc": 1, "skm": 1, "amp": 1}
STREAM_VERSION = 1

_CURVE_POINTS = 120
_SPACES = {"cube": "euclidean", "sphere": "sphere"}


@dataclass(frozen=True, slots=True)
class SyntheticStream:
    """One data set of a setting. The label seeds depend on the draw only, and serve all its data sets."""

    setting: Setting
    rounds: int
    draw: int
    data_set: int

    @property
    def space(self) -> str:
        """The space that policies are told."""
        return _SPACES[self.setting.space]

    def make(self) -> Stream:
        """The stream."""
        from askless.streams.synthetic import synthetic, uniform

        where = (int(self.setting.space == "sphere"), self.setting.dim, self.draw)
        seeds = uniform(self.space, self.setting.dim, N_LABELS, np.random.default_rng([*where, 0]))
        kind = int(self.setting.distribution == "mixture")
        return synthetic(
            self.space,
            self.setting.dim,
            N_LABELS,
            self.rounds,
            rng=np.random.default_rng([*where, 1 + kind, self.data_set]),
            distribution=self.setting.distribution,
            variance=VARIANCE,
            seeds=seeds,
        )


@dataclass(frozen=True, slots=True)
class FileStream:
    """One order of the rows of a labelled file, one example of each label given first.

    `digest` is that of the vectors and labels, which travel beside the job; `rounds` is None for all rows.
    """

    digest: str
    space: str
    run: int
    rounds: int | None = None

    def make(self, data: Labelled) -> Stream:
        """The rows in the order of this run, cut to the rounds wanted and an example of each label."""
        order = np.random.default_rng([self.run, 3]).permutation(len(data.labels))
        _, first = np.unique(data.labels[order], return_index=True)
        others = np.delete(np.arange(len(order)), first)[: self.rounds]
        rows = order[np.sort(np.concatenate([first, others]))]
        return Stream(data.vectors[rows], data.labels[rows], self.space)


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Unit vectors, the index of each row's label, and a digest of both."""

    vectors: NDArray[np.floating[Any]]
    labels: NDArray[np.int64]
    digest: str

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.labels.max()) + 1

    @property
    def rounds(self) -> int:
        """The rounds that are left when each label has given one example."""
        return len(self.labels) - self.n_labels


@dataclass(frozen=True, slots=True)
class Job:
    """A policy, by the name the command line takes, and the stream it is to meet."""

    policy: str
    stream: SyntheticStream | FileStream

    def parameters(self) -> dict[str, Any]:
        """All that the result depends on, as JSON can hold it."""
        family = self.policy.partition(":")[0]
        kind = "synthetic" if isinstance(self.stream, SyntheticStream) else "file"
        stream = asdict(self.stream)
        return {
            "policy": self.policy,
            "kind": kind,
            **stream.pop("setting", {}),
            **stream,
            "algorithm_version": VERSIONS[family],
            "stream_version": STREAM_VERSION,
        }

    def key(self) -> str:
        """The address of the job's row: the digest of its parameters."""
        text = json.dumps(self.parameters(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def run_job(job: Job, key: str, data: Labelled | None = None) -> dict[str, Any]:
    """The row of a job: its parameters, calls, mistakes, regret and seconds.

    `key` is the caller's address for the row; a worker with another version of the algorithms has another one, and
    refuses.
    """
    if job.key() != key:
        raise InvalidInput(
            "A worker has another version of askless's algorithms than the machine that sent the job; install the "
            "same version on both."
        )
    from askless.policies.named import make_policy
    from askless.simulate import simulate

    given = isinstance(job.stream, FileStream)
    stream = _stream(job, data)
    n_labels = N_LABELS if data is None else data.n_labels
    rounds = len(stream.X) - (n_labels if given else 0)
    policy = make_policy(job.policy, space=stream.space, n_labels=n_labels, horizon=max(rounds, 1))
    seed = job.stream.run if isinstance(job.stream, FileStream) else 0
    trace = simulate(policy, stream.X, stream.y, seed=seed, first_examples=given)
    return job.parameters() | _figures(trace, n_labels) | ({"curve": _curve(trace)} if given else {})


def _stream(job: Job, data: Labelled | None) -> Stream:
    if isinstance(job.stream, SyntheticStream):
        return job.stream.make()
    if data is None or data.digest != job.stream.digest:
        raise InvalidInput("This job belongs to a labelled file that was not sent with it; send the file's rows.")
    return job.stream.make(data)


def _figures(trace: Trace, n_labels: int) -> dict[str, Any]:
    summary = trace.summary()
    # A cell that no query fell into is never seen, so no call comes after every label was.
    all_seen = len(set(trace.truth.tolist())) == n_labels or trace.labels_seen_round == 0
    return {
        "all_calls": summary["calls"],
        "calls": summary["calls_after_all_seen"] if all_seen else 0,
        "mistakes": summary["mistakes"],
        "regret": summary["regret"],
        "rounds_played": trace.rounds,
        "seconds": round(trace.seconds, 4),
    }


def _curve(trace: Trace) -> list[list[float]]:
    """Some rounds and the regret up to each, for a plot."""
    rounds = np.unique(np.linspace(1, trace.rounds, _CURVE_POINTS).astype(int))
    return [[int(t), float(trace.regret[t - 1])] for t in rounds]
