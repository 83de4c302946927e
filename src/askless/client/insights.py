"""How a desk does, as typed objects: its statistics, and where its experts contradict each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from askless.client.results import WHEN, Evidence, many, read


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """An error rate that was measured on `audited` guesses; with 95 per cent it lies from `low` to `high`.

    It speaks of the `covered` guesses, from which the audits were drawn, and not of the `others`.
    """

    audited: int
    wrong: int
    rate: float
    low: float
    high: float
    covered: int
    others: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure that rests on the measured error rate, and its bounds."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """One span of time; `automated` is the share of its queries that were guessed."""

    start: datetime = field(metadata=WHEN)
    received: int
    guesses: int
    calls: int
    automated: float


@dataclass(frozen=True, slots=True)
class LabelLoad:
    """How often an expert was asked about a label."""

    label: str
    calls: int


def _of(kind: type[Any]) -> dict[str, Any]:
    return {"read": lambda data: read(kind, data)}


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a desk did with the queries of a window.

    `audits` and `shadow` are None until something was measured; `regret` and `saved` rest on the audits where there
    are guesses, and `saved` needs both prices. Of the calls and the waiting tickets, `calls_again` and
    `waiting_again` are about queries that had a label already.
    """

    received: int
    guesses: int
    calls: int
    waiting: int
    withdrawn: int
    given: int
    feedback_answered: int
    feedback_wrong: int
    shadow_guesses: int
    regret_of_asking: float
    since: datetime | None = field(default=None, metadata=WHEN)
    until: datetime | None = field(default=None, metadata=WHEN)
    calls_again: int = 0
    waiting_again: int = 0
    automated: float | None = None
    audits: ErrorRate | None = field(default=None, metadata=_of(ErrorRate))
    mean_probability: float | None = None
    shadow: ErrorRate | None = field(default=None, metadata=_of(ErrorRate))
    regret: Estimate | None = field(default=None, metadata=_of(Estimate))
    saved: Estimate | None = field(default=None, metadata=_of(Estimate))
    median_wait_seconds: float | None = None
    buckets: tuple[Bucket, ...] = field(default=(), metadata={"read": many(Bucket)})
    labels: tuple[LabelLoad, ...] = field(default=(), metadata={"read": many(LabelLoad)})


@dataclass(frozen=True, slots=True)
class Side:
    """One label's part in a conflict: the point of its hull that is nearest is made up of these examples."""

    label: str
    distance: float
    inside: bool
    examples: tuple[Evidence, ...] = field(default=(), metadata={"read": many(Evidence)})


@dataclass(frozen=True, slots=True)
class Contested:
    """A query that waits because it lies in the hulls of several labels."""

    id: str
    received_at: datetime = field(metadata=WHEN)
    labels: tuple[str, ...] = field(metadata={"read": tuple})
    text: str | None = None
    ticket: int | None = None
    sides: tuple[Side, ...] = field(default=(), metadata={"read": many(Side)})


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Queries that lie in two hulls at once, and groups of equal examples with different labels."""

    items: tuple[Contested, ...] = field(metadata={"read": many(Contested)})
    contradictions: tuple[tuple[Evidence, ...], ...] = field(
        metadata={"read": lambda groups: tuple(map(many(Evidence), groups))}
    )
