"""What experts see of tickets, and what is taken back with an answer: on both databases."""

from __future__ import annotations

import pytest

from askless.desk.live import again, examples, feedback, labels, read, tickets
from askless.desk.live.erase import erase
from askless.desk.live.types import QueryStatus, TicketStatus
from askless.desk.live.verify import verify
from askless.errors import Conflicting
from askless.ledger.database import Database
from live_desks import NAME, Clock, Toy, a_desk


def known(toy: Toy) -> dict[str, str | None]:
    """The labels with their answer texts."""
    with toy.desks.database.read() as connection:
        return {label.name: label.answer for label in labels.rows(connection, toy.desks.row(NAME).id)}


def test_what_an_expert_skipped_comes_back_when_nothing_else_is_free(database: Database) -> None:
    with a_desk(database) as toy:
        one, two = (o.ticket for o in toy.send("a0", "b0"))
        for expected in (one, two, one, two):  # the one skipped longest ago
            assert toy.next("ann").id == expected
            toy.do(tickets.skip, expected, "ann")
        (three,) = (o.ticket for o in toy.send("c0"))
        assert toy.next("ann").id == three  # one that they have not seen goes first
        assert toy.next("bob").id == one
        toy.do(tickets.skip, three, "ann")
        assert toy.next("ann").id == two  # what another holds does not come
        toy.check()


def test_undo_puts_the_answer_text_back_and_takes_away_the_label_it_made(database: Database) -> None:
    with a_desk(database, policy="always-ask") as toy:
        one, two, three = (o.ticket or 0 for o in toy.send("a0", "a1", "c0"))
        toy.answer(one, "a", answer="About a.")
        toy.answer(two, "a", answer="A slip.")
        toy.answer(three, "made", answer="New.")
        assert known(toy) == {"a": "A slip.", "made": "New."}
        toy.do(tickets.undo, two, "ann")
        assert known(toy) == {"a": "About a.", "made": "New."}
        toy.check()
        toy.do(tickets.undo, three, "ann")
        assert known(toy) == {"a": "About a."}
        toy.check()
        toy.answer(three, "made", answer="Once more.")  # and it can be made again
        assert toy.outcome("c0").answer == "Once more."
        toy.check()


def test_undo_leaves_a_label_alone_that_was_changed_or_used_since(database: Database) -> None:
    with a_desk(database, policy="always-ask") as toy:
        one, two, three, four = (o.ticket or 0 for o in toy.send("a0", "a1", "c0", "d0"))
        toy.answer(one, "a", answer="About a.")
        toy.answer(two, "a", answer="A slip.")
        toy.do(labels.set_answer, "a", "By an admin.", "boss")
        toy.do(tickets.undo, two, "ann")
        assert known(toy) == {"a": "By an admin."}
        toy.do(tickets.undo, one, "ann")
        assert known(toy) == {"a": "By an admin."}
        toy.answer(three, "c", answer="About c.")
        toy.answer(four, "c", answer="About d.")
        toy.do(labels.rename, "c", "cd", "boss")
        toy.do(tickets.undo, four, "ann")
        assert known(toy) == {"a": "By an admin.", "cd": "About c."}  # under its name now
        toy.answer(four, "cd")
        toy.do(tickets.undo, three, "ann")
        assert "cd" in known(toy)  # another query stands under it
        toy.check()


def test_undo_keeps_what_askers_suggested(database: Database) -> None:
    with a_desk(database, policy="always-ask") as toy:
        toy.teach("a0")
        toy.do(feedback.feedback, "a0", "new", "client")
        ticket = toy.next().id
        toy.answer(ticket, "new")
        opened = toy.do(tickets.undo, ticket, "ann")
        assert (opened.suggested, known(toy)) == ("new", {"a": None})
        assert toy.do(lambda desk: desk.fold.examples) == {1: "a"}
        toy.check()


def test_a_complaint_about_an_audited_guess_is_known_as_one(database: Database) -> None:
    with a_desk(database, audit_rate=1.0) as toy:
        toy.teach("a0", "b0")
        (guessed,) = toy.send("a0", keys=["g"])
        assert (guessed.status, guessed.ticket) == ("guessed", None)
        assert (toy.outcome("g").disputed, toy.outcome("g").ticket) == (False, None)  # that it is audited stays unsaid
        found = toy.do(feedback.feedback, "g", None, "client")
        assert found.disputed
        assert found.ticket == toy.next().id
        toy.do(feedback.feedback, "g", None, "client")
        assert [kind for kind, _ in toy.events()].count("feedback") == 1
        toy.answer(found.ticket, "a")
        assert not toy.outcome("g").disputed
        toy.check()


