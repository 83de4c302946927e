"""The words of askless: costs, decisions, examples, and what a policy and an embedder must offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput

Vector: TypeAlias = NDArray[np.floating[Any]]
Matrix: TypeAlias = NDArray[np.floating[Any]]
Label: TypeAlias = str | int
ExampleId: TypeAlias = str | int

SPACES = ("sphere", "euclidean")
POLICY_METHODS = ("decide", "observe", "learn", "forget", "relabel")  # what makes a policy, in full in `Policy`


@dataclass(frozen=True, slots=True)
class Costs:
    """The paper's rewards: `call` (alpha) for asking, `right` (beta) and `wrong` (gamma) for a guess.

    Regret is measured against an oracle that earns `right` every round, so a question costs `right - call`
    and a mistake `right - wrong`: 2 and 11 with the defaults.
    """

    call: float = -1.0
    right: float = 1.0
    wrong: float = -10.0

    def __post_init__(self) -> None:
        values = (self.call, self.right, self.wrong)
        if not all(isinstance(v, (int, float)) and np.isfinite(v) for v in values):
            raise InvalidInput(f"Costs are three finite numbers; found {values}.")
        if not self.wrong <= self.call <= self.right:
            raise InvalidInput(
                f"Costs must satisfy wrong <= call <= right; found wrong={self.wrong}, call={self.call}, "
                f"right={self.right}. Give them in the order call, right, wrong, as in -1,1,-10."
            )

    @property
    def question(self) -> float:
        """What one question adds to the regret."""
        return self.right - self.call

    @property
    def mistake(self) -> float:
        """What one wrong guess adds to the regret."""
        return self.right - self.wrong

    @classmethod
    def parse(cls, text: str) -> Costs:
        """Read `call,right,wrong` as the command line takes it, for example `-1,1,-10`."""
        try:
            call, right, wrong = (float(part) for part in text.split(","))
        except ValueError:
            raise InvalidInput(f"Costs are three numbers call,right,wrong, as in -1,1,-10; found {text!r}.") from None
        return cls(call, right, wrong)


PAPER_COSTS = Costs()


@dataclass(frozen=True, slots=True)
class Example:
    """A query whose label an expert gave: the only thing a policy learns from."""

    id: ExampleId
    label: Label
    x: Vector


class Support(NamedTuple):
    """One example's part in a guess: the nearest point of the hull is the weighted sum of its supports."""

    id: ExampleId
    weight: float


_support = partial(tuple.__new__, Support)


def supports(pairs: Iterable[Iterable[object]]) -> tuple[Support, ...]:
    """A support for each id with its weight, without a call of the class for each: a decision has many."""
    return tuple(map(_support, pairs))


class Suggestion(NamedTuple):
    """A label the expert may want to pick: its distance, the id of its closest example, and how likely it is.

    `probability` is None where the policy has none to give.
    """

    label: Label
    distance: float
    example: ExampleId | None = None
    probability: float | None = None


class Reason:
    """Why a query was asked. Subclasses carry the figures; `str(reason)` is a sentence for the expert."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class NoExamples(Reason):
    """Nothing is known yet."""

    def __str__(self) -> str:
        return "no example has been learned yet"


@dataclass(frozen=True, slots=True)
class Exploring(Reason):
    """The policy is still in a phase in which it asks."""

    missing: str

    def __str__(self) -> str:
        return f"still exploring: {self.missing}"


@dataclass(frozen=True, slots=True)
class OutsideHulls(Reason):
    """No hull contains the query, and only a hull that contains it may guess."""

    nearest: Label | None = None

    def __str__(self) -> str:
        near = "" if self.nearest is None else f" (the nearest is {self.nearest!r})"
        return f"outside every hull{near}"


@dataclass(frozen=True, slots=True)
class TooClose(Reason):
    """Two labels lie nearly as near: `ratio`, a certified lower bound of the ratio, exceeds tau."""

    ratio: float
    tau: float
    labels: tuple[Label, ...] = ()

    def __str__(self) -> str:
        pair = f"between {self.labels[0]!r} and {self.labels[1]!r}: " if len(self.labels) > 1 else ""
        return f"{pair}ratio {self.ratio:.3f} is above {self.tau:g}"


@dataclass(frozen=True, slots=True)
class Conflict(Reason):
    """The query lies in the hulls of several labels at once: experts have contradicted each other."""

    labels: tuple[Label, ...]

    def __str__(self) -> str:
        return "inside the hulls of " + " and ".join(repr(label) for label in self.labels)


@dataclass(frozen=True, slots=True)
class LowMargin(Reason):
    """The score of the best label does not exceed the second's by enough."""

    margin: float
    needed: float

    def __str__(self) -> str:
        return f"margin {self.margin:.3f} is not above {self.needed:.3f}"


