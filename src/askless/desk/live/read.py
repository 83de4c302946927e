"""What stands at a desk, read without its worker: outcomes, and pages of queries and tickets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection, Select, case, func, select

from askless.desk.decisions import read as read_decision
from askless.desk.live.types import Evidence, Outcome, QueryStatus, Ticket, TicketStatus, Why
from askless.errors import InvalidInput, UnknownQuery, UnknownTicket
from askless.ledger import schema
from askless.ledger.events import FEEDBACK
from askless.types import Ask, Decision, Guess

MOST = 500  # rows of a page
UNKNOWN_TEXT = "the embedder knows no word of this text"
_AT_ONCE = 500
_queries, _events, _tickets, _labels = schema.queries, schema.events, schema.tickets, schema.labels

_evidence = partial(tuple.__new__, Evidence)  # without a call of the class for each: a guess has many

RowT = TypeVar("RowT")


@dataclass(frozen=True, slots=True)
class Page(Generic[RowT]):
    """Some rows, and the cursor that gives the next ones; None where there are no more."""

    rows: list[RowT]
    cursor: str | None


class Support(NamedTuple):
    """An example that guesses rest on."""

    key: str
    text: str | None
    label: str


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One line of a list of queries: what stands about it, its text, and who sent it."""

    outcome: Outcome
    text: str | None
    asker: str | None
    example: bool
    erased: bool


# -- queries -------------------------------------------------------------------------------------------------------
def outcome(connection: Connection, desk: int, key: str, *, blind: bool = False) -> Outcome:
    """What stands about a query, as its asker may know it; with `blind`, as an expert may whose answer is to come."""
    id = connection.execute(select(_queries.c.id).where(_queries.c.desk == desk, _queries.c.key == key)).scalar()
    if id is None:
        raise UnknownQuery(f"This desk has no query with the id {key!r}.")
    return outcomes(connection, [id], blind=blind)[key]


def outcomes(connection: Connection, ids: Sequence[int], *, blind: bool = False) -> dict[str, Outcome]:
    """What stands about these queries, by their keys; with `blind` nothing tells an audit from another ticket."""
    found: dict[str, Outcome] = {}
    for start in range(0, len(ids), _AT_ONCE):
        rows = connection.execute(select(_queries).where(_queries.c.id.in_(ids[start : start + _AT_ONCE]))).all()
        found |= {o.key: o for o in outcomes_of(connection, rows)}
    if blind and found:
        columns = select(_queries.c.key, _tickets.c.id).join(_tickets, _tickets.c.query == _queries.c.id)
        opened = _tickets.c.query.in_(ids), _tickets.c.status == TicketStatus.OPEN.value
        found |= {key: _waiting(found[key], ticket) for key, ticket in connection.execute(columns.where(*opened))}
    return found


def _waiting(outcome: Outcome, ticket: int) -> Outcome:
    """A query whose ticket is open, whatever its asker was told meanwhile."""
    known = outcome._replace(label=None, answer=None, probability=None, evidence=(), reason=None, disputed=False)
    return known._replace(status=QueryStatus.ASKED, ticket=ticket)


def queries(
    connection: Connection,
    desk: int,
    *,
    status: QueryStatus | None = None,
    label: str | None = None,
    search: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
    blind: bool = False,
) -> Page[QueryRow]:
    """Queries of a desk, the newest first; `search` is a piece of the text, or the id.

    With `blind` those are left out whose ticket is open: what they are listed under would tell an audit from others.
    """
    query = select(_queries).where(_queries.c.desk == desk, _queries.c.status.is_not(None))
    if blind:
        opened = select(_tickets.c.query).where(_tickets.c.desk == desk, _tickets.c.status == TicketStatus.OPEN.value)
        query = query.where(_queries.c.id.not_in(opened))
    if status is not None:
        query = query.where(_queries.c.status == QueryStatus(status).value)
    if label is not None:
        query = query.where(_queries.c.label == label)
    if search:
        piece = _queries.c.text.icontains(search, autoescape=True)
        query = query.where(piece | (_queries.c.key == search))
    if cursor is not None:
        query = query.where(_queries.c.id < cursor_number(cursor))
    rows, after = page_of(connection, query.order_by(_queries.c.id.desc()), limit)
    lines = [
        QueryRow(o, row.text, row.asker, bool(row.example), row.erased_at is not None)
        for row, o in zip(rows, outcomes_of(connection, rows), strict=True)
    ]
    return Page(lines, None if after is None else str(after.id))


