"""Several processes at one ledger, and time that passes: what one leaves behind, another takes up."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from askless.desk.live import give, tickets
from askless.desk.live.desks import Desks
from askless.desk.live.erase import erase
from askless.desk.live.exchange import GivenExample
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import NewQuery, QueryStatus
from askless.desk.live.watch import Watch
from askless.errors import UnknownDesk
from askless.ledger import schema
from askless.ledger.database import Database
from live_desks import NAME, Clock, a_desk
from toy_desk import ledger_of, open_toy, some_texts

EXAMPLES = [GivenExample("apple", "a", "g1"), GivenExample("bear", "b", "g2")]


def soon(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def snapshots(database: Database) -> list[int]:
    with database.read() as connection:
        return list(connection.execute(select(schema.snapshots.c.event)).scalars())


# -- snapshots ---------------------------------------------------------------------------------------------------------
def test_after_an_erasure_a_new_snapshot_is_written_when_the_desk_closes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askless.desk.live.worker._SNAPSHOT_AT_CLOSE", 20)
    texts = some_texts(40)
    with a_desk(database, policy="always-ask") as toy:
        toy.teach(*texts)
    (before,) = snapshots(database)
    with a_desk(database, make=False) as toy:
        erase(toy.desks, NAME, [texts[3]], "admin")
        assert snapshots(database) == []
    (after,) = snapshots(database)
    assert after > before


def test_after_an_erasure_a_new_snapshot_is_written_when_the_desk_is_idle_but_not_for_each(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askless.desk.live.worker._SNAPSHOT_EVERY", 20)
    monkeypatch.setattr("askless.desk.live.worker._SNAPSHOT_PAUSE", 2.0)
    texts = some_texts(40)
    with a_desk(database, policy="always-ask") as toy:
        toy.teach(*texts)
        assert soon(lambda: len(snapshots(database)) == 1)
        toy.do(lambda desk: setattr(desk.fold, "saved", desk.fold.last_event))  # as if it were of the last event
        worker: Any = toy.desks._workers[NAME]
        taken = worker._snapshot_time = time.monotonic()
        for text in texts[:3]:
            erase(toy.desks, NAME, [text], "admin")
        assert worker._snapshot_time == taken or time.monotonic() - taken > 2.0
        assert soon(lambda: len(snapshots(database)) == 1)  # without a request
        assert worker._snapshot_time - taken >= 2.0
        toy.check()


# -- tickets that wait -------------------------------------------------------------------------------------------------
def test_what_an_expert_held_is_decided_again_once_the_lease_has_run_out(database: Database) -> None:
    with a_desk(database, lease_seconds=1) as toy:
        (asked,) = toy.send("apple")
        toy.do(tickets.claim, asked.ticket, "ann")
        give.give(toy.desks, NAME, EXAMPLES, "admin")
        assert soon(lambda: toy.outcome("apple").status is QueryStatus.GUESSED)  # without a request
        toy.check()


def test_what_an_expert_holds_waits_for_the_end_of_the_lease(database: Database) -> None:
    clock = Clock()
    with a_desk(database, clock=clock, lease_seconds=60) as toy:
        (asked,) = toy.send("apple")
        toy.do(tickets.claim, asked.ticket, "ann")
        give.give(toy.desks, NAME, EXAMPLES, "admin")
        assert soon(lambda: toy.do(lambda desk: list(desk.held)) == [asked.query])
        clock.pass_by(59)
        toy.do(lambda desk: None)
        assert toy.do(lambda desk: dict(desk.held)) == {asked.query: clock.now + timedelta(seconds=1)}
        assert toy.outcome("apple").status is QueryStatus.ASKED
        clock.pass_by(2)
        toy.do(lambda desk: None)
        assert soon(lambda: toy.outcome("apple").status is QueryStatus.GUESSED)
        toy.check()


def test_the_answer_of_another_process_makes_what_waits_here_due(database: Database) -> None:
    with a_desk(database, policy="always-ask") as one, a_desk(database, make=False) as two:
        first, second = one.send("apple", "bear")
        assert soon(lambda: two.do(lambda desk: not desk.due))
        two.desks._heard = lambda desk, event: None  # type: ignore[method-assign]  # it is not told of the answer
        two.desks._watch._callback = lambda desk, event: None  # type: ignore[union-attr]
        one.answer(first.ticket or 0, "a")
        assert two.do(lambda desk: list(desk.due)) == [second.query]
        two.check()


# -- desks that come and go --------------------------------------------------------------------------------------------
def test_a_desk_deleted_and_made_anew_is_served_by_another_process_at_once(database: Database) -> None:
    with a_desk(database) as one, a_desk(database, make=False) as two:
        one.send("apple")
        two.send("bear")
        one.desks.delete(NAME, "admin")
        with pytest.raises(UnknownDesk):
            two.send("bear")
        one.desks.create(NAME, LiveSettings(policy="ghc:0.8", embedder="letters"), "admin")
        two.send("cat")
        one.desks.delete(NAME, "admin")
        one.desks.create(NAME, LiveSettings(policy="always-ask", embedder="letters"), "admin")
        (outcome,) = two.send("dog")
        assert outcome.status is QueryStatus.ASKED
        assert two.do(lambda desk: desk.settings.policy) == "always-ask"
        assert two.desks._workers[NAME].desk == one.desks.row(NAME).id
        two.check()


def test_desks_of_the_command_line_are_not_of_the_service(tmp_path: Path) -> None:
    desk = open_toy(tmp_path / "a.db", ["apple", "bear"])
    ledger_of(desk).close()
    with Database(tmp_path / "a.db") as database:
        database.prepare()
        with Desks(database, listen=False) as desks:
            assert desks.rows() == []
            with pytest.raises(UnknownDesk):
                desks.delete("toy", "admin")
            with pytest.raises(UnknownDesk):
                desks.submit("toy", [NewQuery("q", "apple")], "client")
        with database.read() as connection:
            assert connection.execute(select(schema.desks.c.name)).scalars().all() == ["toy"]


# -- news --------------------------------------------------------------------------------------------------------------
def test_a_deleted_desk_does_not_end_the_watch(database: Database) -> None:
    heard: list[tuple[int, int]] = []
    settings = LiveSettings(policy="ghc:0.8", embedder="letters")
    with a_desk(database) as toy:
        gone = toy.desks.create("gone", settings, "admin")
        watch = Watch(database, lambda desk, event: heard.append((desk, event)))
        try:
            toy.desks.delete("gone", "admin")
            time.sleep(0.6)  # two looks
            (outcome,) = toy.send("apple")
            row = toy.desks.row(NAME)
            assert soon(lambda: any(desk == row.id and event >= outcome.event for desk, event in heard))
            assert gone.id not in [desk for desk, event in heard if event > outcome.event]
        finally:
            watch.close()


def test_a_callback_that_fails_does_not_end_the_watch(database: Database) -> None:
    calls: list[int] = []

    def fail(desk: int, event: int) -> None:
        calls.append(event)
        raise RuntimeError("a mistake")

    with a_desk(database) as toy:
        watch = Watch(database, fail)
        try:
            toy.send("apple")
            assert soon(lambda: len(calls) > 0)
            before = len(calls)
            (outcome,) = toy.send("bear")
            assert soon(lambda: len(calls) > before and max(calls) >= outcome.event)
        finally:
            watch.close()


@pytest.mark.parametrize("message", [{"desk": "x", "event": 1}, {"desk": 1, "event": None}, {"desk": [], "event": 1}])
def test_a_message_of_another_program_is_passed_by(
    tmp_path: Path, message: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[tuple[int, int]] = []
    with Database(tmp_path / "a.db") as database:
        database.prepare()
        watch = Watch(database, lambda desk, event: heard.append((desk, event)))
        try:
            with caplog.at_level(logging.WARNING):
                watch._told(message)
            watch._told({"desk": 1, "event": 7})
        finally:
            watch.close()
    assert heard == [(1, 7)]
    assert "not of askless" in caplog.text


def test_an_erasure_by_another_process_is_known_to_have_taken_the_snapshot(database: Database) -> None:
    with a_desk(database, policy="always-ask") as one, a_desk(database, make=False) as two:
        texts = some_texts(10)
        one.teach(*texts)
        two.do(lambda desk: setattr(desk.fold, "saved", desk.fold.last_event))
        erase(one.desks, NAME, [texts[0]], "admin")
        assert two.do(lambda desk: desk.fold.saved) == 0
