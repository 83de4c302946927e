"""What the checks play: streams with an expert, the calls recorded from them, and how decisions compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import AsklessError, CheckFailed, InvalidInput
from askless.types import POLICY_METHODS, SPACES, Ask, Decision, ExampleId, Guess, Label, Policy

Make: TypeAlias = Callable[[], Policy]
Floats: TypeAlias = NDArray[np.float64]
Form: TypeAlias = Callable[[Floats], ArrayLike]

_NAMES: tuple[Label, ...] = ("refund", 0, "card", 7)  # both types, a false one, and not in order
_ROUNDS = 48


@dataclass(frozen=True, slots=True)
class Call:
    """One call that a policy was given: `observe` where there is a decision, `learn` where there is none."""

    x: Floats
    label: Label = ""
    id: ExampleId | None = None
    decision: Decision | None = None

    def renamed(self, names: dict[Label, Label]) -> Call:
        """The same call with other names for the labels."""
        if self.decision is None:
            return replace(self, label=names[self.label])
        return replace(self, decision=renamed(self.decision, names))


@dataclass(frozen=True, slots=True)
class Stream:
    """Examples given first, then rounds: a query, its label, and whether the expert answers even a guess."""

    name: str
    first: list[tuple[Floats, Label]]
    rounds: list[tuple[Floats, Label, bool]]
    probes: list[Floats]


@dataclass(frozen=True, slots=True)
class Script:
    """A stream's run through one policy: the calls that it was given, and what it said to each query."""

    stream: Stream
    names: tuple[Label, ...]
    calls: list[Call]
    said: list[str]
    policy: Policy

    @property
    def probes(self) -> list[Floats]:
        """Queries on which policies are compared after the calls."""
        return self.stream.probes

    @property
    def learned(self) -> list[Call]:
        """The calls of `learn`."""
        return [call for call in self.calls if call.decision is None]

    @property
    def ids(self) -> list[ExampleId]:
        """The ids of the examples, in the order they were learned."""
        return [call.id for call in self.learned if call.id is not None]

    def choices(self, seed: int) -> list[tuple[int, list[ExampleId]]]:
        """Examples to forget or relabel, each with the number of calls given before that.

        One of the first half, half way through; the last; a handful; all of the rarest label; everything.
        """
        rng = np.random.default_rng(seed)
        half, end = len(self.calls) // 2, len(self.calls)
        learned = [self.learned[i] for i in rng.permutation(len(self.learned))]
        early = [c.id for c in self.calls[:half] if c.id is not None]
        labels = [c.label for c in learned]
        rarest = min(labels, key=labels.count)
        return [
            (half, [early[int(rng.integers(len(early)))]]),
            (end, [c.id for c in self.learned[-1:] if c.id is not None]),
            (end, [c.id for c in learned[:5] if c.id is not None]),
            (end, [c.id for c in learned if c.id is not None and c.label == rarest]),
            (end, [c.id for c in learned if c.id is not None]),
        ]


# -- streams ------------------------------------------------------------------------------------------------


def scripts(make: Make, space: str, dim: int, seed: int) -> list[Script]:
    """Every stream's run through a policy of its own."""
    if space not in SPACES or dim < 2:
        raise InvalidInput(f"Checks need the space 'sphere' or 'euclidean' and dim >= 2; found {space!r}, {dim!r}.")
    n_labels = known_labels(_first(make))
    names = _NAMES if n_labels is None else (_NAMES + tuple(f"label {i}" for i in range(4, n_labels)))[:n_labels]
    rng = np.random.default_rng(seed)
    found = []
    for stream in (
        _clustered(rng, space, dim, names),
        _uniform(rng, space, dim, names),
        _contradictory(rng, space, dim, names),
    ):
        policy = make()
        calls, said = _run(policy, stream)
        found.append(Script(stream, names, calls, said, policy))
    return found