def evidence(connection: Connection, ids: Iterable[int]) -> dict[Any, Support]:
    """The examples behind guesses, as they are now: an erased one has no text."""
    wanted, found = list(ids), {}
    for start in range(0, len(wanted), _AT_ONCE):
        block = wanted[start : start + _AT_ONCE]
        columns = select(_queries.c.id, _queries.c.key, _queries.c.text, _queries.c.label)
        for id, key, text, label in connection.execute(columns.where(_queries.c.id.in_(block))).all():
            found[id] = Support(key, text, label or "")
    return found


def weighed(parts: Iterable[tuple[Any, float]], known: Mapping[Any, Support]) -> tuple[Evidence, ...]:
    """The examples behind a guess with their parts in it, without those that are not known any more."""
    return tuple([_evidence((*known[id], float(weight))) for id, weight in parts if id in known])


def outcomes_of(connection: Connection, rows: Sequence[Any]) -> list[Outcome]:
    """What stands about the queries of these rows, in their order."""
    if not rows:
        return []
    ids = [row.id for row in rows]
    read = connection.execute
    complaint = func.max(case((_events.c.kind == FEEDBACK, _events.c.id))).label("complaint")
    newest = select(_events.c.query, func.max(_events.c.id).label("last"), complaint)
    told = {e.query: e for e in read(newest.where(_events.c.query.in_(ids)).group_by(_events.c.query))}
    decisions = _decisions(connection, rows)
    columns = [_tickets.c[name] for name in ("query", "id", "why", "status", "opened")]
    tickets = {t.query: t for t in read(select(*columns).where(_tickets.c.query.in_(ids)))}
    answers = _answers(connection, rows[0].desk, {row.label for row in rows if row.label is not None})
    supports = {s.id for d in decisions.values() if isinstance(d, Guess) for s in d.evidence if isinstance(s.id, int)}
    known = evidence(connection, supports)
    return [
        _outcome(row, decisions.get(row.decided), tickets.get(row.id), answers, known, told.get(row.id)) for row in rows
    ]


def _decisions(connection: Connection, rows: Sequence[Any]) -> dict[int, Decision]:
    """The decisions that stand, by their events; an expert's word is none."""
    decided = [row.decided for row in rows if row.decided is not None]
    found = connection.execute(select(_events.c.id, _events.c.payload).where(_events.c.id.in_(decided)))
    return {id: read_decision(payload) for id, payload in found if "action" in payload}


def _outcome(
    row: Any, decision: Any, ticket: Any, answers: dict[str, str | None], known: dict[Any, Support], told: Any
) -> Outcome:
    status, erased = QueryStatus(row.status), row.erased_at is not None
    guess = decision if status is QueryStatus.GUESSED and isinstance(decision, Guess) else None
    asked = status is QueryStatus.ASKED and not erased
    disputed = not asked and not erased and _is_disputed(ticket, told)
    reason = None
    if asked and ticket is not None and ticket.why == Why.UNKNOWN:
        reason = UNKNOWN_TEXT
    elif asked and ticket is not None and ticket.why == Why.UNSURE and isinstance(decision, Ask):
        reason = str(decision.reason)
    return Outcome(
        row.id,
        row.key,
        status,
        row.label,
        None if row.label is None else answers.get(row.label),
        row.probability,
        () if guess is None else weighed(guess.evidence, known),
        ticket.id if (asked or disputed) and ticket is not None else None,
        reason,
        row.received_at,
        0 if told is None else told.last,
        erased,
        disputed,
    )


