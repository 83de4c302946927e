"""Spans of time in SQL, for both databases: which bucket a time falls into, and how long something took."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Float, String, and_, cast, extract, func, literal_column, true, type_coerce

from askless.errors import InvalidInput

BUCKETS = ("hour", "day", "week", "month")  # a week begins on Monday


def within(column: Any, since: datetime | None, until: datetime | None) -> ColumnElement[bool]:
    """Whether a time lies in [since, until)."""
    parts = [true()]
    if since is not None:
        parts.append(column >= since)
    if until is not None:
        parts.append(column < until)
    return and_(*parts)


def checked_span(since: datetime | None, until: datetime | None) -> None:
    """Refuse times without a zone, and a span that ends before it begins."""
    for time in (since, until):
        if time is not None and time.tzinfo is None:
            raise InvalidInput(f"A time needs its zone, as in 2026-05-01T00:00:00Z; found {time.isoformat()}.")
    if since is not None and until is not None and until <= since:
        raise InvalidInput(f"The time must end after it begins; found {since.isoformat()} to {until.isoformat()}.")


def bucket_start(column: Any, bucket: str, is_sqlite: bool) -> ColumnElement[str]:
    """The start of the bucket that a time falls into, in UTC, as a text that `datetime.fromisoformat` reads."""
    if bucket not in BUCKETS:
        raise InvalidInput(f"Time is counted by {', '.join(BUCKETS)}; found {bucket!r}.")
    plain = type_coerce(column, String)
    if not is_sqlite:
        start = func.date_trunc(bucket, func.timezone("UTC", column))
        return func.to_char(start, 'YYYY-MM-DD"T"HH24:00:00')
    if bucket == "hour":
        return func.strftime("%Y-%m-%dT%H:00:00", plain)
    moves = {"day": (), "week": ("-6 days", "weekday 1"), "month": ("start of month",)}[bucket]
    return func.date(plain, *moves)


def read_bucket(text: str) -> datetime:
    """The time that `bucket_start` wrote."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def seconds_between(start: Any, end: Any, is_sqlite: bool) -> ColumnElement[float]:
    """How long something took."""
    if is_sqlite:
        days = func.julianday(type_coerce(end, String)) - func.julianday(type_coerce(start, String))
        return days * literal_column("86400.0", Float)
    return cast(extract("epoch", end - start), Float)
