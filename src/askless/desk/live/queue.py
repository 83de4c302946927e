"""The tickets that wait, as a table: filtered, sorted, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from askless.desk.live.read import MOST
from askless.desk.live.renamings import Renamings
from askless.desk.live.types import TicketStatus, Why
from askless.errors import InvalidInput
from askless.ledger import schema

_q, _t, _e = schema.queries.c, schema.tickets.c, schema.events.c
_OPEN = schema.tickets.join(schema.queries, _q.id == _t.query)
_DECIDED = _OPEN.outerjoin(schema.events, _e.id == _q.decided)  # null where the embedder knows nothing of the text
_FIRST = _e.payload[("suggestions", 0, 0)].as_string()  # null where that event is no question of the policy's
_FIRST_PROBABILITY = _e.payload[("suggestions", 0, 3)].as_float()


class Order(StrEnum):
    """In which order tickets stand in the queue."""

    USEFUL = "useful"  # as experts are given them: the least certain first, complaints before all
    OLDEST = "oldest"
    NEWEST = "newest"


_ORDERS: dict[Order, tuple[ColumnElement[Any], ...]] = {
    Order.USEFUL: (_t.priority.desc(), _t.id.asc()),
    Order.OLDEST: (_t.opened_at.asc(), _t.id.asc()),
    Order.NEWEST: (_t.opened_at.desc(), _t.id.desc()),
}


@dataclass(frozen=True, slots=True)
class QueueRow:
    """An open ticket in a line of the queue.

    `label` is what the policy guessed, or held the likeliest when it decided, under the name that it has now, and
    `probability` how likely. `suggested` is what the asker says is right. With `blind` there is no `why`, no `label`
    and no `probability`.
    """

    id: int
    key: str
    text: str | None
    opened_at: datetime
    asker: str | None
    why: Why | None
    label: str | None
    probability: float | None
    suggested: str | None
    lease_by: str | None
    lease_until: datetime | None


def waiting(
    connection: Connection,
    desk: int,
    *,
    now: datetime,
    blind: bool,
    search: str | None = None,
    label: str | None = None,
    why: Why | None = None,
    order: Order | str = Order.USEFUL,
    offset: int = 0,
    limit: int = 50,
) -> tuple[list[QueueRow], int]:
    """The open tickets of a desk that fit, from `offset` on, and how many fit in all.

    `search` is a piece of the text, or the id. `label` is the one that a line shows; at a blind desk, where nothing may
    tell an audit from another ticket, the one that the asker suggests, and `why` is refused.
    """
    if blind and why is not None:
        raise InvalidInput("The tickets of this desk do not tell why they were opened: leave `why` out.")
    if not 1 <= limit <= MOST:
        raise InvalidInput(f"A page has 1 to {MOST} rows; found limit={limit}.")
    if offset < 0:
        raise InvalidInput(f"A page begins at row 0 or later; found offset={offset}.")
    renamings = Renamings(connection, desk, deletions=True)
    fits = and_(_t.desk == desk, _t.status == TicketStatus.OPEN.value)
    if search:
        fits = and_(fits, _q.text.icontains(search, autoescape=True) | (_q.key == search))
    if why is not None:
        fits = and_(fits, _t.why == Why(why).value)
    if label is not None:
        fits = and_(fits, _t.suggested == label if blind else _shows(label, renamings))
    source = _OPEN if label is None or blind else _DECIDED
    total = connection.execute(select(func.count()).select_from(source).where(fits)).scalar_one()
    page = select(_t.id).select_from(source).where(fits).order_by(*_ordered(order)).offset(offset).limit(limit)
    rows = connection.execute(_lines(page.subquery()).order_by(*_ordered(order)))
    return [_line(row, renamings, now, blind) for row in rows], total


def _shows(label: str, renamings: Renamings) -> ColumnElement[bool]:
    """Whether a line shows this label."""
    return or_(_t.guess == label, and_(_t.guess.is_(None), renamings.is_now(_FIRST, _q.decided, label)))


def _ordered(order: Order | str) -> tuple[ColumnElement[Any], ...]:
    try:
        return _ORDERS[Order(order)]
    except ValueError:
        names = ", ".join(one.value for one in Order)
        raise InvalidInput(f"The queue is ordered by {names}; found {order!r}.") from None


def _lines(page: Any) -> Any:
    """The tickets of a page, with what the policy said of each: read for these alone, since events are long."""
    guessed = _t.guess.is_not(None)
    return select(
        *(_t.id, _q.key, _q.text, _t.opened_at, _q.asker, _t.why, _t.suggested, _t.lease_by, _t.lease_until, _t.guess),
        _q.decided,
        case((guessed, None), else_=_FIRST).label("first"),
        case((guessed, _t.probability), else_=_FIRST_PROBABILITY).label("probability"),
    ).select_from(_DECIDED.join(page, page.c.id == _t.id))


def _line(row: Any, renamings: Renamings, now: datetime, blind: bool) -> QueueRow:
    held = row.lease_until is not None and row.lease_until > now
    label = row.guess if row.guess is not None else renamings.now(row.first, row.decided or 0)
    return QueueRow(
        id=row.id,
        key=row.key,
        text=row.text,
        opened_at=row.opened_at,
        asker=row.asker,
        why=None if blind else Why(row.why),
        label=None if blind else label,
        probability=None if blind or label is None else row.probability,
        suggested=row.suggested,
        lease_by=row.lease_by if held else None,
        lease_until=row.lease_until if held else None,
    )
