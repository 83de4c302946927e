"""What must stand about queries, labels and tickets, worked out from the events alone: for `verify` to compare with.

Deliberately apart from the code that writes those tables: it knows what each event means, and nothing of how a desk
came to record it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from askless.desk.live.types import Mode, QueryStatus, TicketStatus, Why
from askless.ledger import events as kinds
from askless.ledger.events import Event

_CHECKED = (Why.AUDIT.value, Why.SHADOW.value, Why.FEEDBACK.value)


@dataclass(slots=True)
class TicketStands:
    """A ticket, without its lease and its priority, which no event tells."""

    status: str
    why: str
    opened: int
    guess: str | None = None
    probability: float | None = None
    suggested: str | None = None
    skipped_by: list[str] = field(default_factory=list)
    closed: int | None = None
    closed_by: str | None = None


@dataclass(slots=True)
class QueryStands:
    """A query, and its ticket where it has or had one."""

    status: str = QueryStatus.ASKED.value
    label: str | None = None
    probability: float | None = None
    decided: int | None = None
    example: bool = False
    erased: bool = False
    ticket: TicketStands | None = None
    guess: tuple[str, float | None] | None = None  # of the last decision, where that was a guess
    last: int = 0  # its last event
    right: str | None = None  # of the last feedback


class Standings:
    """The sum of the events. `apply` returns what an event says that cannot be, or None."""

    def __init__(self) -> None:
        self.queries: dict[int, QueryStands] = {}
        self.labels: dict[str, str | None] = {}
        self._mode: str = Mode.LIVE.value
        self._due: tuple[int, int] | None = None  # the answer, and its query, that a verdict must follow
        self._handlers: dict[str, Callable[[QueryStands, Event], str | None]] = {
            kinds.DECIDED: self._decided,
            kinds.ASKED: self._asked,
            kinds.OFFERED: self._offered,
            kinds.WITHDRAWN: self._withdrawn,
            kinds.ANSWERED: self._answered,
            kinds.AUDITED: self._audited,
            kinds.RETRACTED: self._retracted,
            kinds.SKIPPED: self._skipped,
            kinds.FEEDBACK: self._feedback,
            kinds.RELABELLED: self._relabelled,
            kinds.FORGOTTEN: self._forgotten,
            kinds.ERASED: self._erased,
        }

    def apply(self, event: Event) -> str | None:
        """Take in one event."""
        expected = self._due is not None and (event.kind, event.query) == (kinds.AUDITED, self._due[1])
        wrong = None if expected else self.missing()
        self._due = None
        if event.query is None:
            self._at_desk(event)
            return wrong
        if event.kind in (kinds.RECEIVED, kinds.GIVEN):
            return wrong or self._came(event)
        query = self.queries.get(event.query)
        if query is None:
            self.queries[event.query] = query = QueryStands()
            wrong = f"it is about query {event.query}, which no event before it received"
        handler = self._handlers.get(event.kind)
        found = handler(query, event) if handler is not None else None
        query.last = event.id
        return wrong or found

    def missing(self) -> str | None:
        """What the events so far call for, and has not come; after the last event, what is gone."""
        if self._due is None:
            return None
        return f"the answer of event {self._due[0]} was to be compared with a guess, and was not"

    # -- the desk and its labels ------------------------------------------------------------------------------------
    def _at_desk(self, event: Event) -> None:
        told = event.payload
        if event.kind == kinds.CONFIGURED:
            self._mode = told.get("mode", Mode.LIVE.value)
        elif event.kind in (kinds.LABEL_MADE, kinds.LABEL_CHANGED):
            self.labels[told["label"]] = told.get("answer")
        elif event.kind == kinds.RENAMED:
            self.labels[told["to"]] = self.labels.pop(told["label"], None)
            self._follow(told["label"], told["to"])
        elif event.kind == kinds.MERGED:
            self.labels.pop(told["label"], None)
            self._follow(told["label"], told["into"])
        elif event.kind == kinds.LABEL_DELETED:
            self.labels.pop(told["label"], None)
            self._drop(told["label"], undone="undone" in told)

    def _follow(self, old: str, new: str) -> None:
        for query in self.queries.values():
            if query.label == old:
                query.label = new
            if query.ticket is not None and query.ticket.guess == old:
                query.ticket.guess = new
            if query.ticket is not None and query.ticket.suggested == old:
                query.ticket.suggested = new

    def _drop(self, label: str, *, undone: bool) -> None:
        """A label is deleted; where that undoes the answer that made it, the askers' suggestions stay."""
        for query in self.queries.values():
            if query.label == label:
                query.example = False
            if query.ticket is None or query.ticket.status != TicketStatus.OPEN:
                continue
            if query.ticket.guess == label:
                query.ticket.guess, query.ticket.probability = None, None
            if query.ticket.suggested == label and not undone:
                query.ticket.suggested = None

    # -- queries ----------------------------------------------------------------------------------------------------
    def _came(self, event: Event) -> str | None:
        id = event.query or 0
        wrong = f"query {id} came twice" if id in self.queries else None
        query = self.queries.setdefault(id, QueryStands())
        query.last = event.id
        if event.kind == kinds.GIVEN:
            self._word(query, event, QueryStatus.GIVEN.value)
        return wrong

    def _decided(self, query: QueryStands, event: Event) -> None:
        told = event.payload
        guess = (str(told["label"]), told["probability"]) if told["action"] == "guess" else None
        query.guess = guess
        if told.get("offer"):
            return
        query.decided = event.id
        if guess is not None and (told.get("again") or self._mode == Mode.LIVE):
            query.status, query.label, query.probability = QueryStatus.GUESSED.value, *guess

    def _word(self, query: QueryStands, event: Event, status: str) -> None:
        label = str(event.payload["label"])
        self.labels.setdefault(label, None)
        query.status, query.label, query.probability, query.example = status, label, None, True
        query.decided = event.id

    def _relabelled(self, query: QueryStands, event: Event) -> None:
        given = query.status == QueryStatus.GIVEN
        self._word(query, event, QueryStatus.GIVEN.value if given else QueryStatus.ANSWERED.value)

    def _forgotten(self, query: QueryStands, event: Event) -> None:
        query.example = False

    def _erased(self, query: QueryStands, event: Event) -> None:
        query.example, query.erased = False, True
        if query.ticket is not None:
            query.ticket.suggested = None
            if query.ticket.status == TicketStatus.OPEN:
                self._close(query.ticket, TicketStatus.WITHDRAWN, event)

    # -- tickets ----------------------------------------------------------------------------------------------------
    def _asked(self, query: QueryStands, event: Event) -> None:
        why, ticket = event.payload["why"], query.ticket
        guess: tuple[str | None, float | None] = query.guess or (None, None)
        if why == Why.FEEDBACK:
            guess = (query.label, query.probability) if query.status == QueryStatus.GUESSED else (None, None)
        if ticket is not None and ticket.status == TicketStatus.OPEN:  # a waiting one that an audit fell on
            ticket.why, ticket.opened, (ticket.guess, ticket.probability) = why, event.id, guess
            return
        query.ticket = TicketStands(TicketStatus.OPEN.value, why, event.id, *guess)
        if why == Why.FEEDBACK:
            query.ticket.suggested = query.right

    def _offered(self, query: QueryStands, event: Event) -> None:
        if query.ticket is not None:
            query.ticket.guess, query.ticket.probability = event.payload["label"], event.payload["probability"]

    def _withdrawn(self, query: QueryStands, event: Event) -> str | None:
        if query.ticket is None:
            return "it withdraws a ticket that was never opened"
        self._close(query.ticket, TicketStatus.WITHDRAWN, event)
        return None

    def _answered(self, query: QueryStands, event: Event) -> str | None:
        ticket, guessed = query.ticket, query.status == QueryStatus.GUESSED and not query.erased
        self._word(query, event, QueryStatus.ANSWERED.value)
        late = ticket is not None and ticket.status == TicketStatus.WITHDRAWN and guessed
        if ticket is None or not (ticket.status == TicketStatus.OPEN or late):
            return "it answers a ticket that was not open"
        self._close(ticket, TicketStatus.ANSWERED, event)
        if ticket.guess is not None and ticket.why in _CHECKED:
            self._due = (event.id, event.query or 0)
        return None

    def _audited(self, query: QueryStands, event: Event) -> str | None:
        guess = None if query.ticket is None else query.ticket.guess
        told = event.payload
        if (told["guess"], told["answer"], told["right"]) == (guess, query.label, guess == query.label):
            return None
        said = f"it compares {told['guess']!r} with {told['answer']!r}"
        return f"{said}, and the guess was {guess!r}, the answer {query.label!r}"

    def _retracted(self, query: QueryStands, event: Event) -> str | None:
        told, ticket = event.payload, query.ticket
        if ticket is None:
            return "it takes back an answer to no ticket"
        if ticket.status == TicketStatus.OPEN:  # a skip
            ticket.skipped_by = [name for name in ticket.skipped_by if name != event.who]
            return None
        wrong = (
            None if told["undone"] == ticket.closed else f"it takes back event {told['undone']}, not the last answer"
        )
        query.status, query.label, query.probability = told["status"], told["label"], told["probability"]
        query.decided, query.example = told["decided"], told["example"]
        ticket.status, ticket.closed, ticket.closed_by = TicketStatus.OPEN.value, None, None
        return wrong

    def _skipped(self, query: QueryStands, event: Event) -> str | None:
        if query.ticket is None or event.who is None:
            return "it skips a ticket that was never opened"
        query.ticket.skipped_by = sorted({*query.ticket.skipped_by, event.who})
        return None

    def _feedback(self, query: QueryStands, event: Event) -> None:
        query.right = event.payload["right"]
        if query.ticket is not None and query.ticket.status == TicketStatus.OPEN:
            query.ticket.suggested = query.right or query.ticket.suggested

    def _close(self, ticket: TicketStands, status: TicketStatus, event: Event) -> None:
        ticket.status, ticket.closed = status.value, event.id
        ticket.closed_by = event.who
