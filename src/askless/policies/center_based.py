"""CC: ask until every label's centre is known well enough, then guess the nearest centre for good.

`CentroidPolicy`, which the policies with one centre a label share, comes first.
"""

from __future__ import annotations

import math
import numbers
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.inputs import as_flag
from askless.policies.base import ReplayPolicy
from askless.types import Ask, Decision, Exploring, Guess, Label, NoExamples, Suggestion, Support, Vector

N_SUGGESTIONS = 5
_SMALL_TABLE = 4096  # numbers; below this a scan of exact distances is as quick as one that filters first
_BLOCK = 512  # rows a matrix product in the search for the closest pair


class CentroidPolicy(ReplayPolicy):
    """One centre a label, and the guess of the nearest; what a centre is, a subclass says.

    The first phase of such a policy ends only when every label has an example, so it must know how many
    labels there are: from `n_labels`, or with `labels_given=True` by counting those learned before the
    first `observe`, which is the caller's word that each label has an example among them. With fewer than
    two labels it asks.
    """

    def __init__(self, *, space: str = "sphere", n_labels: int | None = None, labels_given: bool = False) -> None:
        super().__init__(space=space, n_labels=n_labels)
        self.labels_given = as_flag(labels_given, "labels_given")
        if self.n_labels is None and not self.labels_given:
            raise InvalidInput(
                f"{type(self).__name__} explores until every label has an example, so it must know their "
                "number; found n_labels=None. Give n_labels, or labels_given=True and learn an example of "
                "each label before the first query."
            )
        self._reset()

    def _reset(self) -> None:
        self._names: list[Label] = []
        self._row: dict[Label, int] = {}
        self._examples: list[int] = []  # how many examples each label has
        self._centers: NDArray[np.float64] = np.zeros((0, 0))
        self._squares: NDArray[np.float64] = np.zeros(0)  # the squared norm of each centre
        self._n_expected = self.n_labels  # None until labels_given has been counted

    def _observed(self, x: Vector, guess: Label | None) -> None:
        if self._n_expected is None:
            self._n_expected = len(self._names)

    @property
    def _all_labels_seen(self) -> bool:
        return len(self._names) >= max(2, self._n_expected or 0)

    def _row_of(self, label: Label, dim: int) -> int:
        """The row of this label's centre, a new one at the origin where it has none."""
        if label not in self._row:
            row = len(self._names)
            self._row[label] = row
            self._names.append(label)
            self._examples.append(0)
            self._centers = with_room(self._centers, row, dim)
            if len(self._squares) < len(self._centers):
                self._squares = np.append(self._squares, np.zeros(len(self._centers) - len(self._squares)))
        return self._row[label]

    def _move(self, row: int, x: Vector, kappa: int) -> None:
        """Move a centre by (x - centre) / kappa: with kappa = 1, 2, 3, ... it is the mean of the points."""
        center = self._centers[row]
        center += (x - center) / kappa
        self._squares[row] = center @ center

    def _nearest(self, q: Vector) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The rows of the nearest centres, nearest first, with their distances."""
        n = len(self._names)
        centers = self._centers[:n]
        rows = np.arange(n) if centers.size <= _SMALL_TABLE else self._near(q)
        differences = centers[rows] - q
        distances = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        order = smallest_first(distances, N_SUGGESTIONS)
        return rows[order], distances[order]

    def _near(self, q: Vector) -> NDArray[np.intp]:
        """Rows that hold the nearest centres for certain: inner products, less their rounding error."""
        n = len(self._names)
        squares = self._squares[:n]
        gaps = squares - 2.0 * (self._centers[:n] @ q)
        k = min(n, N_SUGGESTIONS)
        slack = 8.0 * q.size * np.finfo(np.float64).eps * (squares.max() + q @ q)
        return np.flatnonzero(gaps <= np.partition(gaps, k - 1)[k - 1] + slack)

    def _guess(self, q: Vector) -> Guess:
        rows, distances = self._nearest(q)
        first, second = float(distances[0]), float(distances[1])
        label, runner_up = self._names[rows[0]], self._names[rows[1]]
        ratio = first / second if second > 0.0 else 1.0
        return Guess(label, first, runner_up, ratio, self._evidence(label))

    def _evidence(self, label: Label) -> tuple[Support, ...]:
        """The examples whose weighted sum the label's centre is, where there are such."""
        return ()

    def _suggestions(self, q: Vector) -> tuple[Suggestion, ...]:
        rows, distances = self._nearest(q)
        return tuple(Suggestion(self._names[r], d) for r, d in zip(rows.tolist(), distances.tolist(), strict=True))

    def _labels_missing(self) -> str:
        return f"{len(self._names)} of {max(2, self._n_expected or 0)} labels have an example"


