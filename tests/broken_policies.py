"""A sound policy in a few lines, and policies that break one promise each, for `askless.checks` to catch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput, UnknownExample
from askless.types import Ask, Decision, Example, ExampleId, Exploring, Guess, Label, NoExamples, NotSimilar


class Nearest:
    """Guess the nearest example's label where it is near; of equally near ones, that of the first."""

    def __init__(self, radius: float = 0.6) -> None:
        self.radius = radius
        self.held: dict[ExampleId, tuple[NDArray[np.float64], Label]] = {}
        self.rounds = 0

    def vector(self, x: ArrayLike) -> NDArray[np.float64]:
        v = np.array(x, dtype=np.float64)
        if not np.isfinite(v).all():
            raise InvalidInput("A vector has finite numbers.")
        return v

    def decide(self, x: ArrayLike) -> Decision:
        v = self.vector(x)
        if not self.held:
            return Ask(NoExamples())
        distance, label = self.nearest(v)
        return Guess(label, distance) if distance <= self.radius else Ask(NotSimilar(distance, self.radius))

    def nearest(self, v: NDArray[np.float64]) -> tuple[float, Label]:
        distances = self.distances(v)
        first = int(distances.argmin())
        return float(distances[first]), list(self.held.values())[first][1]

    def distances(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        points = np.array([p for p, _ in self.held.values()])
        squares: NDArray[np.float64] = ((points - v) ** 2).sum(axis=1)
        return np.sqrt(squares)

    def observe(self, x: ArrayLike, decision: Decision) -> None:
        self.rounds += 1

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        v = self.vector(x)
        if id is None:
            id = next(i for i in itertools.count() if i not in self.held)
        if self.taken(id):
            raise InvalidInput(f"The id {id!r} is in use.")
        self.held[id] = (v, label)
        return id

    def taken(self, id: ExampleId) -> bool:
        return id in self.held

    def known(self, id: ExampleId) -> bool:
        if id not in self.held:
            raise UnknownExample(f"No example has the id {id!r}.")
        return True

    def forget(self, id: ExampleId) -> None:
        if self.known(id):
            del self.held[id]

    def relabel(self, id: ExampleId, label: Label) -> None:
        if self.known(id):
            self.held[id] = (self.held[id][0], label)

    def examples(self) -> Iterator[Example]:
        for id, (x, label) in self.held.items():
            yield Example(id, label, x.copy())

    def params(self) -> dict[str, Any]:
        return {"radius": self.radius}

    def state(self) -> dict[str, Any]:
        return {
            "x": np.array([x for x, _ in self.held.values()]),
            "keys": [[id, label] for id, (_, label) in self.held.items()],
            "rounds": self.rounds,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.rounds = state["rounds"]
        for (id, label), x in zip(state["keys"], state["x"], strict=True):
            self.held[id] = (x, label)


class RemembersQueries(Nearest):
    """Keeps its answers in a table, and never clears it."""

    def __init__(self, radius: float = 0.6) -> None:
        super().__init__(radius)
        self.answers: dict[bytes, Decision] = {}

    def decide(self, x: ArrayLike) -> Decision:
        key = self.vector(x).tobytes()
        return self.answers.setdefault(key, super().decide(x))


class StartsAtWhim(Nearest):
    """Takes its first rounds for an exploration, of another length in each policy that is made."""

    made: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self, radius: float = 0.6) -> None:
        super().__init__(radius)
        self.whim = next(self.made) % 7

    def decide(self, x: ArrayLike) -> Decision:
        decision = super().decide(x)
        return Ask(Exploring("still in the mood")) if self.rounds < self.whim else decision


class ForgetsNothing(Nearest):
    """Hides a forgotten example under another id."""

    def forget(self, id: ExampleId) -> None:
        if self.known(id):
            self.held[f"forgotten {id}"] = self.held.pop(id)


class RelabelsLate(Nearest):
    """Takes the new label for the example, and leaves the old one in force."""

    def relabel(self, id: ExampleId, label: Label) -> None:
        self.known(id)


class PrefersEarlyNames(Nearest):
    """Of equally near examples, takes the label that sorts first."""

    def nearest(self, v: NDArray[np.float64]) -> tuple[float, Label]:
        pairs = zip(self.distances(v).tolist(), [label for _, label in self.held.values()], strict=True)
        return min(pairs, key=lambda pair: (pair[0], str(pair[1])))


class KeepsArrays(Nearest):
    """Stores the array that the caller passed, where it is one of float64."""

    def vector(self, x: ArrayLike) -> NDArray[np.float64]:
        super().vector(x)
        return np.asarray(x, dtype=np.float64)


class WritesIntoArrays(Nearest):
    """Uses the caller's array as scratch space."""

    def vector(self, x: ArrayLike) -> NDArray[np.float64]:
        v = super().vector(x)
        if isinstance(x, np.ndarray) and x.flags.writeable:
            x[0] = 0.0
        return v


class GivesOutArrays(Nearest):
    """Hands out its own arrays as examples."""

    def examples(self) -> Iterator[Example]:
        for id, (x, label) in self.held.items():
            yield Example(id, label, x)


class SavesNames(Nearest):
    """Saves integers as strings."""

    def state(self) -> dict[str, Any]:
        return {**super().state(), "keys": [[id, str(label)] for id, (_, label) in self.held.items()]}


class SavesObjects(Nearest):
    """Has a state that no file can hold."""

    def state(self) -> dict[str, Any]:
        return {**super().state(), "self": self}


class CannotBeSaved(Nearest):
    """Has no state()."""

    state = None  # type: ignore[assignment]


class ForgivesUnknownIds(Nearest):
    """Does nothing where the id is unknown, and says nothing."""

    def known(self, id: ExampleId) -> bool:
        return id in self.held


class RaisesKeyError(Nearest):
    """Tells of an unknown id by an error that no handler of askless's errors would catch."""

    def known(self, id: ExampleId) -> bool:
        return bool(self.held[id]) or True


class MendsNaN(Nearest):
    """Reads NaN and infinity as numbers."""

    def vector(self, x: ArrayLike) -> NDArray[np.float64]:
        return super().vector(np.nan_to_num(np.array(x, dtype=np.float64)))


class CountsBeforeItChecks(Nearest):
    """Refuses NaN, but each refusal takes a little off its radius."""

    def vector(self, x: ArrayLike) -> NDArray[np.float64]:
        try:
            return super().vector(x)
        except InvalidInput:
            self.radius *= 0.99
            raise


class ReplacesExamples(Nearest):
    """Takes an id that is in use for a correction."""

    def taken(self, id: ExampleId) -> bool:
        return False


class ChoosesIds(Nearest):
    """Calls every example by a name of its own."""

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        super().learn(x, label, id)
        return "mine"


class TakesArraysOnly(Nearest):
    """Cannot read a list."""

    def vector(self, x: ArrayLike) -> NDArray[np.float64]:
        return super().vector(x.astype(np.float64))  # type: ignore[union-attr]


class HasCoarseFloat32(Nearest):
    """Rounds float32 input to a few digits."""

    def vector(self, x: ArrayLike) -> NDArray[np.float64]:
        v = super().vector(x)
        return np.round(v, 1) if isinstance(x, np.ndarray) and x.dtype == np.float32 else v


BROKEN: dict[type[Nearest], str] = {
    RemembersQueries: "check_decide_is_pure",
    StartsAtWhim: "check_same_calls_same_decisions",
    ForgetsNothing: "check_forget",
    RelabelsLate: "check_relabel",
    PrefersEarlyNames: "check_label_names",
    KeepsArrays: "check_no_aliasing",
    WritesIntoArrays: "check_no_aliasing",
    GivesOutArrays: "check_no_aliasing",
    SavesNames: "check_save_and_load",
    SavesObjects: "check_save_and_load",
    CannotBeSaved: "check_save_and_load",
    ForgivesUnknownIds: "check_unknown_id",
    RaisesKeyError: "check_unknown_id",
    MendsNaN: "check_nan_refused",
    CountsBeforeItChecks: "check_nan_refused",
    ReplacesExamples: "check_example_ids",
    ChoosesIds: "check_example_ids",
    TakesArraysOnly: "check_input_kinds",
    HasCoarseFloat32: "check_input_kinds",
}