def _is_disputed(ticket: Any, told: Any) -> bool:
    """Whether the asker has complained and no expert has answered: also where an audit had the ticket opened before."""
    if ticket is None or ticket.status != TicketStatus.OPEN:
        return False
    complaint = None if told is None else told.complaint
    return ticket.why == Why.FEEDBACK or (complaint is not None and complaint > ticket.opened)


def _answers(connection: Connection, desk: int, names: set[str]) -> dict[str, str | None]:
    query = select(_labels.c.name, _labels.c.answer).where(_labels.c.desk == desk, _labels.c.name.in_(names))
    return {name: answer for name, answer in connection.execute(query)} if names else {}  # noqa: C416


# -- tickets -------------------------------------------------------------------------------------------------------
def ticket(connection: Connection, desk: int, id: int, *, blind: bool, now: datetime) -> Ticket:
    """One ticket without its offers, which `tickets.show` adds; blind as the desk's settings say."""
    row = connection.execute(_ticket_rows(desk).where(_tickets.c.id == id)).one_or_none()
    if row is None:
        raise UnknownTicket(f"This desk has no ticket {id}.")
    return _ticket(row, _decisions(connection, [row]).get(row.decided), blind, now)


def tickets(
    connection: Connection,
    desk: int,
    *,
    blind: bool,
    now: datetime,
    status: TicketStatus | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[Ticket]:
    """Tickets of a desk in the order in which they were opened, without their offers."""
    query = _ticket_rows(desk)
    if status is not None:
        query = query.where(_tickets.c.status == TicketStatus(status).value)
    if cursor is not None:
        query = query.where(_tickets.c.id > cursor_number(cursor))
    rows, after = page_of(connection, query.order_by(_tickets.c.id), limit)
    decisions = _decisions(connection, rows)
    found = [_ticket(row, decisions.get(row.decided), blind, now) for row in rows]
    return Page(found, None if after is None else str(after.id))


def _ticket_rows(desk: int) -> Select[Any]:
    columns = [_queries.c.key, _queries.c.text, _queries.c.asker, _queries.c.label, _queries.c.decided]
    return select(_tickets, *columns).join(_queries, _queries.c.id == _tickets.c.query).where(_tickets.c.desk == desk)


def _ticket(row: Any, decision: Decision | None, blind: bool, now: datetime) -> Ticket:
    reason = str(decision.reason) if isinstance(decision, Ask) else None
    held = row.lease_until is not None and row.lease_until > now
    answered = row.status == TicketStatus.ANSWERED
    found = Ticket(
        id=row.id,
        query=row.query,
        key=row.key,
        text=row.text,
        status=TicketStatus(row.status),
        why=Why(row.why),
        reason=UNKNOWN_TEXT if row.why == Why.UNKNOWN else reason,
        priority=row.priority,
        opened_at=row.opened_at,
        asker=row.asker,
        offers=(),
        guess=row.guess,
        probability=row.probability,
        suggested=row.suggested,
        lease_by=row.lease_by if held else None,
        lease_until=row.lease_until if held else None,
        label=row.label if answered else None,
        closed_by=row.closed_by,
    )
    if not blind:
        return found
    return replace(found, why=None, guess=None, probability=None, reason=None, priority=1.0)


# -- pages ---------------------------------------------------------------------------------------------------------
def page_of(connection: Connection, query: Select[Any], limit: int) -> tuple[list[Any], Any | None]:
    """The rows, and the last of them where more follow."""
    if not 1 <= limit <= MOST:
        raise InvalidInput(f"A page has 1 to {MOST} rows; found limit={limit}.")
    rows = list(connection.execute(query.limit(limit + 1)).all())
    return rows[:limit], rows[limit - 1] if len(rows) > limit else None


def cursor_number(cursor: str) -> int:
    """The row after which a page goes on."""
    if not cursor.isdecimal() or len(cursor) > 18:
        raise InvalidInput(f"A cursor is what the page before gave; found {cursor!r:.40}.")
    return int(cursor)
