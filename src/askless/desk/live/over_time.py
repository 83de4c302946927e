"""How a desk does from one span of time to the next: what a chart over time is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_

from askless.desk.audits import ErrorRate, error_rate
from askless.desk.live import counts
from askless.desk.live.spans import checked_span, read_bucket, within
from askless.ledger import schema
from askless.ledger.database import Database

_q = schema.queries.c


@dataclass(frozen=True, slots=True)
class Span:
    """What became of the queries that were received in one span of time.

    Answers, audits and waiting times belong to the span in which their query came, whenever the expert answered: so
    the figures of a span still grow while its tickets wait. `mean_probability` is how likely the policy held the
    guesses of the span to be right, None where it gave no probability. `shadow_guesses` were recorded and not given;
    of the `shadowed` ones among them, which have an expert's answer, `shadowed_wrong` were another label.
    """

    start: datetime
    received: int
    guesses: int
    calls: int
    audited: int
    audited_wrong: int
    mean_probability: float | None
    median_wait_seconds: float | None  # of who waited for an expert's answer
    shadow_guesses: int
    shadowed: int
    shadowed_wrong: int

    @property
    def automated(self) -> float:
        """The share of the queries that were guessed."""
        return self.guesses / self.received if self.received else 0.0

    @property
    def audits(self) -> ErrorRate | None:
        """The error rate of the span's guesses with its interval; None where no audit has been answered."""
        return error_rate(self.audited, self.audited_wrong, covered=self.guesses)

    @property
    def shadow(self) -> ErrorRate | None:
        """As `audits`, of the guesses that were recorded and not given."""
        return error_rate(self.shadowed, self.shadowed_wrong, covered=self.shadow_guesses)


def over_time(
    database: Database,
    desk: int,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    bucket: str = "day",
) -> tuple[Span, ...]:
    """The spans of [since, until) in which a query came, in their order; a bucket is an hour, day, week or month."""
    checked_span(since, until)
    chosen = and_(_q.desk == desk, within(_q.received_at, since, until))
    with database.read() as connection:
        spans = counts.spans(connection, chosen, bucket, database.is_sqlite)
        calls = counts.calls(connection, desk, chosen, bucket, database.is_sqlite)
        waits = counts.median_waits(connection, desk, chosen, bucket, database.is_sqlite)
    return tuple(
        Span(
            start=read_bucket(span["start"]),
            received=span["received"],
            guesses=span["guesses"],
            calls=calls.by_span[span["start"]],
            audited=span["audited"],
            audited_wrong=span["audited_wrong"],
            mean_probability=span["probability"] / span["probabilities"] if span["probabilities"] else None,
            median_wait_seconds=waits.get(span["start"]),
            shadow_guesses=span["shadow_guesses"],
            shadowed=span["shadowed"],
            shadowed_wrong=span["shadowed_wrong"],
        )
        for span in spans
        if span["received"]
    )
