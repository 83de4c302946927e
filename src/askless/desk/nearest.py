"""The labels whose examples lie closest to a query: what a question offers, whatever the policy is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from askless.types import Suggestion

_FIRST_ROOM = 256
_LOOKED_AT = 512  # examples that are put in order before all of them are


class ClosestLabels:
    """Examples as unit vectors in one growing array, with the label of each."""

    def __init__(self) -> None:
        self._rows = np.zeros((0, 0), dtype=np.float32)
        self._ids: list[int] = []
        self._labels: list[str] = []
        self._place: dict[int, int] = {}

    def add(self, id: int, x: NDArray[np.float32], label: str) -> None:
        """Take an example; one of the same id changes its label."""
        if id in self._place:
            self._labels[self._place[id]] = label
            return
        size = len(self._ids)
        if size == len(self._rows):
            grown = np.zeros((max(_FIRST_ROOM, 2 * size), len(x)), dtype=np.float32)
            if size:
                grown[:size] = self._rows
            self._rows = grown
        self._rows[size] = x
        self._place[id] = size
        self._ids.append(id)
        self._labels.append(label)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, id: object) -> bool:
        return id in self._place

    @property
    def ids(self) -> list[int]:
        """The examples, in the order in which they came."""
        return list(self._ids)

    @property
    def rows(self) -> NDArray[np.float32]:
        """Their vectors, a row each, in the same order."""
        return self._rows[: len(self._ids)]

    def vector(self, id: int) -> NDArray[np.float32] | None:
        """The vector of an example, or None where there is none of that id."""
        return self._rows[self._place[id]] if id in self._place else None

    def restore(self, ids: Sequence[int], rows: NDArray[np.float32], labels: Sequence[str]) -> None:
        """Take all examples at once, in place of those before."""
        self._ids, self._labels = list(ids), list(labels)
        self._rows = np.array(rows, dtype=np.float32)
        self._place = {id: k for k, id in enumerate(self._ids)}

    def remove(self, ids: Iterable[int]) -> None:
        """Take examples out; the others stay in their order."""
        gone = {self._place[id] for id in ids if id in self._place}
        if gone:
            kept = [k for k in range(len(self._ids)) if k not in gone]
            first = min(gone)
            self._rows[first : len(kept)] = self._rows[kept[first:]]
            self._ids = [self._ids[k] for k in kept]
            self._labels = [self._labels[k] for k in kept]
            self._place = {id: k for k, id in enumerate(self._ids)}

    def closest(self, x: NDArray[np.float32], count: int) -> list[Suggestion]:
        """Up to `count` labels, nearest first, each with its closest example."""
        size = len(self._ids)
        if not size:
            return []
        similarity = self._rows[:size] @ x
        if size > _LOOKED_AT:
            best = np.sort(np.argpartition(-similarity, _LOOKED_AT)[:_LOOKED_AT])
            found = self._first(best[np.argsort(-similarity[best], kind="stable")], similarity, count)
            if len(found) == count:
                return found
        return self._first(np.argsort(-similarity, kind="stable"), similarity, count)

    def _first(self, order: NDArray[np.intp], similarity: NDArray[np.float32], count: int) -> list[Suggestion]:
        """The first `count` labels that examples in this order have."""
        found: dict[str, Suggestion] = {}
        for k in order.tolist():
            label = self._labels[k]
            if label not in found:
                distance = float(np.sqrt(max(0.0, 2.0 - 2.0 * float(similarity[k]))))
                found[label] = Suggestion(label, distance, self._ids[k])
                if len(found) == count:
                    break
        return list(found.values())
