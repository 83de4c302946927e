"""What a desk has done, what it cost, and how often it was wrong: counted by the database, in the window asked for.

A window holds the queries that were received in it. What counts is what stands now: a guess that an expert
corrected stays a guess, since it was given, and a ticket that was withdrawn was no call. A call is an answer of an
expert that was not taken back: who answers a query a second time, since its asker complained, was called twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, case, cast, exists, func, or_, select

from askless.desk.audits import ErrorRate, error_rate
from askless.desk.live.spans import bucket_start, checked_span, read_bucket, seconds_between, within
from askless.desk.live.types import QueryStatus, TicketStatus, Why
from askless.errors import InvalidInput
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.events import ANSWERED, ASKED, AUDITED, RETRACTED
from askless.types import Costs

_SHOWN = 10  # labels

_q, _t = schema.queries.c, schema.tickets.c
_QUERIES = schema.queries.outerjoin(schema.tickets, _t.query == _q.id)
_TICKETS = schema.tickets.join(schema.queries, _t.query == _q.id)

# Events of a query are found by its ticket: only who has one was ever answered.
_answer, _verdict, _opening, _undoing = (
    schema.events.alias(name).c for name in ("answer", "verdict", "opening", "undoing")
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
# A guess that was given: it stands, or an audit or the asker's feedback had an expert look at it.
_GUESSED = or_(
    _q.status == QueryStatus.GUESSED,
    and_(_q.status == QueryStatus.ANSWERED, _t.why.in_((Why.AUDIT, Why.FEEDBACK)), _t.guess.is_not(None)),
    and_(_q.status == QueryStatus.ANSWERED, _AGAIN, _last_verdict(Why.AUDIT, Why.FEEDBACK).is_not(None)),
)
_PROBABILITY = func.coalesce(_q.probability, _t.probability)
_AUDITED = and_(_ANSWERED, _t.why == Why.AUDIT, _t.guess.is_not(None))
_AUDITED_BEFORE = _last_verdict(Why.AUDIT)
_SHADOW = and_(_t.why == Why.SHADOW, _t.guess.is_not(None))
_WRONG = _q.label != _t.guess
_COUNTED: dict[str, ColumnElement[bool]] = {
    "received": _q.status != QueryStatus.GIVEN,
    "given": _q.status == QueryStatus.GIVEN,
    "guesses": _GUESSED,
    "waiting": _t.status == TicketStatus.OPEN,
    "withdrawn": _t.status == TicketStatus.WITHDRAWN,
    "probabilities": and_(_GUESSED, _PROBABILITY.is_not(None)),
    "audited": or_(_AUDITED, and_(_AGAIN, _AUDITED_BEFORE.is_not(None))),
    "audited_wrong": or_(and_(_AUDITED, _WRONG), and_(_AGAIN, _AUDITED_BEFORE.is_(False))),
    "shadow_guesses": _SHADOW,
    "shadowed": and_(_ANSWERED, _SHADOW),
    "shadowed_wrong": and_(_ANSWERED, _SHADOW, _WRONG),
}


@dataclass(frozen=True, slots=True)
class Prices:
    """What an expert's answer costs, and a wrong guess, in the team's own money."""

    call: float
    mistake: float

    def __post_init__(self) -> None:
        for name, value in (("an expert's answer", self.call), ("a mistake", self.mistake)):
            if not (math.isfinite(value) and value >= 0.0):
                raise InvalidInput(f"The price of {name} is a number of at least 0; found {value!r}.")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure that rests on the audited error rate, and where it lies if that rate is anywhere in its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """One span of time."""

    start: datetime
    received: int
    guesses: int
    calls: int

    @property
    def automated(self) -> float:
        """The share of the queries that were guessed."""
        return self.guesses / self.received if self.received else 0.0


@dataclass(frozen=True, slots=True)
class LabelLoad:
    """How often a label was an expert's answer."""

    label: str
    calls: int


