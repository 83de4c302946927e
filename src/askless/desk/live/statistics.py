"""What a desk has done, what it cost, and how often it was wrong: counted by the database, in the window asked for.

What counts as a call, a guess and an audit is said in `askless.desk.live.counts`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_

from askless.desk.audits import ErrorRate, error_rate
from askless.desk.live import counts
from askless.desk.live.spans import checked_span, read_bucket, within
from askless.errors import InvalidInput
from askless.ledger import schema
from askless.ledger.database import Database
from askless.types import Costs

_SHOWN = 10  # labels
_q = schema.queries.c


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


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a desk did with the queries of a window.

    `calls` are experts' answers that stand, audits included; `waiting` tickets are open; `given` examples came by
    import. Of the calls and of the waiting tickets, `calls_again` and `waiting_again` are about queries that had a
    label already (audits, complaints, answers to what was guessed meanwhile), so that guesses, the other calls and the
    other waiting tickets are all that was received, but for what was erased while it waited. Of the calls,
    `feedback_answered` came after an asker had complained, and `feedback_wrong` of those found that the guess was
    wrong; askers do not look at all guesses, so no error rate comes of it. `audits` is the error rate of the guesses as
    the audits measure it, `mean_probability` how likely the policy held its guesses to be right. `shadow` is the error
    rate of the `shadow_guesses` that were recorded and not given. `regret` and `saved` need a measured error rate,
    unless nothing was guessed; what asking about everything would have cost is that of the queries that have a label by
    now, since one that waits has cost nothing yet, and may have to be asked.
    """

    since: datetime | None
    until: datetime | None
    received: int
    guesses: int
    calls: int
    calls_again: int
    waiting: int
    waiting_again: int
    withdrawn: int
    given: int
    feedback_answered: int
    feedback_wrong: int
    audits: ErrorRate | None
    mean_probability: float | None
    shadow_guesses: int
    shadow: ErrorRate | None
    regret: Estimate | None
    regret_of_asking: float  # where every query that has a label by now was asked
    saved: Estimate | None  # money, against asking about each of these
    median_wait_seconds: float | None  # of who waited for an expert's answer
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
        spans = counts.spans(connection, chosen, bucket, database.is_sqlite)
        calls = counts.calls(connection, desk, chosen, bucket, database.is_sqlite)
        waits = counts.median_waits(connection, desk, chosen, None, database.is_sqlite)
    total = Counter[str]()
    for span in spans:
        total.update({name: span[name] or 0 for name in (*counts.COUNTED, "probability")})
    total["calls"] = calls.by_span.total()
    audits = error_rate(total["audited"], total["audited_wrong"], covered=total["guesses"])
    return Statistics(
        since=since,
        until=until,
        received=total["received"],
        guesses=total["guesses"],
        calls=total["calls"],
        calls_again=total["calls"] - total["asked_alone"],
        waiting=total["waiting"],
        waiting_again=total["waiting_again"],
        withdrawn=total["withdrawn"],
        given=total["given"],
        feedback_answered=calls.after_feedback,
        feedback_wrong=calls.wrong,
        audits=audits,
        mean_probability=total["probability"] / total["probabilities"] if total["probabilities"] else None,
        shadow_guesses=total["shadow_guesses"],
        shadow=error_rate(total["shadowed"], total["shadowed_wrong"], covered=total["shadow_guesses"]),
        regret=estimate(total["calls"] * costs.question, total["guesses"] * costs.mistake, audits),
        regret_of_asking=total["settled"] * costs.question,
        saved=None if prices is None else _saved(total, prices, audits),
        median_wait_seconds=waits.get(""),
        buckets=tuple(
            Bucket(read_bucket(span["start"]), span["received"], span["guesses"], calls.by_span[span["start"]])
            for span in spans
            if span["received"]
        ),
        labels=_most(calls.by_label),
    )


def _most(by_label: Counter[str]) -> tuple[LabelLoad, ...]:
    """The labels with most calls."""
    order = sorted(by_label.items(), key=lambda load: (-load[1], load[0]))
    return tuple(LabelLoad(*load) for load in order[:_SHOWN])


def estimate(calls: float, all_wrong: float, rate: ErrorRate | None) -> Estimate | None:
    """The cost of the calls plus that of the guesses at the error rate; None where that is unknown."""
    if all_wrong == 0.0:
        return Estimate(calls, calls, calls)
    if rate is None:
        return None
    return Estimate(*(calls + share * all_wrong for share in (rate.rate, rate.low, rate.high)))


def _saved(total: Mapping[str, float], prices: Prices, rate: ErrorRate | None) -> Estimate | None:
    """What asking about every query that has a label would have cost, less what was spent."""
    spent = estimate(total["calls"] * prices.call, total["guesses"] * prices.mistake, rate)
    if spent is None:
        return None
    asking = total["settled"] * prices.call
    return Estimate(asking - spent.value, asking - spent.high, asking - spent.low)
