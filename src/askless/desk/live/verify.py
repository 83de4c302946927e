"""The ledger against itself: every decision made again from the events before it, and every table worked out anew."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, func, select

from askless.desk.live.exchange import Progress
from askless.desk.live.fold import Fold
from askless.desk.live.standings import QueryStands, Standings, TicketStands
from askless.desk.live.vectors import StoredVectors, events_with_vectors
from askless.errors import AsklessError, InvalidInput, UnknownDesk
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.events import Event
from askless.types import Guess

ERASED = "the query was erased"
RESTED = "an example that was erased since was still learned"
SWITCHED = "made with an embedder that the desk had before"
UNDECIDED = "the query has no vector"
_PROBABILITY = 1e-6
_MOST_SHOWN = 1_000
_STEPS = 500  # events between two calls of progress
_ROWS = 2_000

_q, _e, _t, _l = schema.queries.c, schema.events.c, schema.tickets.c, schema.labels.c


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as the events say; `event` is the one it is about, as far as there is one."""

    what: str
    event: int | None = None
    query: int | None = None

    def __str__(self) -> str:
        where = [f"event {self.event}"] if self.event is not None else []
        where += [f"query {self.query}"] if self.query is not None else []
        return f"{', '.join(where)}: {self.what}" if where else self.what


@dataclass(slots=True)
class Verified:
    """What a check of one desk found. `skipped` says how many decisions could not be made again, by the reason."""

    desk: str
    events: int = 0
    decisions: int = 0
    same: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)  # the first of them
    differing: int = 0  # all of them

    @property
    def sound(self) -> bool:
        """Whether everything that could be checked is as the events say."""
        return not self.differing

    def add(self, what: str, event: int | None = None, query: int | None = None) -> None:
        """Note a difference."""
        self.differing += 1
        if len(self.differences) < _MOST_SHOWN:
            self.differences.append(Difference(what, event, query))


def verify(database: Database, desk: str, *, progress: Progress | None = None) -> Verified:
    """Replay all events of a desk from the first on, without a snapshot, and compare.

    Each decision is made again with what was learned before it: the action, the label, and the probability up to 1e-6.
    What erasing or another embedder has made impossible to repeat is skipped, and counted. Then what stands about
    queries, tickets and labels is compared with what the events say. One view of the ledger: a desk at work may go on.
    """
    found = Verified(desk)
    with database.read() as connection:
        row = connection.execute(select(schema.desks).where(schema.desks.c.name == desk)).one_or_none()
        if row is None:
            raise UnknownDesk(f"The ledger has no desk {desk!r}.")
        _refuse_label_desk(connection, row.id, desk)
        standings = _replayed(connection, row.id, found, progress)
        for part in (_compare_queries, _compare_tickets, _compare_labels):
            part(connection, row.id, standings, found)
    return found


def _refuse_label_desk(connection: Connection, desk: int, name: str) -> None:
    mine = select(_e.payload).where(_e.desk == desk, _e.kind == kinds.CONFIGURED).order_by(_e.id).limit(1)
    first = connection.execute(mine).scalar()
    if first is not None and "mode" not in first:
        raise InvalidInput(f"{name!r} is a desk of `askless label`, which checks it by itself when it opens it.")


# -- decisions --------------------------------------------------------------------------------------------------------
def _replayed(connection: Connection, desk: int, found: Verified, progress: Progress | None) -> Standings:
    total = connection.execute(select(func.count()).select_from(schema.events).where(_e.desk == desk)).scalar_one()
    fold, standings, lost = Fold(), Standings(), _Lost(connection, desk)
    for event, vector_of in events_with_vectors(connection, desk):
        found.events += 1
        try:
            if event.kind == kinds.DECIDED:
                _check_decision(event, fold, vector_of, lost, found)
            wrong = standings.apply(event)
            if wrong is not None:
                found.add(wrong, event.id, event.query)
            fold.apply(event, vector_of)
        except (AsklessError, LookupError, TypeError, ValueError, AttributeError) as error:
            found.add(f"it cannot be replayed ({type(error).__name__}: {error})", event.id, event.query)
            fold.last_event = event.id
        if progress is not None and (found.events % _STEPS == 0 or found.events == total):
            progress(found.events, total)
    missing = standings.missing()
    if missing is not None:
        found.add(missing, fold.last_event)
    return standings


def _check_decision(event: Event, fold: Fold, vector_of: StoredVectors, lost: _Lost, found: Verified) -> None:
    found.decisions += 1
    if event.seen != fold.last_event:
        found.add(f"it had seen event {event.seen}, and the one before it is {fold.last_event}", event.id, event.query)
    x = vector_of(event.query or 0)
    why = lost.why(event, fold.observes_vectors, x is not None)
    if why is not None:
        found.skipped[why] += 1
        return
    decision = fold.policy.decide(x)  # type: ignore[arg-type]  # None was skipped
    told = event.payload
    now = (str(decision.label), decision.probability) if isinstance(decision, Guess) else ("", None)
    then = (str(told["label"]), told["probability"]) if told["action"] == "guess" else ("", None)
    if now[0] == then[0] and _alike(now[1], then[1]):
        found.same += 1
    else:
        found.add(f"the desk recorded {_said(*then)}; with what it knew it gives {_said(*now)}", event.id, event.query)


def _alike(p: float | None, q: float | None) -> bool:
    return p is q if p is None or q is None else abs(p - q) <= _PROBABILITY


