"""What an answer changes about its label, and how that is taken back with it.

An answer may make a label, or give one another answer text. Its event says which, so that who undoes the answer
need not know what was there before.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, delete, select, update

from askless.desk.live import labels
from askless.desk.live.desk import LiveDesk
from askless.desk.live.names import answer_text
from askless.desk.live.types import TicketStatus
from askless.errors import UnknownLabel
from askless.ledger import schema
from askless.ledger.events import LABEL_CHANGED, LABEL_DELETED, LABEL_MADE, MERGED, RENAMED

_events, _labels, _queries, _tickets = schema.events, schema.labels, schema.queries, schema.tickets
_OF_LABELS = (LABEL_MADE, LABEL_CHANGED, RENAMED, MERGED, LABEL_DELETED)


def make_known(desk: LiveDesk, name: str, answer: str | None, who: str, create: bool) -> dict[str, Any]:
    """See to it that the desk has the label, with this answer text where one is given; what that changed.

    That is {"made": True}, or {"before_answer": the text from before}, or nothing: a part of the answer's event.
    """
    known = desk.fold.labels.get(name)
    if known is None:
        if not create:
            raise UnknownLabel(f"The desk {desk.row.name!r} has no label {name!r}. Choose one that it has, or make it.")
        labels.create(desk, name, answer, who)
        return {"made": True}
    before = known.answer
    if answer is None or answer_text(answer) == before:
        return {}
    labels.set_answer(desk, name, answer, who)
    return {"before_answer": before}


def take_back(desk: LiveDesk, answered: int, told: dict[str, Any], who: str) -> None:
    """Undo what an answer, the event `answered` with the payload `told`, changed about its label.

    Nothing where someone has changed the label since. A label that the answer made goes, unless a query stands
    under it by now; it is under its present name that a label is looked for.
    """
    if not told.get("made") and "before_answer" not in told:
        return
    name = _untouched(desk, str(told["label"]), answered)
    if name is None:
        return
    if "before_answer" in told:
        labels.set_answer(desk, name, told["before_answer"], who)
        return
    used = select(_queries.c.id).where(_queries.c.desk == desk.row.id, _queries.c.label == name)
    if desk.entry.connection.execute(used.limit(1)).scalar() is None:
        _unmake(desk, name, answered, who)


def _untouched(desk: LiveDesk, name: str, since: int) -> str | None:
    """What the label is called now, or None where its text was changed, or where it was merged or deleted."""
    later = and_(_events.c.desk == desk.row.id, _events.c.id > since, _events.c.kind.in_(_OF_LABELS))
    happened = select(_events.c.kind, _events.c.payload).where(later).order_by(_events.c.id)
    for kind, payload in desk.entry.connection.execute(happened):
        if payload["label"] != name:
            continue
        if kind != RENAMED:
            return None
        name = str(payload["to"])
    return name


def _unmake(desk: LiveDesk, name: str, answered: int, who: str) -> None:
    """Delete a label without examples. The words of askers stay: a ticket's suggestion may name any label."""
    connection = desk.entry.connection
    desk.record(LABEL_DELETED, payload={"label": name, "undone": answered}, who=who)
    connection.execute(delete(_labels).where(_labels.c.desk == desk.row.id, _labels.c.name == name))
    offered = and_(_tickets.c.desk == desk.row.id, _tickets.c.status == TicketStatus.OPEN, _tickets.c.guess == name)
    connection.execute(update(_tickets).where(offered).values(guess=None, probability=None))