def _first(make: Make) -> Policy:
    """A policy of `make`, which must be something to call that gives one."""
    if not callable(make):
        raise InvalidInput(
            f"Checks make policies of their own, from a class or a function without arguments; found {make!r}. "
            f"Write lambda: {type(make).__name__}(...)."
        )
    policy = make()
    lacks = [name for name in POLICY_METHODS if not callable(getattr(policy, name, None))]
    if lacks:
        raise InvalidInput(
            f"Checks need a policy; found a {type(policy).__name__}, which lacks {', '.join(lacks)}. "
            "askless.types.Policy says what each of them does."
        )
    return policy


def known_labels(policy: Policy) -> int | None:
    """The number of labels that the policy was made for; None in the open world."""
    n_labels = getattr(policy, "n_labels", None)
    return n_labels if isinstance(n_labels, int) and n_labels > 0 else None


def _clustered(rng: np.random.Generator, space: str, dim: int, names: Sequence[Label]) -> Stream:
    """One example of each label first; of the last label, no other query comes."""
    centers = _uniform_points(rng, space, dim, len(names))
    first = [(x, name) for x, name in zip(_around(rng, space, centers), names, strict=True)]
    which = rng.integers(max(1, len(names) - 1), size=_ROUNDS)
    points = _around(rng, space, centers[which])
    rounds = [(x, names[i], bool(rng.random() < 0.3)) for x, i in zip(points, which, strict=True)]
    return Stream("clustered", first, rounds, _probes(rng, space, first, rounds))


def _uniform(rng: np.random.Generator, space: str, dim: int, names: Sequence[Label]) -> Stream:
    """A cold start, with queries from everywhere; the nearest of a few seeds gives the label."""
    seeds = _uniform_points(rng, space, dim, len(names))
    points = _uniform_points(rng, space, dim, _ROUNDS)
    nearest = ((points[:, None] - seeds) ** 2).sum(axis=2).argmin(axis=1)
    rounds = [(x, names[i], bool(rng.random() < 0.3)) for x, i in zip(points, nearest, strict=True)]
    return Stream("uniform", [], rounds, _probes(rng, space, [], rounds))