def _said(label: str, probability: float | None) -> str:
    sure = "" if probability is None else f" at {probability:.6f}"
    return f"a guess of {label!r}{sure}" if label else "a question"


class _Lost:
    """Which decisions cannot be made again, and why."""

    def __init__(self, connection: Connection, desk: int) -> None:
        mine = select(func.max(_e.id)).where(_e.desk == desk, _e.kind == kinds.SWITCHED)
        self._switched: int = connection.execute(mine).scalar() or 0
        erased = select(_e.query, func.min(_e.id)).where(_e.desk == desk, _e.kind == kinds.ERASED).group_by(_e.query)
        self._erased: dict[int, int] = {query: id for query, id in connection.execute(erased) if query is not None}
        words = (kinds.ANSWERED, kinds.GIVEN, kinds.RELABELLED)
        self._learned = self._spans(connection, words)
        self._observed = self._spans(connection, (*words, kinds.DECIDED))

    def why(self, event: Event, observes_vectors: bool, has_vector: bool) -> str | None:
        """Why a decision cannot be made again; None where it can."""
        if event.id < self._switched:
            return SWITCHED
        if not has_vector:
            return ERASED if event.query in self._erased else UNDECIDED
        spans = self._observed if observes_vectors else self._learned
        k = bisect_left(spans, (event.id, 0)) - 1
        return RESTED if k >= 0 and event.id < spans[k][1] else None

    def _spans(self, connection: Connection, learned_at: tuple[str, ...]) -> list[tuple[int, int]]:
        """From when to when an erased query had a part in decisions: spans that do not overlap, in order."""
        queries = list(self._erased)
        found: list[tuple[int, int]] = []
        for start in range(0, len(queries), _ROWS // 4):
            block = queries[start : start + _ROWS // 4]
            first = select(_e.query, func.min(_e.id)).where(_e.query.in_(block), _e.kind.in_(learned_at))
            rows = connection.execute(first.group_by(_e.query))
            found += [(id, self._erased[query]) for query, id in rows if query is not None]
        return list(_union(sorted(found)))


def _union(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    current: tuple[int, int] | None = None
    for low, high in spans:
        if current is None or low > current[1]:
            if current is not None:
                yield current
            current = (low, high)
        else:
            current = (current[0], max(current[1], high))
    if current is not None:
        yield current


# -- what stands ------------------------------------------------------------------------------------------------------
def _compare_queries(connection: Connection, desk: int, standings: Standings, found: Verified) -> None:
    columns = (_q.id, _q.status, _q.label, _q.probability, _q.decided, _q.example, _q.erased_at)
    seen = set()
    for row in _rows(connection, select(*columns).where(_q.desk == desk), _q.id):
        seen.add(row.id)
        stands = standings.queries.get(row.id)
        if stands is None:
            found.add("no event received it", row.decided, row.id)
            continue
        there = QueryStands(
            row.status, row.label, row.probability, row.decided, bool(row.example), row.erased_at is not None
        )
        names = ("status", "label", "probability", "decided", "example", "erased")
        _compare("query", there, stands, names, stands.last, row.id, found)
    for id in standings.queries.keys() - seen:
        found.add("its row is gone", standings.queries[id].last, id)


def _compare_tickets(connection: Connection, desk: int, standings: Standings, found: Verified) -> None:
    columns = (_t.status, _t.why, _t.opened, _t.guess, _t.probability, _t.suggested, _t.skipped_by, _t.closed)
    expected = {id: query for id, query in standings.queries.items() if query.ticket is not None}
    query = select(_t.id, _t.query, *columns, _t.closed_by).where(_t.desk == desk)
    for id, of, *values in _rows(connection, query, _t.id):
        stands = expected.pop(of, None)
        if stands is None or stands.ticket is None:
            found.add(f"no event opened its ticket {id}", None, of)
            continue
        there = TicketStands(*values)
        _compare(f"ticket {id}", there, stands.ticket, TicketStands.__slots__, stands.last, of, found)
    for id, gone in expected.items():
        found.add("its ticket is gone", gone.last, id)


def _compare_labels(connection: Connection, desk: int, standings: Standings, found: Verified) -> None:
    rows = connection.execute(select(_l.name, _l.answer).where(_l.desk == desk))
    there = {row.name: row.answer for row in rows}
    for name in there.keys() | standings.labels.keys():
        if name not in standings.labels:
            found.add(f"no event made the label {name!r}")
        elif name not in there:
            found.add(f"the label {name!r} is gone")
        elif there[name] != standings.labels[name]:
            found.add(f"the label {name!r} has another answer text than the events say")


def _compare(what: str, there: Any, stands: Any, names: Any, event: int | None, query: int, found: Verified) -> None:
    for name in names:
        is_so, should_be = getattr(there, name), getattr(stands, name)
        same = _alike(is_so, should_be) if name == "probability" else is_so == should_be
        if not same:
            found.add(f"the {name} of the {what} is {is_so!r}, and the events say {should_be!r}", event, query)


def _rows(connection: Connection, query: Select[Any], key: Any) -> Iterator[Any]:
    """The rows in the order of a key, a few thousand at a time."""
    last = 0
    while True:
        rows = connection.execute(query.where(key > last).order_by(key).limit(_ROWS)).all()
        yield from rows
        if len(rows) < _ROWS:
            return
        last = rows[-1].id
