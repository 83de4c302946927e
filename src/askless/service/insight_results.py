"""The bodies of responses about how a desk does, as the OpenAPI document shows them: statistics and conflicts."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from askless.service.results import EvidenceOut


class RateOut(BaseModel):
    """An error rate that was measured, and where it lies with a probability of 95 per cent."""

    audited: int
    wrong: int
    rate: float
    low: float
    high: float
    covered: int
    others: int


class EstimateOut(BaseModel):
    """A figure that rests on the measured error rate, and its bounds."""

    value: float
    low: float
    high: float


class BucketOut(BaseModel):
    """One span of time."""

    start: datetime
    received: int
    guesses: int
    calls: int
    automated: float


class LabelLoadOut(BaseModel):
    """How often an expert was asked about a label."""

    label: str
    calls: int


class StatisticsOut(BaseModel):
    """What a desk did with the queries of a window."""

    since: datetime | None
    until: datetime | None
    received: int
    guesses: int
    calls: int
    calls_again: int = Field(description="Of the calls, those about queries that had a label: audits, complaints.")
    automated: float | None
    waiting: int
    waiting_again: int = Field(description="Of the waiting tickets, those about queries that have a label.")
    withdrawn: int
    given: int
    feedback_answered: int
    feedback_wrong: int
    audits: RateOut | None
    mean_probability: float | None
    shadow_guesses: int
    shadow: RateOut | None
    regret: EstimateOut | None
    regret_of_asking: float
    saved: EstimateOut | None
    median_wait_seconds: float | None
    buckets: list[BucketOut]
    labels: list[LabelLoadOut]


class SideOut(BaseModel):
    """One label's part in a conflict."""

    label: str
    distance: float
    inside: bool
    examples: list[EvidenceOut]


class ConflictOut(BaseModel):
    """A query that waits because it lies in the hulls of several labels, and the examples that cause it."""

    id: str
    text: str | None
    labels: list[str]
    ticket: int | None
    received_at: datetime
    sides: list[SideOut]


class ConflictsOut(BaseModel):
    """Queries in two hulls, and equal examples with different labels."""

    items: list[ConflictOut]
    contradictions: list[list[EvidenceOut]]
