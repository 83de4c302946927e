"""What became of past queries, and why, in words: pages of them for a search, and the story of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, exists, select

from askless.desk.live import read
from askless.desk.live.read import Page
from askless.desk.live.spans import checked_span, within
from askless.desk.live.types import Evidence, Outcome, QueryStatus, TicketStatus
from askless.ledger import schema
from askless.ledger.events import ANSWERED, AUDITED, GIVEN, RELABELLED, RETRACTED

_SHOWN = 3  # examples that a guess is explained by
_LONGEST = 80  # characters of their texts
_q, _e, _t = schema.queries.c, schema.events.c, schema.tickets.c


@dataclass(frozen=True, slots=True)
class Past:
    """A query with what stands about it, and why that stands, in words.

    `reason` is None where there is nothing to tell: a guess without examples behind it, a query that waits at a desk in
    shadow mode, or one that was erased while it waited. `right` says whether the guess was the expert's label too,
    where there was one to compare.
    """

    key: str
    text: str | None
    asker: str | None
    received_at: datetime
    status: QueryStatus
    label: str | None
    probability: float | None
    reason: str | None
    right: bool | None
    example: bool
    erased: bool


def past(
    connection: Connection,
    desk: int,
    *,
    search: str | None = None,
    status: QueryStatus | None = None,
    label: str | None = None,
    source: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    corrected: bool = False,
    blind: bool = False,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[Past]:
    """Queries of a desk with the reasons for what stands, the newest first.

    `search` is a piece of the text, or the id; `source` the name of the key that sent it; [since, until) when it came.
    With `corrected` only those whose label an expert has corrected.
    With `blind`, as the desk's settings say, what has an open ticket is left out: that it was guessed would tell an
    expert that the ticket is an audit.
    """
    checked_span(since, until)
    query = select(schema.queries).where(_q.desk == desk, _q.status.is_not(None), within(_q.received_at, since, until))
    if search:
        query = query.where(_q.text.icontains(search, autoescape=True) | (_q.key == search))
    if status is not None:
        query = query.where(_q.status == QueryStatus(status).value)
    if label is not None:
        query = query.where(_q.label == label)
    if source is not None:
        query = query.where(_q.asker == source)
    if corrected:
        query = query.where(exists().where(_e.id == _q.decided, _e.kind == RELABELLED))
    if blind:
        query = query.where(~exists().where(_t.query == _q.id, _t.status == TicketStatus.OPEN.value))
    if cursor is not None:
        query = query.where(_q.id < read.cursor_number(cursor))
    rows, after = read.page_of(connection, query.order_by(_q.id.desc()), limit)
    found = _explained(connection, rows)
    return Page(found, None if after is None else str(after.id))


def _explained(connection: Connection, rows: Sequence[Any]) -> list[Past]:
    words = _experts_words(connection, [row.id for row in rows])
    return [
        _past(row, outcome, words[row.id])
        for row, outcome in zip(rows, read.outcomes_of(connection, rows), strict=True)
    ]


@dataclass(slots=True)
class _Words:
    """What experts said of one query: the events by their ids, and the verdict that followed an answer."""

    events: dict[int, Any]
    verdicts: dict[int, Any]


def _experts_words(connection: Connection, queries: list[int]) -> defaultdict[int, _Words]:
    """The answers, corrections and imports of these queries; an answer that was taken back takes its verdict along."""
    found: defaultdict[int, _Words] = defaultdict(lambda: _Words({}, {}))
    said = (ANSWERED, RELABELLED, GIVEN, AUDITED, RETRACTED)
    events = select(schema.events).where(_e.query.in_(queries), _e.kind.in_(said)).order_by(_e.id)
    for event in connection.execute(events) if queries else ():
        words = found[event.query]
        if event.kind == AUDITED:
            words.verdicts[max(words.events)] = event  # it is recorded right after its answer
        elif event.kind == RETRACTED:
            words.verdicts.pop(event.payload["undone"], None)
        else:
            words.events[event.id] = event
    return found


def _past(row: Any, outcome: Outcome, words: _Words) -> Past:
    verdict = words.verdicts[max(words.verdicts)] if words.verdicts else None
    word = words.events.get(row.decided)
    reason = outcome.reason
    if word is not None:
        reason = " ".join(filter(None, (_said(word), _compared(verdict))))
    elif outcome.status is QueryStatus.GUESSED:
        reason = _resting_on(outcome.evidence)
    return Past(
        key=outcome.key,
        text=row.text,
        asker=row.asker,
        received_at=outcome.received_at,
        status=outcome.status,
        label=outcome.label,
        probability=outcome.probability,
        reason=reason,
        right=None if verdict is None else bool(verdict.payload["right"]),
        example=bool(row.example),
        erased=outcome.erased,
    )


_SAID = {ANSWERED: "answered", RELABELLED: "corrected", GIVEN: "imported"}


def _said(event: Any) -> str:
    by = "" if event.who is None else f" by {event.who}"
    return f"{_SAID[event.kind]}{by} on {_day(event.at)}"


def _compared(verdict: Any) -> str | None:
    """How the guess compared with the expert's label."""
    if verdict is None:
        return None
    told = verdict.payload
    return f"(the guess {told['guess']!r} was {'right' if told['right'] else 'wrong'})"


def _resting_on(evidence: Sequence[Evidence]) -> str | None:
    """The examples that a guess rests on, those with the largest parts in it first."""
    if not evidence:
        return None
    heaviest = sorted(evidence, key=lambda one: -one.weight)
    parts = [f"{_short(one.text or one.key)!r} ({one.label})" for one in heaviest[:_SHOWN]]
    more = len(heaviest) - len(parts)
    return f"like {', '.join(parts)}" + (f" and {more} more" if more else "")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
