"""Many tickets at once: held together, answered with one label, taken back together.

What is answered together is held first. So no other expert takes one in between, and the desk does not answer the
later ones by itself as soon as it has learned from the first: what the expert said of each of them counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection, or_, select, update

from askless.desk.live import tickets
from askless.desk.live.desk import LiveDesk
from askless.desk.live.types import TicketStatus
from askless.errors import Conflicting, Forbidden, InvalidInput
from askless.ledger import schema

MOST = 500  # tickets that are answered together
_t = schema.tickets.c


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a ticket is, and who holds it until when."""

    status: TicketStatus
    closed_by: str | None
    lease_by: str | None
    lease_until: datetime | None


@dataclass(slots=True)
class Together:
    """What became of tickets that were answered, or taken back, together.

    `done` are those it was done to, `refused` those that others had taken or changed, `settled` the keys of further
    waiting queries that the desk answers by itself since.
    """

    done: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)


def standings(connection: Connection, desk: int, ids: Sequence[int], *, now: datetime) -> dict[int, Standing]:
    """How these tickets stand, by their numbers; one that is not there has none."""
    columns = (_t.id, _t.status, _t.closed_by, _t.lease_by, _t.lease_until)
    found = {}
    for row in connection.execute(select(*columns).where(_t.desk == desk, _t.id.in_(ids))):
        held = row.lease_until is not None and row.lease_until > now
        lease = (row.lease_by, row.lease_until) if held else (None, None)
        found[row.id] = Standing(TicketStatus(row.status), row.closed_by, *lease)
    return found


def hold(desk: LiveDesk, ids: Sequence[int], who: str) -> list[int]:
    """Lease these tickets to one expert: those of them that are open and that nobody else holds, in the given order."""
    until = desk.now + timedelta(seconds=desk.settings.lease_seconds)
    free = or_(_t.lease_until.is_(None), _t.lease_until <= desk.now, _t.lease_by == who)
    mine = (_t.desk == desk.row.id, _t.id.in_(_few(ids)), _t.status == TicketStatus.OPEN.value, free)
    taking = update(schema.tickets).where(*mine).values(lease_by=who, lease_until=until).returning(_t.id)
    held = set(desk.entry.connection.execute(taking).scalars())
    return [id for id in ids if id in held]


def answer(desk: LiveDesk, ids: Sequence[int], label: str, who: str) -> Together:
    """Answer these tickets with one label, as `tickets.answer` does each; what others have taken stays theirs."""
    found = Together()
    for id in _few(ids):
        try:
            found.settled += tickets.answer(desk, id, label, who).settled
        except Conflicting:
            found.refused.append(id)
        else:
            found.done.append(id)
    return found


def undo(desk: LiveDesk, ids: Sequence[int], who: str, *, admin: bool = False) -> Together:
    """Take back these answers, the last first; they stay held until `let_go`, so that none is guessed meanwhile."""
    found = Together()
    for id in reversed(_few(ids)):
        try:
            tickets.undo(desk, id, who, admin=admin)
        except (Conflicting, Forbidden):
            found.refused.append(id)
        else:
            found.done.append(id)
    return found


def let_go(desk: LiveDesk, ids: Sequence[int], who: str) -> None:
    """Put back those of these tickets that the expert holds still."""
    mine = (_t.desk == desk.row.id, _t.id.in_(_few(ids)), _t.status == TicketStatus.OPEN.value, _t.lease_by == who)
    letting = update(schema.tickets).where(*mine).values(lease_by=None, lease_until=None).returning(_t.query)
    desk.due |= dict.fromkeys(desk.entry.connection.execute(letting).scalars())


def _few(ids: Sequence[int]) -> Sequence[int]:
    if len(ids) > MOST:
        raise InvalidInput(f"At most {MOST} tickets are taken together; found {len(ids):,}. Take them in parts.")
    return ids
