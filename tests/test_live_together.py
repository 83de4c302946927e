"""Many tickets answered and taken back together, against what each expert was told of them one by one."""

from __future__ import annotations

import pytest

from askless.desk.live import tickets, together
from askless.desk.live.types import QueryStatus, TicketStatus
from askless.errors import InvalidInput
from askless.ledger.database import Database
from live_desks import NAME, Clock, Toy, a_desk

TEXTS = ("a one", "a two", "a three", "b one")


def held_by(toy: Toy, clock: Clock, ids: list[int]) -> list[str | None]:
    with toy.desks.database.read() as connection:
        found = together.standings(connection, toy.desks.row(NAME).id, ids, now=clock.now)
    return [found[id].lease_by for id in ids]


def asked(toy: Toy, *texts: str) -> list[int]:
    """The tickets of these texts."""
    found = [outcome.ticket for outcome in toy.send(*texts)]
    assert None not in found
    return [id for id in found if id is not None]


def test_only_what_is_free_is_held_and_until_the_lease_ends(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock, policy="always-ask", lease_seconds=60) as toy:
        ids = asked(toy, *TEXTS)
        toy.do(tickets.claim, ids[1], "bob")
        toy.answer(ids[3], "b", "bob")
        assert toy.do(together.hold, [*ids, 10**6], "ann") == [ids[0], ids[2]]
        assert held_by(toy, clock, ids) == ["ann", "bob", "ann", None]
        clock.pass_by(61)
        assert held_by(toy, clock, ids) == [None] * 4
        assert toy.do(together.hold, ids, "ann") == ids[:3]


def test_what_is_held_is_not_settled_by_the_first_answers(database: Database) -> None:
    with a_desk(database, policy="similarity-threshold:0.99") as toy:
        ids = [outcome.ticket or 0 for outcome in toy.send("alike", "alike", keys=["one", "two"])]
        assert toy.do(together.hold, ids, "ann") == ids
        found = toy.do(together.answer, ids, "s", "ann")
        assert (found.done, found.refused, found.settled) == (ids, [], [])
        assert [toy.outcome(key).status for key in ("one", "two")] == [QueryStatus.ANSWERED] * 2
        toy.check()


def test_others_keep_theirs_and_all_of_it_is_taken_back(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock, policy="always-ask") as toy:
        ids = asked(toy, *TEXTS)
        toy.do(tickets.claim, ids[1], "bob")
        found = toy.do(together.answer, ids, "a", "ann")
        assert (found.done, found.refused) == ([ids[0], ids[2], ids[3]], [ids[1]])
        assert [toy.outcome(text).label for text in TEXTS] == ["a", None, "a", "a"]
        back = toy.do(together.undo, found.done, "ann")
        assert (back.done, back.refused) == (found.done[::-1], [])
        assert held_by(toy, clock, ids) == ["ann", "bob", "ann", "ann"]
        toy.do(together.let_go, ids, "ann")
        assert held_by(toy, clock, ids) == [None, "bob", None, None]
        assert [toy.outcome(text).status for text in TEXTS] == [QueryStatus.ASKED] * 4
        toy.check()


def test_an_answer_of_another_is_not_taken_back(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock, policy="always-ask") as toy:
        ids = asked(toy, *TEXTS)
        toy.answer(ids[0], "a", "bob")
        toy.answer(ids[1], "a", "ann")
        back = toy.do(together.undo, ids, "ann")
        assert (back.done, sorted(back.refused)) == ([ids[1]], [ids[0], ids[2], ids[3]])
        with toy.desks.database.read() as connection:
            stands = together.standings(connection, toy.desks.row(NAME).id, ids, now=clock.now)
        assert (stands[ids[0]].status, stands[ids[0]].closed_by) == (TicketStatus.ANSWERED, "bob")


def test_too_many_are_refused(database: Database) -> None:
    with a_desk(database, policy="always-ask") as toy, pytest.raises(InvalidInput, match="At most 500"):
        toy.do(together.answer, list(range(501)), "a", "ann")