class CenterBased(CentroidPolicy):
    """Guess the nearest centre, once every label has been asked about often enough to know its centre.

    The policy asks until every label has at least

        m(t) = constant * sigma^2 * (d + 2 log horizon) / gap(t)^2

    examples, where a label's centre is the mean of its examples (on the sphere too, not normalised) and
    gap(t) the smallest distance between two centres. Then the centres are frozen, and it guesses from there
    on. With this many examples of noise sigma each centre is off by at most a quarter of the gap with high
    probability, so the nearest centre is the right one but for a probability that falls exponentially in d.
    That holds for mixtures around the seeds with constant=108; smaller constants do better in practice, and
    0 stops as soon as every label has one example. `horizon` is the number of rounds that are expected; it
    counts by its logarithm only. `evidence` names the examples whose mean the centre is. [Reveillard et al.
    2026, section 4.2]
    """

    def __init__(
        self,
        constant: float = 108.0,
        sigma: float = 0.1,
        horizon: int = 10_000,
        *,
        space: str = "sphere",
        n_labels: int | None = None,
        labels_given: bool = False,
    ) -> None:
        self.constant = _nonnegative(constant, "constant")
        self.sigma = _nonnegative(sigma, "sigma")
        self.horizon = _rounds(horizon)
        super().__init__(space=space, n_labels=n_labels, labels_given=labels_given)

    def _reset(self) -> None:
        super()._reset()
        self._enough = False  # whether the examples learned so far end the first phase
        self._pair: tuple[int, int] | None = None  # two centres that were the closest when last searched for
        self._supports: dict[Label, tuple[Support, ...]] = {}

    @property
    def _committed(self) -> bool:
        """Whether the centres are frozen; not before the number of labels is settled."""
        return self._enough and self._n_expected is not None

    def _learned(self, x: Vector, label: Label) -> None:
        if self._committed:
            return
        row = self._row_of(label, x.size)
        self._examples[row] += 1
        self._move(row, x, self._examples[row])
        self._enough = self._all_labels_seen and self._well_separated(x.size)

    def decide(self, x: ArrayLike) -> Decision:
        """Ask in the first phase, guess the nearest centre in the second."""
        q = self._vector(x)
        if not self._names:
            return Ask(NoExamples())
        if self._enough:
            return self._guess(q)
        return Ask(Exploring(self._missing(q.size)), self._suggestions(q))

    def _needed(self, dim: int) -> float:
        """m(t) times the squared gap: what the fewest examples times the squared gap must reach."""
        return self.constant * self.sigma**2 * (dim + 2.0 * math.log(self.horizon))

    def _well_separated(self, dim: int) -> bool:
        # The search over all pairs is needed only when the pair found last time no longer says no.
        needed, fewest = self._needed(dim), min(self._examples)
        if needed == 0.0:
            return True
        if self._pair is not None and fewest * self._squared_gap(self._pair) < needed:
            return False
        self._pair = closest_pair(self._centers[: len(self._names)])
        return fewest * self._squared_gap(self._pair) >= needed

    def _squared_gap(self, pair: tuple[int, int]) -> float:
        difference = self._centers[pair[0]] - self._centers[pair[1]]
        return float(difference @ difference)

    def _missing(self, dim: int) -> str:
        if not self._all_labels_seen or self._pair is None:
            return self._labels_missing()
        squared_gap, fewest = self._squared_gap(self._pair), min(self._examples)
        if squared_gap == 0.0:
            one, other = (self._names[row] for row in self._pair)
            return f"the examples of {one!r} and {other!r} have the same mean"
        enough = math.ceil(min(self._needed(dim) / squared_gap, 1e18))
        return f"label {self._names[self._examples.index(fewest)]!r} has {fewest} of {enough} examples or more"

    def _evidence(self, label: Label) -> tuple[Support, ...]:
        if label in self._supports:
            return self._supports[label]
        n = self._examples[self._row[label]]
        ids = islice((c.id for c in self._calls if c.id is not None and c.label == label), n)
        supports = tuple(Support(id, 1.0 / n) for id in ids)
        if self._committed:
            self._supports[label] = supports
        return supports


def smallest_first(values: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """The indices of the k smallest values (or of all), in order; of equal ones the first comes first."""
    if len(values) <= k:
        return np.argsort(values, kind="stable")
    candidates = np.flatnonzero(values <= np.partition(values, k - 1)[k - 1])
    return candidates[np.argsort(values[candidates], kind="stable")[:k]]


def with_room(rows: NDArray[np.float64], n: int, dim: int) -> NDArray[np.float64]:
    """The same rows with a zero row at index n; the block doubles when it is full."""
    if n < len(rows):
        return rows
    larger = np.zeros((max(8, 2 * n), dim))
    larger[:n] = rows[:n] if n else 0.0
    return larger


def closest_pair(rows: NDArray[np.float64]) -> tuple[int, int]:
    """The two rows at the smallest distance from each other, from inner products, in blocks."""
    # Distances stay, and fewer digits are lost where all rows lie far from the origin.
    shifted = rows - rows.mean(axis=0)
    squares = np.einsum("ij,ij->i", shifted, shifted)
    best, pair = math.inf, (0, 1)
    for start in range(0, len(rows), _BLOCK):
        block = shifted[start : start + _BLOCK]
        gaps = squares[start : start + _BLOCK, None] + squares - 2.0 * (block @ shifted.T)
        own = np.arange(len(block))
        gaps[own, start + own] = math.inf
        i, j = divmod(int(gaps.argmin()), len(rows))
        if gaps[i, j] < best:
            best, pair = float(gaps[i, j]), (start + i, j)
    return pair


def _nonnegative(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0.0 <= float(value) < math.inf:
        raise InvalidInput(f"{name} is a finite number, zero or more; found {value!r}.")
    return float(value)


def _rounds(horizon: Any) -> int:
    if isinstance(horizon, bool) or not isinstance(horizon, numbers.Integral) or int(horizon) < 1:
        raise InvalidInput(
            "horizon is the number of rounds expected, a positive integer; "
            f"found {horizon!r}. Where it is unknown, 10,000 will do."
        )
    return int(horizon)
