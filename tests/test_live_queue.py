"""The queue of open tickets: filters, orders and pages, against the tickets themselves; blind where it must be."""

from __future__ import annotations

from typing import Any

import pytest

from askless.desk.live import feedback, labels, queue, read, tickets
from askless.desk.live.exchange import GivenExample
from askless.desk.live.give import give
from askless.desk.live.queue import Order, QueueRow
from askless.desk.live.types import Ticket, TicketStatus, Why
from askless.errors import InvalidInput
from askless.ledger.database import Database
from askless.ledger.entry import events_after
from askless.types import Costs
from live_desks import NAME, Clock, Toy, a_desk
from toy_desk import some_texts

ASKING = Costs(0.9, 1, -10)  # questions are cheap, so that many wait


def lines(toy: Toy, clock: Clock, **wanted: Any) -> tuple[list[QueueRow], int]:
    wanted = {"blind": False, "now": clock.now} | wanted
    with toy.desks.database.read() as connection:
        return queue.waiting(connection, toy.desks.row(NAME).id, **wanted)


def keys(toy: Toy, clock: Clock, **wanted: Any) -> list[str]:
    return [row.key for row in lines(toy, clock, **wanted)[0]]


def opened(toy: Toy, clock: Clock, blind: bool = False) -> list[Ticket]:
    with toy.desks.database.read() as connection:
        desk = toy.desks.row(NAME).id
        page = read.tickets(connection, desk, blind=blind, now=clock.now, status=TicketStatus.OPEN, limit=500)
        return page.rows


def fill(toy: Toy, clock: Clock, count: int = 40) -> None:
    """Examples that the policy has learned from, and texts that wait, one every minute."""
    known = [GivenExample(f"{'abcd'[k % 4]}{k}", "abcd"[k % 4], f"g{k}") for k in range(60)]
    give(toy.desks, NAME, known, "ann")
    for text in some_texts(count, seed=5):
        clock.pass_by(60)
        toy.send(text)


def recorded(toy: Toy) -> dict[int, tuple[str, float]]:
    """The label held likeliest, and its probability, by query: as the decisions say."""
    with toy.desks.database.read() as connection:
        told = [(e.query, e.payload) for e in events_after(connection, toy.desks.row(NAME).id) if e.kind == "decided"]
    return {
        query or 0: (d["label"], d["probability"]) if d["action"] == "guess" else tuple(d["suggestions"][0][::3])
        for query, d in told
    }


def test_lines_say_what_the_tickets_and_the_decisions_say(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock, policy="self-tuning", costs=ASKING) as toy:
        fill(toy, clock)
        held, all_open = toy.next("eve"), {ticket.id: ticket for ticket in opened(toy, clock)}
        rows, total = lines(toy, clock, limit=500)
        assert total == len(rows) == len(all_open) > 10
        likeliest = recorded(toy)
        for row in rows:
            ticket = all_open[row.id]
            for name in ("key", "text", "opened_at", "asker", "why", "suggested", "lease_by", "lease_until"):
                assert getattr(row, name) == getattr(ticket, name), name
            assert (row.label, row.probability) == likeliest.get(ticket.query, (None, None))
        assert [row.id for row in rows if row.lease_by == "eve"] == [held.id]
        assert {row.why for row in rows} == {Why.UNSURE, Why.UNKNOWN}
        clock.pass_by(3600)
        assert all(row.lease_by is None and row.lease_until is None for row in lines(toy, clock)[0])


def test_orders_and_pages(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock, policy="self-tuning", costs=ASKING) as toy:
        fill(toy, clock)
        by_age = [ticket.key for ticket in opened(toy, clock)]
        by_use = [t.key for t in sorted(opened(toy, clock), key=lambda t: (-t.priority, t.id))]
        assert by_use != by_age
        assert keys(toy, clock, order="oldest") == by_age
        assert keys(toy, clock, order="newest") == by_age[::-1]
        assert keys(toy, clock) == keys(toy, clock, order=Order.USEFUL) == by_use
        assert toy.next("eve").key == by_use[0]
        for start in (0, 3, len(by_age) - 1, len(by_age), 1000):
            rows, total = lines(toy, clock, order="oldest", offset=start, limit=3)
            assert [row.key for row in rows] == by_age[start : start + 3]
            assert total == len(by_age)
        for wrong in ({"order": "size"}, {"limit": 0}, {"limit": 501}, {"offset": -1}):
            with pytest.raises(InvalidInput):
                lines(toy, clock, **wrong)


