"""The words of a live desk: what stands about a query, a ticket and a label."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class QueryStatus(StrEnum):
    """How far a query is."""

    GUESSED = "guessed"  # labelled by the policy
    ASKED = "asked"  # waits for an expert
    ANSWERED = "answered"  # labelled by an expert, after its ticket
    GIVEN = "given"  # its label was known before: imported


class TicketStatus(StrEnum):
    """How far a ticket is."""

    OPEN = "open"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"  # the desk has since become able to answer it, or its query was erased


class Why(StrEnum):
    """Why a ticket was opened."""

    UNSURE = "unsure"  # the policy decided so
    UNKNOWN = "unknown"  # the embedder knows nothing of the text, so nothing can be guessed
    SHADOW = "shadow"  # the desk asks everything; the guess it would have made is recorded
    AUDIT = "audit"  # to measure the error rate: the policy had guessed
    FEEDBACK = "feedback"  # the asker says that the guess is wrong


class Mode(StrEnum):
    """What a desk does with the policy's guesses."""

    LIVE = "live"  # they are the answer
    SHADOW = "shadow"  # everything is asked, and the guess is recorded beside it


class WhenAble(StrEnum):
    """What happens to a waiting ticket that the policy would guess by now."""

    WITHDRAW = "withdraw"  # the query is guessed, the ticket closed
    OFFER = "offer"  # the ticket stays, with the guess beside it


class Happening(StrEnum):
    """What a webhook can be told of."""

    TICKET_CREATED = "ticket.created"
    QUERY_ANSWERED = "query.answered"  # by an expert, or by a guess made after it had waited
    AUDIT_FAILED = "audit.failed"  # an expert disagreed with a guess


@dataclass(frozen=True, slots=True)
class NewQuery:
    """One query as it comes in: a text, or a vector of the desk's embedder, or both; `key` is the caller's own id."""

    key: str
    text: str | None = None
    vector: NDArray[np.float32] | None = None  # None also where the embedder knows nothing of the text


class Evidence(NamedTuple):
    """An example that a guess rests on, with its part in it."""

    key: str
    text: str | None
    label: str
    weight: float


@dataclass(frozen=True, slots=True)
class Offer:
    """A label that a ticket suggests: its closest example, its answer text, how likely it is where that is known."""

    label: str
    answer: str | None
    example: str | None  # the text of the closest example
    distance: float | None
    probability: float | None


class Outcome(NamedTuple):
    """What stands about a query, as its asker may know it.

    Where the desk is in shadow mode, or the query waits, there is no label. `event` grows with each change. What was
    erased keeps its status and waits for nothing any more.
    """

    query: int
    key: str
    status: QueryStatus
    label: str | None
    answer: str | None  # the label's answer text
    probability: float | None
    evidence: tuple[Evidence, ...]
    ticket: int | None  # the open one, where it waits or is disputed
    reason: str | None  # why it was asked
    received_at: datetime
    event: int
    erased: bool = False
    disputed: bool = False  # the asker says that the label is wrong, and no expert has looked at it yet

    @property
    def waits(self) -> bool:
        """Whether an expert's word on it is still to come."""
        return not self.erased and (self.status is QueryStatus.ASKED or self.disputed)


@dataclass(frozen=True, slots=True)
class Ticket:
    """One question to the experts. With `blind` (a desk with audits) nothing tells an audit from another ticket.

    Then `why`, `guess`, `probability` and `reason` are None, and the offers stand in the order of their names.
    """

    id: int
    query: int
    key: str
    text: str | None
    status: TicketStatus
    why: Why | None
    reason: str | None
    priority: float
    opened_at: datetime
    asker: str | None
    offers: tuple[Offer, ...]
    guess: str | None
    probability: float | None
    suggested: str | None
    lease_by: str | None
    lease_until: datetime | None
    label: str | None  # once answered
    closed_by: str | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What an expert's answer did: where its query stands, and the keys of waiting queries that it settled."""

    outcome: Outcome
    settled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A label with its answer text and the number of its examples."""

    id: int
    name: str
    answer: str | None
    examples: int
    created_at: datetime