def _contradictory(rng: np.random.Generator, space: str, dim: int, names: Sequence[Label]) -> Stream:
    """A cold start, in which every sixth query is an earlier one again, with the next label or the same."""
    centers = _uniform_points(rng, space, dim, len(names))
    which = rng.integers(len(names), size=_ROUNDS)
    points = _around(rng, space, centers[which])
    for i in range(6, _ROUNDS, 6):
        points[i] = points[i - 5]
        which[i] = (which[i - 5] + i // 6) % len(names)
    rounds = [(x, names[i], True) for x, i in zip(points, which, strict=True)]
    return Stream("contradictory", [], rounds, _probes(rng, space, [], rounds))


def _probes(
    rng: np.random.Generator,
    space: str,
    first: list[tuple[Floats, Label]],
    rounds: list[tuple[Floats, Label, bool]],
) -> list[Floats]:
    """Queries of every kind: some of the stream's own, near one, between two, amid a label's, anywhere."""
    points = np.array([x for x, _ in first] + [x for x, _, _ in rounds])
    labels = [label for _, label in first] + [label for _, label, _ in rounds]
    some, others = points[rng.permutation(len(points))[:8]], points[rng.permutation(len(points))[:8]]
    amid = [points[[label == name for label in labels]].mean(axis=0) for name in dict.fromkeys(labels)]
    far = _uniform_points(rng, space, points.shape[1], 4)
    return [
        *points[1::6],  # with every query that comes twice
        *_around(rng, space, some),
        *_on(space, (some + others) / 2),
        *_on(space, np.array(amid)),
        *far,
    ]


def _uniform_points(rng: np.random.Generator, space: str, dim: int, n: int) -> Floats:
    return _on(space, rng.standard_normal((n, dim)) if space == "sphere" else rng.random((n, dim)))


def _around(rng: np.random.Generator, space: str, centers: Floats) -> Floats:
    noise = 0.2 if space == "sphere" else 0.1
    return _on(space, centers + noise * rng.standard_normal(centers.shape))


def _on(space: str, points: Floats) -> Floats:
    """The points, on the sphere of norm 1, as numbers that float32 holds exactly."""
    if space == "sphere":
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
    return points.astype(np.float32).astype(np.float64)


# -- playing ------------------------------------------------------------------------------------------------


def _run(policy: Policy, stream: Stream) -> tuple[list[Call], list[str]]:
    """Run the stream with a truthful expert; the calls, in order, and what was said to each query."""
    calls: list[Call] = []
    said: list[str] = []
    ids: Iterator[ExampleId] = (n if n % 2 == 0 else f"e{n}" for n in count())

    def give(call: Call) -> None:
        play(policy, [call])
        calls.append(call)

    for x, label in stream.first:
        give(Call(x, label, next(ids)))
    for x, label, answered in stream.rounds:
        decision = policy.decide(x.copy())
        said.append(say(decision))
        give(Call(x, decision=decision))
        if answered or isinstance(decision, Ask):
            give(Call(x, label, next(ids)))
    return calls, said


def play(policy: Policy, calls: Iterable[Call], form: Form = np.copy) -> None:
    """Give the policy these calls, with each vector in the form that is asked for."""
    for call in calls:
        if call.decision is None:
            policy.learn(form(call.x), call.label, call.id)
        else:
            policy.observe(form(call.x), call.decision)


def played(make: Make, calls: Iterable[Call]) -> Policy:
    """A fresh policy that was given these calls."""
    policy = make()
    play(policy, calls)
    return policy


def decisions(policy: Policy, queries: Iterable[Floats], form: Form = np.copy) -> list[str]:
    """What the policy says to each query."""
    return [say(policy.decide(form(x))) for x in queries]


def say(decision: Any) -> str:
    """What counts in a decision: the label of a guess, the kind of reason of a question."""
    if isinstance(decision, Guess):
        return f"Guess({decision.label!r})"
    if isinstance(decision, Ask):
        return f"Ask({type(decision.reason).__name__})"
    raise CheckFailed(f"decide returns a Guess or an Ask; this policy returned {decision!r}.")


def renamed(decision: Decision, names: dict[Label, Label]) -> Decision:
    """The same decision with other names for the labels."""
    if isinstance(decision, Ask):
        offers = tuple(s._replace(label=names[s.label]) for s in decision.suggestions)
        return replace(decision, suggestions=offers)
    second = None if decision.runner_up is None else names[decision.runner_up]
    return replace(decision, label=names[decision.label], runner_up=second)


# -- comparing ----------------------------------------------------------------------------------------------


def expect(script: Script, promise: str, policy: Policy, expected: list[str], whose: str) -> None:
    """Raise `CheckFailed` at the first probe on which the policy does not decide as expected."""
    compare(script, promise, decisions(policy, script.probes), expected, whose)


def compare(script: Script, promise: str, found: list[str], expected: list[str], whose: str) -> None:
    """Raise `CheckFailed` at the first decision that differs; `whose` says who decides as expected."""
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        if one != other:
            raise CheckFailed(
                f"Broken promise: {promise}. In the script {script.stream.name!r}, on query {i}, the policy "
                f"says {one}; {whose} says {other}."
            )


def refused(what: str, call: Callable[[], object], kind: type[AsklessError] = AsklessError) -> None:
    """Raise `CheckFailed` unless the call raises this kind of error."""
    try:
        call()
    except kind:
        return
    except Exception as error:
        raise CheckFailed(f"{what} must raise {kind.__name__}; this policy raised {error!r}.") from error
    raise CheckFailed(f"{what} must raise {kind.__name__}; this policy took it.")
