"""What a desk would have cost that never asks: the other end from one that asks about everything."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, case, func, not_, select

from askless.desk.audits import error_rate
from askless.desk.live import counts
from askless.desk.live.renamings import Renamings
from askless.desk.live.spans import checked_span, within
from askless.desk.live.statistics import Estimate, estimate
from askless.desk.live.types import QueryStatus
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.events import DECIDED
from askless.types import Costs

_q, _e = schema.queries.c, schema.events.c
_FIRST_DECISION = and_(_e.query == _q.id, _e.kind == DECIDED, _e.payload["again"].as_string().is_(None))
_LIKELIEST = func.coalesce(_e.payload["label"].as_string(), _e.payload[("suggestions", 0, 0)].as_string())


def regret_of_guessing(
    database: Database, desk: int, costs: Costs, *, since: datetime | None = None, until: datetime | None = None
) -> Estimate | None:
    """What it would have cost to guess every query of [since, until) that has been guessed or answered.

    A query that was guessed counts at the audited error rate. One that an expert answered counts as a mistake unless
    the label that the desk held the likeliest when the query came is the expert's; without any such label, as one.
    Queries that wait count for nothing. The interval is that of the error rate alone; None where guesses were made and
    none was audited.

    It is kinder to guessing than the truth: the labels that the desk held likely come from examples that it had by
    asking, and a desk that never asks has none.
    """
    checked_span(since, until)
    chosen = and_(_q.desk == desk, within(_q.received_at, since, until))
    with database.read() as connection:
        mistakes = _mistakes(connection, desk, chosen)
        counted = [
            func.count(case((counts.COUNTED[name], 1))).label(name) for name in ("guesses", "audited", "audited_wrong")
        ]
        total = connection.execute(select(*counted).select_from(counts.QUERIES).where(chosen)).one()
    audits = error_rate(total.audited, total.audited_wrong, covered=total.guesses)
    return estimate(mistakes * costs.mistake, total.guesses * costs.mistake, audits)


def _mistakes(connection: Connection, desk: int, chosen: ColumnElement[bool]) -> int:
    """Queries that an expert answered, and whose likeliest label was another, by the names that both have now."""
    renamings = Renamings(connection, desk, deletions=False)
    asked = and_(chosen, _q.status == QueryStatus.ANSWERED, not_(func.coalesce(counts.GUESSED, False)))
    period = renamings.period(_e.id).label("period")
    likeliest = _LIKELIEST.label("likeliest")
    pairs = (
        select(period, likeliest, _q.label, func.count())
        .select_from(counts.QUERIES.outerjoin(schema.events, _FIRST_DECISION))
        .where(asked)
        .group_by(period, likeliest, _q.label)
    )
    found = connection.execute(pairs)
    return sum(times for start, named, label, times in found if renamings.now(named, start) != label)
