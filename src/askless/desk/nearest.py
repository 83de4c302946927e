"""The labels whose examples lie closest to a query: what a question offers, whatever the policy is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askless.types import Suggestion

_FIRST_ROOM = 256


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

    def closest(self, x: NDArray[np.float32], count: int) -> list[Suggestion]:
        """Up to `count` labels, nearest first, each with its closest example."""
        size = len(self._ids)
        if not size:
            return []
        similarity = self._rows[:size] @ x
        found: dict[str, Suggestion] = {}
        for k in np.argsort(-similarity, kind="stable"):
            label = self._labels[k]
            if label not in found:
                distance = float(np.sqrt(max(0.0, 2.0 - 2.0 * float(similarity[k]))))
                found[label] = Suggestion(label, distance, self._ids[k])
                if len(found) == count:
                    break
        return list(found.values())
