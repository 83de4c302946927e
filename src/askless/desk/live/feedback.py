"""What an asker says of the answer they got: a word for the experts, who alone correct."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, insert, select, update

from askless.desk.live import read
from askless.desk.live.desk import LiveDesk
from askless.desk.live.names import label_name
from askless.desk.live.priority import FEEDBACK as FIRST
from askless.desk.live.types import Happening, Outcome, QueryStatus, TicketStatus, Why
from askless.errors import Conflicting, UnknownQuery
from askless.ledger import schema
from askless.ledger.events import ASKED, FEEDBACK

_queries, _events, _tickets = schema.queries, schema.events, schema.tickets


def feedback(desk: LiveDesk, key: str, right: str | None, who: str | None) -> Outcome:
    """The asker says that the label is wrong, and which is right where they know it.

    That opens a ticket with their suggestion, whether the label was guessed or an expert's; one that is open gets the
    suggestion. What stands is not changed until an expert answers: until then the outcome is `disputed`, and names
    the ticket.
    """
    connection = desk.entry.connection
    found = connection.execute(
        select(_queries).where(_queries.c.desk == desk.row.id, _queries.c.key == key)
    ).one_or_none()
    if found is None:
        raise UnknownQuery(f"The desk {desk.row.name!r} has no query with the id {key!r}.")
    if found.erased_at is not None:
        raise Conflicting(f"The query {key!r} was erased: there is nothing left to correct.")
    suggested = None if right is None else label_name(right)
    ticket = connection.execute(select(_tickets).where(_tickets.c.query == found.id)).one_or_none()
    if ticket is None or ticket.status != TicketStatus.OPEN or _is_news(desk, ticket, suggested):
        desk.record(FEEDBACK, found.id, {"right": suggested}, who=who)
    if ticket is not None and ticket.status == TicketStatus.OPEN:
        values = {"suggested": suggested or ticket.suggested, "priority": max(ticket.priority, _urgency(ticket))}
        connection.execute(update(_tickets).where(_tickets.c.id == ticket.id).values(**values))
    else:
        _open(desk, found, ticket, suggested)
    return read.outcomes(connection, [found.id])[key]


def _is_news(desk: LiveDesk, ticket: Any, suggested: str | None) -> bool:
    """Whether the asker says more than before of a ticket that is open: a label, or that they complain at all."""
    if suggested is not None:
        return bool(ticket.suggested != suggested)
    earlier = and_(_events.c.query == ticket.query, _events.c.kind == FEEDBACK, _events.c.id > ticket.opened)
    if ticket.why == Why.FEEDBACK:
        return False
    return desk.entry.connection.execute(select(_events.c.id).where(earlier).limit(1)).scalar() is None


def _urgency(ticket: Any) -> float:
    """A complaint about an answer comes first; who still waits for one only helps."""
    return FIRST if ticket.why == Why.AUDIT else float(ticket.priority)


def _open(desk: LiveDesk, query: Any, ticket: Any, suggested: str | None) -> None:
    """A ticket for a query that has none open: a new one, or the one from before opened again."""
    asked = desk.record(ASKED, query.id, {"why": Why.FEEDBACK.value})
    guessed = query.status == QueryStatus.GUESSED
    values: dict[str, Any] = {
        "status": TicketStatus.OPEN.value,
        "why": Why.FEEDBACK.value,
        "priority": FIRST,
        "opened_at": desk.now,
        "opened": asked.id,
        "guess": query.label if guessed else None,
        "probability": query.probability if guessed else None,
        "suggested": suggested,
        "lease_by": None,
        "lease_until": None,
        "skipped_by": [],
        "closed_at": None,
        "closed": None,
        "closed_by": None,
    }
    connection = desk.entry.connection
    if ticket is None:
        connection.execute(insert(_tickets), values | {"desk": desk.row.id, "query": query.id})
    else:
        connection.execute(update(_tickets).where(_tickets.c.id == ticket.id).values(**values))
    desk.tell(Happening.TICKET_CREATED, asked, query.id)
