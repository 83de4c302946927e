"""Tickets that wait are decided again as the desk learns: what it is sure of by now need not be asked any more.

Only what a policy was unsure of is decided again, never an audit, a complaint, a ticket that an expert holds, or one
whose query was guessed before and that is open since an expert took their answer to it back. Each answer looks at the
waiting queries closest to it; the worker goes through the others when it has nothing else to do.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime

import numpy as np
from sqlalchemy import select, update

from askless.desk.audits import is_audited
from askless.desk.decisions import written
from askless.desk.live.desk import LiveDesk
from askless.desk.live.fold import Waiting
from askless.desk.live.priority import AUDIT
from askless.desk.live.types import Happening, Mode, QueryStatus, TicketStatus, WhenAble, Why
from askless.ledger import schema
from askless.ledger.events import ASKED, DECIDED, OFFERED, WITHDRAWN
from askless.types import Decision, Guess

PER_ANSWER = 32  # decisions that an answer may wait for
_OPEN_TO_IT = (Why.UNSURE, Why.SHADOW)
_queries, _tickets = schema.queries, schema.tickets


def redecide(desk: LiveDesk, limit: int = PER_ANSWER, *, near: int | None = None) -> tuple[str, ...]:
    """Decide again those that wait closest to the example `near`, or that have waited longest; the keys settled."""
    return act(desk, candidates(desk, limit, near))


def candidates(desk: LiveDesk, limit: int, near: int | None = None) -> list[int]:
    """The waiting queries that an example may settle, the closest first; without one, the oldest first."""
    ids = [id for id, waiting in desk.fold.waiting.items() if _may_settle(desk, waiting)]
    x = None if near is None else desk.fold.near.vector(near)
    if x is None or len(ids) <= limit:
        return ids[:limit]
    products = np.array([desk.fold.waiting[id].vector for id in ids]) @ x
    return [ids[k] for k in np.argsort(-products, kind="stable")[:limit]]


def look(desk: LiveDesk, seconds: float) -> list[int]:
    """Of those that are due, the ones to be decided otherwise by now; as many looked at as the time allows.

    Nothing is written, so no transaction is needed: `act` then decides again within one.
    """
    found = []
    until = time.monotonic() + seconds
    while desk.due:
        id = next(iter(desk.due))
        del desk.due[id]
        waiting = desk.fold.waiting.get(id)
        if waiting is not None and _may_settle(desk, waiting) and _is_news(desk, waiting, _decide(desk, waiting)):
            found.append(id)
        if time.monotonic() > until:
            break
    return found


def take_back(desk: LiveDesk) -> float | None:
    """Have those be due again whose leases have run out; in how many seconds the next one does, if any."""
    now = desk.time
    for id in [id for id, until in desk.held.items() if until <= now]:
        del desk.held[id]
        desk.due[id] = None
    return (min(desk.held.values()) - now).total_seconds() if desk.held else None


def act(desk: LiveDesk, ids: Iterable[int]) -> tuple[str, ...]:
    """Decide these again, and act on what is new; the keys of the queries that are settled by it.

    What an expert holds is noted, to be due again once the lease has run out.
    """
    wanted = [id for id in ids if id in desk.fold.waiting]
    if not wanted:
        return ()
    held = _held(desk)
    settled = []
    for id in wanted:
        waiting = desk.fold.waiting[id]
        if not _may_settle(desk, waiting):
            continue
        if id in held:
            desk.held[id] = held[id]
            continue
        desk.due.pop(id, None)
        decision = _decide(desk, waiting)
        if _is_news(desk, waiting, decision) and not _is_guessed(desk, id):
            if desk.settings.when_able is WhenAble.OFFER:
                _offer(desk, id, decision)
            elif isinstance(decision, Guess):
                _settle(desk, id, decision)
                settled.append(id)
    return _keys(desk, settled)


def _may_settle(desk: LiveDesk, waiting: Waiting) -> bool:
    return desk.settings.mode is Mode.LIVE and waiting.why in _OPEN_TO_IT and waiting.vector is not None


def _decide(desk: LiveDesk, waiting: Waiting) -> Decision:
    return desk.fold.policy.decide(waiting.vector if waiting.vector is not None else [])


def _is_news(desk: LiveDesk, waiting: Waiting, decision: Decision) -> bool:
    guess = str(decision.label) if isinstance(decision, Guess) else None
    return guess is not None if desk.settings.when_able is WhenAble.WITHDRAW else guess != waiting.offered


def _is_guessed(desk: LiveDesk, id: int) -> bool:
    status = select(_queries.c.status).where(_queries.c.id == id)
    return bool(desk.entry.connection.execute(status).scalar() == QueryStatus.GUESSED)


def _held(desk: LiveDesk) -> dict[int, datetime]:
    """The queries whose tickets an expert is at work on, and until when."""
    held = select(_tickets.c.query, _tickets.c.lease_until).where(
        _tickets.c.desk == desk.row.id,
        _tickets.c.status == TicketStatus.OPEN.value,
        _tickets.c.lease_until > desk.now,
    )
    return dict(desk.entry.connection.execute(held).all())


def _settle(desk: LiveDesk, id: int, guess: Guess) -> None:
    """The guess is the answer. Where audits fall on it, the ticket stays open to check it."""
    rate = desk.settings.audit_rate
    drawn = {"drawn": rate} if rate else {}
    decided = desk.record(DECIDED, id, written(guess) | {"again": True} | drawn, seen=True)
    label = str(guess.label)
    values = {"status": QueryStatus.GUESSED.value, "label": label, "probability": guess.probability}
    execute = desk.entry.connection.execute
    execute(update(_queries).where(_queries.c.id == id).values(decided=decided.id, **values))
    if is_audited(id, rate):
        asked = desk.record(ASKED, id, {"why": Why.AUDIT.value})
        ticket = {"why": Why.AUDIT.value, "opened": asked.id, "priority": AUDIT}
        ticket |= {"guess": label, "probability": guess.probability}
    else:
        gone = desk.record(WITHDRAWN, id, {"why": "able"})
        ticket = {"status": TicketStatus.WITHDRAWN.value, "closed": gone.id, "closed_at": desk.now}
        ticket |= {"lease_by": None, "lease_until": None}
    execute(update(_tickets).where(_tickets.c.query == id).values(**ticket))
    desk.tell(Happening.QUERY_ANSWERED, decided, id)


def _offer(desk: LiveDesk, id: int, decision: Decision) -> None:
    """The guess stands beside the ticket, or does so no more."""
    label, probability = None, None
    if isinstance(decision, Guess):
        label, probability = str(decision.label), decision.probability
        desk.record(DECIDED, id, written(decision) | {"again": True, "offer": True}, seen=True)
    desk.record(OFFERED, id, {"label": label, "probability": probability})
    desk.entry.connection.execute(
        update(_tickets).where(_tickets.c.query == id).values(guess=label, probability=probability)
    )


def _keys(desk: LiveDesk, ids: list[int]) -> tuple[str, ...]:
    if not ids:
        return ()
    found = dict(
        desk.entry.connection.execute(select(_queries.c.id, _queries.c.key).where(_queries.c.id.in_(ids))).all()
    )
    return tuple(found[id] for id in ids)