def test_filters(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock, policy="self-tuning", costs=ASKING) as toy:
        fill(toy, clock)
        rows, _ = lines(toy, clock)
        for label in ("a", "b", "nothing"):
            found, total = lines(toy, clock, label=label, limit=2)
            expected = [row for row in rows if row.label == label]
            assert (found, total) == (expected[:2], len(expected))
        for why in Why:
            assert lines(toy, clock, why=why)[0] == [row for row in rows if row.why == why]
        one = rows[3]
        assert keys(toy, clock, search=str(one.text).upper()) == [one.key]
        assert keys(toy, clock, search="%") == []
        assert keys(toy, clock, search=one.key, label=one.label, why=one.why) == [one.key]


def test_labels_go_by_the_names_that_they_have_now(database: Database) -> None:
    clock = Clock()
    with a_desk(
        database, clock=clock, policy="self-tuning", costs=ASKING, mode="shadow"
    ) as toy:  # none is settled meanwhile
        fill(toy, clock)
        before = {label: keys(toy, clock, label=label) for label in "abcd"}
        assert all(before.values())
        toy.do(labels.rename, "a", "first", "ann")
        toy.do(labels.create, "a", None, "ann")  # another one
        toy.do(labels.rename, "first", "one", "ann")
        toy.do(labels.merge, "c", "b", "ann")
        toy.do(labels.delete_label, "d", "ann")
        shown: dict[str | None, set[str]] = {}
        for row in lines(toy, clock)[0]:
            shown.setdefault(row.label, set()).add(row.key)
            assert (row.label is None) == (row.probability is None)
        assert set(shown) == {"one", "b", None}
        assert set(keys(toy, clock, label="one")) == shown["one"] == set(before["a"])
        assert set(keys(toy, clock, label="b")) == shown["b"] == {*before["b"], *before["c"]}
        assert set(before["d"]) < shown[None]  # and what the embedder knows no word of
        for gone in ("a", "first", "c", "d"):
            assert keys(toy, clock, label=gone) == []


@pytest.mark.parametrize("settings", [{"audit_rate": 0.5}, {"mode": "shadow"}])
def test_a_blind_desk_does_not_tell_audits_from_other_tickets(database: Database, settings: dict[str, Any]) -> None:
    clock = Clock()
    with a_desk(database, clock=clock, policy="self-tuning", **settings) as toy:
        fill(toy, clock)
        toy.do(feedback.feedback, opened(toy, clock)[0].key, "z", "client")
        rows, total = lines(toy, clock, blind=True)
        assert {row.why for row in lines(toy, clock)[0]} > {Why.AUDIT} or settings == {"mode": "shadow"}
        assert total == len(opened(toy, clock)) == len(rows)
        shown = {ticket.id: ticket for ticket in opened(toy, clock, blind=True)}
        for row in rows:
            assert (row.why, row.label, row.probability) == (None, None, None)
            assert row.suggested == shown[row.id].suggested
        for label in "abcd":
            assert lines(toy, clock, blind=True, label=label) == ([], 0)
        assert [row.suggested for row in lines(toy, clock, blind=True, label="z")[0]] == ["z"]
        with pytest.raises(InvalidInput, match="why"):
            lines(toy, clock, blind=True, why=Why.AUDIT)


def test_a_complaint_about_an_experts_answer_has_no_label_of_the_policys(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock) as toy:
        toy.teach("a1", "b1")
        toy.send("a1", keys=["again"])
        toy.do(feedback.feedback, "b1", "a", "client")
        toy.do(feedback.feedback, "again", None, "client")
        rows = {row.key: row for row in lines(toy, clock)[0]}
        assert (rows["b1"].label, rows["b1"].suggested, rows["b1"].why) == (None, "a", Why.FEEDBACK)
        assert (rows["again"].label, rows["again"].suggested) == ("a", None)
        assert keys(toy, clock, label="a") == ["again"]


def test_only_what_is_open_at_the_desk_counts(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock) as toy:
        assert lines(toy, clock) == ([], 0)
        (first, _) = toy.send("a1", "b1")
        toy.answer(first.ticket or 0, "a")
        assert keys(toy, clock) == ["b1"]
        toy.do(tickets.undo, first.ticket or 0, "ann")
        assert keys(toy, clock) == ["a1", "b1"]
        with database.read() as connection:
            assert queue.waiting(connection, toy.desks.row(NAME).id + 1, now=clock.now, blind=False) == ([], 0)