@dataclass(slots=True)
class _Calls:
    """Calls by the start of their span and by label, how many came after feedback, and found a guess wrong."""

    by_span: Counter[str] = field(default_factory=Counter)
    by_label: Counter[str] = field(default_factory=Counter)
    after_feedback: int = 0
    wrong: int = 0

    def most(self) -> tuple[LabelLoad, ...]:
        """The labels with most calls."""
        order = sorted(self.by_label.items(), key=lambda load: (-load[1], load[0]))
        return tuple(LabelLoad(*load) for load in order[:_SHOWN])


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a desk did with the queries of a window.

    `calls` are experts' answers that stand, audits included; `waiting` tickets are open; `given` examples came by
    import. Of the calls, `feedback_answered` came after an asker had complained, and `feedback_wrong` of those found
    that the guess was wrong; askers do not look at all guesses, so no error rate comes of it. `audits` is the error
    rate of the guesses as the audits measure it, `mean_probability` how likely the policy held its guesses to be
    right. `shadow` is the error rate of the `shadow_guesses` that were recorded and not given. `regret` and `saved`
    need a measured error rate, unless nothing was guessed.
    """

    since: datetime | None
    until: datetime | None
    received: int
    guesses: int
    calls: int
    waiting: int
    withdrawn: int
    given: int
    feedback_answered: int
    feedback_wrong: int
    audits: ErrorRate | None
    mean_probability: float | None
    shadow_guesses: int
    shadow: ErrorRate | None
    regret: Estimate | None
    regret_of_asking: float  # where every query is asked
    saved: Estimate | None  # money, against asking about every query
    median_wait_seconds: float | None  # from a ticket's opening to its answer
    buckets: tuple[Bucket, ...]
    labels: tuple[LabelLoad, ...]  # with most calls first

    @property
    def automated(self) -> float | None:
        """The share of the queries that were guessed."""
        return self.guesses / self.received if self.received else None


def statistics(
    database: Database,
    desk: int,
    costs: Costs,
    *,
    prices: Prices | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    bucket: str = "day",
) -> Statistics:
    """Count what happened to the queries received in [since, until); a bucket is an hour, day, week or month.

    The error rate is that of the audited guesses, with the interval of Clopper and Pearson: it speaks of all guesses
    as far as the audit rate was the same for all. Tickets that came from feedback are not in it: askers complain of
    wrong answers, so those would make it too high.
    """
    checked_span(since, until)
    chosen = and_(_q.desk == desk, within(_q.received_at, since, until))
    with database.read() as connection:
        spans = _spans(connection, chosen, bucket, database.is_sqlite)
        calls = _calls(connection, desk, chosen, bucket, database.is_sqlite)
        wait = _median_wait(connection, desk, chosen, database.is_sqlite)
    total = Counter[str]()
    for span in spans:
        total.update({name: span[name] or 0 for name in (*_COUNTED, "probability")})
    total["calls"] = calls.by_span.total()
    audits = error_rate(total["audited"], total["audited_wrong"], covered=total["guesses"])
    return Statistics(
        since=since,
        until=until,
        received=total["received"],
        guesses=total["guesses"],
        calls=total["calls"],
        waiting=total["waiting"],
        withdrawn=total["withdrawn"],
        given=total["given"],
        feedback_answered=calls.after_feedback,
        feedback_wrong=calls.wrong,
        audits=audits,
        mean_probability=total["probability"] / total["probabilities"] if total["probabilities"] else None,
        shadow_guesses=total["shadow_guesses"],
        shadow=error_rate(total["shadowed"], total["shadowed_wrong"], covered=total["shadow_guesses"]),
        regret=_estimate(total["calls"] * costs.question, total["guesses"] * costs.mistake, audits),
        regret_of_asking=total["received"] * costs.question,
        saved=None if prices is None else _saved(total, prices, audits),
        median_wait_seconds=wait,
        buckets=tuple(
            Bucket(read_bucket(span["start"]), span["received"], span["guesses"], calls.by_span[span["start"]])
            for span in spans
            if span["received"]
        ),
        labels=calls.most(),
    )


def _spans(connection: Connection, chosen: ColumnElement[bool], bucket: str, is_sqlite: bool) -> Sequence[RowMapping]:
    """All counts of each span of time, in one pass over the queries."""
    start = bucket_start(_q.received_at, bucket, is_sqlite).label("start")
    counts = [func.count(case((condition, 1))).label(name) for name, condition in _COUNTED.items()]
    probability = func.sum(case((_GUESSED, _PROBABILITY))).label("probability")
    found = select(start, *counts, probability).select_from(_QUERIES).where(chosen).group_by(start).order_by(start)
    return connection.execute(found).mappings().all()


def _calls(connection: Connection, desk: int, chosen: ColumnElement[bool], bucket: str, is_sqlite: bool) -> _Calls:
    """An answer that stands counts for the label as it is called now; one before it, for what it was called then."""
    start = bucket_start(_q.received_at, bucket, is_sqlite).label("start")
    then = _answer.payload["label"].as_string()
    label = case((or_(_answer.id == _t.closed, _answer.id == _q.decided), _q.label), else_=then).label("answered")
    counts = (func.count().label("calls"), func.count(case((_AFTER_FEEDBACK, 1))).label("feedback"))
    counted = select(start, label, *counts).select_from(_CALLS).where(_t.desk == desk, chosen, _A_CALL)
    found = _Calls()
    for at, name, calls, feedback in connection.execute(counted.group_by(start, label)):
        found.by_span[at] += calls
        found.by_label[name] += calls
        found.after_feedback += feedback
    wrong = select(func.count()).select_from(_VERDICTS).where(_t.desk == desk, chosen, _FOUND_WRONG)
    found.wrong = connection.execute(wrong).scalar_one()
    return found


def _median_wait(connection: Connection, desk: int, chosen: ColumnElement[bool], is_sqlite: bool) -> float | None:
    """The middle one in the order of their lengths, or the mean of the middle two."""
    answered = and_(_t.desk == desk, _ANSWERED, chosen, _t.closed_at.is_not(None))
    count = connection.execute(select(func.count()).select_from(_TICKETS).where(answered)).scalar_one()
    if not count:
        return None
    seconds = seconds_between(_t.opened_at, _t.closed_at, is_sqlite).label("seconds")
    middle = select(seconds).select_from(_TICKETS).where(answered).order_by(seconds)
    found = connection.execute(middle.offset((count - 1) // 2).limit(2 - count % 2)).scalars().all()
    return sum(float(value) for value in found) / len(found)


def _estimate(calls: float, all_wrong: float, rate: ErrorRate | None) -> Estimate | None:
    """The cost of the calls plus that of the guesses at the error rate; None where that is unknown."""
    if all_wrong == 0.0:
        return Estimate(calls, calls, calls)
    if rate is None:
        return None
    return Estimate(*(calls + share * all_wrong for share in (rate.rate, rate.low, rate.high)))


def _saved(total: Mapping[str, float], prices: Prices, rate: ErrorRate | None) -> Estimate | None:
    """What asking about every query would have cost, less what was spent."""
    spent = _estimate(total["calls"] * prices.call, total["guesses"] * prices.mistake, rate)
    if spent is None:
        return None
    asking = total["received"] * prices.call
    return Estimate(asking - spent.value, asking - spent.high, asking - spent.low)
