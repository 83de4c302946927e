"""What must be in the ledger, whatever happened: all that was acknowledged, once, and nothing half done."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import pytest
from sqlalchemy import func, select

from askless.cli.main import main
from askless.desk.live.settings import LiveSettings
from askless.desk.live.vectors import StoredVectors
from askless.desk.live.verify import verify
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.entry import events_after
from askless.types import Ask, Guess
from reliability import DESK, EXPERT, Acknowledged


def check_kept(address: str, told: Acknowledged) -> None:
    """All that was acknowledged is in the ledger, as it was told."""
    queries, answers = dict(told.queries), dict(told.answers)
    q, t = schema.queries.c, schema.tickets.c
    with Database(address) as database, database.read() as connection:
        rows = {row.key: row for row in connection.execute(select(q.id, q.key, q.status, q.label, q.probability))}
        tickets = {row.id: row for row in connection.execute(select(t.id, t.query, t.status, t.closed_by))}
    for id, outcome in queries.items():
        assert id in rows, f"the query {id} was acknowledged and is gone"
        row = rows[id]
        if outcome["status"] == "guessed":
            assert (row.status, row.label, row.probability) == ("guessed", outcome["label"], outcome["probability"])
        else:
            assert tickets[outcome["ticket"]].query == row.id
    labels = {row.id: row.label for row in rows.values() if row.status == "answered"}
    for ticket, label in answers.items():
        closed = tickets[ticket]
        assert (closed.status, closed.closed_by, labels.get(closed.query)) == ("answered", EXPERT, label)


def check_whole(address: str, told: Acknowledged) -> None:
    """Nothing is doubled or half done, once all callers have got through: what they were told is all there is."""
    check_kept(address, told)
    q, e = schema.queries.c, schema.events.c
    with Database(address) as database, database.read() as connection:
        keys = connection.execute(select(q.key)).scalars().all()
        assert sorted(keys) == sorted(told.queries)
        times = connection.execute(select(e.query, e.kind, func.count()).group_by(e.query, e.kind)).all()
    counted = {(query, kind): count for query, kind, count in times}
    one = [count for (_, kind), count in counted.items() if kind in (kinds.RECEIVED, kinds.ANSWERED, kinds.ASKED)]
    assert set(one) == {1}
    assert sum(count for (_, kind), count in counted.items() if kind == kinds.ANSWERED) == len(told.answers)
    assert sum(count for (_, kind), count in counted.items() if kind == kinds.RECEIVED) == len(keys)
    check_verified(address)
    assert check_decisions(address) == len(keys)


def check_verified(address: str, desk: str = DESK) -> None:
    """What `askless ledger verify` does finds nothing."""
    with Database(address) as database:
        found = verify(database, desk)
    assert found.sound, found.differences
    assert found.same == found.decisions > 0


def check_command(address: str) -> None:
    """The command says so too."""
    with pytest.raises(SystemExit) as left, redirect_stdout(io.StringIO()) as said:
        main(["ledger", "verify", "--database", address])
    assert not left.value.code, said.getvalue()
    assert "all as the events say" in said.getvalue()


def check_decisions(address: str) -> int:
    """Every decision is that of a policy which sees the same queries and answers and never dies; how many they are.

    The policy is told everything here, by itself: nothing of the service's own way from events to a state is used.
    """
    with Database(address) as database, database.read() as connection:
        desk = connection.execute(select(schema.desks.c.id)).scalar_one()
        vector_of, last, decided = StoredVectors(connection), 0, 0
        policy: Any = None
        for event in events_after(connection, desk):
            assert event.id > last
            x = None if event.query is None else vector_of(event.query)
            if event.kind == kinds.CONFIGURED:
                policy = LiveSettings.read(event.payload).make_policy()
            elif event.kind == kinds.DECIDED:
                decision = policy.decide(x)
                assert is_as_written(decision, event.payload), (decision, event)
                assert event.seen == last, event
                if not event.payload.get("again"):
                    policy.observe(x, decision)
                    decided += 1
            elif event.kind in (kinds.ANSWERED, kinds.GIVEN):
                policy.learn(x, event.payload["label"], id=event.query)
            last = event.id
    return decided


def is_as_written(decision: Guess | Ask, payload: dict[str, Any]) -> bool:
    """Whether it is the recorded decision; the last digits of a probability hang on when its model was fitted."""
    if isinstance(decision, Ask):
        return bool(payload["action"] == "ask")
    same = payload["action"] == "guess" and decision.label == payload["label"]
    then = payload["probability"]
    alike = decision.probability is then if then is None else abs((decision.probability or 0.0) - then) <= 1e-6
    return same and alike
