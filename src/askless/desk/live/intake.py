"""Queries come in: each is kept, decided, and answered or asked, in the order in which they came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sqlalchemy import select

from askless.desk.audits import is_audited
from askless.desk.decisions import written
from askless.desk.live import read
from askless.desk.live.desk import LiveDesk
from askless.desk.live.priority import AUDIT, priority_of
from askless.desk.live.rows import insert_events, insert_rows, new_ids
from askless.desk.live.types import Happening, Mode, NewQuery, Outcome, QueryStatus, TicketStatus, Why
from askless.desk.live.vectors import StoredVectors
from askless.desk.texts import normal
from askless.errors import AsklessError, Conflicting, InvalidInput, Refused, Unavailable
from askless.inputs import as_vector, unit
from askless.ledger import schema
from askless.ledger.events import ASKED, DECIDED, RECEIVED, Event
from askless.ledger.ledger import DeskRow
from askless.types import Ask, Decision, Guess, Policy, Streaming

_KEYS_AT_ONCE = 500
_LONGEST_KEY = 200
_MANY = 64  # queries of a submission that are worth a look ahead
_queries = schema.queries


class Ahead(NamedTuple):
    """Decisions that a policy has begun to work at, while the desk was busy with something else."""

    policy: Policy
    decisions: Iterator[Decision]


@dataclass(slots=True)
class Submission:
    """Queries that one caller has sent together: all of them are taken, or none."""

    queries: Sequence[NewQuery]
    who: str | None
    future: Future[list[Outcome]] = field(default_factory=Future)
    embedder: str | None = None  # the id of the one that made the vectors, where it was not the caller's own
    dim: int | None = None  # the dimension of that one's vectors
    ahead: Ahead | None = None

    @property
    def is_large(self) -> bool:
        """Whether there are so many queries that a look ahead is worth its while."""
        return len(self.queries) >= _MANY

    def look_ahead(self, policy: Policy) -> None:
        """Have the policy begin with the decisions, where there are many and it can do so beside other work."""
        if not self.is_large or not getattr(policy, "looks_ahead", False):
            return
        vectors = [query.vector for query in self.queries if query.vector is not None]
        if len(vectors) == len(self.queries):
            with suppress(Exception):  # it can be done without; what does not fit is refused when its turn has come
                self.ahead = Ahead(policy, _decisions(policy, vectors))

    def fail(self, error: BaseException) -> None:
        """Tell the caller, unless they have gone meanwhile."""
        self.ahead = None
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)


@dataclass(frozen=True, slots=True)
class ReadyQuery(NewQuery):
    """A query as it is kept: its text in normal form, its vector of norm 1 in float32."""


@dataclass(slots=True)
class _Taken:
    """A new query on its way through the desk."""

    query: NewQuery
    who: str | None
    id: int = 0
    decision: Decision | None = None
    why: Why | None = None  # of its ticket, where it has one
    decisions: Iterator[Decision] | None = None  # of its submission, where these were begun ahead
    status: QueryStatus = QueryStatus.ASKED
    ticket: int | None = None
    decided: int | None = None
    last: int = 0


def submit(desk: LiveDesk, queries: Sequence[NewQuery], who: str | None) -> list[Outcome]:
    """What stands about each query once it is decided; one that is known by its key already is left as it is.

    A key that was used for another text is refused, and so is any new query at a desk that is paused.
    """
    (found,) = submit_all(desk, [Submission(queries, who)])
    if isinstance(found, AsklessError):
        raise found
    return found


def submit_all(desk: LiveDesk, submissions: Sequence[Submission]) -> list[list[Outcome] | AsklessError]:
    """The outcomes of each submission in turn, or why it was refused as a whole: nothing of it is written then."""
    known = _known(desk, [query.key for s in submissions for query in s.queries])
    taken: dict[str, _Taken] = {}
    errors: dict[int, AsklessError] = {}
    for place, submission in enumerate(submissions):
        try:
            taken |= _new(desk, submission, known, taken)
        except AsklessError as error:
            errors[place] = error
    new = list(taken.values())
    if new:
        _decide_all(desk, new)
    outcomes = _outcomes(desk, new)
    wanted = {query.key for k, s in enumerate(submissions) if k not in errors for query in s.queries}
    outcomes |= read.outcomes(desk.entry.connection, [row.id for key, row in known.items() if key in wanted])
    return [
        errors[k] if k in errors else [outcomes[query.key] for query in submission.queries]
        for k, submission in enumerate(submissions)
    ]


# -- what is new ---------------------------------------------------------------------------------------------------
def _known(desk: LiveDesk, keys: list[str]) -> dict[str, Any]:
    """The queries of the desk that have one of these keys."""
    columns = [_queries.c[name] for name in ("id", "key", "text", "vector", "embedder", "erased_at")]
    found: dict[str, Any] = {}
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        block = keys[start : start + _KEYS_AT_ONCE]
        query = select(*columns).where(_queries.c.desk == desk.row.id, _queries.c.key.in_(block))
        found |= {row.key: row for row in desk.entry.connection.execute(query)}
    return found


def _new(desk: LiveDesk, submission: Submission, known: dict[str, Any], taken: dict[str, _Taken]) -> dict[str, _Taken]:
    """The queries of a submission that are new, ready to be decided."""
    ahead, submission.ahead = submission.ahead, None  # it cannot be begun a second time
    if submission.embedder not in (None, desk.row.embedder):
        raise Unavailable(
            f"The vectors of the desk {desk.row.name!r} come from {desk.row.embedder}, and this query's from "
            f"{submission.embedder}. The desk may just have been switched: try again. If that does not help, embed its "
            "texts anew."
        )
    found: dict[str, _Taken] = {}
    for given in submission.queries:
        query = ready(given)
        before = found.get(query.key) or taken.get(query.key)
        if query.key in known:
            _check_same(query, known[query.key], desk.row.embedder)
        elif before is not None:
            _check_repeated(query, before.query)
        elif desk.settings.paused:
            raise Refused(f"The desk {desk.row.name!r} is paused and takes no queries; resume it, or try again later.")
        else:
            _check_dimension(query, submission)
            found[query.key] = _Taken(query, submission.who)
    if ahead is not None and ahead.policy is desk.fold.policy and len(found) == len(submission.queries):
        for new in found.values():
            new.decisions = ahead.decisions
    return found


def ready(query: NewQuery) -> ReadyQuery:
    """The query as it is kept; one that is ready stays as it is, at no cost."""
    if isinstance(query, ReadyQuery):
        return query
    if not isinstance(query.key, str) or not query.key or len(query.key) > _LONGEST_KEY or "\0" in query.key:
        raise InvalidInput(f"The id of a query is a text of 1 to {_LONGEST_KEY} characters; found {query.key!r:.80}.")
    if query.text is None and query.vector is None:
        raise InvalidInput(f"The query {query.key!r} has neither a text nor a vector; give one of them.")
    text = query.text
    if text is not None:
        text = normal(text).replace("\0", "\N{REPLACEMENT CHARACTER}")  # which PostgreSQL cannot keep
        if not text:
            raise InvalidInput(f"The text of the query {query.key!r} is blank.")
    return ReadyQuery(query.key, text, None if query.vector is None else _ready_vector(query.key, query.vector))


def _ready_vector(key: str, given: ArrayLike) -> NDArray[np.float32]:
    """The vector of the query with that key, of norm 1 in float32."""
    x = as_vector(given, None, f"the query {key!r}")
    vector = np.asarray(x, dtype=np.float32)
    return unit(x).astype(np.float32) if abs(float(vector @ vector) - 1.0) > 1e-5 else vector


def _check_same(query: NewQuery, row: Any, embedder: str) -> None:
    """Refuse a key that stands for something else, or for what was erased: that cannot be compared any more."""
    if row.erased_at is not None:
        raise Conflicting(f"The query with the id {query.key!r} was erased; send this one under another id.")
    same = row.text == query.text
    comparable = row.vector is not None and row.embedder == embedder  # a switch of the embedder leaves no such vector
    if query.text is None and row.text is None and comparable and query.vector is not None:
        same = row.vector == query.vector.tobytes()
    if not same:
        raise Conflicting(
            f"The id {query.key!r} was used for another query of this desk; send each query under an id of its own."
        )


def _check_dimension(query: NewQuery, submission: Submission) -> None:
    if query.vector is not None and submission.dim not in (None, len(query.vector)):
        raise InvalidInput(
            f"The vectors of this desk have {submission.dim} dimensions ({submission.embedder}), that of "
            f"{query.key!r} has {len(query.vector)}. Use the desk's embedder."
        )


def _check_repeated(query: NewQuery, before: NewQuery) -> None:
    vectors = query.vector, before.vector
    alike = query.text is not None or (all(v is not None for v in vectors) and np.array_equal(*vectors))  # type: ignore[arg-type]
    if query.text != before.text or not alike:
        raise Conflicting(
            f"The id {query.key!r} stands for two different queries; send each query under an id of its own."
        )


# -- decisions -----------------------------------------------------------------------------------------------------
def _decide_all(desk: LiveDesk, new: list[_Taken]) -> None:
    """Decide each in turn and write everything at once: rows, events and tickets, under ids that are known before."""
    connection, now = desk.entry.connection, desk.now
    ids = iter(new_ids(connection, schema.events, 3 * len(new)))
    nothing: dict[str, Any] = {}  # one for all of them, so that it is turned into JSON once
    events: list[Event] = []
    vectors: dict[int, NDArray[np.float32] | None] = {}
    vector_of = StoredVectors(connection, vectors)

    def record(query: int, kind: str, payload: dict[str, Any], seen: int | None = None, who: str | None = None) -> int:
        event = Event(next(ids), kind, query, payload, seen, who, now)
        events.append(event)
        desk.apply(event, vector_of)
        return event.id

    others = [t.query.vector for t in new if t.query.vector is not None and t.decisions is None]
    decisions = _decisions(desk.fold.policy, others)
    for taken, id in zip(new, new_ids(connection, schema.queries, len(new)), strict=True):
        taken.id, vectors[id] = id, taken.query.vector
        taken.last = record(id, RECEIVED, nothing, who=taken.who)
        _decide(desk, taken, decisions)
        if taken.decision is not None:
            taken.decided = taken.last = record(id, DECIDED, _payload(desk, taken), seen=desk.fold.last_event)
        if taken.why is not None:
            taken.last = record(id, ASKED, {"why": taken.why.value})
    insert_rows(connection, _queries, [_row(desk.row, now, taken) for taken in new])
    insert_events(desk.entry, events)
    _open_tickets(desk, [taken for taken in new if taken.why is not None], {e.id: e for e in events})


def _decisions(policy: Policy, vectors: list[NDArray[np.float32]]) -> Iterator[Decision]:
    """The decision on each vector, made when its turn has come; several share their pass over the examples."""
    if len(vectors) > 1 and isinstance(policy, Streaming):
        return policy.stream(np.array(vectors))
    return map(policy.decide, vectors)


def _decide(desk: LiveDesk, taken: _Taken, decisions: Iterator[Decision]) -> None:
    """What the policy says, and what the desk makes of it."""
    if taken.query.vector is None:
        taken.why = Why.UNKNOWN
        return
    taken.decision = next(decisions if taken.decisions is None else taken.decisions)
    if desk.settings.mode is Mode.SHADOW:
        taken.why = Why.SHADOW
    elif isinstance(taken.decision, Ask):
        taken.why = Why.UNSURE
    else:
        taken.status = QueryStatus.GUESSED
        if is_audited(taken.id, desk.settings.audit_rate):
            taken.why = Why.AUDIT


def _payload(desk: LiveDesk, taken: _Taken) -> dict[str, Any]:
    """The decision as the ledger keeps it; of a guess that audits are drawn from, at which rate."""
    rate, guessed = desk.settings.audit_rate, taken.status is QueryStatus.GUESSED
    decision: Any = taken.decision
    return written(decision) | ({"drawn": rate} if rate and guessed else {})


def _row(desk: DeskRow, now: datetime, taken: _Taken) -> dict[str, Any]:
    guess = taken.decision if taken.status is QueryStatus.GUESSED and isinstance(taken.decision, Guess) else None
    vector = taken.query.vector
    return {
        "id": taken.id,
        "desk": desk.id,
        "key": taken.query.key,
        "text": taken.query.text,
        "vector": None if vector is None else vector.tobytes(),
        "embedder": desk.embedder,
        "received_at": now,
        "asker": taken.who,
        "status": taken.status.value,
        "label": None if guess is None else str(guess.label),
        "probability": _probability(guess),
        "decided": taken.decided,
        "example": False,
    }


def _probability(guess: Guess | None) -> float | None:
    """As JSON and the database hold it, whatever kind of float the policy gave."""
    return None if guess is None or guess.probability is None else float(guess.probability)


def _open_tickets(desk: LiveDesk, asked: list[_Taken], events: dict[int, Event]) -> None:
    rows = []
    for taken, id in zip(asked, new_ids(desk.entry.connection, schema.tickets, len(asked)), strict=True):
        guess = taken.decision if isinstance(taken.decision, Guess) else None
        taken.ticket = id
        rows.append(
            {
                "id": id,
                "desk": desk.row.id,
                "query": taken.id,
                "status": TicketStatus.OPEN.value,
                "why": str(taken.why),
                "priority": AUDIT if guess is not None else priority_of(taken.decision),
                "opened_at": desk.now,
                "opened": taken.last,
                "guess": None if guess is None else str(guess.label),
                "probability": _probability(guess),
                "skipped_by": [],
            }
        )
    insert_rows(desk.entry.connection, schema.tickets, rows)
    for taken in asked:
        desk.tell(Happening.TICKET_CREATED, events[taken.last], taken.id)


# -- what the askers are told --------------------------------------------------------------------------------------
def _outcomes(desk: LiveDesk, new: list[_Taken]) -> dict[str, Outcome]:
    guesses = {t.id: t.decision for t in new if t.status is QueryStatus.GUESSED and isinstance(t.decision, Guess)}
    supports = {id for guess in guesses.values() for id, _ in guess.evidence if isinstance(id, int)}
    found, now = desk.supports.find(desk.entry.connection, supports), desk.now
    outcomes = {}
    for taken in new:
        guess = guesses.get(taken.id)
        label = None if guess is None else str(guess.label)
        outcomes[taken.query.key] = Outcome(
            taken.id,
            taken.query.key,
            taken.status,
            label,
            None if label is None else desk.fold.labels[label].answer,
            _probability(guess),
            () if guess is None else read.weighed(guess.evidence, found),
            taken.ticket if taken.status is QueryStatus.ASKED else None,
            _reason(taken),
            now,
            taken.last,
        )
    return outcomes


def _reason(taken: _Taken) -> str | None:
    """Why it was asked; in shadow mode nothing is said, since that would tell what was guessed."""
    if taken.why is Why.UNKNOWN:
        return read.UNKNOWN_TEXT
    return str(taken.decision.reason) if taken.why is Why.UNSURE and isinstance(taken.decision, Ask) else None
