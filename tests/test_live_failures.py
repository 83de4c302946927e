"""What fails leaves nothing behind: a commit, an operation, a process that is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from askless.desk.live import tickets
from askless.desk.live.desk import LiveDesk
from askless.desk.live.desks import Desks
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import NewQuery
from askless.errors import Conflicting, Unavailable
from askless.ledger.database import Database
from askless.ledger.entry import Entry
from live_desks import NAME, a_desk, seen
from toy_desk import Letters


@contextmanager
def broken_commits(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every transaction of a desk fails when it is about to end, after all was written."""
    whole = database.desk

    @contextmanager
    def broken(desk: int) -> Iterator[Entry]:
        with whole(desk) as entry:
            yield entry
            raise Unavailable("The disk is full.") from OperationalError("COMMIT", {}, Exception("disk full"))

    with monkeypatch.context() as patch:
        patch.setattr(database, "desk", broken)
        yield


def test_a_failed_commit_leaves_nothing_and_the_desk_goes_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_desk(database, policy="chc") as toy:
        toy.teach("a0", "b0", "a1", "b1")
        (waiting,) = toy.send("c0")
        before, events = toy.do(lambda desk: seen(desk.fold)), toy.events()
        with broken_commits(database, monkeypatch):
            for act in (lambda: toy.send("d0"), lambda: toy.answer(waiting.ticket or 0, "c"), lambda: toy.next("bob")):
                with pytest.raises(Unavailable, match="disk is full"):
                    act()
        assert toy.events() == events
        assert toy.do(lambda desk: seen(desk.fold)) == before
        toy.answer(waiting.ticket or 0, "c")  # the same again works
        toy.send("d0")
        toy.check()


def test_an_operation_that_raises_takes_its_own_writes_back_and_no_others(database: Database) -> None:
    def half_done(desk: LiveDesk) -> None:
        tickets.answer(desk, 1, "wrong", "ann")
        raise Conflicting("changed my mind")

    def bug(desk: LiveDesk) -> None:
        tickets.answer(desk, 1, "wrong", "ann")
        raise ZeroDivisionError("a mistake of the programmer")

    with a_desk(database) as toy:
        toy.send("a0", "b0")
        before = toy.do(lambda desk: seen(desk.fold))
        waits = [toy.desks.run(NAME, lambda desk: time.sleep(0.2))]  # so that the next ones share a transaction
        good = toy.desks.run(NAME, lambda desk: tickets.answer(desk, 2, "b", "bob"))
        bad, worse = toy.desks.run(NAME, half_done), toy.desks.run(NAME, bug)
        last = toy.desks.run(NAME, lambda desk: tickets.show(desk, 1).status)
        assert waits[0].result(30) is None
        with pytest.raises(Conflicting, match="changed my mind"):
            bad.result(30)
        with pytest.raises(ZeroDivisionError):
            worse.result(30)
        assert good.result(30).outcome.label == "b"
        assert last.result(30) == "open"
        assert toy.do(lambda desk: seen(desk.fold)) != before
        toy.check()


def test_one_bad_submission_among_many_is_refused_alone(database: Database) -> None:
    with a_desk(database) as toy:
        toy.send("a0", keys=["k"])
        wait = toy.desks.run(NAME, lambda desk: time.sleep(0.2))
        futures = [
            toy.desks.submit(NAME, [NewQuery(key, text)], "client")
            for key, text in (("m", "a1"), ("k", "other"), ("n", "b1"), ("m", "a1"))
        ]
        wait.result(30)
        assert futures[0].result(30) == futures[3].result(30)
        assert futures[2].result(30)[0].key == "n"
        with pytest.raises(Conflicting):
            futures[1].result(30)
        toy.check()


def test_a_desk_that_is_closed_says_so_and_finishes_what_it_was_given(database: Database) -> None:
    with a_desk(database) as toy:
        future = toy.desks.run(NAME, lambda desk: time.sleep(0.1))
        toy.desks.close()
        assert future.done()
        with pytest.raises(Unavailable, match="closed"):
            toy.send("a0")


_SCRIPT = """
import sys, json
sys.path.insert(0, sys.argv[2])
from askless.desk.live import tickets
from askless.desk.live.desks import Desks
from askless.desk.live.types import NewQuery
from askless.ledger.database import Database
from toy_desk import Letters
desks = Desks(Database(sys.argv[1]), embedders=lambda spec: Letters())
start = int(sys.argv[3])
for k in range(start, start + 4000):
    text = "abcd"[k % 4] + str(k)
    futures = [desks.submit("toy", [NewQuery(f"{text}.{j}", text + str(j))], "client") for j in range(3)]
    for future in futures:
        (outcome,) = future.result()
        print(json.dumps(["decided", outcome.key, outcome.status, outcome.label]), flush=True)
        if outcome.ticket is not None:
            try:
                desks.run("toy", lambda desk: tickets.answer(desk, outcome.ticket, text[0], "ann")).result()
            except Exception as error:
                continue  # withdrawn meanwhile
            print(json.dumps(["answered", outcome.key, text[0]]), flush=True)
"""


def test_killed_at_any_moment_nothing_acknowledged_is_lost_and_nothing_doubled(database_address: str) -> None:
    """A process is killed in the middle of its work, twice; what it said was done is done."""
    folder = str(Path(__file__).parent)
    with Database(database_address) as database:
        with Desks(database, embedders=lambda spec: Letters()) as desks:
            desks.create(NAME, LiveSettings(policy="amp:0.9", embedder="letters"), "admin")
        told: list[list[Any]] = []
        for run in range(2):
            command = [sys.executable, "-c", _SCRIPT, database_address, folder, str(1000 * run)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for _ in range(40 + 17 * run):
                    told.append(json.loads(process.stdout.readline()))
                process.send_signal(signal.SIGKILL)
                told += [json.loads(line) for line in process.stdout if line.endswith("\n")]
        with a_desk(database, make=False) as toy:
            toy.check()
            for kind, key, *what in told:
                stands = toy.outcome(key)
                if kind == "answered":
                    assert (stands.status, stands.label) == ("answered", what[0])
                else:
                    assert stands.status == what[0] or stands.status in ("answered", "guessed")
            received = [query for kind, query in toy.events() if kind == "received"]
            assert len(received) == len(set(received))


def test_a_caller_who_has_gone_troubles_nobody(database: Database) -> None:
    with a_desk(database) as toy:
        toy.send("a0")
        wait = toy.desks.run(NAME, lambda desk: time.sleep(0.2))
        gone = [toy.desks.submit(NAME, [NewQuery(f"k{k}", "a1")], "client") for k in range(3)]
        bad = toy.desks.submit(NAME, [NewQuery("bad", None, [1.0])], "client")  # type: ignore[arg-type]
        run = toy.desks.run(NAME, lambda desk: 1)
        for future in (*gone, bad, run):
            future.cancel()
        wait.result(30)
        assert toy.send("a2")[0].key == "a2"
        toy.check()
