"""A policy that is watched while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from numpy.typing import ArrayLike

from askless.errors import InvalidInput
from askless.streams.synthetic import Stream
from askless.types import Decision, ExampleId, Guess, Label, Policy


class Watched(Policy):
    """The policy inside, deciding as it would alone; every decision is kept, and told to `on_decision`.

    Made for a stream that is simulated without delay: what is learned is the answer to the last question.
    """

    def __init__(self, policy: Policy, stream: Stream) -> None:
        if stream.texts is None:
            raise InvalidInput("Only a stream with texts can be watched; this one has vectors alone.")
        self._policy = policy
        self.texts: Sequence[str] = stream.texts
        self.truth: Sequence[Label] = list(stream.y)
        self.decisions: list[Decision] = []
        self.text_of: dict[ExampleId, str] = {}
        self.calls = self.mistakes = 0
        self.on_decision: Callable[[], None] | None = None

    @property
    def round(self) -> int:
        """Rounds so far."""
        return len(self.decisions)

    def decide(self, x: ArrayLike) -> Decision:
        """What the policy inside decides."""
        return self._policy.decide(x)

    def stream(self, X: ArrayLike) -> Iterator[Decision]:
        """What the policy inside decides, row by row."""
        stream = getattr(self._policy, "stream", None)
        yield from map(self._policy.decide, X) if stream is None else stream(X)  # type: ignore[arg-type]

    def observe(self, x: ArrayLike, decision: Decision) -> None:
        """Keep the decision and tell of it."""
        self._policy.observe(x, decision)
        if not isinstance(decision, Guess):
            self.calls += 1
        elif decision.label != self.truth[self.round]:
            self.mistakes += 1
        self.decisions.append(decision)
        if self.on_decision is not None:
            self.on_decision()

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        """Pass the answer on, and keep which text the example has."""
        key = self._policy.learn(x, label, id)
        self.text_of[key] = self.texts[self.round - 1]
        return key

    def forget(self, id: ExampleId) -> None:
        """Pass it on."""
        self._policy.forget(id)

    def relabel(self, id: ExampleId, label: Label) -> None:
        """Pass it on."""
        self._policy.relabel(id, label)

    def __repr__(self) -> str:
        return repr(self._policy)
