"""Which examples each label has, and the sums of their rows."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

ScalarT = TypeVar("ScalarT", bound=np.generic)

_MANY = 32  # examples of a label whose sum is kept: so the sums take a sixteenth of what the rows take, at most
_FIRST_CAPACITY = 64
_GROWTH = 1.25

Places = NDArray[np.int64]


class LabelMembers:
    """The examples of a label as a chain, from the newest back to the first; of a label with many, their sum as well.

    Labels are numbers, examples positions. A sum is added up in the order of the rows, whether they came one by one or
    all at once: what is made anew is equal, to the last bit.
    """

    def __init__(self) -> None:
        self.n_labels = 0  # that have an example
        self.previous: Places = np.zeros(0, dtype=np.int64)  # the example of the same label before each, or -1
        self.counts: Places = np.zeros(0, dtype=np.int64)  # of each label's examples
        self.last: Places = np.zeros(0, dtype=np.int64)  # the newest example of each label, or -1
        self.slots: Places = np.zeros(0, dtype=np.int64)  # where the label's sum is kept, or -1
        self._sums = np.zeros((0, 0))
        self._n_sums = 0

    @property
    def sums(self) -> NDArray[np.float64]:
        """The sums that are kept."""
        return self._sums[: self._n_sums]

    def is_new(self, position: int) -> bool:
        """Whether the example there was the first of its label."""
        return bool(self.previous[position] < 0)

    def is_second(self, position: int) -> bool:
        """Whether one example of its label came before it."""
        return not self.is_new(position) and self.is_new(int(self.previous[position]))

    def add(self, rows: NDArray[np.float32], numbers: NDArray[np.int32]) -> None:
        """Take in the last of these rows."""
        position, number = len(rows) - 1, int(numbers[-1])
        self.previous = _with_room(self.previous, position + 1, 0)
        self.counts = _with_room(self.counts, number + 1, 0)
        self.last, self.slots = _with_room(self.last, number + 1, -1), _with_room(self.slots, number + 1, -1)
        self.n_labels += int(self.counts[number] == 0)
        self.counts[number] += 1
        self.previous[position], self.last[number] = self.last[number], position
        if self.slots[number] >= 0:
            self._sums[self.slots[number]] += rows[-1]
        elif self.counts[number] >= _MANY:
            self._keep_sum(number, rows, numbers)

    def renew(self, rows: NDArray[np.float32], numbers: NDArray[np.int32], labels: int) -> None:
        """Take in all rows, where some are gone or have another label; so many labels have been given a number."""
        order = np.argsort(numbers, kind="stable")
        grouped = numbers[order]
        self.previous = np.full(len(numbers), -1)
        self.previous[order[1:]] = np.where(grouped[1:] == grouped[:-1], order[:-1], -1)
        self.counts = np.bincount(numbers, minlength=labels).astype(np.int64)
        self.last, self.slots = np.full(len(self.counts), -1), np.full(len(self.counts), -1)
        self.last[grouped] = order  # of several for one label the last stays
        self.n_labels = int(np.count_nonzero(self.counts))
        self._sums, self._n_sums = np.zeros((0, rows.shape[1])), 0
        for number in np.flatnonzero(self.counts >= _MANY).tolist():
            self._keep_sum(number, rows, numbers)

    def _keep_sum(self, number: int, rows: NDArray[np.float32], numbers: NDArray[np.int32]) -> None:
        if self._sums.shape[1] != rows.shape[1]:
            self._sums = np.zeros((0, rows.shape[1]))
        k = self._n_sums
        self._sums = _with_room(self._sums, k + 1, 0)
        self._sums[k] = rows[numbers == number].sum(axis=0, dtype=np.float64)
        self.slots[number], self._n_sums = k, k + 1


def _with_room(array: NDArray[ScalarT], size: int, blank: int) -> NDArray[ScalarT]:
    """The array, or a longer copy of it."""
    if size <= len(array):
        return array
    longer = np.full((max(_FIRST_CAPACITY, size, int(_GROWTH * len(array))), *array.shape[1:]), blank, array.dtype)
    longer[: len(array)] = array
    return longer
