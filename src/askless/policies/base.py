"""What policies share: parameters, examples by id, and the way of a block of queries.

Two kinds build on this. Hull policies hold a store of examples in which order does not matter, so they forget and
relabel directly. Order-dependent ones (`ReplayPolicy`) keep the calls they were given and replay them.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput, UnknownExample, UnknownLabel
from askless.inputs import as_decision, as_id, as_label, as_matrix, as_n_labels, as_space, as_vector, unit, units
from askless.types import Decision, Example, ExampleId, Guess, Label, Policy, Vector

State = dict[str, Any]  # numpy arrays, and what JSON can hold


class PolicyBase(Policy, ABC):
    """Parameters, and defaults for what most policies do alike.

    A subclass names its parameters in `__init__` and keeps each under the same attribute name. One whose `observe`
    takes something from the vector, and not from the decision alone, says so in `observes_vectors`: what it has
    observed of a query whose vector is erased can then only be undone by observing all the others again.
    """

    observes_vectors: ClassVar[bool] = False

    def __init__(self, *, space: str = "sphere", n_labels: int | None = None) -> None:
        self.space = as_space(space)
        self.n_labels = as_n_labels(n_labels)

    # -- what a subclass must give ------------------------------------------------------------------------
    @property
    @abstractmethod
    def dim(self) -> int | None:
        """The dimension of the examples, or None before the first."""

    @property
    @abstractmethod
    def labels(self) -> tuple[Label, ...]:
        """The labels that have an example, in the order of their first appearance."""

    @abstractmethod
    def examples(self) -> Iterator[Example]:
        """The examples learned so far."""

    @abstractmethod
    def rename_label(self, old: Label, new: Label) -> None:
        """Give a label another name; `new` must not be in use (merge_labels joins two)."""

    @abstractmethod
    def merge_labels(self, source: Label, into: Label) -> None:
        """Relabel every example of `source` to `into`."""

    @abstractmethod
    def state(self) -> State:
        """Everything learned, as numpy arrays and JSON values; with `params`, enough to rebuild the policy."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Take over what `state` gave; called on a policy that has learned nothing."""

    # -- shared ---------------------------------------------------------------------------------------------
    def observe(self, x: ArrayLike, decision: Decision) -> None:
        """Most policies take nothing from acting on a decision."""
        as_decision(decision)

    def decide_many(self, X: ArrayLike) -> list[Decision]:
        """The decisions on all rows as things stand now, in the way of `stream`."""
        return list(self.stream(X))

    def stream(self, X: ArrayLike) -> Iterator[Decision]:
        """Yield the decision on each row in turn; what is learned between two of them counts for the next."""
        for x in as_matrix(X, self.dim):
            yield self.decide(x)

    def params(self) -> dict[str, Any]:
        """The arguments that make a policy like this one."""
        names = [p for p in inspect.signature(type(self).__init__).parameters if p != "self"]
        return {name: getattr(self, name) for name in names}

    def fresh(self) -> Self:
        """A policy with the same parameters that has learned nothing."""
        return type(self)(**self.params())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles carry the parameters and what was learned."""
        return _revived, (type(self), self.params(), self.state())

    def __repr__(self) -> str:
        args = ", ".join(f"{k}={v!r}" for k, v in self.params().items())
        return f"{type(self).__name__}({args})"

    def _vector(self, x: ArrayLike, what: str = "a query") -> Vector:
        """The caller's vector, checked; on the sphere, of norm 1. Always a copy."""
        v = as_vector(x, self.dim, what)
        return unit(v) if self.space == "sphere" else v.astype(np.float64)

    def _vectors(self, X: ArrayLike) -> list[Vector]:
        """As `_vector`, for each row."""
        M = as_matrix(X, self.dim)
        return list(units(M) if self.space == "sphere" else M.astype(np.float64))


def _revived(kind: type[PolicyBase], params: dict[str, Any], state: State) -> PolicyBase:
    policy = kind(**params)
    policy.restore(state)
    return policy


