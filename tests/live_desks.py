"""Live desks for tests: texts whose first letter is their label, a clock that can be set, and what must always hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import select

from askless.desk.decisions import written
from askless.desk.live import read, snapshot, tickets
from askless.desk.live.desk import LiveDesk
from askless.desk.live.desks import Desks
from askless.desk.live.fold import Fold
from askless.desk.live.settings import LiveSettings
from askless.desk.live.standings import Standings
from askless.desk.live.types import Answered, NewQuery, Outcome, Ticket
from askless.desk.live.vectors import events_with_vectors
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.entry import events_after
from toy_desk import Letters

NAME = "toy"
PROBES = np.random.default_rng(99).standard_normal((12, Letters.dim)).astype(np.float32)
PROBES /= np.linalg.norm(PROBES, axis=1, keepdims=True)


class Clock:
    """A time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Toy:
    """One desk, driven from outside of its worker."""

    def __init__(self, desks: Desks) -> None:
        self.desks = desks

    def do(self, operation: Any, *args: Any, **others: Any) -> Any:
        return self.desks.run(NAME, lambda desk: operation(desk, *args, **others)).result(30)

    def do_later(self, operation: Callable[[LiveDesk], Any]) -> Future[Any]:
        return self.desks.run(NAME, operation)

    def send(self, *texts: str, keys: list[str] | None = None, who: str = "client") -> list[Outcome]:
        queries = [NewQuery(key, text) for key, text in zip(keys or texts, texts, strict=True)]
        return self.desks.submit(NAME, queries, who).result(30)

    def next(self, who: str = "ann") -> Ticket:
        return self.do(tickets.next_ticket, who)

    def answer(self, ticket: int, label: str, who: str = "ann", **others: Any) -> Answered:
        return self.do(tickets.answer, ticket, label, who, **others)

    def teach(self, *texts: str) -> None:
        """Send texts and answer those that are asked with their first letter."""
        for text in texts:
            outcome = self.send(text)[0]
            if outcome.ticket is not None:
                self.answer(outcome.ticket, text[0])

    def outcome(self, key: str) -> Outcome:
        with self.desks.database.read() as connection:
            return read.outcome(connection, self.desks.row(NAME).id, key)

    def events(self) -> list[tuple[str, int | None]]:
        with self.desks.database.read() as connection:
            return [(e.kind, e.query) for e in events_after(connection, self.desks.row(NAME).id)]

    def check(self) -> None:
        self.do(check)


@contextmanager
def a_desk(database: Database, *, clock: Clock | None = None, make: bool = True, **settings: Any) -> Iterator[Toy]:
    settings = {"policy": "ghc:0.8", "embedder": "letters"} | settings
    with Desks(database, clock=clock, embedders=lambda spec: Letters()) as desks:
        if make:
            desks.create(NAME, LiveSettings(**settings), "admin")
        yield Toy(desks)


# -- what must always hold -------------------------------------------------------------------------------------------
def seen(fold: Fold) -> dict[str, Any]:
    """All of a state that a later decision, ticket or page depends on."""
    return {
        "settings": fold.settings,
        "examples": list(fold.examples.items()),
        "near": fold.near.ids,
        "labels": {name: (state.answer, state.count) for name, state in fold.labels.items()},
        "waiting": [(id, w.why, w.offered, w.vector is None) for id, w in fold.waiting.items()],
        "last": fold.last_event,
        "decisions": [written(fold.policy.decide(x)) for x in PROBES],
    }


def replayed(desk: LiveDesk) -> Fold:
    """The state from the events alone, without a snapshot."""
    fold = Fold()
    for event, vector_of in events_with_vectors(desk.entry.connection, desk.row.id):
        fold.apply(event, vector_of)
    return fold


def check(desk: LiveDesk) -> None:
    """The state in memory, a fresh load, and a replay are one; the tables say what the events say."""
    found = seen(desk.fold)
    assert found == seen(replayed(desk))
    assert found == seen(snapshot.load(desk.entry.connection, desk.row))
    check_tables(desk)


def check_tables(desk: LiveDesk) -> None:
    standings = Standings()
    for event in events_after(desk.entry.connection, desk.row.id):
        assert standings.apply(event) is None
    expected = {id: stands.ticket for id, stands in standings.queries.items() if stands.ticket is not None}
    read_all = desk.entry.connection.execute
    queries = {row.id: row for row in read_all(select(schema.queries).where(schema.queries.c.desk == desk.row.id))}
    assert queries.keys() == standings.queries.keys()
    for id, stands in standings.queries.items():
        row = queries[id]
        assert (row.status, row.label, row.probability, row.decided, bool(row.example)) == (
            stands.status,
            stands.label,
            stands.probability,
            stands.decided,
            stands.example,
        )
    opened = {row.query: row for row in read_all(select(schema.tickets).where(schema.tickets.c.desk == desk.row.id))}
    assert opened.keys() == expected.keys()
    for id, ticket in expected.items():
        row = opened[id]
        for name in ("status", "why", "opened", "guess", "probability", "suggested", "closed", "closed_by"):
            assert getattr(row, name) == getattr(ticket, name), (name, row, ticket)
        assert set(row.skipped_by) == set(ticket.skipped_by)
    labels = read_all(select(schema.labels.c.name, schema.labels.c.answer).where(schema.labels.c.desk == desk.row.id))
    assert {row.name: row.answer for row in labels} == standings.labels
    assert {id for id, t in expected.items() if t.status == "open"} == set(desk.fold.waiting)
    examples = {id: stands.label for id, stands in standings.queries.items() if stands.example}
    assert examples == desk.fold.examples