def test_a_list_of_tickets_gives_the_reason_that_each_ticket_gives(database: Database) -> None:
    with a_desk(database, policy="always-ask") as toy:
        toy.teach("a0", "b0")
        toy.send("c0", "?! ")
        with database.read() as connection:
            page = read.tickets(connection, toy.desks.row(NAME).id, blind=False, now=Clock().now)
        waiting = [ticket for ticket in page.rows if ticket.status is TicketStatus.OPEN]
        assert len(waiting) == 2
        assert all(ticket.reason for ticket in waiting)
        assert [t.reason for t in waiting] == [toy.do(tickets.show, t.id).reason for t in waiting]


def test_every_offer_with_an_example_says_how_far_that_is(database: Database) -> None:
    with a_desk(database) as toy:
        toy.teach(*(f"{letter}{k}" for k in range(6) for letter in "ab"))
        (guessed,) = toy.send("a0", keys=["g"])
        shown = toy.do(tickets.show, toy.do(feedback.feedback, guessed.key, None, "client").ticket)
        assert {offer.label for offer in shown.offers} == {"a", "b"}
        assert all(offer.example is not None and offer.distance is not None for offer in shown.offers)


def test_undo_brings_back_what_stood_though_it_was_no_example(database: Database) -> None:
    with a_desk(database, policy="always-ask") as toy:
        ticket = toy.send("a0")[0].ticket or 0
        toy.answer(ticket, "a")
        toy.do(examples.forget, "a0", "ann")
        toy.do(feedback.feedback, "a0", "b", "client")
        toy.answer(ticket, "b")
        toy.do(tickets.undo, ticket, "ann")
        assert (toy.outcome("a0").status, toy.outcome("a0").label) == ("answered", "a")
        toy.check()


def test_undo_brings_back_a_guess_whose_label_was_deleted_before(database: Database) -> None:
    with a_desk(database, policy="ghc:0.9") as toy:
        toy.teach("a0", "b0", "c0")
        guess = toy.send("a1")[0]
        assert guess.status == "guessed"
        disputed = toy.do(feedback.feedback, "a1", None, "client")
        toy.do(labels.delete_label, guess.label, "boss")
        toy.answer(disputed.ticket, "b")
        toy.do(tickets.undo, disputed.ticket, "ann")
        assert (toy.outcome("a1").status, toy.outcome("a1").label) == ("guessed", guess.label)
        toy.check()


def _withdrawn(toy: Toy) -> int:
    """The ticket of the query "late", which the desk has guessed "a" meanwhile."""
    outcomes = toy.send("a0", "b0", "a0", keys=["x", "y", "late"])
    toy.answer(outcomes[1].ticket or 0, "b")
    assert toy.answer(outcomes[0].ticket or 0, "a").settled == ("late",)
    return outcomes[2].ticket or 0


def test_an_answer_to_a_withdrawn_ticket_is_the_experts_word(database: Database) -> None:
    with a_desk(database) as toy:
        ticket = _withdrawn(toy)
        for _ in range(2):  # sent again it is the same answer
            outcome = toy.answer(ticket, "c").outcome
            assert (outcome.status, outcome.label) == (QueryStatus.ANSWERED, "c")
        assert toy.do(lambda desk: [*desk.fold.examples.values()]) == ["b", "a", "c"]
        shown = toy.do(tickets.show, ticket)
        assert (shown.status, shown.closed_by, shown.label) == (TicketStatus.ANSWERED, "ann", "c")
        assert toy.events()[-2:] == [("label made", None), ("answered", outcome.query)]
        with pytest.raises(Conflicting, match="was answered by 'ann' already, with 'c'"):
            toy.answer(ticket, "a", "bob")
        toy.check()
    assert verify(database, NAME).sound


def test_a_late_answer_taken_back_leaves_the_guess_and_an_open_ticket(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock) as toy:
        ticket = _withdrawn(toy)
        guess = toy.outcome("late")
        toy.answer(ticket, "c")
        back = toy.do(tickets.undo, ticket, "ann")
        assert (back.status, back.lease_by) == (TicketStatus.OPEN, "ann")
        assert toy.outcome("late")._replace(event=guess.event) == guess
        clock.pass_by(1000)
        assert toy.do(again.redecide, 1000) == ()  # an expert is to look at it, though the desk is sure
        assert toy.do(feedback.feedback, "late", "b", "client").disputed
        assert toy.do(again.redecide, 1000) == ()
        toy.check()
        toy.answer(ticket, "b", "bob")
        assert toy.outcome("late").label == "b"
        toy.check()
    assert verify(database, NAME).sound


def test_a_withdrawn_ticket_takes_no_answer_once_its_query_was_corrected_or_erased(database: Database) -> None:
    with a_desk(database) as toy:
        ticket = _withdrawn(toy)
        toy.do(examples.relabel, "late", "b", "bob")
        with pytest.raises(Conflicting, match="an expert has corrected that to 'b'"):
            toy.answer(ticket, "c")
        erase(toy.desks, NAME, ["late"], "admin")
        with pytest.raises(Conflicting, match="its query was erased"):
            toy.answer(ticket, "c")
        toy.check()
