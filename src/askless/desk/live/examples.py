"""The examples of a desk: listed, corrected, forgotten, the last two as operations of the desk's worker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, select, update

from askless.desk.live.desk import LiveDesk
from askless.desk.live.labels import known_or_made
from askless.desk.live.names import label_name
from askless.desk.live.read import MOST, Page
from askless.desk.live.types import QueryStatus, TicketStatus
from askless.errors import Conflicting, InvalidInput, UnknownExample, UnknownQuery
from askless.ledger import events as kinds
from askless.ledger import schema

_queries, _tickets = schema.queries, schema.tickets


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A query whose label an expert gave."""

    query: int
    key: str
    text: str | None
    label: str
    status: QueryStatus  # answered, or given before
    received_at: datetime


def page(
    connection: Connection,
    desk: int,
    *,
    label: str | None = None,
    search: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[ExampleRow]:
    """The examples in the order they came: all, of one label, or with a text that holds `search`."""
    q = _queries.c
    wanted = select(_queries).where(q.desk == desk, q.example.is_(True))
    if label is not None:
        wanted = wanted.where(q.label == label_name(label))
    if search:
        wanted = wanted.where(q.text.icontains(search, autoescape=True) | (q.key == search))
    if cursor is not None:
        if not cursor.isdecimal() or len(cursor) > 18:
            raise InvalidInput(f"A cursor is what the page before gave; found {cursor!r:.40}.")
        wanted = wanted.where(q.id > int(cursor))
    if not 1 <= limit <= MOST:
        raise InvalidInput(f"A page has 1 to {MOST} rows; found limit={limit}.")
    rows = connection.execute(wanted.order_by(q.id).limit(limit + 1)).all()
    return Page([_shown(row) for row in rows[:limit]], str(rows[limit - 1].id) if len(rows) > limit else None)


def _shown(row: Any) -> ExampleRow:
    return ExampleRow(row.id, row.key, row.text, row.label, QueryStatus(row.status), row.received_at)


def relabel(desk: LiveDesk, key: str, label: str, who: str | None) -> ExampleRow:
    """An expert's correction of an example, or of a guess, which becomes an example by it. The same again does nothing.

    A query whose ticket is open is answered there instead.
    """
    row = _row(desk, key)
    if row.erased_at is not None:
        raise Conflicting(f"The query {key!r} was erased, so it can be no example.")
    if row.ticket is not None:
        raise Conflicting(f"The query {key!r} waits for an expert: answer its ticket {row.ticket} instead.")
    label = label_name(label)
    if row.example and row.label == label:
        return _example(desk, row.id)
    label = known_or_made(desk, label, who)
    event = desk.record(kinds.RELABELLED, row.id, {"label": label}, who=who)
    status = QueryStatus.GIVEN if row.status == QueryStatus.GIVEN else QueryStatus.ANSWERED
    values = {"status": status.value, "label": label, "probability": None, "decided": event.id, "example": True}
    desk.entry.connection.execute(update(_queries).where(_queries.c.id == row.id).values(values))
    return _example(desk, row.id)


def forget(desk: LiveDesk, key: str, who: str | None) -> None:
    """The policy decides from here on as if it had never had the example; the query keeps its label. Twice is once."""
    row = _row(desk, key)
    if row.example:
        desk.record(kinds.FORGOTTEN, row.id, who=who)
        desk.entry.connection.execute(update(_queries).where(_queries.c.id == row.id).values(example=False))
    elif row.status not in (QueryStatus.ANSWERED, QueryStatus.GIVEN):
        raise UnknownExample(f"The query {key!r} is no example: no expert has given its label.")


def _row(desk: LiveDesk, key: str) -> Any:
    q = _queries.c
    opened = and_(_tickets.c.query == q.id, _tickets.c.status == TicketStatus.OPEN)
    columns = (q.id, q.label, q.status, q.example, q.erased_at, _tickets.c.id.label("ticket"))
    query = select(*columns).select_from(_queries.outerjoin(_tickets, opened))
    row = desk.entry.connection.execute(query.where(q.desk == desk.row.id, q.key == key)).one_or_none()
    if row is None:
        raise UnknownQuery(f"No query of the desk {desk.row.name!r} has the id {key!r}.")
    return row


def _example(desk: LiveDesk, id: int) -> ExampleRow:
    return _shown(desk.entry.connection.execute(select(_queries).where(_queries.c.id == id)).one())
