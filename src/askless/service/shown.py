"""What is known of queries, tickets, labels and desks, as the API shows it.

Plain dictionaries, written out: this is on the path of every query, where a second check of what the service itself
has made would cost more than the decision.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from askless.desk.live.read import QueryRow
from askless.desk.live.types import Answered, Evidence, LabelRow, Outcome, Ticket


@lru_cache(maxsize=64)  # those of a batch have one time
def moment(at: datetime | None) -> str | None:
    """A time as JSON holds it: RFC 3339, in UTC."""
    return None if at is None else at.astimezone(UTC).isoformat()


def outcome_shown(outcome: Outcome, *, examples: bool) -> dict[str, Any]:
    """What stands about a query. The service's own number of it stays inside.

    Without `examples` nothing is shown that says which examples are behind a guess.
    """
    return {
        "id": outcome.key,
        "status": outcome.status.value,
        "label": outcome.label,
        "answer": outcome.answer,
        "probability": outcome.probability,
        "evidence": evidence_shown(outcome.evidence, examples=examples),
        "ticket": outcome.ticket,
        "reason": outcome.reason,
        "received_at": moment(outcome.received_at),
        "event": outcome.event,
        "erased": outcome.erased,
        "disputed": outcome.disputed,
    }


def query_shown(row: QueryRow) -> dict[str, Any]:
    """One line of a list of queries, for an expert."""
    return {
        **outcome_shown(row.outcome, examples=True),
        "text": row.text,
        "asker": row.asker,
        "example": row.example,
    }


def evidence_shown(evidence: tuple[Evidence, ...], *, examples: bool = True) -> list[dict[str, Any]]:
    """Examples with their parts in a decision; without `examples` the parts alone."""
    if not examples:
        return [{"id": None, "text": None, "label": label, "weight": weight} for _, _, label, weight in evidence]
    return [{"id": key, "text": text, "label": label, "weight": weight} for key, text, label, weight in evidence]


def ticket_shown(ticket: Ticket) -> dict[str, Any]:
    """One question to the experts."""
    return {
        "id": ticket.id,
        "query": ticket.key,
        "text": ticket.text,
        "status": ticket.status.value,
        "why": None if ticket.why is None else ticket.why.value,
        "reason": ticket.reason,
        "priority": ticket.priority,
        "opened_at": moment(ticket.opened_at),
        "asker": ticket.asker,
        "offers": [
            {
                "label": offer.label,
                "answer": offer.answer,
                "example": offer.example,
                "distance": offer.distance,
                "probability": offer.probability,
            }
            for offer in ticket.offers
        ],
        "guess": ticket.guess,
        "probability": ticket.probability,
        "suggested": ticket.suggested,
        "lease_by": ticket.lease_by,
        "lease_until": moment(ticket.lease_until),
        "label": ticket.label,
        "closed_by": ticket.closed_by,
    }


def answered_shown(answered: Answered) -> dict[str, Any]:
    """What an expert's answer did, for the expert."""
    return {"outcome": outcome_shown(answered.outcome, examples=True), "settled": list(answered.settled)}


def label_shown(label: LabelRow) -> dict[str, Any]:
    """A label with the number of its examples."""
    return {
        "id": label.id,
        "name": label.name,
        "answer": label.answer,
        "examples": label.examples,
        "created_at": moment(label.created_at),
    }
