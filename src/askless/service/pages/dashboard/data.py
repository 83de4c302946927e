"""What the dashboard shows, read in one go: the window of time that was chosen, and the desk's numbers in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, select

from askless.desk.live.configure import settings_of
from askless.desk.live.guess_always import regret_of_guessing
from askless.desk.live.over_time import Span, over_time
from askless.desk.live.settings import LiveSettings
from askless.desk.live.spans import BUCKETS
from askless.desk.live.statistics import Estimate, Prices, Statistics, statistics
from askless.desk.live.types import Mode, QueryStatus
from askless.errors import InvalidInput
from askless.ledger import schema
from askless.service.pages.frame import count_waiting
from askless.service.state import Service

SPANS = {"24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30), "all": None}
DEFAULT_SPAN = "7d"
_MOST = 800  # spans of time in a chart
_SIZES = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=31)}
_BY_ITSELF = {"24h": "hour", "7d": "day", "30d": "day"}


@dataclass(frozen=True, slots=True)
class Window:
    """The time that is looked at, in whole spans of `by`; `since` is None for all time."""

    span: str
    by: str
    since: datetime | None
    choices: tuple[str, ...]  # what time can be counted by in this window


@dataclass(frozen=True, slots=True)
class Numbers:
    """All that the dashboard shows at one moment. `ever` is whether a query has ever come in."""

    now: datetime
    ever: bool
    window: Window
    settings: LiveSettings
    statistics: Statistics
    spans: tuple[Span, ...]
    guessing: Estimate | None
    waiting: int
    prices: Prices | None

    @property
    def shadow(self) -> bool:
        """Whether the desk asks everything and has given no guess in this window."""
        return self.settings.mode is Mode.SHADOW and not self.statistics.guesses


def read_numbers(service: Service, desk: str, span: str, by: str, prices: Prices | None) -> Numbers:
    """Count everything anew, as of now. Refused where there is no such span, or time cannot be counted so in it."""
    database, number = service.database, service.desks.row(desk).id
    settings, now = settings_of(service.desks, desk), datetime.now(UTC)
    with database.read() as connection:
        waiting = count_waiting(connection, number)
        first = _first(connection, number)
    chosen = window(span, by, now, first)
    counted = statistics(database, number, settings.costs, prices=prices, since=chosen.since, bucket=chosen.by)
    spans = over_time(database, number, since=chosen.since, bucket=chosen.by)
    guessing = regret_of_guessing(database, number, settings.costs, since=chosen.since)
    return Numbers(now, first is not None, chosen, settings, counted, spans, guessing, waiting, prices)


def window(span: str, by: str, now: datetime, first: datetime | None) -> Window:
    """The window of that name that ends now; `first` is when the first query came, `by` is blank to choose by itself.

    It begins where one of its spans does, so that the first one is whole.
    """
    if span not in SPANS:
        raise InvalidInput(f"The dashboard shows {', '.join(SPANS)}; found {span!r:.40}.")
    length = SPANS[span]
    from_ = first or now if length is None else now - length
    choices = tuple(name for name in BUCKETS if now - from_ <= _SIZES[name] * _MOST and _is_worth(name, length))
    if by and by not in choices:
        raise InvalidInput(f"This time is counted by {', '.join(choices)}; found {by!r:.40}.")
    chosen = by or _BY_ITSELF.get(span) or _sized(now - from_)
    return Window(span, chosen, None if length is None else start_of(from_, chosen), choices)


def start_of(at: datetime, by: str) -> datetime:
    """When the span of time began that this moment lies in, in UTC; a week begins on Monday."""
    hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    return {
        "hour": hour,
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
    }[by]


def next_start(start: datetime, by: str) -> datetime:
    """When the span after this one begins."""
    return start_of(start + _SIZES[by], by)


def starts(numbers: Numbers) -> list[datetime]:
    """The starts of all spans of the window, those in which nothing came as well."""
    by, since = numbers.window.by, numbers.window.since
    at = numbers.spans[0].start if since is None else since
    found = []
    while at <= numbers.now:
        found.append(at)
        at = next_start(at, by)
    return found


def _is_worth(by: str, length: timedelta | None) -> bool:
    """Whether there are two spans at least in a window of that length."""
    return length is None or _SIZES[by] * 2 <= length


def _sized(length: timedelta) -> str:
    """What time is counted by where nobody said: some ten to a hundred spans."""
    for name, most in (("hour", timedelta(days=2)), ("day", timedelta(days=100)), ("week", timedelta(days=730))):
        if length <= most:
            return name
    return "month"


def _first(connection: Connection, desk: int) -> datetime | None:
    q = schema.queries.c
    came = select(func.min(q.received_at)).where(q.desk == desk, q.status != QueryStatus.GIVEN.value)
    found: datetime | None = connection.execute(came).scalar()
    return found
