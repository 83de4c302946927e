"""What the alternatives share: they decide and learn like a policy, and never forget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from askless.errors import InvalidInput
from askless.inputs import as_label, as_matrix, as_vector
from askless.types import Decision, ExampleId, Label, Matrix, Vector

_ROWS_AHEAD = 64
_ANSWERS_BETWEEN_FITS = 25


class PeerPolicy(ABC):
    """An alternative behind the methods of a policy. What it cannot do, forget and relabel, it refuses."""

    def __init__(self) -> None:
        self.labels: list[Label] = []
        self._count = 0

    @abstractmethod
    def decide(self, x: ArrayLike) -> Decision:
        """Guess or ask."""

    @abstractmethod
    def _learned(self, x: Vector, label: Label) -> None:
        """Take in one example."""

    def observe(self, x: ArrayLike, decision: Decision) -> None:
        """Most take nothing from acting on a decision."""
        return

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        """Take an expert's answer as an example."""
        label = as_label(label)
        self._learned(as_vector(x, what="an example"), label)
        if label not in self.labels:
            self.labels.append(label)
        self._count += 1
        return self._count - 1 if id is None else id

    def forget(self, id: ExampleId) -> NoReturn:
        """Not possible with these libraries."""
        raise InvalidInput(f"{type(self).__name__} cannot forget: the library behind it has no such call.")

    def relabel(self, id: ExampleId, label: Label) -> NoReturn:
        """Not possible with these libraries."""
        raise InvalidInput(f"{type(self).__name__} cannot relabel: the library behind it has no such call.")


class RefittedPeer(PeerPolicy):
    """A classifier that is told all classes in advance and brought up to date from time to time.

    It learns from all answers so far after 25 of them, and then whenever there are 25 more and 5 per cent more.

    Between two refits its decisions do not change, so that a block of queries is decided in one call: the
    decisions are those that one query at a time would get.
    """

    def __init__(self, classes: Sequence[Label]) -> None:
        super().__init__()
        self.classes = list(classes)
        self._code = {label: k for k, label in enumerate(self.classes)}
        self._X: list[Vector] = []
        self._y: list[int] = []
        self._fits = 0
        self._next_fit = _ANSWERS_BETWEEN_FITS

    @abstractmethod
    def _refit(self, X: Matrix, codes: Sequence[int]) -> None:
        """Learn from all answers so far; `codes` are places in `classes`."""

    @abstractmethod
    def _decide_rows(self, X: Matrix) -> list[Decision]:
        """A decision for each row, once there has been a refit or before."""

    def _learned(self, x: Vector, label: Label) -> None:
        if label not in self._code:
            raise InvalidInput(f"{type(self).__name__} was not told of the label {label!r}; it must know all before.")
        self._X.append(x)
        self._y.append(self._code[label])
        if len(self._y) == self._next_fit:
            self._refit(np.array(self._X), self._y)
            self._fits += 1
            self._next_fit += max(_ANSWERS_BETWEEN_FITS, len(self._y) // 20)

    def decide(self, x: ArrayLike) -> Decision:
        """Guess or ask."""
        return self._decide_rows(as_vector(x)[None])[0]

    def stream(self, X: ArrayLike) -> Iterator[Decision]:
        """Yield the decision on each row in turn; what is learned between two of them counts for the next."""
        rows = as_matrix(X)
        block: list[Decision] = []
        start, fits = 0, self._fits
        for t in range(len(rows)):
            if fits != self._fits or t - start == len(block):
                block, start, fits = self._decide_rows(rows[t : t + _ROWS_AHEAD]), t, self._fits
            yield block[t - start]
