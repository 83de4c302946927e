"""Past queries with the reasons for what stands, and the story of one, against what was done at the desk."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from askless.desk.live import erase, examples, feedback, tickets
from askless.desk.live.history import Past, past
from askless.desk.live.story import story
from askless.desk.live.types import NewQuery, QueryStatus
from askless.errors import InvalidInput, UnknownQuery
from askless.ledger.database import Database
from live_desks import NAME, Clock, Toy, a_desk


def found(toy: Toy, **wanted: Any) -> dict[str, Past]:
    with toy.desks.database.read() as connection:
        return {row.key: row for row in past(connection, toy.desks.row(NAME).id, **wanted).rows}


def told(toy: Toy, key: str, **wanted: Any) -> list[str]:
    with toy.desks.database.read() as connection:
        return [step.words for step in story(connection, toy.desks.row(NAME).id, key, **wanted)]


def taught(toy: Toy) -> None:
    toy.teach("a1", "b1")


# -- past ------------------------------------------------------------------------------------------------------------
def test_each_kind_of_query_says_why_it_stands_as_it_does(database: Database) -> None:
    with a_desk(database, clock=Clock()) as toy:
        taught(toy)
        toy.send("a1", "?x", keys=["again", "words"])
        rows = found(toy)
        assert [row.status for row in rows.values()] == ["asked", "guessed", *["answered"] * 2]
        assert rows["words"].reason == "the embedder knows no word of this text"
        guess = rows["again"]
        assert guess.reason == "like 'a1' (a)"  # the same text
        assert (guess.label, guess.asker, guess.text, guess.example, guess.right) == ("a", "client", "a1", False, None)
        assert rows["b1"].reason == "answered by ann on 2026-01-01 00:00 UTC"
        assert (rows["b1"].label, rows["b1"].example) == ("b", True)
        toy.do(examples.relabel, "again", "b", "eve")
        toy.do(examples.forget, "b1", "eve")
        rows = found(toy)
        assert rows["again"].reason == "corrected by eve on 2026-01-01 00:00 UTC"
        assert (rows["again"].status, rows["again"].example) == ("answered", True)
        assert (rows["b1"].label, rows["b1"].example) == ("b", False)


def test_a_question_says_the_policys_reason(database: Database) -> None:
    with a_desk(database, policy="always-ask") as toy:
        toy.teach("a1")
        toy.send("a2")
        assert found(toy)["a2"].reason == "this policy always asks"
        assert (found(toy)["a2"].status, found(toy)["a2"].label) == ("asked", None)


def test_an_audit_says_how_the_guess_compared_until_the_answer_is_taken_back(database: Database) -> None:
    with a_desk(database, clock=Clock(), audit_rate=1.0) as toy:
        taught(toy)
        toy.send("a1", keys=["again"])
        ticket = toy.next("eve")
        toy.answer(ticket.id, "b", "eve")
        row = found(toy)["again"]
        assert row.reason == "answered by eve on 2026-01-01 00:00 UTC (the guess 'a' was wrong)"
        assert row.right is False
        toy.do(tickets.undo, ticket.id, "eve")
        row = found(toy)["again"]
        assert (row.status, row.label, row.right) == ("guessed", "a", None)
        toy.answer(ticket.id, "a", "eve")
        assert found(toy)["again"].right is True
        toy.do(examples.relabel, "again", "b", "lea")
        assert found(toy)["again"].right is True  # what the audit found stays


def test_filters_and_pages(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock) as toy:
        toy.teach("a1", "b1")
        toy.desks.submit(NAME, [NewQuery("k", "a1 100%")], "web").result(30)
        clock.pass_by(3600)
        toy.teach("a2", "b2")
        assert list(found(toy)) == ["b2", "a2", "k", "b1", "a1"]
        assert list(found(toy, search="0%")) == list(found(toy, search="k")) == list(found(toy, source="web")) == ["k"]
        assert list(found(toy, label="b")) == ["b2", "b1"]
        assert set(found(toy, status="answered")) == {k for k, row in found(toy).items() if row.status == "answered"}
        assert list(found(toy, since=clock.now)) == ["b2", "a2"]
        assert list(found(toy, until=clock.now - timedelta(seconds=1), label="a", status=QueryStatus.ANSWERED)) == [
            "a1"
        ]
        with database.read() as connection:
            desk, seen, cursor = toy.desks.row(NAME).id, [], None
            while True:
                page = past(connection, desk, cursor=cursor, limit=2)
                seen += [row.key for row in page.rows]
                cursor = page.cursor
                if cursor is None:
                    break
            assert seen == list(found(toy))
            for wrong in ({"limit": 0}, {"cursor": "x"}, {"since": clock.now, "until": clock.now}):
                with pytest.raises(InvalidInput):
                    past(connection, desk, **wrong)
            assert past(connection, desk + 1).rows == []


def test_a_blind_desk_shows_no_query_whose_ticket_is_open(database: Database) -> None:
    with a_desk(database, audit_rate=1.0) as toy:
        taught(toy)
        (guessed,) = toy.send("a1", keys=["again"])
        assert guessed.status == "guessed"
        toy.send("?x")
        assert {"again", "?x"} <= set(found(toy))
        assert set(found(toy, blind=True)) == {"a1", "b1"}
        toy.answer(toy.next("eve").id, "a", "eve")
        toy.answer(toy.next("eve").id, "a", "eve")
        assert set(found(toy, blind=True)) == set(found(toy))


def test_a_long_text_behind_a_guess_is_cut(database: Database) -> None:
    with a_desk(database, policy="chc") as toy:
        long = "a" + "long " * 60
        (asked,) = toy.send(long, keys=["first"])
        toy.answer(asked.ticket or 0, "a")
        toy.teach("b1")
        (guessed,) = toy.send(long, keys=["again"])
        assert guessed.status == "guessed"
        reason = found(toy)["again"].reason or ""
        assert len(reason) < 120
        assert reason.startswith("like 'along long ")
        assert reason.endswith("…' (a)")


# -- story -----------------------------------------------------------------------------------------------------------
def test_the_story_of_an_answer_taken_back_corrected_and_erased(database: Database) -> None:
    with a_desk(database) as toy:
        (asked,) = toy.send("a1")
        ticket: Any = asked.ticket
        toy.do(tickets.skip, ticket, "lea")
        toy.do(tickets.undo, ticket, "lea")
        toy.do(tickets.release, ticket, "lea")
        toy.answer(ticket, "a", "eve")
        toy.do(tickets.undo, ticket, "eve")
        toy.answer(ticket, "b", "eve")
        toy.do(examples.relabel, "a1", "a", "lea")
        toy.do(examples.forget, "a1", "ann")
        toy.do(feedback.feedback, "a1", "c", "client")
        erase.erase(toy.desks, NAME, ["a1"], "ann")
        assert told(toy, "a1") == [
            "sent by client",
            "not guessed: no example has been learned yet",
            "put to the experts",
            "skipped by lea",
            "a skip was taken back by lea",
            "answered 'a' by eve, a new label",
            "the answer was taken back by eve",
            "answered 'b' by eve, a new label",
            "corrected to 'a' by lea",
            "forgotten as an example by ann",
            "the label was called wrong by client",  # which one is right was erased with the text
            "put to the experts, since its asker complained",
            "text and vector were erased by ann",
        ]


def test_the_story_of_a_guess_that_was_audited(database: Database) -> None:
    with a_desk(database, audit_rate=1.0) as toy:
        taught(toy)
        toy.send("a1", keys=["again"])
        assert told(toy, "again") == [
            "sent by client",
            "guessed 'a'",
            "put to the experts as an audit, to see whether the guess is right",
        ]
        assert told(toy, "again", blind=True) == ["sent by client", "put to the experts"]
        toy.do(feedback.feedback, "again", "b", "client")
        assert told(toy, "again", blind=True) == ["sent by client", "put to the experts"]
        assert told(toy, "again")[-1] == "the label was called wrong, and 'b' right by client"
        toy.answer(toy.next("eve").id, "b", "eve")
        assert told(toy, "again", blind=True) == told(toy, "again")
        assert told(toy, "again")[-2:] == ["answered 'b' by eve", "the guess 'a' was wrong"]


def test_the_stories_of_what_waits_while_the_desk_learns(database: Database) -> None:
    for when_able, last in (
        (
            "withdraw",
            ["guessed 'a', once the desk had learned more", "the ticket was withdrawn: the desk can answer it by now"],
        ),
        ("offer", ["by now it would be guessed 'a'"]),
    ):
        with a_desk(database, when_able=when_able) as toy:
            toy.send("a1", keys=["waits"])
            toy.teach("a1", "b1", "a2", "b2")
            assert told(toy, "waits")[3:] == last
            toy.desks.delete(NAME, "admin")


def test_shadow_mode_unknown_words_and_imports(database: Database) -> None:
    from askless.desk.live.exchange import GivenExample
    from askless.desk.live.give import give

    with a_desk(database, policy="self-tuning", mode="shadow") as toy:
        give(toy.desks, NAME, [GivenExample(f"{'ab'[k % 2]}{k}", "ab"[k % 2], f"g{k}") for k in range(60)], "ann")
        assert told(toy, "g0") == ["imported as an example of 'a' by ann"]
        assert (found(toy, search="g0")["g0"].reason or "").startswith("imported by ann on ")
        toy.send("a0", keys=["sure"])
        words = told(toy, "sure")
        assert words[1].startswith("would have been guessed 'a' with probability 0.")
        assert words[2] == "put to the experts: the desk is in shadow mode and asks about everything"
        assert found(toy)["sure"].reason is None
        toy.send("?x")
        assert told(toy, "?x") == ["sent by client", "put to the experts: the embedder knows no word of this text"]
        with pytest.raises(UnknownQuery, match="nothing like it"):
            told(toy, "nothing like it")


def test_every_kind_of_event_of_a_query_has_words(database: Database) -> None:
    from askless.desk.live.standings import Standings
    from askless.desk.live.story import _SAY

    assert set(Standings()._handlers) <= {*_SAY, "decided", "retracted"}
