"""The rule that SelfTuning adds in few dimensions, where a label's examples can fill a hull: GHC, with two guards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askless.geometry.nearest import NearestTwo
from askless.geometry.search import SHOWN
from askless.geometry.store import ExampleStore
from askless.policies.history import Outlook
from askless.policies.ordered_examples import OrderedExamples
from askless.types import Costs, ExampleId, Label, Vector

HULL_DIM = 64  # beyond it no label has examples enough to fill a hull
_RATIO = 1.3  # over the root of the dimension, from 1: the ratio up to which GHC guesses well, 0.35 in 4, 0.59 in 10
_LARGEST_RATIO = 0.8
_CLEAR_RATIO = 0.6  # up to which the nearest hull speaks against a guess of another label
_OTHERS = 8  # examples of other labels, the nearest to a query, that must lie outside of the hull it is guessed by


class HullRule:
    """GHC for labels with more examples than dimensions, as long as these look like cells of their own.

    It guesses where the regression does not (`find`), and speaks against a guess that goes clearly against the hulls
    (`against`).

    Hulls prove something where each label's cell is convex. Where labels overlap, one hull may hold nearly everything,
    and a guess by it teaches nothing. So the rule keeps out where the hull holds an example of another label near the
    query, and where a mistake is so dear that the examples there are cannot make anything sure enough.
    """

    def __init__(self, examples: OrderedExamples, costs: Costs) -> None:
        self._examples, self._costs = examples, costs
        self._hulls: ExampleStore | None = None
        self._held: dict[tuple[int, int, int], bool] = {}  # by label, its number of examples, and another's position

    def find(self, q: Vector, outlook: Outlook, needed: float) -> NearestTwo | None:
        """The nearest two hulls, where they make a guess or a conflict; `needed` is how sure a guess must be."""
        examples, hulls = self._examples, self._hulls
        if hulls is None or not self._may_speak(q):
            return None
        seen, tau = examples.scaled(q), self._ratio(q.shape[0])
        found = hulls.nearest_two(seen, tau, "hull", False)
        if found.guessable:  # which of the others is the nearest is not certain yet, and the guess depends on it
            found = hulls.nearest_two(seen, tau, "hull", True)
        if found.is_conflict:
            return found
        sure = needed <= 1.0 - 1.0 / (len(examples) + 2)  # no surer than so many answers can make it
        if not (found.guessable and sure and self._are_filled(_nearest_labels(found))):
            return None
        return None if self._holds_another(found, outlook, seen) else found

    def against(self, q: Vector, outlook: Outlook) -> Label | None:
        """Another label than the best, where the hulls are clearly for it: there a guess of the best mostly errs."""
        if self._hulls is None or not self._may_speak(q):
            return None
        seen, best = self._examples.scaled(q), self._examples.names[outlook.labels[0]]
        found = self._hulls.nearest_two(seen, _CLEAR_RATIO)
        if not found.guessable or found.label == best or not self._are_filled([found.label, best]):
            return None
        return None if self._holds_another(found, outlook, seen) else found.label

    def _may_speak(self, q: Vector) -> bool:
        examples = self._examples
        return bool(self._costs.question and examples.n_labels > 1 and examples.counts.max() > q.shape[0])

    def _ratio(self, dim: int) -> float:
        """Up to which ratio to guess: the larger, the more dimensions there are, and the less a mistake costs."""
        cheap = (5.5 * self._costs.question / max(self._costs.mistake, 1e-300)) ** 0.5  # 1 at the paper's costs
        return float(np.clip((1.0 - _RATIO / dim**0.5) * cheap, 0.0, _LARGEST_RATIO))

    def _are_filled(self, labels: Sequence[Label]) -> bool:
        """Whether all of them have more examples than dimensions; no, where a search may not have shown them all."""
        examples = self._examples
        least = min(examples.counts[examples.number_of(label)] for label in labels)
        return bool(least > (examples.dim or 0)) and not len(labels) == SHOWN < examples.n_labels

    def _holds_another(self, found: NearestTwo, outlook: Outlook, q: Vector) -> bool:
        """Whether the hull holds one of the nearest examples of other labels. What is known holds until it grows."""
        examples, number = self._examples, self._examples.number_of(found.label)
        others = outlook.near[examples.numbers[outlook.near] != number]
        apart = ((examples.rows[others] - q) ** 2).sum(axis=1)
        for position in others[np.argsort(apart, kind="stable")[:_OTHERS]].tolist():
            key = number, int(examples.counts[number]), position
            if key not in self._held:
                self._held[key] = found.label in self._labels_around(position)
            if self._held[key]:
                return True
        return False

    def _labels_around(self, position: int) -> Sequence[Label]:
        assert self._hulls is not None  # they have found a label
        return self._hulls.nearest_two(self._examples.rows[position].astype(np.float64), 0.0).inside

    # -- what it learns from ----------------------------------------------------------------------------------------
    def learned(self) -> None:
        """An example was appended."""
        dim = self._examples.dim
        if dim is not None and dim <= HULL_DIM:
            if self._hulls is None:
                self._hulls = self._store()
            self._add(self._hulls, len(self._examples) - 1)

    def forgotten(self, keys: Sequence[ExampleId], first: bool) -> None:
        """Examples were taken out, the first of all among them or not."""
        self._held = {}
        if self._hulls is None:
            return
        if not len(self._examples) or (first and not self._examples.on_sphere):
            self.make_anew()  # none is left, or the rows are measured from another origin now
            return
        for key in keys:
            self._hulls.forget(key)

    def relabelled(self, positions: Sequence[int]) -> None:
        """Examples have another label."""
        self._held = {}
        if self._hulls is not None:
            for position in positions:
                self._hulls.relabel(self._examples.ids[position], self._name(position))

    def renamed(self, old: Label, new: Label) -> None:
        """A label has another name."""
        if self._hulls is not None:
            self._hulls.rename(old, new)

    def make_anew(self) -> None:
        """From the examples as they stand."""
        dim = self._examples.dim
        self._held, self._hulls = {}, None if dim is None or dim > HULL_DIM else self._store()
        if self._hulls is not None:
            for position in range(len(self._examples)):
                self._add(self._hulls, position)

    def _store(self) -> ExampleStore:
        return ExampleStore("sphere" if self._examples.on_sphere else "euclidean", "float64")

    def _add(self, hulls: ExampleStore, position: int) -> None:
        """As the row is kept, so that a saved and loaded policy has the same hulls, and any scale is fine."""
        row = self._examples.rows[position].astype(np.float64)
        hulls.append(row, self._name(position), self._examples.ids[position])

    def _name(self, position: int) -> Label:
        name: Label = self._examples.names[self._examples.numbers[position]]
        return name


def _nearest_labels(found: NearestTwo) -> list[Label]:
    """The nearest label, and of the others all that are as near as the nearest: which of them comes first is chance."""
    first, *others = found.suggestions
    return [first.label, *(other.label for other in others if other.distance <= found.runner_high * (1.0 + 1e-9))]
