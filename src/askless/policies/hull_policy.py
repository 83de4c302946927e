"""What the hull policies share: a store of examples in which order does not matter."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.geometry.nearest import NearestTwo
from askless.geometry.store import ExampleStore
from askless.inputs import as_matrix
from askless.policies.base import PolicyBase, State
from askless.types import Ask, Decision, Example, ExampleId, Label, NoExamples


class HullPolicy(PolicyBase):
    """A policy that decides from the two labels nearest to the query.

    Examples are stored as float32, or as float64 while one of them came so; `dtype` says otherwise. A subclass gives
    `_verdict`, which turns what the search found into a decision, and `_threshold`, the ratio the search must settle.
    """

    _distance = "hull"
    _exact = False  # whether the distances themselves are wanted, not only the answer to "is ratio <= tau?"

    def __init__(self, *, space: str = "sphere", n_labels: int | None = None, dtype: str | None = None) -> None:
        super().__init__(space=space, n_labels=n_labels)
        self._store = ExampleStore(self.space, dtype)
        self.dtype = dtype

    @abstractmethod
    def _verdict(self, x: ArrayLike, nearest: NearestTwo) -> Decision:
        """The decision that the nearest two call for."""

    @property
    def _threshold(self) -> float:
        """The ratio that the search must settle now."""
        return 0.0

    @property
    def _all_labels_seen(self) -> bool:
        """Whether every known label has an example; in the open world, whether two labels have one."""
        return self._store.n_labels >= (2 if self.n_labels is None else self.n_labels)

    def decide(self, x: ArrayLike) -> Decision:
        """Guess or ask, from the distances to the labels."""
        if not len(self._store):
            self._store.query(x)
            return Ask(NoExamples())
        return self._verdict(x, self._store.nearest_two(x, self._threshold, self._distance, self._exact))

    def decide_many(self, X: ArrayLike) -> list[Decision]:
        """The decisions on all rows as things stand now, faster than one by one."""
        if not len(self._store):
            return [Ask(NoExamples()) for _ in as_matrix(X)]
        found = self._store.nearest_two_many(X, self._threshold, self._distance, self._exact)
        return [self._verdict(x, nearest) for x, nearest in zip(as_matrix(X), found, strict=True)]

    def stream(self, X: ArrayLike) -> Iterator[Decision]:
        """Yield the decision on each row in turn; what is learned between two of them counts for the next."""
        queries = as_matrix(X, self.dim)
        block = self._store.block(queries)
        for i, x in enumerate(queries):
            if len(self._store):
                yield self._verdict(x, block.nearest_two(i, self._threshold, self._distance, self._exact))
            else:
                yield Ask(NoExamples())

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        """Take an expert's answer as an example, and return the example's id."""
        return self._store.append(x, label, id)

    def forget(self, id: ExampleId) -> None:
        """Decide from now on as if that example had never been learned."""
        self._store.forget(id)

    def relabel(self, id: ExampleId, label: Label) -> None:
        """Decide from now on as if that example had been learned with this label."""
        self._store.relabel(id, label)

    def rename_label(self, old: Label, new: Label) -> None:
        """Give a label another name; `new` must not be in use."""
        self._store.rename(old, new)

    def merge_labels(self, source: Label, into: Label) -> None:
        """Relabel every example of `source` to `into`."""
        self._store.merge(source, into)

    def distances(self, X: ArrayLike, distance: str | None = None) -> tuple[tuple[Label, ...], NDArray[np.float64]]:
        """The labels, and the distance of every row of X to each of them: the policy's own kind, or the one named."""
        return self._store.distances(X, distance or self._distance)

    @property
    def dim(self) -> int | None:
        """The dimension of the examples, or None before the first."""
        return self._store.dim

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels that have an example."""
        return self._store.labels

    def examples(self) -> Iterator[Example]:
        """The examples learned so far."""
        return self._store.examples()

    def state(self) -> State:
        """The examples, as arrays and lists."""
        return self._store.state()

    def restore(self, state: State) -> None:
        """Take over the examples of a saved policy."""
        self._store.restore(state)
