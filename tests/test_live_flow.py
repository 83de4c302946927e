"""The whole life of a query at a live desk, on both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from askless.desk.audits import is_audited
from askless.desk.live import again, feedback, read, tickets
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import Mode, NewQuery, QueryStatus, TicketStatus, WhenAble, Why
from askless.errors import Conflicting, Forbidden, InvalidInput, Refused, UnknownDesk, UnknownLabel, UnknownTicket
from askless.ledger import schema
from askless.ledger.database import Database
from live_desks import NAME, Clock, a_desk

AS = [f"a{k}" for k in range(12)]
BS = [f"b{k}" for k in range(12)]


def test_a_query_is_asked_answered_and_changes_the_next_decision(database: Database) -> None:
    with a_desk(database) as toy:
        (first,) = toy.send("a0")
        assert first.status is QueryStatus.ASKED
        assert first.reason == "no example has been learned yet"
        ticket = toy.next()
        assert (ticket.id, ticket.text, ticket.lease_by) == (first.ticket, "a0", "ann")
        done = toy.answer(ticket.id, " a ", answer="About a.")
        assert (done.outcome.status, done.outcome.label, done.outcome.answer) == ("answered", "a", "About a.")
        toy.teach("b0", *AS[1:6], *BS[1:6])
        (sure,) = toy.send("a0", keys=["another"])
        assert (sure.status, sure.label, sure.answer, sure.ticket) == ("guessed", "a", "About a.", None)
        assert sure.evidence
        assert {e.label for e in sure.evidence} == {"a"}
        assert {e.text for e in sure.evidence} <= set(AS)
        assert toy.outcome("another") == sure
        assert toy.outcome("a0").status is QueryStatus.ANSWERED
        toy.check()


def test_a_batch_is_decided_in_its_order_and_as_one_by_one(database: Database) -> None:
    with a_desk(database, policy="skm:n_labels=2") as toy:
        toy.teach("a0", "b0")
        batch = toy.send(*AS[1:], *BS[1:])
        assert [o.key for o in batch] == [*AS[1:], *BS[1:]]
        toy.check()  # a replay decides one after the other
        kinds = [kind for kind, _ in toy.events()]
        assert kinds.count("received") == len(AS) + len(BS)


def test_a_text_of_no_known_word_is_asked_and_its_answer_counts(database: Database) -> None:
    with a_desk(database) as toy:
        (unknown,) = toy.send("?! ")
        assert (unknown.status, unknown.reason) == ("asked", read.UNKNOWN_TEXT)
        assert toy.next().offers == ()
        toy.answer(unknown.ticket or 0, "odd")
        assert toy.do(lambda desk: desk.fold.labels["odd"].count) == 1
        toy.check()


def test_the_same_key_again_gives_the_same_outcome_and_another_text_is_refused(database: Database) -> None:
    with a_desk(database) as toy:
        (first,) = toy.send("a0", keys=["k"])
        before = toy.events()
        assert toy.send("  a0 ", keys=["k"]) == [first]
        assert toy.send("a1", "a1", keys=["m", "m"])[0].query == first.query + 1
        with pytest.raises(Conflicting, match="'k' was used for another"):
            toy.send("fresh", "a2", keys=["new", "k"])
        with pytest.raises(Conflicting, match="two different"):
            toy.send("a2", "a3", keys=["same", "same"])
        assert len(toy.events()) == len(before) + 3  # the query m, and nothing of what was refused
        toy.check()


def test_bad_queries_are_refused_before_anything_is_written(database: Database) -> None:
    with a_desk(database) as toy:
        before = toy.events()
        for query in (
            NewQuery("", "text"),
            NewQuery("k" * 201, "text"),
            NewQuery("k"),
            NewQuery("k", "   "),
            NewQuery("k", None, [1.0, float("nan"), 0.0, 0.0]),  # type: ignore[arg-type]
            NewQuery("k", None, [1.0, 0.0, 0.0]),  # type: ignore[arg-type]
            NewQuery("k", None, [0.0, 0.0, 0.0, 0.0]),  # type: ignore[arg-type]
        ):
            with pytest.raises(InvalidInput):
                toy.desks.submit(NAME, [query], "client").result(30)
        assert toy.events() == before
        with pytest.raises(UnknownDesk):
            toy.desks.submit("other", [NewQuery("k", "a")], "client").result(30)


def test_vectors_come_in_by_themselves(database: Database) -> None:
    with a_desk(database) as toy:
        query = NewQuery("v", None, [3.0, 0.0, 0.0, 0.0])  # type: ignore[arg-type]
        (outcome,) = toy.desks.submit(NAME, [query], "client").result(30)
        toy.answer(outcome.ticket or 0, "a")
        assert toy.do(lambda desk: desk.fold.near.rows[0].tolist()) == [1.0, 0.0, 0.0, 0.0]
        assert toy.desks.submit(NAME, [query], "client").result(30)[0].label == "a"
        with pytest.raises(Conflicting):
            toy.desks.submit(NAME, [NewQuery("v", None, [0.0, 1.0, 0.0, 0.0])], "client").result(30)  # type: ignore[arg-type]
        toy.check()


def test_a_paused_desk_takes_nothing_new(database: Database) -> None:
    with a_desk(database, paused=True) as toy, pytest.raises(Refused, match="paused"):
        toy.send("a0")


def test_tickets_come_most_useful_first_and_to_one_expert_at_a_time(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock, lease_seconds=60) as toy:
        one, two = (o.ticket for o in toy.send("a0", "b0"))
        assert toy.next("ann").id == one
        assert toy.next("ann").id == one  # the one that they hold
        assert toy.next("bob").id == two
        assert toy.next("cleo") is None
        with pytest.raises(Conflicting, match="held by 'ann'"):
            toy.answer(one or 0, "a", "bob")
        with pytest.raises(Conflicting, match="held by 'ann'"):
            toy.do(tickets.claim, one, "bob")
        clock.pass_by(61)
        assert toy.next("cleo").id == one
        toy.answer(two or 0, "b", "dora")  # nobody holds it any more
        with pytest.raises(Conflicting, match="answered by 'dora' already, with 'b'"):
            toy.answer(two or 0, "x", "bob")
        before = toy.events()
        assert toy.answer(two or 0, "b", "dora").outcome.label == "b"  # the same again: the same result
        assert toy.events() == before
        with pytest.raises(UnknownTicket):
            toy.do(tickets.claim, 99, "ann")
        toy.check()


def test_skip_release_and_their_undo(database: Database) -> None:
    with a_desk(database) as toy:
        one, two = (o.ticket for o in toy.send("a0", "b0"))
        assert toy.next("ann").id == one
        assert toy.do(tickets.skip, one, "ann").lease_by is None
        assert toy.next("ann").id == two
        assert toy.next("bob").id == one
        toy.do(tickets.release, one, "bob")
        toy.do(tickets.skip, two, "ann")
        assert toy.do(tickets.undo, one, "ann").lease_by == "ann"
        assert toy.next("ann").id == one
        assert toy.do(tickets.claim, two, "ann").lease_by == "ann"  # by its number it can be had
        toy.check()


def test_undo_takes_the_example_back(database: Database) -> None:
    with a_desk(database, policy="chc") as toy:
        toy.teach(*AS[:4], *BS[:4])
        before = toy.do(lambda desk: [desk.fold.policy.decide(x) for x in desk.fold.near.rows])
        (asked,) = toy.send("c1")
        ticket = asked.ticket or 0
        toy.answer(ticket, "wrong", "ann")
        guessed = toy.send("c1", keys=["again"])[0]
        assert guessed.label == "wrong"
        with pytest.raises(Forbidden, match="'ann'"):
            toy.do(tickets.undo, ticket, "bob")
        opened = toy.do(tickets.undo, ticket, "ann")
        assert (opened.status, opened.lease_by) == ("open", "ann")
        assert toy.do(lambda desk: [desk.fold.policy.decide(x) for x in desk.fold.near.rows]) == before
        assert toy.outcome("c1").status is QueryStatus.ASKED
        assert toy.outcome("again").label == "wrong"  # what was decided meanwhile stays
        toy.answer(ticket, "c", "ann")
        toy.do(tickets.undo, ticket, "boss", admin=True)
        with pytest.raises(Conflicting, match="no answer to take back"):
            toy.do(tickets.undo, ticket, "boss", admin=True)
        toy.check()


def test_labels_by_name_only_where_that_is_asked_for(database: Database) -> None:
    with a_desk(database) as toy:
        (asked,) = toy.send("a0")
        with pytest.raises(UnknownLabel, match="'typo'"):
            toy.answer(asked.ticket or 0, "typo", create=False)
        with pytest.raises(InvalidInput, match="blank"):
            toy.answer(asked.ticket or 0, "  ")
        toy.check()


def test_feedback_opens_a_ticket_and_only_an_expert_corrects(database: Database) -> None:
    with a_desk(database) as toy:
        toy.teach(*AS[:6], *BS[:6])
        (guessed,) = toy.send("a0", keys=["g"])
        assert guessed.status is QueryStatus.GUESSED
        disputed = toy.do(feedback.feedback, "g", "b", "client")
        assert (disputed.label, disputed.disputed, disputed.waits) == ("a", True, True)
        toy.do(feedback.feedback, "g", "b", "client")  # the same again changes nothing
        assert [kind for kind, _ in toy.events()].count("feedback") == 1
        ticket = toy.next()
        assert (ticket.why, ticket.guess, ticket.suggested) == (Why.FEEDBACK, "a", "b")
        assert disputed.ticket == ticket.id
        toy.answer(ticket.id, "b")
        assert toy.outcome("g").label == "b"
        assert (toy.outcome("g").ticket, toy.outcome("g").disputed) == (None, False)
        toy.check()
        toy.do(tickets.undo, ticket.id, "ann")
        back = toy.outcome("g")
        assert (back.status, back.label, back.evidence) == ("guessed", "a", guessed.evidence)
        toy.check()


def test_feedback_on_an_answer_and_on_one_that_waits(database: Database) -> None:
    with a_desk(database) as toy:
        toy.teach("a0")
        toy.do(feedback.feedback, "a0", "b", "client")
        ticket = toy.next("bob")
        toy.answer(ticket.id, "b", "bob")
        assert toy.do(lambda desk: desk.fold.examples) == {1: "b"}
        toy.do(tickets.undo, ticket.id, "bob")
        assert toy.outcome("a0").label == "a"
        assert toy.do(lambda desk: desk.fold.examples) == {1: "a"}
        toy.check()
        (waits,) = toy.send("c0")
        toy.do(feedback.feedback, "c0", "c", "client")
        shown = toy.do(tickets.show, waits.ticket)
        assert (shown.why, shown.suggested) == (Why.UNSURE, "c")
        toy.check()


def test_what_the_desk_has_become_sure_of_is_withdrawn(database: Database) -> None:
    with a_desk(database) as toy:
        outcomes = toy.send("a0", "b0", "a0", "a0", keys=["x", "b", "same", "held"])
        assert toy.do(tickets.claim, outcomes[3].ticket, "bob").lease_by == "bob"
        assert toy.answer(outcomes[1].ticket or 0, "b").settled == ()
        assert toy.answer(outcomes[0].ticket or 0, "a").settled == ("same",)
        assert toy.outcome("same").label == "a"
        assert toy.do(tickets.show, outcomes[2].ticket).status is TicketStatus.WITHDRAWN
        assert toy.outcome("held").status is QueryStatus.ASKED  # never under an expert's hands
        with pytest.raises(Conflicting, match="withdrawn: the desk has guessed 'a' since"):
            toy.do(tickets.claim, outcomes[2].ticket, "ann")
        toy.check()


def test_or_offered_with_the_guess_as_the_desk_is_set(database: Database) -> None:
    with a_desk(database, when_able=WhenAble.OFFER) as toy:
        outcomes = toy.send("a0", "b0", "a0", keys=["x", "b", "same"])
        toy.answer(outcomes[0].ticket or 0, "a")
        assert toy.answer(outcomes[1].ticket or 0, "b").settled == ()
        shown = toy.do(tickets.show, outcomes[2].ticket)
        assert (shown.status, shown.guess, shown.offers[0].label) == (TicketStatus.OPEN, "a", "a")
        toy.check()
        toy.do(tickets.undo, outcomes[1].ticket, "ann")
        toy.do(again.redecide)
        assert toy.do(tickets.show, outcomes[2].ticket).guess in (None, "a")
        toy.check()


def test_an_audit_is_guessed_for_the_asker_and_looks_like_any_ticket_to_the_expert(database: Database) -> None:
    with a_desk(database, audit_rate=0.5) as toy:
        toy.teach(*AS[:6], *BS[:6])
        outcomes = toy.send(*["a0"] * 30, keys=[f"g{k}" for k in range(30)])
        assert {o.status for o in outcomes} == {QueryStatus.GUESSED}
        assert {o.ticket for o in outcomes} == {None}
        drawn = {o.query for o in outcomes if is_audited(o.query, 0.5)}
        assert 5 < len(drawn) < 25
        waiting = [ticket for k in range(40) if (ticket := toy.next(f"expert {k}")) is not None]
        audits = [ticket for ticket in waiting if ticket.key.startswith("g")]
        assert {t.query for t in audits} == drawn
        asked = toy.send("c5", "d5")
        shown = [*audits, *(toy.do(tickets.show, o.ticket) for o in asked if o.ticket)]
        assert {(t.why, t.guess, t.probability, t.reason, t.priority) for t in shown} == {(None, None, None, None, 1.0)}
        assert {tuple(o.label for o in t.offers) for t in shown} == {("a", "b")}
        toy.answer(audits[0].id, "b", str(audits[0].lease_by))
        toy.answer(audits[1].id, "a", str(audits[1].lease_by))
        with database.read() as connection:
            found = select(schema.events.c.payload).where(schema.events.c.kind == "audited")
            verdicts = [p["right"] for p in connection.execute(found).scalars()]
        assert verdicts == [False, True]
        toy.check()


def test_in_shadow_mode_everything_is_asked_and_the_guess_recorded(database: Database) -> None:
    with a_desk(database, mode=Mode.SHADOW) as toy:
        toy.teach(*AS[:6], *BS[:6])
        (outcome,) = toy.send("a0", keys=["again"])
        assert (outcome.status, outcome.label, outcome.reason) == (QueryStatus.ASKED, None, None)
        assert toy.outcome("again") == outcome
        shown = toy.do(tickets.show, outcome.ticket)
        assert (shown.guess, shown.why) == (None, None)
        toy.answer(outcome.ticket or 0, "b")
        with database.read() as connection:
            found = select(schema.events.c.payload).where(schema.events.c.kind == "audited")
            last = connection.execute(found.order_by(schema.events.c.id.desc())).scalars().first()
        assert last == {"guess": "a", "answer": "b", "right": False, "why": "shadow"}
        toy.check()


def test_webhooks_are_told_in_the_same_transaction(database: Database) -> None:
    with a_desk(database, audit_rate=1.0) as toy:
        desk = toy.desks.row(NAME).id
        with database.write() as connection:
            kinds = ["ticket.created", "query.answered", "audit.failed"]
            hook = {"desk": desk, "url": "http://x", "secret": "s", "kinds": kinds}
            connection.execute(schema.webhooks.insert(), hook | {"created_at": Clock().now})
        toy.teach("a0", "b0")
        (audited,) = toy.send("a0", keys=["g"])
        assert audited.status is QueryStatus.GUESSED
        toy.answer(toy.next().id, "b")
        with database.read() as connection:
            found = [
                (d.kind, d.query)
                for d in connection.execute(select(schema.deliveries).order_by(schema.deliveries.c.id))
            ]
        query = audited.query
        assert found[-3:] == [("ticket.created", query), ("audit.failed", query), ("query.answered", query)]


def test_pages_of_queries_and_tickets(database: Database) -> None:
    with a_desk(database) as toy:
        toy.send(*AS, *BS)
        desk = toy.desks.row(NAME).id
        with database.read() as connection:
            first = read.queries(connection, desk, limit=15)
            second = read.queries(connection, desk, limit=15, cursor=first.cursor)
            found = [row.text for row in first.rows + second.rows]
            assert found == [*AS, *BS][::-1]
            assert second.cursor is None
            assert [row.text for row in read.queries(connection, desk, search="B1").rows] == ["b11", "b10", "b1"]
            assert read.queries(connection, desk, status=QueryStatus.GUESSED).rows == []
            waiting = read.tickets(connection, desk, blind=False, now=Clock().now, limit=5)
            assert [ticket.text for ticket in waiting.rows] == AS[:5]
            with pytest.raises(InvalidInput, match="cursor"):
                read.queries(connection, desk, cursor="1; DROP TABLE queries")


def test_a_deleted_desk_is_gone_and_its_name_free(database: Database) -> None:
    with a_desk(database) as toy, a_desk(database, make=False) as other:
        toy.teach("a0", "b0")
        assert other.outcome("a0").label == "a"
        other.send("a1")
        toy.desks.delete(NAME, "admin")
        with pytest.raises(UnknownDesk):
            toy.send("a2")
        with pytest.raises(UnknownDesk):
            other.send("a2")
        toy.desks.create(NAME, LiveSettings(policy="chc", embedder="letters"), "admin")
        assert other.send("a2")[0].status is QueryStatus.ASKED
        toy.check()
