"""Examples in the order in which they were learned, with what is needed of every beginning of that order.

A self-tuning policy asks of each example: had it been a query, what would the examples before it have said? So rows
stay in their order, and the figures that depend on a beginning (the spread of the rows, the labels seen once) are
kept for each example as they were once it had been learned.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.errors import InvalidInput, UnknownExample, UnknownLabel
from askless.inputs import as_id, as_label
from askless.policies.label_members import LabelMembers
from askless.policies.neighbourhood_kernels import Places
from askless.types import Example, ExampleId, Label, Vector

_FIRST_CAPACITY = 64
_GROWTH = 1.25
_FARTHEST = 1e17  # in units; what lies beyond is kept as if it lay there, so that float32 can hold its square


class OrderedExamples:
    """Rows in float32, their labels as numbers, and their ids.

    On the sphere rows have norm 1. In euclidean space they are kept as seen from the first example that was learned,
    over its largest entry or the second's difference to it, so that neither a far origin nor a small or large unit
    costs digits.
    """

    def __init__(self, space: str) -> None:
        self._space = space
        self.names: list[Label] = []
        self._number_by_name: dict[Label, int] = {}
        self._members = LabelMembers()
        self.ids: list[ExampleId] = []
        self._position: dict[ExampleId, int] = {}
        self.lock = threading.Lock()  # held by who changes the examples, and by who looks at them from another thread
        self.moves = 0  # how often rows were taken out or measured anew: products with them from before are void
        self.changes = 0  # of any kind but another name for a label
        self._next_id = 0
        self._origin: NDArray[np.float64] | None = None
        self._unit = 1.0
        self._rows = np.zeros((0, 0), dtype=np.float32)
        self._numbers = np.zeros(0, dtype=np.int32)
        self._squares = np.zeros(0)  # its squared norm
        self._square_sums = np.zeros(0)  # the sum of all squared norms, once it was learned
        self._total_norms = np.zeros(0)  # the squared norm of the sum of all rows, once it was learned
        self._singles = np.zeros(0, dtype=np.int64)  # the labels with one example, once it was learned
        self._total = np.zeros(0)  # the sum of all rows

    @property
    def on_sphere(self) -> bool:
        """Whether all rows have norm 1."""
        return self._space == "sphere"

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int | None:
        """The dimension of the rows, or None before the first."""
        return None if self._origin is None else self._origin.shape[0]

    @property
    def rows(self) -> NDArray[np.float32]:
        """The examples, a row each, as they are kept."""
        return self._rows[: len(self)]

    @property
    def numbers(self) -> NDArray[np.int32]:
        """The number of each row's label."""
        return self._numbers[: len(self)]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many examples each label has."""
        return self._members.counts

    @property
    def n_labels(self) -> int:
        """How many labels have an example."""
        return self._members.n_labels

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels that have an example, in the order of their first appearance."""
        return tuple(self.names[k] for k in dict.fromkeys(self.numbers.tolist()))

    def seen_from(self, x: Vector) -> NDArray[np.float32]:
        """The vector, or each row of a matrix, as the rows are kept."""
        with np.errstate(over="ignore"):  # before the first example nothing has brought large numbers back
            return self.scaled(x).astype(np.float32)

    def scaled(self, x: Vector) -> NDArray[np.float64]:
        """The vector from the rows' origin and in their unit, in double precision."""
        if self.on_sphere or self._origin is None:
            return x.astype(np.float64)
        with np.errstate(over="ignore"):  # what overflows is brought back
            return np.clip((x - self._origin) / self.unit, -_FARTHEST, _FARTHEST)

    @property
    def unit(self) -> float:
        """What a length of 1 between rows is between the vectors that were given."""
        return 1.0 if self.on_sphere else self._unit or 1.0

    def given(self, position: int) -> NDArray[np.float64]:
        """One example as it was given, to the precision of float32."""
        row: NDArray[np.float64] = self._rows[position].astype(np.float64)
        return row if self.on_sphere or self._origin is None else row * self.unit + self._origin

    @property
    def squares(self) -> NDArray[np.float64]:
        """The squared norm of each row."""
        return self._squares[: len(self)]

    def spread(self, upto: int, q: NDArray[np.float32]) -> float:
        """The mean squared distance between two of the first `upto` rows; on the sphere 2, whatever they are.

        Where all of them are equal it is that of the query to them, so that no unit of length matters.
        """
        if self.on_sphere:
            return 2.0
        mean_square, mean_norm = self._square_sums[upto - 1] / upto, self._total_norms[upto - 1] / upto**2
        found = 2.0 * float(mean_square - mean_norm)
        if found > 1e-12 * float(mean_square):
            return found
        gap = (self._rows[0] - q).astype(np.float64)
        return float(gap @ gap) or 1.0

    def singles(self, upto: int) -> int:
        """How many labels have exactly one example among the first `upto`."""
        return int(self._singles[upto - 1]) if upto else 0

    def is_new(self, position: int) -> bool:
        """Whether the example there was the first of its label."""
        return self._members.is_new(position)

    def places(self) -> Places:
        """The examples as the kernels read them."""
        own = self._members
        return Places(self.rows, self.numbers, own.previous, own.last, own.counts, own.slots, own.sums)

    def __iter__(self) -> Iterator[Example]:
        for position, (number, id) in enumerate(zip(self.numbers, self.ids, strict=True)):
            yield Example(id, self.names[number], self.given(position))

    # -- changes ------------------------------------------------------------------------------------------------
    def append(self, x: Vector, label: Label, id: ExampleId | None) -> ExampleId:
        """One more example, and its id."""
        label, key = as_label(label), self._new_id(id)
        n = len(self)
        if self._origin is None:
            self._origin = np.zeros(len(x)) if self.on_sphere else np.array(x, dtype=np.float64)
            self._unit = float(np.abs(x).max())
        elif self._square_sums[n - 1] == 0.0:  # all rows so far are zero, whatever the unit
            self._unit = max(self._unit, float(np.abs(x / 2.0 - self._origin / 2.0).max()))
            self.moves += 1
        self._make_room(n + 1)
        self._rows[n] = self.seen_from(x)
        self._numbers[n] = self._number(label)
        self.ids.append(key)
        self._position[key] = n
        self._members.add(self.rows, self.numbers)
        self._sum_up(n)
        self.changes += 1
        return key

    def remove(self, positions: Sequence[int]) -> None:
        """Take examples out; the later ones close up."""
        n, first = len(self), min(positions)
        self.moves += 1
        self.changes += 1
        for position in positions:
            del self._position[self.ids[position]]
        stay = np.delete(np.arange(first, n), np.asarray(positions) - first)
        self._rows[first : first + len(stay)] = self._rows[stay]
        self._rows[first + len(stay) : n] = 0.0  # nothing of what was taken out is left
        self._numbers[first : first + len(stay)] = self._numbers[stay]
        self.ids[first:] = [self.ids[k] for k in stay]
        self._position.update(zip(self.ids[first:], range(first, len(self.ids)), strict=True))
        if not self.ids:
            self._origin = None
        elif first == 0 and not self.on_sphere:
            self._measure_from_the_first()
        self._members.renew(self.rows, self.numbers, len(self.names))
        self._sum_up_from(first)

    def _measure_from_the_first(self) -> None:
        """The first of the examples that are left is the origin now: the one before it leaves no trace."""
        assert self._origin is not None  # there are examples
        gap = self._rows[0].astype(np.float64)
        self._origin = self._origin + gap * self.unit
        self._rows[: len(self)] = self.rows - gap

    def relabel(self, positions: Sequence[int], label: Label) -> None:
        """Give these examples, in the order of their positions, another label."""
        number = self._number(as_label(label))
        self.changes += 1
        self._numbers[np.asarray(positions)] = number
        self._members.renew(self.rows, self.numbers, len(self.names))
        self._sum_up_from(positions[0])

    def rename(self, old: Label, new: Label) -> None:
        """Give a label another name, which must not be in use."""
        number, new = self.number_of(old), as_label(new)
        if new != old and new in self.labels:
            raise InvalidInput(f"The label {new!r} is in use already; merge_labels joins two labels.")
        if new == old:
            return
        emptied = self._number_by_name.pop(new, None)  # a label that had that name and has no example left
        del self._number_by_name[old]
        self.names[number], self._number_by_name[new] = new, number
        if emptied is not None:
            self.names[emptied], self._number_by_name[old] = old, emptied

    def number_of(self, label: Label) -> int:
        """The number of a label that has examples."""
        number = self._number_by_name.get(as_label(label), -1)
        if number < 0 or not self.counts[number]:
            raise UnknownLabel(f"No example has the label {label!r}; nothing was changed.")
        return number

    def position(self, id: ExampleId) -> int:
        """Where the example of that id stands."""
        try:
            return self._position[as_id(id)]
        except (KeyError, InvalidInput):
            raise UnknownExample(f"No example has the id {id!r}; nothing was changed.") from None

    def state(self) -> dict[str, Any]:
        """Rows, labels and ids."""
        n = len(self)
        return {
            "rows": self.rows.copy(),
            "unit": self._unit,
            "origin": np.zeros(0) if self._origin is None else self._origin.copy(),
            "numbers": self.numbers.copy(),
            "names": list(self.names),
            "ids": list(self.ids),
            "next_id": self._next_id,
            "sums": np.stack([self._squares[:n], self._square_sums[:n], self._total_norms[:n]]),
            "singles": self._singles[:n].copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        self.names, self.ids = list(state["names"]), list(state["ids"])
        self._number_by_name = {name: k for k, name in enumerate(self.names)}
        self._position = {id: k for k, id in enumerate(self.ids)}
        self._next_id = int(state["next_id"])
        self._unit = float(state["unit"])
        self._origin = np.array(state["origin"], dtype=np.float64) if len(state["origin"]) else None
        self._rows, self._numbers = np.array(state["rows"], dtype=np.float32), np.array(state["numbers"])
        # What was saved by an earlier version has a row more before these.
        self._squares, self._square_sums, self._total_norms = (row.copy() for row in state["sums"][-3:])
        self._singles = np.array(state["singles"])
        self._total = self._rows.sum(axis=0, dtype=np.float64)
        self._members.renew(self.rows, self.numbers, len(self.names))
        self.moves += 1
        self.changes += 1

    # -- parts ----------------------------------------------------------------------------------------------------
    def _number(self, label: Label) -> int:
        number = self._number_by_name.setdefault(label, len(self.names))
        if number == len(self.names):
            self.names.append(label)
        return number

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

    def _make_room(self, n: int) -> None:
        if n <= len(self._rows) and self._rows.shape[1] == self.dim:
            return
        capacity = max(_FIRST_CAPACITY, n, int(_GROWTH * len(self._rows)))
        kept = len(self)  # none, where the dimension is a new one
        rows = np.zeros((capacity, self.dim or 0), dtype=np.float32)
        if kept:
            rows[:kept] = self._rows[:kept]
        self._rows = rows
        for name in ("_numbers", "_squares", "_square_sums", "_total_norms", "_singles"):
            old = getattr(self, name)
            new = np.zeros(capacity, dtype=old.dtype)
            new[:kept] = old[:kept]
            setattr(self, name, new)

    # -- the figures of every beginning ---------------------------------------------------------------------------
    def _sum_up_from(self, start: int) -> None:
        """Bring the figures up to date from row `start` on."""
        self._total = self._rows[:start].sum(axis=0, dtype=np.float64)
        for i in range(start, len(self)):
            self._sum_up(i)

    def _sum_up(self, i: int) -> None:
        """The figures of the beginning that ends with row i, from those of the one before."""
        if i == 0:
            self._total = np.zeros(self._rows.shape[1])
        row = self._rows[i].astype(np.float64)
        self._singles[i] = (self._singles[i - 1] if i else 0) + self._members.is_new(i) - self._members.is_second(i)
        self._total += row
        self._squares[i] = row @ row
        self._square_sums[i] = (self._square_sums[i - 1] if i else 0.0) + self._squares[i]
        self._total_norms[i] = self._total @ self._total
