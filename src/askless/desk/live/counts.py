"""What counts as a call, a guess and an audit, as SQL, and how many of each there were in a span of time.

A window holds the queries that were received in it. What counts is what stands now: a guess that an expert
corrected stays a guess, since it was given, and a ticket that was withdrawn was no call unless it was answered all the
same. A call is an answer of an expert that was not taken back: who answers a query a second time, since its asker
complained, was called twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, case, cast, exists, func, literal, not_, or_, select

from askless.desk.live.spans import bucket_start, seconds_between
from askless.desk.live.types import QueryStatus, TicketStatus, Why
from askless.ledger import schema
from askless.ledger.events import ANSWERED, ASKED, AUDITED, RETRACTED, WITHDRAWN

_q, _t = schema.queries.c, schema.tickets.c
QUERIES = schema.queries.outerjoin(schema.tickets, _t.query == _q.id)
_TICKETS = schema.tickets.join(schema.queries, _t.query == _q.id)

# Events of a query are found by its ticket: only who has one was ever answered.
_answer, _verdict, _opening, _undoing, _settling = (
    schema.events.alias(name).c for name in ("answer", "verdict", "opening", "undoing", "settling")
)
_CALLS = _TICKETS.join(_answer.id.table, _answer.query == _t.query)
_VERDICTS = _TICKETS.join(_verdict.id.table, _verdict.query == _t.query)


def _stands(answer: Any, query: Any) -> ColumnElement[bool]:
    """Whether the event of an answer was not taken back."""
    undone = cast(_undoing.payload["undone"].as_string(), schema.Number)
    return ~exists().where(_undoing.query == query, _undoing.kind == RETRACTED, undone == answer)


_A_CALL = and_(_answer.kind == ANSWERED, _stands(_answer.id, _answer.query))
_COMPLAINED = (  # when the asker first did; from then on the ticket is one of feedback
    select(func.min(_opening.id))
    .where(_opening.query == _t.query, _opening.kind == ASKED, _opening.payload["why"].as_string() == Why.FEEDBACK)
    .scalar_subquery()
)
_AFTER_FEEDBACK = and_(_t.why == Why.FEEDBACK, _answer.id > _COMPLAINED)
_ITS_ANSWER = (
    select(func.max(_answer.id))
    .where(_answer.query == _verdict.query, _answer.kind == ANSWERED, _answer.id < _verdict.id)
    .scalar_subquery()
)
_FOUND_WRONG = and_(
    _t.why == Why.FEEDBACK,
    _verdict.kind == AUDITED,
    _verdict.payload["why"].as_string() == Why.FEEDBACK,
    _verdict.payload["right"].as_boolean().is_(False),
    _stands(_ITS_ANSWER, _verdict.query),
)


def _last_verdict(*whys: Why) -> Any:
    """Whether the guess was right when it was last compared; null where it never was. For tickets opened again."""
    mine = and_(_verdict.query == _t.query, _verdict.kind == AUDITED, _verdict.payload["why"].as_string().in_(whys))
    right = select(_verdict.payload["right"].as_boolean()).where(mine).order_by(_verdict.id.desc()).limit(1)
    return right.scalar_subquery()


_ANSWERED = _t.status == TicketStatus.ANSWERED
_AGAIN = and_(_t.why == Why.FEEDBACK, _t.guess.is_(None))  # a complaint about what an expert had said
_GUESSED_LATER = exists().where(_settling.query == _t.query, _settling.kind == WITHDRAWN)  # after it had waited
# A guess that was given: it stands, or an expert corrected it, or an audit or the asker had an expert look at it.
GUESSED = or_(
    _q.status == QueryStatus.GUESSED,
    and_(_q.status == QueryStatus.ANSWERED, _t.id.is_(None)),  # without a ticket an expert can only have corrected it
    and_(_q.status == QueryStatus.ANSWERED, _t.why.in_((Why.AUDIT, Why.FEEDBACK)), _t.guess.is_not(None)),
    and_(_q.status == QueryStatus.ANSWERED, _AGAIN, _last_verdict(Why.AUDIT, Why.FEEDBACK).is_not(None)),
    and_(_q.status == QueryStatus.ANSWERED, _GUESSED_LATER),
)
_PROBABILITY = func.coalesce(_q.probability, _t.probability)
_AUDITED = and_(_ANSWERED, _t.why == Why.AUDIT, _t.guess.is_not(None))
_AUDITED_BEFORE = _last_verdict(Why.AUDIT)
_SHADOW = and_(_t.why == Why.SHADOW, _t.guess.is_not(None))
_WRONG = _q.label != _t.guess
_NEVER_GUESSED = and_(_q.status == QueryStatus.ANSWERED, not_(func.coalesce(GUESSED, False)))
_ANSWERED_FIRST_AT = (  # of an expert's answer that the asker complained of
    select(_answer.at)
    .where(_answer.query == _t.query, _A_CALL, _answer.id < _COMPLAINED)
    .order_by(_answer.id.desc())
    .limit(1)
    .scalar_subquery()
)
COUNTED: dict[str, ColumnElement[bool]] = {
    "received": _q.status != QueryStatus.GIVEN,
    "settled": _q.status.in_((QueryStatus.GUESSED, QueryStatus.ANSWERED)),  # the others wait, or were erased
    "given": _q.status == QueryStatus.GIVEN,
    "guesses": GUESSED,
    "asked_alone": _NEVER_GUESSED,
    "waiting": _t.status == TicketStatus.OPEN,
    "waiting_again": and_(_t.status == TicketStatus.OPEN, _q.status != QueryStatus.ASKED),
    "withdrawn": _t.status == TicketStatus.WITHDRAWN,
    "probabilities": and_(GUESSED, _PROBABILITY.is_not(None)),
    "audited": or_(_AUDITED, and_(_AGAIN, _AUDITED_BEFORE.is_not(None))),
    "audited_wrong": or_(and_(_AUDITED, _WRONG), and_(_AGAIN, _AUDITED_BEFORE.is_(False))),
    "shadow_guesses": _SHADOW,
    "shadowed": and_(_ANSWERED, _SHADOW),
    "shadowed_wrong": and_(_ANSWERED, _SHADOW, _WRONG),
}


@dataclass(slots=True)
class Calls:
    """Calls by the start of their span and by label, how many came after feedback, and found a guess wrong."""

    by_span: Counter[str] = field(default_factory=Counter)
    by_label: Counter[str] = field(default_factory=Counter)
    after_feedback: int = 0
    wrong: int = 0


def spans(connection: Connection, chosen: ColumnElement[bool], bucket: str, is_sqlite: bool) -> Sequence[RowMapping]:
    """All counts of each span of time in one pass over the queries, and `probability`, the sum of the guesses'."""
    start = bucket_start(_q.received_at, bucket, is_sqlite).label("start")
    counts = [func.count(case((condition, 1))).label(name) for name, condition in COUNTED.items()]
    probability = func.sum(case((GUESSED, _PROBABILITY))).label("probability")
    found = select(start, *counts, probability).select_from(QUERIES).where(chosen).group_by(start).order_by(start)
    return connection.execute(found).mappings().all()