@dataclass(frozen=True, slots=True)
class NotSimilar(Reason):
    """The closest example is less similar than the threshold."""

    similarity: float
    threshold: float

    def __str__(self) -> str:
        return f"closest example has similarity {self.similarity:.3f}, below {self.threshold:g}"


@dataclass(frozen=True, slots=True)
class TooUncertain(Reason):
    """The best label is not likely enough for the price of a mistake."""

    probability: float
    needed: float
    label: Label | None = None

    def __str__(self) -> str:
        which = "the best label" if self.label is None else repr(self.label)
        return f"{which} has probability {self.probability:.3f}, below {self.needed:.3f}"


@dataclass(frozen=True, slots=True)
class HullsDisagree(Reason):
    """A label seems likely enough, but the query lies far nearer to the hull of another."""

    likely: Label
    nearer: Label

    def __str__(self) -> str:
        return f"{self.likely!r} seems likely, but it lies far nearer to the hull of {self.nearer!r}"


@dataclass(frozen=True, slots=True)
class Always(Reason):
    """The policy asks every time."""

    def __str__(self) -> str:
        return "this policy always asks"


@dataclass(frozen=True, slots=True)
class Guess:
    """A label given without asking.

    `distance` is the distance to that label's hull (or whatever the policy measures), `ratio` the distance over
    that of `runner_up`, both as certified upper bounds: the search stops once the guess is settled. `evidence` names
    the examples that span a point of the hull at that distance, with their weights. `probability` is how likely the
    label is to be right, where the policy has that to give.
    """

    label: Label
    distance: float = 0.0
    runner_up: Label | None = None
    ratio: float = 0.0
    evidence: tuple[Support, ...] = ()
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the expert: why, and the labels to offer first."""

    reason: Reason
    suggestions: tuple[Suggestion, ...] = ()


Decision: TypeAlias = Guess | Ask


@runtime_checkable
class Policy(Protocol):
    """What every policy offers. `askless.checks.check_policy` tests the promises that go with it."""

    def decide(self, x: ArrayLike) -> Decision:
        """Guess or ask. Pure: it changes nothing that a later decision depends on."""
        ...

    def observe(self, x: ArrayLike, decision: Decision) -> None:
        """Take note that a decision was acted on; called once for each query, before any answer is learned."""
        ...

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        """Take an expert's answer as an example, and return the example's id."""
        ...

    def forget(self, id: ExampleId) -> None:
        """Decide from now on as if that example had never been learned."""
        ...

    def relabel(self, id: ExampleId, label: Label) -> None:
        """Decide from now on as if that example had been learned with this label."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """A policy with a faster way through a block of queries, with learning between them."""

    def stream(self, X: ArrayLike) -> Iterator[Decision]:
        """Yield the decision on each row in turn; what is learned between two of them counts for the next."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit float32 vectors."""

    @property
    def id(self) -> str:
        """Names model and version; vectors of different ids never mix."""
        ...

    @property
    def dim(self) -> int:
        """The dimension of its vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, of norm 1; NaN rows where the model knows no token of the text."""
        ...
