"""The bodies of responses, as the OpenAPI document shows them.

They are written by hand, in `askless.service.shown` and beside the routes, for speed; the models here say what they
hold, and the tests hold them to it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from askless.service.keys import Role
from askless.service.schemas import Status, TicketStatusName


class EvidenceOut(BaseModel):
    """An example that a guess rests on.

    Unless the desk shares its examples, `id` and `text` are null for a caller with a client's key.
    """

    id: str | None
    text: str | None
    label: str
    weight: float


class OutcomeOut(BaseModel):
    """What stands about a query. While it is `disputed`, `ticket` is that of the expert who looks at it again."""

    id: str
    status: Status
    label: str | None
    answer: str | None
    probability: float | None
    evidence: list[EvidenceOut]
    ticket: int | None
    reason: str | None
    received_at: datetime
    event: int
    erased: bool
    disputed: bool


class BatchOut(BaseModel):
    """Outcomes in the order of the queries."""

    results: list[OutcomeOut]


class QueryOut(OutcomeOut):
    """What stands about a query, its text, who sent it, and whether it is an example."""

    text: str | None
    asker: str | None
    example: bool


class QueryPage(BaseModel):
    """Some queries, and where to go on."""

    items: list[QueryOut]
    next: str | None


class OfferOut(BaseModel):
    """A label that a ticket suggests."""

    label: str
    answer: str | None
    example: str | None
    distance: float | None
    probability: float | None


class TicketOut(BaseModel):
    """One question to the experts."""

    id: int
    query: str
    text: str | None
    status: TicketStatusName
    why: Literal["unsure", "unknown", "shadow", "audit", "feedback"] | None
    reason: str | None
    priority: float
    opened_at: datetime
    asker: str | None
    offers: list[OfferOut]
    guess: str | None
    probability: float | None
    suggested: str | None
    lease_by: str | None
    lease_until: datetime | None
    label: str | None
    closed_by: str | None


class TicketPage(BaseModel):
    """Some tickets, and where to go on."""

    items: list[TicketOut]
    next: str | None


class AnsweredOut(BaseModel):
    """What an answer did."""

    outcome: OutcomeOut
    settled: list[str]


class LabelOut(BaseModel):
    """A label."""

    id: int
    name: str
    answer: str | None
    examples: int
    created_at: datetime


class LabelsOut(BaseModel):
    """All labels of a desk."""

    items: list[LabelOut]


class CostsOut(BaseModel):
    """What a call, a right and a wrong guess count."""

    call: float
    right: float
    wrong: float


class SettingsOut(BaseModel):
    """What a desk is set to."""

    policy: str
    embedder: str
    costs: CostsOut
    audit_rate: float
    mode: Literal["live", "shadow"]
    paused: bool
    when_able: Literal["withdraw", "offer"]
    lease_seconds: int
    retention_days: int | None
    retain_examples: bool
    share_examples: bool


class DeskOut(BaseModel):
    """A desk: its settings, and how much it knows and has waiting. `vectors` names what its vectors were made by."""

    name: str
    vectors: str
    settings: SettingsOut
    labels: int
    examples: int
    waiting: int


class DesksOut(BaseModel):
    """The desks that the caller's key opens."""

    items: list[DeskOut]


class KeyOut(BaseModel):
    """A key, without its secret."""

    id: int
    name: str
    role: Role
    desk: str | None
    created_at: datetime
    revoked_at: datetime | None


class NewKeyOut(KeyOut):
    """A key that was just made, with its secret: it is shown this once."""

    secret: str


class KeysOut(BaseModel):
    """All keys."""

    items: list[KeyOut]


class SessionOut(BaseModel):
    """Who is logged in."""

    name: str
    role: Role
    desk: str | None


class HealthOut(BaseModel):
    """How the service is."""

    status: Literal["ok", "ready"]


class ExampleOut(BaseModel):
    """A query whose label an expert gave."""

    id: str
    text: str | None
    label: str
    status: Status
    received_at: datetime


class ExamplePage(BaseModel):
    """Some examples, and where to go on."""

    items: list[ExampleOut]
    next: str | None


class GivenOut(BaseModel):
    """How many examples are new, and how many the desk had."""

    added: int
    same: int


class JobOut(BaseModel):
    """The embedding of all texts with another embedder; the switch forgets `forgets` examples without a text."""

    id: int
    status: Literal["running", "done", "failed", "cancelled"]
    embedder: str
    done: int
    total: int
    forgets: int
    error: str | None
    created_at: datetime
    updated_at: datetime


class JobsOut(BaseModel):
    """The jobs of a desk, the newest first."""

    items: list[JobOut]