def calls(connection: Connection, desk: int, chosen: ColumnElement[bool], bucket: str, is_sqlite: bool) -> Calls:
    """An answer that stands counts for the label as it is called now; one before it, for what it was called then."""
    start = bucket_start(_q.received_at, bucket, is_sqlite).label("start")
    then = _answer.payload["label"].as_string()
    label = case((or_(_answer.id == _t.closed, _answer.id == _q.decided), _q.label), else_=then).label("answered")
    counts = (func.count().label("calls"), func.count(case((_AFTER_FEEDBACK, 1))).label("feedback"))
    counted = select(start, label, *counts).select_from(_CALLS).where(_t.desk == desk, chosen, _A_CALL)
    found = Calls()
    for at, name, times, feedback in connection.execute(counted.group_by(start, label)):
        found.by_span[at] += times
        found.by_label[name] += times
        found.after_feedback += feedback
    wrong = select(func.count()).select_from(_VERDICTS).where(_t.desk == desk, chosen, _FOUND_WRONG)
    found.wrong = connection.execute(wrong).scalar_one()
    return found


def median_waits(
    connection: Connection, desk: int, chosen: ColumnElement[bool], bucket: str | None, is_sqlite: bool
) -> dict[str, float]:
    """The median time in seconds that askers waited for an expert's answer, by the start of each span with an answer.

    Whose query was guessed had an answer at once: an audit or a complaint about it makes nobody wait. A complaint about
    an expert's answer opens the ticket again, and the wait stays the one for the answer before it.

    Without a bucket all is one span, which starts at "". The median is the middle one in the order of their lengths,
    or the mean of the middle two: the places k of n with n <= 2 k <= n + 2.
    """
    start = literal("") if bucket is None else bucket_start(_q.received_at, bucket, is_sqlite)
    ended = case((_t.why == Why.FEEDBACK, _ANSWERED_FIRST_AT), else_=_t.closed_at)
    seconds = seconds_between(_q.received_at, ended, is_sqlite)
    answered = and_(_t.desk == desk, chosen, _NEVER_GUESSED, ended.is_not(None))
    waits = select(start.label("start"), seconds.label("seconds")).select_from(_TICKETS).where(answered).subquery().c
    placed = select(
        waits.start,
        waits.seconds,
        func.row_number().over(partition_by=waits.start, order_by=waits.seconds).label("place"),
        func.count().over(partition_by=waits.start).label("all"),
    ).subquery()
    at = placed.c
    middle = and_(2 * at.place >= at.all, 2 * at.place <= at.all + 2)
    found = connection.execute(select(at.start, func.avg(at.seconds)).where(middle).group_by(at.start))
    return {start: float(seconds) for start, seconds in found}
