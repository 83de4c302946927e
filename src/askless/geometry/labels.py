"""The arrays behind a store: rows, label slots and pools, grown and kept compact as examples come and go."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.geometry import index as kernels
from askless.geometry.jit import told_of_compiling
from askless.geometry.search import GUESS, SHOWN, all_distances, settle
from askless.geometry.work import EUCLIDEAN, SPHERE
from askless.types import Label, Vector

GROWTH = 1.25  # of the block, so that memory stays near the vectors' own

_PER_ROW = {"scales": float, "squares": float, "slots": np.int32}
_PER_ENTRY = {"members": np.int32, "lean": np.float32, "gw": float, "vw": float}
_PER_SLOT = {
    "start": np.int32, "sizes": np.int32, "room": np.int32, "gram_at": np.int64, "cc": float, "reach": float,
    "pmax": float, "spread": float, "lam": float, "kappa": float, "big": np.int32,
}  # fmt: skip


def gram_limit(dim: int) -> int:
    """The most examples with which a label keeps a Gram matrix: with its inverse, half the memory of the vectors."""
    return max(16, min(dim // 8, 128))


def kept_directions(dim: int) -> int:
    """How many separating directions a label without a Gram matrix keeps: many where vectors are short.

    In 50 dimensions four times as many spared at most one projection in seventy in the paper's streams.
    """
    return max(16, min(64, 12800 // dim))


class Found(NamedTuple):
    """What a search found, by slots and rows: distances, the labels to suggest, those inside, the evidence."""

    guessable: bool
    low: float
    high: float
    runner_low: float
    runner_high: float
    slots: list[int]  # to suggest, the best first
    highs: list[float]  # their distances at most
    near: list[int]  # the row of the nearest example of each
    inside: list[int]  # slots whose hull contains the query
    rows: list[int]  # the evidence
    weights: list[float]


class LabelIndex:
    """Rows of vectors, grouped by label in slots; the bookkeeping around `kernels.Index`."""

    def __init__(self, space: str, dim: int, dtype: np.dtype[Any], warming: bool = False) -> None:
        self.space = SPHERE if space == "sphere" else EUCLIDEAN
        self.dim, self.dtype = dim, dtype
        self.size = 0
        self.labels: list[Label] = []
        self.slot_of: dict[Label, int] = {}
        self.row_place: NDArray[np.int64] = np.zeros(0, np.int64)
        self.block: NDArray[Any] = np.empty((0, dim), dtype)
        self._pool_used = self._gram_used = self._big_used = 0
        self._pool_waste = self._gram_waste = 0
        self._free_big: list[int] = []
        self._most = 0  # examples of the largest label there has been
        self._arrays: dict[str, NDArray[Any]] = {
            **{name: np.zeros(0, kind) for name, kind in (_PER_ROW | _PER_ENTRY | _PER_SLOT).items()},
            "gram": np.zeros(0),
            "inverse": np.zeros(0),
            "center": np.zeros((0, dim)),
            "referred": np.zeros(0, np.int64),
            "directions": np.zeros((0, kept_directions(dim), dim)),
            "supports": np.zeros((0, kept_directions(dim))),
            "used": np.zeros((0, 2), np.int64),
        }
        self.scale = 1.0 if self.space == SPHERE else 0.0
        unit_roundoff = 2.0**-24 if dtype == np.float32 else 2.0**-53
        self._rounding = (dim + 4) * unit_roundoff  # worst case of any order of summation, for vectors of norm 1
        self._eps = self._rounding  # what the scan is off by
        self._limit = gram_limit(dim)
        self._scratch = np.empty((3, 0)), np.empty((2, 0), np.int64)
        self._found = np.empty(0), np.empty(0, np.int64)
        self._rebuild()
        if not warming:
            warm_up(dtype.name)

    def __getstate__(self) -> dict[str, Any]:
        """All but where the arrays lie: a copy has its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_ix"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rebuild()

    # -- queries ------------------------------------------------------------------------------------------
    def scan(self, q: Vector) -> Vector:
        """The inner products of a query with all examples, in the block's precision."""
        products: Vector = self.block[: self.size] @ q
        return products

    def settle(self, q: Vector, b: Vector, tau: float, zero: float, hulls: bool, exact: bool) -> Found:
        """The search for one query, from its inner products with all examples; not for two threads at once."""
        numbers, places = self._found
        if len(numbers) < 4 + SHOWN + self._most:
            room = SHOWN + self._most * 2
            numbers, places = self._found = np.empty(4 + room), np.empty(SHOWN + room, np.int64)
        status, shown, holding, size = settle(
            self._ix, len(self.labels), q, b, self._error(q), self.scale, float(tau), zero, hulls, exact, self._most,
            *self._scratch, numbers, places,
        )  # fmt: skip
        low, high, runner_low, runner_high, *highs = numbers[: 4 + shown].tolist()
        where = places[: SHOWN + shown].tolist()
        inside = self._scratch[1][1, :holding].tolist() if holding else []
        rows = places[2 * SHOWN : 2 * SHOWN + size].tolist() if size else []
        weights = numbers[4 + SHOWN : 4 + SHOWN + size].tolist() if size else []
        return Found(
            status == GUESS,
            low,
            high,
            runner_low,
            runner_high,
            where[:shown],
            highs,
            where[SHOWN:],
            inside,
            rows,
            weights,
        )

    def all_distances(self, q: Vector, b: Vector, hulls: bool, out: NDArray[np.float64]) -> None:
        """The distance to every label, into `out`."""
        all_distances(self._ix, len(self.labels), q, b, hulls, self._error(q), self._most, out)

    def _error(self, q: Vector) -> float:
        """What the scan is off by, for vectors of norm 1: more where all are so short that its products underflow."""
        if self.space == SPHERE or self.dtype != np.float32 or not 0.0 < self.scale < 1e-6:
            return self._eps
        lengths = self.scale * float(np.linalg.norm(q.astype(np.float64)))
        return self._eps + self.dim * 2.0**-126 / lengths if lengths > 0.0 else self._eps

    def vectors(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Rows in float64, of norm 1 on the sphere."""
        X = self.block[rows].astype(np.float64)
        if self.space == SPHERE:
            X *= self._arrays["scales"][rows, None]
        return X

    @property
    def row_slot(self) -> NDArray[np.int32]:
        """The slot of each row's label."""
        return self._arrays["slots"]

    def rows_of(self, slot: int) -> NDArray[np.int32]:
        """The rows of one label's examples."""
        start, count = self._arrays["start"][slot], self._arrays["sizes"][slot]
        return np.array(self._arrays["members"][start : start + count])

    def size_of(self, slot: int) -> int:
        """How many examples a label has."""
        return int(self._arrays["sizes"][slot])

    # -- changes ------------------------------------------------------------------------------------------
    def append(self, vector: Vector, label: Label) -> int:
        """Add a row; returns its number."""
        row = self.size
        if row == len(self.block):
            self._grow_rows()
        self.block[row] = vector
        self.size += 1
        square = self._enter(row, label)
        if self.space == EUCLIDEAN:
            self.scale = max(self.scale, math.sqrt(square))
        elif self.dtype == np.float64:  # a row that was rounded to float32 before is not as near to norm 1 as this type
            self._eps = max(self._eps, self._rounding + 2.0 * abs(1.0 - math.sqrt(square)))
        return row

    def relabel(self, row: int, label: Label) -> None:
        """Move a row to another label."""
        if self.labels[self.row_slot[row]] != label:
            self._leave(row)
            self._enter(row, label)

    def remove(self, row: int) -> None:
        """Remove a row; the last row takes its number."""
        self._leave(row)
        last = self.size - 1
        if row != last:
            self.block[row] = self.block[last]
            for name in _PER_ROW:
                self._arrays[name][row] = self._arrays[name][last]
            place = self.row_place[row] = self.row_place[last]
            self._arrays["members"][self._arrays["start"][self.row_slot[row]] + place] = row
        self.size = last
        if self.space == EUCLIDEAN:
            squares = self._arrays["squares"][: self.size]
            self.scale = float(np.sqrt(squares.max())) if self.size else 0.0

    def rename(self, slot: int, label: Label) -> None:
        """Give a slot another label."""
        del self.slot_of[self.labels[slot]]
        self.labels[slot] = label
        self.slot_of[label] = slot

    def _enter(self, row: int, label: Label) -> float:
        slot = self.slot_of.get(label)
        if slot is None:
            slot = self._new_slot(label)
        a = self._arrays
        size = int(a["sizes"][slot])
        if size == a["room"][slot]:
            self._make_room(slot)
        self.row_slot[row] = slot
        self.row_place[row] = size
        square: float
        square, leans = kernels.append(self._ix, slot, row)
        if leans:
            kernels.lean_on_origin(self._ix, slot)
        if size >= self._most:
            self._most = size + 1
        return square

    def _leave(self, row: int) -> None:
        """Take a row out of its label; the label's last example takes its place, an empty label goes."""
        a, slot, place = self._arrays, int(self.row_slot[row]), int(self.row_place[row])
        start, last = int(a["start"][slot]), int(a["sizes"][slot]) - 1
        moved = a["members"][start + last]
        a["members"][start + place] = moved
        self.row_place[moved] = place
        a["sizes"][slot] = last
        if last == 0:
            self._drop_slot(slot)
        elif (kernels.refer_big if a["big"][slot] >= 0 else kernels.fill_small)(self._ix, slot):
            kernels.lean_on_origin(self._ix, slot)

    # -- room ---------------------------------------------------------------------------------------------
    def _grow_rows(self) -> None:
        capacity = max(16, int(len(self.block) * GROWTH))
        block = np.empty((capacity, self.dim), self.dtype)
        block[: self.size] = self.block[: self.size]
        self.block = block
        self.row_place = _longer(self.row_place, capacity)
        for name in _PER_ROW:
            self._arrays[name] = _longer(self._arrays[name], capacity)
        self._rebuild()

    def _new_slot(self, label: Label) -> int:
        slot, a = len(self.labels), self._arrays
        if slot == len(a["start"]):
            for name in _PER_SLOT:
                a[name] = _longer(a[name], max(16, int(slot * 1.5)))
            self._rebuild()
        for name in _PER_SLOT:
            a[name][slot] = 0
        a["gram_at"][slot] = a["big"][slot] = -1
        self.labels.append(label)
        self.slot_of[label] = slot
        return slot

    def _drop_slot(self, slot: int) -> None:
        """Remove an empty label; the last slot takes its number."""
        a, last = self._arrays, len(self.labels) - 1
        self._free(slot)
        del self.slot_of[self.labels[slot]]
        if slot != last:
            for name in _PER_SLOT:
                a[name][slot] = a[name][last]
            self.labels[slot] = self.labels[last]
            self.slot_of[self.labels[slot]] = slot
            self.row_slot[self.rows_of(slot)] = slot
        self.labels.pop()

    def _free(self, slot: int) -> None:
        a = self._arrays
        self._pool_waste += int(a["room"][slot])
        if a["gram_at"][slot] >= 0:
            self._gram_waste += int(a["room"][slot]) ** 2
        if a["big"][slot] >= 0:
            self._free_big.append(int(a["big"][slot]))

    def _make_room(self, slot: int) -> None:
        """Move a full label to the end of the pools with more room, or turn it into a large one."""
        a, n = self._arrays, int(self._arrays["sizes"][slot])
        small = n < self._limit
        room = min(n + 1 + n // 3, self._limit) if small else n + 1 + n // 3
        if self._pool_waste > 1024 + self._pool_used // 3 or self._gram_waste > 1024 + self._gram_used // 3:
            self._compact()
        old_start, old_room, old_gram = (int(a[name][slot]) for name in ("start", "room", "gram_at"))
        self._reserve("pool", self._pool_used + room)
        for name in _PER_ENTRY:
            a[name][self._pool_used : self._pool_used + n] = a[name][old_start : old_start + n]
        a["start"][slot], a["room"][slot] = self._pool_used, room
        self._pool_used += room
        self._pool_waste += old_room
        if n and old_gram >= 0:
            self._gram_waste += old_room * old_room
        if small:
            self._reserve("gram", self._gram_used + room * room)
            for name in ("gram", "inverse"):
                old = a[name][old_gram : old_gram + old_room**2].reshape(old_room, old_room)
                new = a[name][self._gram_used : self._gram_used + room**2].reshape(room, room)
                new[:n, :n] = old[:n, :n]
            a["gram_at"][slot] = self._gram_used
            self._gram_used += room * room
        elif a["big"][slot] < 0:
            a["gram_at"][slot] = -1
            a["big"][slot] = self._new_big()
            if kernels.refer_big(self._ix, slot):
                kernels.lean_on_origin(self._ix, slot)

    def _new_big(self) -> int:
        a = self._arrays
        if self._free_big:
            place = self._free_big.pop()
        else:
            place = self._big_used
            if place == len(a["referred"]):
                for name in ("center", "referred", "directions", "supports", "used"):
                    a[name] = _longer(a[name], max(4, int(place * 1.5)))
                self._rebuild()
            self._big_used += 1
        a["used"][place] = 0
        return place

    def _reserve(self, pool: str, need: int) -> None:
        names = tuple(_PER_ENTRY) if pool == "pool" else ("gram", "inverse")
        have = len(self._arrays[names[0]])
        if need > have:
            for name in names:
                self._arrays[name] = _longer(self._arrays[name], max(64, need, int(have * GROWTH)))
            self._rebuild()

    def _compact(self) -> None:
        """Copy the pools without the gaps that moved and removed labels left."""
        a, slots = self._arrays, range(len(self.labels))
        for names, at, power in ((tuple(_PER_ENTRY), "start", 1), (("gram", "inverse"), "gram_at", 2)):
            sizes = [int(a["room"][s]) ** power if a[at][s] >= 0 else 0 for s in slots]
            fresh = {name: np.zeros(max(64, int(sum(sizes) * GROWTH)), a[name].dtype) for name in names}
            used = 0
            for s, size in zip(slots, sizes, strict=True):
                if size:
                    old = int(a[at][s])
                    for name in names:
                        fresh[name][used : used + size] = a[name][old : old + size]
                    a[at][s] = used
                    used += size
            a.update(fresh)
            if power == 1:
                self._pool_used, self._pool_waste = used, 0
            else:
                self._gram_used, self._gram_waste = used, 0
        self._rebuild()

    def _rebuild(self) -> None:
        self._ix = kernels.packed(kernels.Index(P=self.block, space=self.space, **self._arrays))
        slots = len(self._arrays["start"])
        if slots != self._scratch[0].shape[1]:
            self._scratch = np.empty((3, slots)), np.empty((2, slots), np.int64)


@cache
def warm_up(dtype: str) -> None:
    """Compile every kernel for vectors of this type, or load it from the cache, once in a process."""
    rng = np.random.default_rng(0)
    with told_of_compiling():
        index = LabelIndex("sphere", 4, np.dtype(dtype), warming=True)
        for i in range(2 * gram_limit(4)):
            index.append(rng.random(4).astype(dtype), i % 2 if i < 4 else 0)
        index.remove(1)
        index.remove(0)
        kernels.lean_on_origin(index._ix, 0)
        query = rng.random(4).astype(dtype)
        index.settle(query, index.scan(query), 0.5, 1e-9, True, False)
        index.all_distances(query, index.scan(query), True, np.empty(2))


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    """A copy with room for more, zeros at the end."""
    longer = np.zeros((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
