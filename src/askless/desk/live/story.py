"""The story of one query: its events in their order, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, exists, select

from askless.desk.decisions import read as read_decision
from askless.desk.live.read import UNKNOWN_TEXT
from askless.desk.live.types import TicketStatus, Why
from askless.errors import UnknownQuery
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.types import Guess

_q, _e, _t = schema.queries.c, schema.events.c, schema.tickets.c
_GIVES_AWAY = (kinds.DECIDED, kinds.OFFERED, kinds.AUDITED, kinds.FEEDBACK)  # what the policy thinks, or an asker


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened to a query; `who` did it, where it was somebody. Labels have the names of that time."""

    event: int
    kind: str
    at: datetime
    who: str | None
    words: str


def story(connection: Connection, desk: int, key: str, *, blind: bool = False) -> tuple[Step, ...]:
    """What happened to a query, in order.

    With `blind`, as the desk's settings say, the story of a query with an open ticket leaves out what the policy
    thinks of it and why it was asked, and complaints: the expert's answer is to measure the policy, and nothing may
    tell an audit from another ticket.
    """
    id = connection.execute(select(_q.id).where(_q.desk == desk, _q.key == key)).scalar()
    if id is None:
        raise UnknownQuery(f"This desk has no query with the id {key!r}.")
    opened = exists().where(_t.query == id, _t.status == TicketStatus.OPEN.value)
    hidden = blind and connection.execute(select(opened)).scalar_one()
    events = connection.execute(select(schema.events).where(_e.query == id).order_by(_e.id)).all()
    steps = []
    for place, event in enumerate(events):
        if hidden and event.kind in _GIVES_AWAY:
            continue
        words = _words(event, events, place)
        if hidden and event.kind == kinds.ASKED:
            words = _OPENED[Why.UNSURE] if not any(e.kind == kinds.ASKED for e in events[:place]) else None
        if words is not None:
            steps.append(Step(event.id, event.kind, event.at, event.who, words))
    return tuple(steps)


def _words(event: Any, events: Any, place: int) -> str | None:
    """One event in words; None where the next one says it all."""
    told = event.payload
    if event.kind == kinds.DECIDED:
        following = events[place + 1] if place + 1 < len(events) else None
        shadow = following is not None and following.kind == kinds.ASKED and following.payload["why"] == Why.SHADOW
        return None if told.get("offer") else _decided(told, shadow)
    if event.kind == kinds.RETRACTED:
        undone = next((e.kind for e in events if e.id == told["undone"]), None)
        return f"{'a skip' if undone == kinds.SKIPPED else 'the answer'} was taken back{_by(event.who)}"
    say = _SAY.get(event.kind)
    return event.kind if say is None else say(told, _by(event.who))


def _decided(told: dict[str, Any], shadow: bool) -> str:
    decision = read_decision(told)
    if not isinstance(decision, Guess):
        return f"not guessed: {decision.reason}"
    sure = "" if decision.probability is None else f" with probability {decision.probability:.3f}"
    if shadow:
        return f"would have been guessed {decision.label!r}{sure}"
    return f"guessed {decision.label!r}{sure}" + (", once the desk had learned more" if told.get("again") else "")


_OPENED = {
    Why.UNSURE: "put to the experts",
    Why.UNKNOWN: f"put to the experts: {UNKNOWN_TEXT}",
    Why.SHADOW: "put to the experts: the desk is in shadow mode and asks about everything",
    Why.AUDIT: "put to the experts as an audit, to see whether the guess is right",
    Why.FEEDBACK: "put to the experts, since its asker complained",
}


def _feedback(told: dict[str, Any], by: str) -> str:
    right = "" if told.get("right") is None else f", and {told['right']!r} right"
    return f"the label was called wrong{right}{by}"


def _offered(told: dict[str, Any], by: str) -> str:
    return (
        "the guess beside the ticket went" if told["label"] is None else f"by now it would be guessed {told['label']!r}"
    )


def _audited(told: dict[str, Any], by: str) -> str:
    return f"the guess {told['guess']!r} was {'right' if told['right'] else 'wrong'}"


def _by(who: str | None) -> str:
    return "" if who is None else f" by {who}"


_SAY: dict[str, Callable[[dict[str, Any], str], str]] = {
    kinds.RECEIVED: lambda told, by: f"sent{by}",
    kinds.GIVEN: lambda told, by: f"imported as an example of {told['label']!r}{by}",
    kinds.ASKED: lambda told, by: _OPENED[Why(told["why"])],
    kinds.ANSWERED: lambda told, by: f"answered {told['label']!r}{by}" + (", a new label" if told.get("made") else ""),
    kinds.SKIPPED: lambda told, by: f"skipped{by}",
    kinds.AUDITED: _audited,
    kinds.RELABELLED: lambda told, by: f"corrected to {told['label']!r}{by}",
    kinds.FORGOTTEN: lambda told, by: f"forgotten as an example{by}",
    kinds.WITHDRAWN: lambda told, by: "the ticket was withdrawn: the desk can answer it by now",
    kinds.OFFERED: _offered,
    kinds.FEEDBACK: _feedback,
    kinds.ERASED: lambda told, by: f"text and vector were erased{by}",
}
