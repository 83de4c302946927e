"""The policy that needs no threshold: it learns from the expert's answers how likely it is to be right."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from askless.inputs import as_costs, as_decision
from askless.policies.answer_value import AnswerValue
from askless.policies.base import PolicyBase, State
from askless.policies.guessed_labels import GuessedLabels
from askless.policies.history import FIRST_FIT, History, Outlook
from askless.policies.hull_rule import HullRule
from askless.policies.lookahead import Block, Blocks, look
from askless.policies.ordered_examples import OrderedExamples
from askless.types import (
    PAPER_COSTS,
    Ask,
    Conflict,
    Costs,
    Decision,
    Example,
    ExampleId,
    Exploring,
    Guess,
    HullsDisagree,
    Label,
    NoExamples,
    Suggestion,
    TooUncertain,
    Vector,
    supports,
)


class SelfTuning(PolicyBase):
    """Guess when the expected cost of a mistake is below that of a question; the costs are all it is told.

    Kernel ridge regression on the nearest examples scores the labels. A conditional logit, fitted to what the
    expert's earlier answers would have got from the examples before them, turns scores into probabilities, and
    a second small model says how likely a label is one never seen. The best label is guessed when

        (1 - p) (mistake + value of an answer) <= question

    where the value of an answer is what it is expected to save later. There is no p until there are 25 answers, 15 of
    them with a label that was known before. In few dimensions, where a label's examples fill a hull, a query that lies
    far nearer to one hull than to any other is guessed as well, and one of which the hulls say otherwise is asked,
    unless that hull holds examples of another label. The decision depends on the examples in their order and on the
    decisions that `observe` was told of: these say what an answer is worth, and how often each label comes up. Any
    number of threads may share a policy.
    [docs/selftuning.md]
    """

    looks_ahead = True  # `stream` begins its work when it is called, whichever thread takes the decisions

    def __init__(
        self,
        costs: Costs | Sequence[float] = PAPER_COSTS,
        *,
        space: str = "sphere",
        n_labels: int | None = None,
    ) -> None:
        super().__init__(space=space, n_labels=n_labels)
        self.costs = as_costs(costs)
        self._examples = OrderedExamples(self.space)
        self._guessed = GuessedLabels()
        self._history = History(self._examples, self._guessed)
        self._value = AnswerValue(self.costs)
        self._hulls = HullRule(self._examples, self.costs)
        self._lock = threading.RLock()  # of whoever decides or changes something; a look ahead needs only the examples'
        self._calm = 0  # decisions of streams since something was learned between two of them

    def params(self) -> dict[str, Any]:
        """The arguments that make a policy like this one."""
        costs = [self.costs.call, self.costs.right, self.costs.wrong]
        return {"costs": costs, "space": self.space, "n_labels": self.n_labels}

    # -- decisions ------------------------------------------------------------------------------------------------
    def decide(self, x: ArrayLike) -> Decision:
        """Guess or ask, by the probability of the best label and the costs."""
        q = self._vector(x)
        if not len(self._examples):
            return Ask(NoExamples())
        with self._lock:
            block = look(self._examples, [q], True)
            assert block.found is not None  # it was asked for
            return self._decide(q, *self._history.outlooks(block.seen, block.found, closed=self._all_labels_seen))

    def stream(self, X: ArrayLike) -> Iterator[Decision]:
        """Yield the decision on each row in turn; what is learned between two of them counts for the next.

        The products of a block of queries with the examples are made at once, in one pass over these. As long as
        nothing is learned, twice as many queries are looked at together each time; once that is whole blocks, the
        next ones are looked at by a second thread, from the call of this method on, while others are being decided.
        """
        return self._stream(Blocks(self._examples, self._vectors(X), lambda: self._calm))

    def _stream(self, blocks: Blocks) -> Iterator[Decision]:
        for queries, block in blocks:
            yield from self._block(queries, block)

    def _block(self, queries: Sequence[Vector], block: Block) -> Iterator[Decision]:
        examples, start = self._examples, 0
        while start < len(queries):
            with self._lock:
                void = examples.moves != block.moves or not block.products.size
                changes, stop = examples.changes, start + max(1, self._calm)
                if not void and block.found is not None and block.changes == changes:
                    seen, found = block.seen, block.found
                elif not void:
                    seen, found = block.seen[start:stop], block.neighbourhoods(examples, start, stop)
                outlooks = [] if void else self._history.outlooks(seen, found, closed=self._all_labels_seen)
            if void:
                yield from map(self.decide, queries[start:])
                return
            for outlook in outlooks:
                with self._lock:
                    decision = self._decide(queries[start], outlook) if examples.changes == changes else None
                if decision is None:  # another thread has changed something meanwhile
                    break
                yield decision
                start += 1
                self._calm = self._calm + 1 if examples.changes == changes else 0
                if not self._calm:
                    break

    def _decide(self, q: Vector, outlook: Outlook) -> Decision:
        if len(outlook.conflict) > 1:
            return Ask(Conflict(tuple(self._examples.names[k] for k in outlook.conflict)), self._suggestions(outlook))
        needed = self._value.needed
        if not (outlook.fitted and outlook.probability >= needed and self._examples.n_labels > 1):
            return self._by_hulls(q, outlook, needed) or self._ask(outlook, needed)
        other = self._hulls.against(q, outlook)
        if other is None:
            return self._guess(outlook)
        return Ask(HullsDisagree(self._examples.names[outlook.labels[0]], other), self._suggestions(outlook))

    def _guess(self, outlook: Outlook) -> Guess:
        names, ids, best = self._examples.names, self._examples.ids, outlook.labels[0]
        runner_up = names[outlook.labels[1]] if len(outlook.labels) > 1 else None
        evidence = supports([(ids[i], part) for i, part in outlook.evidence])
        return Guess(names[best], outlook.distances[0], runner_up, evidence=evidence, probability=outlook.probability)

    def _ask(self, outlook: Outlook, needed: float) -> Ask:
        suggestions = self._suggestions(outlook)
        if not outlook.fitted or self._examples.n_labels < 2:
            return Ask(Exploring(self._missing()), suggestions)
        return Ask(TooUncertain(outlook.probability, needed, suggestions[0].label), suggestions)

    def _by_hulls(self, q: Vector, outlook: Outlook, needed: float) -> Decision | None:
        """The guess of the rule for few dimensions, or the conflict that it finds."""
        found = self._hulls.find(q, outlook, needed)
        if found is None:
            return None
        if found.is_conflict:
            return Ask(Conflict(found.inside), self._suggestions(outlook))
        distance = found.high * self._examples.unit
        return Guess(found.label, distance, found.runner_up, found.ratio_high, found.evidence, needed)

    def _suggestions(self, outlook: Outlook) -> tuple[Suggestion, ...]:
        names, ids = self._examples.names, self._examples.ids
        found = zip(outlook.labels, outlook.distances, outlook.nearest, outlook.probabilities, strict=True)
        return tuple(
            Suggestion(names[number], distance, ids[nearest], p if outlook.fitted else None)
            for number, distance, nearest, p in found
        )

    def _missing(self) -> str:
        answers = len(self._examples)
        if answers < FIRST_FIT:
            return f"{answers} of the first {FIRST_FIT} answers"
        if self._examples.n_labels < 2:
            return "one label has an example; two are needed before a guess"
        return "too few of the answers so far had a label that was known before"

    @property
    def _all_labels_seen(self) -> bool:
        return self.n_labels is not None and self._examples.n_labels >= self.n_labels

    # -- what it learns from ----------------------------------------------------------------------------------------
    def observe(self, x: ArrayLike, decision: Decision) -> None:
        """Take note of how sure the policy was, which gives the value of an answer, and of the label guessed."""
        told = as_decision(decision)
        with self._lock:
            self._value.observe(told)
            self._guessed.observe(told, len(self._examples))

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        """Take an expert's answer as an example, and return the example's id."""
        with self._changing():
            key = self._examples.append(self._vector(x, "an example"), label, id)
            self._hulls.learned()
        return key

    def forget(self, id: ExampleId) -> None:
        """Decide from now on as if that example had never been learned."""
        self.forget_many([id])

    def forget_many(self, ids: Iterable[ExampleId]) -> None:
        """Forget several at once, in the time that one takes; nothing is changed where one of them is not known."""
        with self._changing():
            positions = sorted({self._examples.position(id) for id in ids})
            if not positions:
                return
            keys = [self._examples.ids[position] for position in positions]
            self._examples.remove(positions)
            self._guessed.forgotten(positions)
            self._history.forgotten(positions[0])
            self._hulls.forgotten(keys, positions[0] == 0)

    def relabel(self, id: ExampleId, label: Label) -> None:
        """Decide from now on as if that example had been learned with this label."""
        with self._changing():
            self._relabel([self._examples.position(id)], label)

    def rename_label(self, old: Label, new: Label) -> None:
        """Give a label another name; `new` must not be in use."""
        with self._changing():
            self._examples.rename(old, new)
            self._guessed.renamed(old, new)
            self._hulls.renamed(old, new)

    def merge_labels(self, source: Label, into: Label) -> None:
        """Relabel every example of `source` to `into`."""
        with self._changing():
            number = self._examples.number_of(source)
            self._examples.number_of(into)
            self._relabel(np.flatnonzero(self._examples.numbers == number).tolist(), into)

    def _relabel(self, positions: list[int], label: Label) -> None:
        self._examples.relabel(positions, label)
        self._history.changed(positions[0])
        self._hulls.relabelled(positions)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Alone with the examples: neither a decision of another thread nor a look ahead reads them meanwhile."""
        with self._lock, self._examples.lock:
            yield

    # -- what it holds ------------------------------------------------------------------------------------------------
    @property
    def dim(self) -> int | None:
        """The dimension of the examples, or None before the first."""
        return self._examples.dim

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels that have an example, in the order of their first appearance."""
        return self._examples.labels

    def examples(self) -> Iterator[Example]:
        """The examples learned so far."""
        return iter(self._examples)

    def state(self) -> State:
        """The examples in their order, what is known of each as a query, and how sure the policy was of late."""
        with self._lock:
            return self._examples.state() | self._history.state() | self._guessed.state() | self._value.state()

    def restore(self, state: State) -> None:
        """Take over what `state` gave."""
        with self._changing():
            self._examples.restore(state)
            self._guessed.restore(state)
            self._history.restore(state)
            self._value.restore(state)
            self._hulls.make_anew()
