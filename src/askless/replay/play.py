"""One run: one policy or alternative, one order of the rows."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from askless.policies.named import make_policy
from askless.replay.data import Vectored
from askless.replay.peers.make import make_peer
from askless.replay.peers.table import PEERS, version_of
from askless.replay.protocol import Order, Setting
from askless.simulate import simulate
from askless.trace import Trace
from askless.types import Decision, ExampleId, Guess, Label, Policy

Row: TypeAlias = dict[str, Any]
_SUPPORTS = 3  # examples kept of those that carried a wrong guess


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy by the name the command line takes, or an alternative with its parameter set to `value`.

    Contenders of one `family` are one method with its parameter swept; the best in hindsight stands for them.
    """

    spec: str
    family: str
    value: float | None = None
    peer: str | None = None
    source: str = ""  # a digest of the module, where the policy is the user's own

    def make(self, data: Vectored, setting: Setting, order: Order, seed: int) -> Policy:
        """The policy, which has learned nothing."""
        if self.peer is not None:
            return make_peer(self.peer, float(self.value or 0.0), data.classes, seed)
        return make_policy(self.spec, **setting.defaults(len(data.classes), len(order.stream)))

    def version(self) -> str:
        """Names the code that decides; a run of other code is another run.

        An alternative with a library of its own uses none of askless's policies, so that it is not run again when
        they change.
        """
        if self.peer is None or PEERS[self.peer].package is None:
            return f"{_code_digest('policies', 'geometry', 'replay/peers')} {self.source}"
        return f"{_code_digest('replay/peers')} {version_of(PEERS[self.peer])}"


@dataclass(frozen=True, slots=True)
class Run:
    """A contender in one setting with the rows in the order of one seed."""

    contender: Contender
    setting: Setting
    seed: int

    def key(self, data: Vectored) -> str:
        """The address of the run's row: the digest of all that it depends on."""
        parameters = {
            "spec": self.contender.spec,
            "version": self.contender.version(),
            "setting": self.setting.parameters(),
            "seed": self.seed,
            "data": data.digest,
        }
        return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()

    def play(self, data: Vectored) -> Row:
        """Run it; the row holds what was guessed in every round, and what carried the wrong guesses."""
        _load_kernels()  # so that the seconds are those of the run
        start = time.perf_counter()
        order = self.setting.order(data.labels, self.seed)
        known = data.known[order.stream]
        rows, given = order.stream[known], order.given[data.known[order.given]]
        policy = self.contender.make(data, self.setting, order, self.seed)
        watched = _Watched(policy, [data.labels[k] for k in rows])
        for row in given:
            watched.learn(data.vectors[row], data.labels[row])
        setting = self.setting
        trace = simulate(
            watched,
            data.vectors[rows],
            [data.labels[k] for k in rows],
            costs=setting.costs,
            seed=self.seed,
            delay=setting.delay,
            error_rate=setting.error_rate,
        )
        guess = np.full(len(order.stream), -1, dtype=np.intp)  # a text of which nothing is known is asked
        guess[known] = trace.guess
        rounds = np.flatnonzero(known)
        learned = [*given.tolist(), *rows[trace.asked].tolist()]  # answers come in the order of the questions
        wrong = [(int(rounds[t]), watched.of_examples(t, learned), p) for t, p in watched.wrong.items()]
        return {
            "labels": list(trace.labels),
            "guess": guess.tolist(),
            "wrong": wrong,
            "seconds": round(time.perf_counter() - start, 4),
        }

    def trace(self, row: Row, data: Vectored) -> Trace:
        """The trace of a run that was played, from its row."""
        order = self.setting.order(data.labels, self.seed)
        labels = list(row["labels"])
        index = {label: k for k, label in enumerate(labels)}
        truth = [index.setdefault(data.labels[k], len(index)) for k in order.stream]
        return Trace(
            self.contender.spec,
            self.setting.costs,
            tuple(index),
            order.stream,
            np.array(truth, dtype=np.intp),
            np.array(row["guess"], dtype=np.intp),
            None,
            row["seconds"],
        )


class _Watched:
    """A policy whose wrong guesses are remembered with what carried them; otherwise it is the policy."""

    def __init__(self, policy: Policy, truth: list[str]) -> None:
        self._policy, self._truth = policy, truth
        self._ids: dict[ExampleId, int] = {}  # the place of each example among those learned
        self._round = 0
        self._evidence: dict[int, list[tuple[int, float]]] = {}
        self.wrong: dict[int, float | None] = {}  # the round of each wrong guess, and its probability

    def decide(self, x: ArrayLike) -> Decision:
        return self._policy.decide(x)

    def stream(self, X: ArrayLike) -> Iterator[Decision]:
        ahead = getattr(self._policy, "stream", None)
        yield from map(self._policy.decide, np.asarray(X)) if ahead is None else ahead(X)

    def observe(self, x: ArrayLike, decision: Decision) -> None:
        self._policy.observe(x, decision)
        if isinstance(decision, Guess) and decision.label != self._truth[self._round]:
            self.wrong[self._round] = decision.probability
            largest = sorted(decision.evidence, key=lambda support: -support.weight)[:_SUPPORTS]
            places = [(self._ids[s.id], float(s.weight)) for s in largest if s.id in self._ids]
            self._evidence[self._round] = places
        self._round += 1

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        key = self._policy.learn(x, label, id)
        self._ids[key] = len(self._ids)
        return key

    def forget(self, id: ExampleId) -> None:
        self._policy.forget(id)

    def relabel(self, id: ExampleId, label: Label) -> None:
        self._policy.relabel(id, label)

    def of_examples(self, t: int, learned: list[int]) -> list[tuple[int, float]]:
        """The rows of the examples that carried the guess of round t, with their weights."""
        return [(learned[place], weight) for place, weight in self._evidence[t]]

    def __repr__(self) -> str:
        return repr(self._policy)


@cache
def _load_kernels() -> None:
    from askless.geometry.labels import warm_up

    warm_up("float32")


@cache
def _code_digest(*folders: str) -> str:
    """A digest of the source that decides, so that rows of an earlier version are not taken for this one's."""
    root = Path(__file__).parents[1]
    alone = ("simulate.py", "types.py", "inputs.py", "replay/play.py", "replay/protocol.py")
    inside = [path for name in folders for path in (root / name).rglob("*.py")]
    swept = root / "replay" / "peers" / "table.py"  # which values are tried does not change what one of them gives
    files = [*(root / name for name in alone), *(path for path in inside if path != swept)]
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(path.read_bytes())
    return found.hexdigest()


def source_digest(policy: Policy) -> str:
    """A digest of the file that holds the class of a policy of the user's own; nothing for one of askless."""
    module = sys.modules.get(type(policy).__module__)
    file = getattr(module, "__file__", None)
    if type(policy).__module__.partition(".")[0] == "askless" or file is None:
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