class ReplayPolicy(PolicyBase):
    """A policy whose state depends on the order of its calls: it keeps them, and replays them to forget.

    A subclass gives `_reset`, `_learned(x, label)` and, where acting on a decision changes it, `_observed(x, guess)`
    with the guessed label or None for a question.
    """

    observes_vectors: ClassVar[bool] = True

    def __init__(self, *, space: str = "sphere", n_labels: int | None = None) -> None:
        super().__init__(space=space, n_labels=n_labels)
        self._calls: list[_Call] = []
        self._position: dict[ExampleId, _Call] = {}
        self._next_id = 0
        self._dim: int | None = None

    @abstractmethod
    def _reset(self) -> None:
        """Back to the state before the first call."""

    @abstractmethod
    def _learned(self, x: Vector, label: Label) -> None:
        """Take in one example."""

    def _observed(self, x: Vector, guess: Label | None) -> None:
        """Take in one decision that was acted on."""

    @property
    def dim(self) -> int | None:
        """The dimension of the examples, or None before the first."""
        return self._dim

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels that have an example, in the order of their first appearance."""
        return tuple(dict.fromkeys(c.label for c in self._calls if c.id is not None and c.label is not None))

    def examples(self) -> Iterator[Example]:
        """The examples learned so far."""
        for call in self._calls:
            if call.id is not None and call.label is not None:
                yield Example(call.id, call.label, call.x.copy())

    def observe(self, x: ArrayLike, decision: Decision) -> None:
        """Record that a decision was acted on."""
        v, acted_on = self._vector(x), as_decision(decision)
        guess = acted_on.label if isinstance(acted_on, Guess) else None
        self._dim = v.shape[0]
        self._calls.append(_Call(v, guess, None))
        self._observed(v, guess)

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        """Take an expert's answer as an example, and return the example's id."""
        v = self._vector(x, "an example")
        label = as_label(label)
        key = self._new_id(id)
        call = _Call(v, label, key)
        self._dim = v.shape[0]
        self._learned(v, label)
        self._calls.append(call)
        self._position[key] = call
        return key

    def forget(self, id: ExampleId) -> None:
        """Decide from now on as if that example had never been learned."""
        call = self._call(id)
        self._calls.remove(call)
        del self._position[call.id]  # type: ignore[arg-type]
        self._replay()

    def relabel(self, id: ExampleId, label: Label) -> None:
        """Decide from now on as if that example had been learned with this label."""
        call, label = self._call(id), as_label(label)
        call.label = label
        self._replay()

    def rename_label(self, old: Label, new: Label) -> None:
        """Give a label another name."""
        old, new = self._known(old), as_label(new)
        if new in self.labels and new != old:
            raise InvalidInput(f"The label {new!r} is in use already; merge_labels joins two labels.")
        for call in self._calls:
            if call.label == old:
                call.label = new
        self._replay()

    def merge_labels(self, source: Label, into: Label) -> None:
        """Relabel every example of `source` to `into`."""
        source, into = self._known(source), self._known(into)
        for call in self._calls:
            if call.label == source:
                call.label = into
        self._replay()

    def _replay(self) -> None:
        self._reset()
        self._dim = next((c.x.shape[0] for c in self._calls), None)
        for call in self._calls:
            if call.id is None:
                self._observed(call.x, call.label)
            elif call.label is not None:
                self._learned(call.x, call.label)

    def _new_id(self, id: ExampleId | None) -> ExampleId:
        if id is None:
            while self._next_id in self._position:
                self._next_id += 1
            self._next_id += 1
            return self._next_id - 1
        key = as_id(id)
        if key in self._position:
            raise InvalidInput(f"The example id {key!r} is in use already; relabel or forget it, or choose another id.")
        return key

    def _call(self, id: ExampleId) -> _Call:
        try:
            return self._position[as_id(id)]
        except (KeyError, InvalidInput):
            raise UnknownExample(f"No example has the id {id!r}; nothing was changed.") from None

    def _known(self, label: Label) -> Label:
        if label not in self.labels:
            raise UnknownLabel(f"No example has the label {label!r}; nothing was changed.")
        return as_label(label)

    def state(self) -> State:
        """Everything learned: the calls in their order."""
        calls = self._calls
        return {
            "x": np.array([c.x for c in calls]) if calls else np.zeros((0, 0)),
            "label": [c.label for c in calls],
            "id": [c.id for c in calls],
            "next_id": self._next_id,
        }

    def restore(self, state: State) -> None:
        """Replay the calls that `state` holds."""
        x: NDArray[np.float64] = state["x"]
        for row, label, id in zip(x, state["label"], state["id"], strict=True):
            call = _Call(row.copy(), label, id)
            self._calls.append(call)
            if id is not None:
                self._position[id] = call
        self._next_id = int(state["next_id"])
        self._replay()


class _Call:
    """One call that changed a policy: an example (with its id), or a decision acted on (id None)."""

    __slots__ = ("id", "label", "x")

    def __init__(self, x: Vector, label: Label | None, id: ExampleId | None) -> None:
        self.x, self.label, self.id = x, label, id
