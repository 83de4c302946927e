"""Random operations: memory, a replay, a snapshot and the tables always agree, also where two processes take turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from askless.desk.live import again, feedback, labels, read, snapshot, tickets
from askless.desk.live.desk import LiveDesk
from askless.desk.live.types import Mode, TicketStatus, WhenAble
from askless.errors import AsklessError
from askless.ledger.database import Database
from askless.ledger.events import CONFIGURED, FORGOTTEN, RELABELLED
from live_desks import Clock, Toy, a_desk, check, seen
from toy_desk import some_texts

EXPERTS = ("ann", "bob")


class Chance:
    """Draws what happens next; what the desk refuses is part of it."""

    def __init__(self, seed: int, clock: Clock) -> None:
        self.rng = np.random.default_rng(seed)
        self.clock = clock
        self.texts = some_texts(400, seed)
        self.done = 0
        self.refused = 0

    def step(self, toy: Toy) -> None:
        acts: list[tuple[Callable[[Toy], Any], float]] = [
            (self.send, 8.0),
            (self.answer, 7.0),
            (self.skip_or_release, 2.0),
            (self.undo, 1.5),
            (self.complain, 1.5),
            (self.change_label, 1.0),
            (self.change_example, 1.0),
            (self.configure, 0.4),
            (self.wait, 1.0),
            (self.answer_late, 1.0),
        ]
        weights = np.array([weight for _, weight in acts])
        act = acts[self.rng.choice(len(acts), p=weights / weights.sum())][0]
        try:
            act(toy)
        except AsklessError:
            self.refused += 1

    def pick(self, values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def send(self, toy: Toy) -> None:
        count = int(self.rng.integers(1, 6))
        start = max(0, self.done - int(self.rng.integers(0, 2)))  # now and then one that was sent before
        texts = self.texts[start : start + count]
        self.done = start + count
        toy.send(*texts)

    def answer(self, toy: Toy) -> None:
        who = self.pick(EXPERTS)
        ticket = toy.next(who)
        if ticket is not None:
            right = str(ticket.text)[0]
            label = right if self.rng.random() < 0.9 else self.pick("abcdx")
            toy.answer(ticket.id, label, who, answer=self.pick([None, None, "one text", "another"]))

    def answer_late(self, toy: Toy) -> None:
        toy.answer(self.any_ticket(toy, TicketStatus.WITHDRAWN), self.pick("abcdx"), self.pick(EXPERTS))

    def any_ticket(self, toy: Toy, status: TicketStatus) -> int:
        with toy.desks.database.read() as connection:
            desk = toy.desks.rows()[0].id
            found = read.tickets(connection, desk, blind=False, now=self.clock.now, status=status, limit=500).rows
        return self.pick(found).id if found else 1

    def skip_or_release(self, toy: Toy) -> None:
        act = self.pick([tickets.skip, tickets.release, tickets.claim])
        toy.do(act, self.any_ticket(toy, TicketStatus.OPEN), self.pick(EXPERTS))

    def undo(self, toy: Toy) -> None:
        status = self.pick([TicketStatus.ANSWERED, TicketStatus.ANSWERED, TicketStatus.OPEN])
        toy.do(tickets.undo, self.any_ticket(toy, status), self.pick(EXPERTS), admin=bool(self.rng.random() < 0.5))

    def complain(self, toy: Toy) -> None:
        toy.do(feedback.feedback, self.pick(self.texts[: self.done or 1]), self.pick(["a", "new", None]), "client")

    def change_label(self, toy: Toy) -> None:
        names = list(toy.do(lambda desk: list(desk.fold.labels))) or ["none"]
        act = self.pick([labels.create, labels.rename, labels.merge, labels.delete_label])
        if act is labels.create:
            toy.do(act, f"made {self.rng.integers(9)}", self.pick([None, "text"]), "ann")
        elif act is labels.rename:
            toy.do(act, self.pick(names), f"renamed {self.rng.integers(99)}", "ann")
        elif act is labels.merge:
            toy.do(act, self.pick(names), self.pick(names), "ann")
        elif self.rng.random() < 0.3:
            toy.do(act, self.pick(names), "ann")

    def change_example(self, toy: Toy) -> None:
        kind = self.pick([FORGOTTEN, RELABELLED])
        toy.do(_change_example, kind, float(self.rng.random()))

    def configure(self, toy: Toy) -> None:
        changes = self.pick([
            {"policy": "ghc:0.6"},
            {"policy": "amp:0.9"},
            {"policy": "self-tuning"},
            {"audit_rate": 0.3},
            {"audit_rate": 0.0},
            {"mode": Mode.SHADOW},
            {"mode": Mode.LIVE},
            {"when_able": WhenAble.OFFER},
            {"when_able": WhenAble.WITHDRAW},
        ])  # fmt: skip
        toy.do(lambda desk: desk.record(CONFIGURED, payload=desk.settings.changed(**changes).written()))

    def wait(self, toy: Toy) -> None:
        self.clock.pass_by(float(self.rng.choice([1, 400])))
        toy.do(again.redecide, 1000)
        if self.rng.random() < 0.5:
            toy.do(_keep_snapshot)


def _change_example(desk: LiveDesk, kind: str, place: float) -> None:
    """As the administration does it: the event, and what it changes in the table."""
    from askless.ledger import schema

    ids = list(desk.fold.examples)
    if ids:
        id = ids[int(place * len(ids))]
        queries = schema.queries
        change = queries.update().where(queries.c.id == id)
        if kind == FORGOTTEN:
            desk.record(FORGOTTEN, id, who="ann")
            desk.entry.connection.execute(change.values(example=False))
        else:
            label = list(desk.fold.labels)[int(place * len(desk.fold.labels))]
            event = desk.record(RELABELLED, id, {"label": label}, who="ann")
            values = {"status": "answered", "label": label, "probability": None, "decided": event.id, "example": True}
            desk.entry.connection.execute(change.values(values))


def _keep_snapshot(desk: LiveDesk) -> None:
    taken = snapshot.take(desk.fold, desk.row.embedder)
    assert taken is not None
    snapshot.store(desk.entry, taken)


def _at_one_event(one: Toy, two: Toy) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of both as of the same event: a worker that is idle may decide waiting tickets between two looks."""
    while True:
        here, there = one.do(lambda desk: seen(desk.fold)), two.do(lambda desk: seen(desk.fold))
        if here["last"] == there["last"]:
            return here, there


@pytest.mark.parametrize(
    ("policy", "seed"), [("ghc:0.8", 1), ("self-tuning", 2), ("amp:0.9", 3), ("toy_desk_policy:Drifting", 4)]
)
def test_whatever_happens_the_state_is_what_the_ledger_says(database: Database, policy: str, seed: int) -> None:
    clock = Clock()
    chance = Chance(seed, clock)
    with a_desk(database, clock=clock, policy=policy) as toy:
        for _ in range(30):
            chance.step(toy)
            chance.step(toy)
            toy.do(check)
        assert toy.do(lambda desk: len(desk.fold.examples)) > 5
        assert chance.refused < 40


def test_two_processes_on_one_desk_never_fork(database: Database) -> None:
    """Two sets of desks on one database, as two processes have them, take turns at random."""
    clock = Clock()
    chance = Chance(7, clock)
    with a_desk(database, clock=clock) as one, a_desk(database, clock=clock, make=False) as two:
        for _ in range(60):
            chance.step(one if chance.rng.random() < 0.5 else two)
            here, there = _at_one_event(one, two)
            assert here == there
        one.do(check)
        two.do(check)
