"""What experts do with tickets: take one, answer it, pass it by, put it back, change their mind.

Who holds a ticket until when is no event: a lease is forgotten once it ends. A ticket that an expert has skipped waits
for the others, and anyone can still take it by its number. It comes to the same expert again only when nothing else is
free, the one skipped longest ago first, so that an expert who works alone is never stuck.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select, update

from askless.desk.live import again, made, read
from askless.desk.live.desk import LiveDesk
from askless.desk.live.names import label_name
from askless.desk.live.offers import offers_of
from askless.desk.live.types import Answered, Happening, QueryStatus, Ticket, TicketStatus, Why
from askless.errors import Conflicting, Forbidden, UnknownTicket
from askless.ledger import schema
from askless.ledger.events import ANSWERED, AUDITED, RETRACTED, SKIPPED

_CHECKED = (Why.AUDIT.value, Why.SHADOW.value, Why.FEEDBACK.value)  # tickets whose guess an answer is compared with
_LOOKED_AT = 64
_queries, _events, _tickets = schema.queries, schema.events, schema.tickets
_FREE: dict[str, Any] = {"lease_by": None, "lease_until": None}


def next_ticket(desk: LiveDesk, who: str) -> Ticket | None:
    """The ticket that this expert holds, or else the most useful one that is free, leased to them; None if none is.

    One that they have skipped comes only when there is no other: of those, the one skipped longest ago.
    """
    row = _held_by(desk, who) or _best(desk, who) or _skipped_longest_ago(desk, who)
    return None if row is None else _lease(desk, row.id, who)


def show(desk: LiveDesk, ticket: int) -> Ticket:
    """A ticket with the labels to offer, as the desk sees it now."""
    found = read.ticket(desk.entry.connection, desk.row.id, ticket, blind=desk.settings.blind, now=desk.now)
    if found.status is not TicketStatus.OPEN:
        return found
    return replace(found, offers=offers_of(desk, found.query))


def claim(desk: LiveDesk, ticket: int, who: str) -> Ticket:
    """Lease a ticket to this expert, or lengthen their lease."""
    row = _open(desk, ticket)
    _check_free(desk, row, who)
    return _lease(desk, ticket, who)


def release(desk: LiveDesk, ticket: int, who: str) -> Ticket:
    """Put a ticket back; one that nobody holds stays as it is."""
    row = _open(desk, ticket)
    _check_free(desk, row, who)
    _change(desk, ticket, _FREE)
    desk.due[row.query] = None  # the desk may answer it by itself by now
    return show(desk, ticket)


def skip(desk: LiveDesk, ticket: int, who: str) -> Ticket:
    """Pass a ticket by: it comes to this expert again only when nothing else is free. Each skip counts as the last."""
    row = _open(desk, ticket)
    _check_free(desk, row, who)
    desk.record(SKIPPED, row.query, {}, who=who)
    _change(desk, ticket, _FREE | {"skipped_by": sorted({*row.skipped_by, who})})
    desk.due[row.query] = None
    return show(desk, ticket)


def answer(
    desk: LiveDesk, ticket: int, label: str, who: str, *, answer: str | None = None, create: bool = True
) -> Answered:
    """The expert's label: the query is an example from here on, and the next decision knows it.

    With `answer` the label gets that answer text; without `create` a label that is not known is refused. The same
    answer by the same expert again changes nothing. A ticket that was withdrawn since the desk could guess its query
    takes an answer as well: the expert's word is the truth, and it is worth more than the guess.
    """
    row, name = _row(desk, ticket), label_name(label)
    if row.status == TicketStatus.ANSWERED and row.closed_by == who and row.label == name:
        return Answered(_outcome(desk, row), ())
    if not _is_guessed_meanwhile(row):
        _check_open(row)
    _check_free(desk, row, who)
    changed = made.make_known(desk, name, answer, who, create)
    event = desk.record(ANSWERED, row.query, {"label": name, "before": _stands(row)} | changed, who=who)
    if row.guess is not None and row.why in _CHECKED:
        right = row.guess == name
        verdict = {"guess": row.guess, "answer": name, "right": right, "why": row.why}
        audited = desk.record(AUDITED, row.query, verdict, who=who)
        if row.why == Why.AUDIT and not right:
            desk.tell(Happening.AUDIT_FAILED, audited, row.query)
    word = {"status": QueryStatus.ANSWERED.value, "label": name, "probability": None, "example": True}
    _change_query(desk, row.query, word | {"decided": event.id})
    closed = {"status": TicketStatus.ANSWERED.value, "closed_at": desk.now, "closed": event.id, "closed_by": who}
    _change(desk, ticket, _FREE | closed)
    desk.tell(Happening.QUERY_ANSWERED, event, row.query)
    settled = again.redecide(desk, near=row.query)
    return Answered(_outcome(desk, row), settled)


def undo(desk: LiveDesk, ticket: int, who: str, *, admin: bool = False) -> Ticket:
    """Take back an answer, or a skip: the ticket is open again and leased to the one who takes it back.

    Only who gave the answer may do so, or an admin, and not once another has changed it. What the answer changed
    about its label goes back too, unless someone has changed that since: the answer text is the one from before, and
    a label that only this answer made is gone. What was guessed meanwhile stays as it was decided; a ticket that had
    been withdrawn before its answer is open too, while the guess stands for the asker.
    """
    row = _row(desk, ticket)
    if row.status == TicketStatus.OPEN and who in row.skipped_by:
        return _undo_skip(desk, row, who)
    if row.status != TicketStatus.ANSWERED:
        raise Conflicting(f"Ticket {ticket} is {row.status}: there is no answer to take back.")
    if row.closed_by != who and not admin:
        raise Forbidden(f"Ticket {ticket} was answered by {row.closed_by!r}; they can take it back, or an admin.")
    if row.decided != row.closed or not row.example:
        raise Conflicting(
            f"What ticket {ticket} is about has been changed since its answer; correct the example instead."
        )
    told = desk.entry.connection.execute(select(_events.c.payload).where(_events.c.id == row.closed)).scalar_one()
    stands = _before(desk, row, told)
    payload = {"undone": row.closed, "why": row.why, **stands}
    desk.record(RETRACTED, row.query, payload, who=who)
    _change_query(desk, row.query, stands)
    _change(desk, ticket, {"status": TicketStatus.OPEN.value, "closed_at": None, "closed": None, "closed_by": None})
    made.take_back(desk, row.closed, told, who)
    return _lease(desk, ticket, who)


def _undo_skip(desk: LiveDesk, row: Any, who: str) -> Ticket:
    _check_free(desk, row, who)
    skips = select(_events.c.id).where(_events.c.query == row.query, _events.c.kind == SKIPPED, _events.c.who == who)
    undone = desk.entry.connection.execute(skips.order_by(_events.c.id.desc()).limit(1)).scalar()
    payload = {"undone": undone, "why": row.why, **_stands(row)}
    desk.record(RETRACTED, row.query, payload, who=who)
    _change(desk, row.id, {"skipped_by": [name for name in row.skipped_by if name != who]})
    return _lease(desk, row.id, who)


def _stands(row: Any) -> dict[str, Any]:
    """What stands about the query of a ticket, as its columns have it."""
    known = {name: getattr(row, name) for name in ("label", "decided", "example")}
    return known | {"status": row.query_status, "probability": row.query_probability}


def _before(desk: LiveDesk, row: Any, told: dict[str, Any]) -> dict[str, Any]:
    """What stood about the query before its answer, under the name that its label has by now.

    A label that was deleted since stays as a name; its examples were forgotten, so this one is none either.
    """
    before: dict[str, Any] = told["before"]
    if before["label"] is None:
        return before
    label = desk.fold.name_now(before["label"], row.closed)
    return before if label == before["label"] else before | ({"example": False} if label is None else {"label": label})


# -- parts ---------------------------------------------------------------------------------------------------------
def _row(desk: LiveDesk, ticket: int) -> Any:
    columns: list[Any] = [
        _tickets,
        _queries.c.probability.label("query_probability"),
        _queries.c.key,
        _queries.c.label,
        _queries.c.status.label("query_status"),
        _queries.c.decided,
        _queries.c.example,
        _queries.c.erased_at,
    ]
    found = desk.entry.connection.execute(
        select(*columns)
        .join(_queries, _queries.c.id == _tickets.c.query)
        .where(_tickets.c.id == ticket, _tickets.c.desk == desk.row.id)
    ).one_or_none()
    if found is None:
        raise UnknownTicket(f"The desk {desk.row.name!r} has no ticket {ticket}.")
    return found


def _open(desk: LiveDesk, ticket: int) -> Any:
    row = _row(desk, ticket)
    _check_open(row)
    return row


def _check_open(row: Any) -> None:
    if row.status == TicketStatus.ANSWERED:
        raise Conflicting(f"Ticket {row.id} was answered by {row.closed_by!r} already, with {row.label!r}.")
    if row.status == TicketStatus.WITHDRAWN:
        raise Conflicting(f"Ticket {row.id} was withdrawn: {_why_withdrawn(row)}")


def _is_guessed_meanwhile(row: Any) -> bool:
    """Whether the ticket was withdrawn for a guess that still stands."""
    guessed = row.query_status == QueryStatus.GUESSED and row.erased_at is None
    return bool(row.status == TicketStatus.WITHDRAWN and guessed)


def _why_withdrawn(row: Any) -> str:
    if row.erased_at is not None:
        return "its query was erased. Take the next one."
    if _is_guessed_meanwhile(row):
        return f"the desk has guessed {row.label!r} since. Take the next one, or answer this one all the same."
    return f"the desk had guessed, and an expert has corrected that to {row.label!r}. Correct the example instead."


def _check_free(desk: LiveDesk, row: Any, who: str) -> None:
    if row.lease_by not in (None, who) and row.lease_until > desk.now:
        raise Conflicting(f"Ticket {row.id} is held by {row.lease_by!r}. Take the next one, or try this one later.")


def _held_by(desk: LiveDesk, who: str) -> Any | None:
    query = _open_ones(desk).where(_tickets.c.lease_by == who, _tickets.c.lease_until > desk.now)
    return desk.entry.connection.execute(query.limit(1)).one_or_none()


def _best(desk: LiveDesk, who: str) -> Any | None:
    """The first ticket in order that is free and that they have not skipped."""
    free = _open_ones(desk).where(_is_free(desk))
    for start in range(0, 1 << 40, _LOOKED_AT):
        rows = desk.entry.connection.execute(free.offset(start).limit(_LOOKED_AT)).all()
        found = next((row for row in rows if who not in row.skipped_by), None)
        if found is not None or len(rows) < _LOOKED_AT:
            return found
    return None


def _skipped_longest_ago(desk: LiveDesk, who: str) -> Any | None:
    """Of the free tickets, all of which they have skipped: the one whose last skip by them is the oldest."""
    mine = (_events.c.query == _tickets.c.query) & (_events.c.kind == SKIPPED) & (_events.c.who == who)
    query = select(_tickets.c.id).join(_events, mine).where(_tickets.c.desk == desk.row.id, _is_free(desk))
    query = query.where(_tickets.c.status == TicketStatus.OPEN.value).group_by(_tickets.c.id)
    return desk.entry.connection.execute(query.order_by(func.max(_events.c.id)).limit(1)).one_or_none()


def _is_free(desk: LiveDesk) -> Any:
    return _tickets.c.lease_until.is_(None) | (_tickets.c.lease_until <= desk.now)


def _open_ones(desk: LiveDesk) -> Any:
    query = select(_tickets.c.id, _tickets.c.skipped_by).where(_tickets.c.desk == desk.row.id)
    return query.where(_tickets.c.status == TicketStatus.OPEN.value).order_by(_tickets.c.priority.desc(), _tickets.c.id)


def _lease(desk: LiveDesk, ticket: int, who: str) -> Ticket:
    until = desk.now + timedelta(seconds=desk.settings.lease_seconds)
    _change(desk, ticket, {"lease_by": who, "lease_until": until})
    return show(desk, ticket)


def _change(desk: LiveDesk, ticket: int, values: dict[str, Any]) -> None:
    desk.entry.connection.execute(update(_tickets).where(_tickets.c.id == ticket).values(**values))


def _change_query(desk: LiveDesk, query: int, values: dict[str, Any]) -> None:
    desk.entry.connection.execute(update(_queries).where(_queries.c.id == query).values(**values))


def _outcome(desk: LiveDesk, row: Any) -> Any:
    return read.outcomes(desk.entry.connection, [row.query])[row.key]
