"""How much a label is used: its examples, the experts' answers that were it, and what waits with its name on it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, or_, select

from askless.desk.live import counts
from askless.desk.live.labels import rows
from askless.desk.live.types import LabelRow, TicketStatus
from askless.ledger import schema

_t = schema.tickets.c


@dataclass(frozen=True, slots=True)
class LabelUse:
    """A label, how many of the experts' answers that stand were it, and how many there are of all labels."""

    row: LabelRow
    calls: int
    all_calls: int

    @property
    def share(self) -> float | None:
        """The share of the answered questions that were the label's; None before the first answer."""
        return self.calls / self.all_calls if self.all_calls else None


def uses(connection: Connection, desk: int) -> list[LabelUse]:
    """All labels of a desk in the order of their names, with their use since the desk was made."""
    every = schema.queries.c.desk == desk
    calls = counts.calls(connection, desk, every, "month", connection.dialect.name == "sqlite").by_label
    return [LabelUse(row, calls[row.name], calls.total()) for row in rows(connection, desk)]


def waiting_with(connection: Connection, desk: int, label: str, *, blind: bool) -> int:
    """How many open tickets have the label as their guess, or as what the asker says is right.

    On a blind desk only the latter: that a ticket has a guess would tell that it is an audit.
    """
    named = _t.suggested == label if blind else or_(_t.suggested == label, _t.guess == label)
    opened = select(func.count()).where(_t.desk == desk, _t.status == TicketStatus.OPEN, named)
    return int(connection.execute(opened).scalar_one())
