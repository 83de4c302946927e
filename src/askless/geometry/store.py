"""The store of examples: one growing block of vectors, indexed by label, searched with certificates."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput, UnknownExample, UnknownLabel
from askless.geometry.blocks import QueryBlock
from askless.geometry.labels import LabelIndex
from askless.geometry.nearest import NearestTwo
from askless.geometry.unit import as_units
from askless.inputs import as_id, as_label, as_matrix, as_space, as_vector, unit
from askless.types import Example, ExampleId, Label, Suggestion, Vector, supports

_SUGGESTION = partial(tuple.__new__, Suggestion)  # many are made
ZERO = 1e-9  # a distance of at most this, relative to the data's scale, counts as zero
LARGEST = 1e18  # euclidean norm up to which float32 holds inner products; a longer example is held in float64
HUGE, MINUTE = 1e75, 1e-75  # between these float64 holds the squares of inner products


class ExampleStore:
    """Examples by label, and the nearest two labels of a query.

    Vectors are stored as float32, or as float64 as long as one of them came as float64 (a list or integers count as
    that); `dtype` says otherwise. A query is rounded the same way, so that a query equal to an example has distance
    zero. On the sphere both are scaled to norm 1. Safe for several threads: changes and searches take a lock, the scan
    over all examples does not.
    """

    def __init__(self, space: str = "sphere", dtype: str | None = None) -> None:
        self.space = as_space(space)
        if dtype not in (None, "float32", "float64"):
            raise InvalidInput(f"The dtype of a store is 'float32' or 'float64'; found {dtype!r}.")
        self.dtype = dtype
        self._index: LabelIndex | None = None
        self._ids: list[ExampleId] = []
        self._row_of: dict[ExampleId, int] = {}
        self._wide: set[ExampleId] = set()  # those that came as float64, where that decides the block's type
        self._next_id = 0
        self.lock = threading.RLock()
        self.changes = 0  # grows with every change that is not an append

    # -- what is in it ------------------------------------------------------------------------------------
    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, id: object) -> bool:
        return id in self._row_of

    @property
    def dim(self) -> int | None:
        """The dimension of the examples, or None before the first."""
        return None if self._index is None else self._index.dim

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels that have an example."""
        return () if self._index is None else tuple(self._index.labels)

    @property
    def n_labels(self) -> int:
        """How many labels have an example."""
        return 0 if self._index is None else len(self._index.labels)

    def count(self, label: Label) -> int:
        """How many examples a label has."""
        index, slot = self._slot(label)
        return index.size_of(slot)

    def get(self, id: ExampleId) -> Example:
        """One example."""
        return self._example(self._row(id))

    def examples(self) -> Iterator[Example]:
        """All examples; the vectors are copies."""
        return iter([self._example(row) for row in range(len(self))])

    def vectors(self, label: Label) -> NDArray[np.float64]:
        """A label's examples as float64 rows, of norm 1 on the sphere."""
        index, slot = self._slot(label)
        return index.vectors(index.rows_of(slot))

    # -- changes ------------------------------------------------------------------------------------------
    def append(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        """Add an example, and return its id: the given one, or the next free number."""
        vector = as_vector(x, self.dim, "an example")
        label = as_label(label)
        norm = _norm_at_most(vector) if self.space == "euclidean" else 1.0
        wide = self.dtype is None and (vector.dtype == np.float64 or norm > LARGEST)
        if norm > HUGE or (self.dtype == "float32" and norm > LARGEST):
            raise _too_large(self.dtype or "float64")
        with self.lock:
            key = self._new_id(id)
            held = np.dtype(self.dtype or ("float64" if wide else "float32"))
            stored = self._as_held(vector[None], held)[0]
            if self._index is None:
                self._index = LabelIndex(self.space, vector.shape[0], held)
            elif wide and self._index.dtype != held:
                self._hold_as(held)
            elif not wide and len(self._wide) == len(self):
                self.changes += 1  # the first that came as float32: queries that do are rounded from now on
            self._row_of[key] = self._index.append(stored, label)
            self._ids.append(key)
            if wide:
                self._wide.add(key)
            if id is None:
                self._next_id = int(key) + 1
        return key

    def forget(self, id: ExampleId) -> None:
        """Remove an example."""
        with self.lock:
            row = self._row(id)
            index = self.index
            index.remove(row)
            moved = self._ids.pop()
            if row < len(self._ids):  # the last row took the place of the removed one
                self._ids[row] = moved
                self._row_of[moved] = row
            del self._row_of[id]
            self.changes += 1
            if not self._ids:
                self._index = None
            elif id in self._wide and len(self._wide) == 1:
                self._hold_as(np.dtype(np.float32))
            self._wide.discard(id)

    def relabel(self, id: ExampleId, label: Label) -> None:
        """Move an example to another label."""
        label = as_label(label)
        with self.lock:
            row = self._row(id)
            self.index.relabel(row, label)
            self.changes += 1

    def rename(self, old: Label, new: Label) -> None:
        """Give a label another name, which must not be in use."""
        new = as_label(new)
        with self.lock:
            index, slot = self._slot(old)
            if new != index.labels[slot]:
                if new in index.slot_of:
                    raise InvalidInput(f"The label {new!r} is in use already; merging joins two labels.")
                index.rename(slot, new)

    def merge(self, source: Label, into: Label) -> None:
        """Move every example of one label to another."""
        with self.lock:
            index, slot = self._slot(source)
            self._slot(into)
            if source == into:
                return
            for row in index.rows_of(slot):
                index.relabel(int(row), into)
            self.changes += 1

    # -- searches -----------------------------------------------------------------------------------------
    def query(self, x: ArrayLike) -> Vector:
        """The caller's query, checked."""
        v = as_vector(x, self.dim)
        if self.space == "sphere":
            unit(v)
        return v

    def nearest_two(self, x: ArrayLike, tau: float = 1.0, distance: str = "hull", exact: bool = False) -> NearestTwo:
        """The two labels nearest to a query, as exactly as the question "is ratio <= tau?" needs, or `exact`ly."""
        vector = as_vector(x, self.index.dim)
        while True:  # again if the store changed under the scan, which runs without the lock
            index, changes = self.index, self.changes
            q = self.rounded(vector[None])[0]
            b = index.scan(q)
            with self.lock:
                if len(b) == index.size and index is self._index and changes == self.changes:
                    return self.settle(q, b, tau, distance, exact)

    def nearest_two_many(
        self, X: ArrayLike, tau: float = 1.0, distance: str = "hull", exact: bool = False
    ) -> list[NearestTwo]:
        """The same for every row of X, by matrix products in blocks."""
        block = self.block(X)
        return [block.nearest_two(i, tau, distance, exact) for i in range(len(block))]

    def stream(self, X: ArrayLike, tau: float = 1.0, distance: str = "hull") -> Iterator[NearestTwo]:
        """The same one row at a time, each with all that was learned before it."""
        block = self.block(X)
        for i in range(len(block)):
            yield block.nearest_two(i, tau, distance)

    def block(self, X: ArrayLike) -> QueryBlock:
        """Queries to be decided in turn, in blocks of matrix products, while the store may change in between."""
        return QueryBlock(self, as_matrix(X, self.dim))

    def distances(self, X: ArrayLike, distance: str = "hull") -> tuple[tuple[Label, ...], NDArray[np.float64]]:
        """The labels, and the distance of every row of X to each of them."""
        index = self.index
        queries = as_matrix(X, index.dim)
        with self.lock:
            out = np.empty((len(queries), len(index.labels)))
            for i, q in enumerate(self.rounded(queries)):
                index.all_distances(q, index.scan(q), _hulls(distance), out[i])
            return tuple(index.labels), out

    def settle(self, q: Vector, b: Vector, tau: float, distance: str, exact: bool = False) -> NearestTwo:
        """The search itself, for a stored-like query and its inner products with all examples; under the lock."""
        index = self.index
        guessable, low, high, runner_low, runner_high, slots, highs, near, inside, rows, weights = index.settle(
            q, b, tau, ZERO, _hulls(distance), exact
        )
        labels, ids = index.labels, self._ids
        names = [labels[i] for i in slots]
        suggested = zip(names, highs, [ids[row] for row in near], repeat(None, len(names)), strict=True)
        return NearestTwo(
            names[0],
            low,
            high,
            names[1] if len(names) > 1 else None,
            runner_low,
            runner_high,
            guessable,
            tuple([labels[i] for i in inside]) if inside else (),
            tuple(map(_SUGGESTION, suggested)),
            supports(zip([ids[row] for row in rows], weights, strict=True)) if rows else (),
        )

    def rounded(self, X: NDArray[Any]) -> NDArray[Any]:
        """Queries, one a row, as the store would hold them."""
        index = self.index
        if self._rounds_as_examples(X, index):
            X = as_units(X, np.dtype(np.float32))
        self._check_size(X, index)
        return self._as_held(X, index.dtype)

    # -- saving -------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """The examples as arrays and lists."""
        with self.lock:
            index, n = self._index, len(self)
            return {
                "x": np.zeros((0, 0)) if index is None else index.block[:n].copy(),
                "label": [] if index is None else [index.labels[slot] for slot in index.row_slot[:n].tolist()],
                "id": list(self._ids),
                "wide": np.array([id in self._wide for id in self._ids], np.uint8),
                "next_id": self._next_id,
            }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        x: NDArray[Any] = state["x"]
        with self.lock:
            if len(x):
                self._index = LabelIndex(self.space, x.shape[1], x.dtype)
            for row, label, id in zip(x, state["label"], state["id"], strict=True):
                self._row_of[id] = self.index.append(row, label)
                self._ids.append(id)
            self._wide = {id for id, wide in zip(self._ids, state["wide"], strict=True) if wide}
            self._next_id = int(state["next_id"])
            self.changes += 1

    def _hold_as(self, dtype: np.dtype[Any]) -> None:
        """Copy all examples into a block of another type; their values fit."""
        old = self.index
        self._index = LabelIndex(self.space, old.dim, dtype)
        for row, slot in enumerate(old.row_slot[: old.size].tolist()):
            self._index.append(old.block[row].astype(dtype), old.labels[slot])
        self.changes += 1

    # -- helpers ------------------------------------------------------------------------------------------
    def _as_held(self, X: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Rows of the store's own, of norm 1 on the sphere, in this type."""
        return as_units(X, dtype) if self.space == "sphere" else X.astype(dtype)

    def _rounds_as_examples(self, X: NDArray[Any], index: LabelIndex) -> bool:
        """Whether X came as float32, as some unit vectors of a block of float64 did, which were rounded to that."""
        narrow = X.dtype == np.float32 and index.dtype == np.float64 and self.space == "sphere"
        return narrow and self.dtype is None and len(self._wide) < len(self)

    def _check_size(self, X: NDArray[Any], index: LabelIndex) -> None:
        """Refuse queries whose inner products with the examples no number can hold; in euclidean space they may be."""
        if self.space == "sphere" or not X.size:
            return
        norm, narrow = _norm_at_most(X), index.dtype == np.float32
        if norm > HUGE or (narrow and norm * max(1.0, index.scale) > LARGEST**2):
            raise _too_large(index.dtype.name)
        if max(norm, index.scale) < MINUTE and (norm > 0.0 or index.block[: index.size].any()):
            raise InvalidInput(f"All numbers are below {MINUTE}, too small for their squares; scale the data.")

    def _example(self, row: int) -> Example:
        index = self.index
        return Example(self._ids[row], index.labels[index.row_slot[row]], index.block[row].copy())

    @property
    def index(self) -> LabelIndex:
        """The arrays behind the store; an error before the first example."""
        if self._index is None:
            raise InvalidInput("The store has no examples yet; append one before searching it.")
        return self._index

    def _row(self, id: ExampleId) -> int:
        try:
            return self._row_of[as_id(id)]
        except (KeyError, InvalidInput):
            raise UnknownExample(f"No example has the id {id!r}; nothing was changed.") from None

    def _slot(self, label: Label) -> tuple[LabelIndex, int]:
        index = self._index
        if index is None or label not in index.slot_of:
            raise UnknownLabel(f"No example has the label {label!r}; nothing was changed.")
        return index, index.slot_of[label]

    def _new_id(self, id: ExampleId | None) -> ExampleId:
        if id is None:
            free = self._next_id
            while free in self._row_of:
                free += 1
            return free
        key = as_id(id)
        if key in self._row_of:
            raise InvalidInput(
                f"The example id {key!r} is in use already; relabel or forget that example, or choose another id."
            )
        return key


def _norm_at_most(X: NDArray[Any]) -> float:
    """No row is longer than this."""
    square = float(np.vdot(X, X))
    if 1e-30 < square < 1e30:  # nearly always; else it may have under- or overflowed
        return math.sqrt(square)
    return float(np.abs(X).max()) * math.sqrt(X.shape[-1])


def _too_large(dtype: str) -> InvalidInput:
    better = "use dtype='float64' or " if dtype == "float32" else ""
    return InvalidInput(f"A number is too large for a {dtype} store; {better}scale the data.")


def _hulls(distance: str) -> bool:
    if distance not in ("hull", "nearest"):
        raise InvalidInput(f"The distance is 'hull' or 'nearest'; found {distance!r}.")
    return distance == "hull"
