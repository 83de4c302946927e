"""The ledger in PostgreSQL: what only a server does, how it goes and comes, and the news of other processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, text

from askless.errors import Conflicting, InvalidInput, Unavailable
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.listen import Listener
from ledger_rows import add_desk, events_of
from postgres import Cluster, wait_until


@pytest.fixture
def served(postgres: Cluster) -> Iterator[Database]:
    with Database(postgres.new()) as database:
        database.prepare()
        yield database


def test_desks_in_postgresql_do_not_wait_for_each_other(served: Database) -> None:
    one, two = add_desk(served, "one"), add_desk(served, "two")
    with served.desk(one) as first, served.desk(two) as second:
        second.append(kinds.ASKED)
        first.append(kinds.ASKED)


def test_a_sign_that_postgresql_cannot_store_is_one_sentence(served: Database) -> None:
    row = {"desk": add_desk(served), "key": "k", "text": "a\0b"}
    with pytest.raises(InvalidInput, match=r"cannot be stored.*nothing was changed"), served.write() as connection:
        connection.execute(insert(schema.queries), row)


# -- the server goes and comes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_after_a_restart_of_the_server_the_next_call_works(served: Database, postgres: Cluster, how: str) -> None:
    desk = add_desk(served)
    with served.desk(desk) as entry:
        kept = entry.append(kinds.ASKED)
    postgres.restart(how)
    assert events_of(served, desk) == [kept]
    with served.desk(desk) as entry:
        entry.append(kinds.ANSWERED)
    assert len(events_of(served, desk)) == 2


def test_a_server_that_goes_in_the_middle_undoes_the_transaction(served: Database, postgres: Cluster) -> None:
    desk = add_desk(served)

    def answer() -> None:
        with served.desk(desk) as entry:
            entry.append(kinds.ASKED)
            postgres.stop()
            for _ in range(2):
                with pytest.raises(Unavailable), entry.savepoint():
                    entry.append(kinds.ANSWERED)

    with pytest.raises(Unavailable, match="not done; try again"):
        answer()
    with pytest.raises(Unavailable, match="refused"):
        events_of(served, desk)
    postgres.start()
    assert events_of(served, desk) == []


def test_a_connection_that_is_cut_undoes_the_transaction(served: Database, postgres: Cluster) -> None:
    desk = add_desk(served)

    def answer() -> None:
        with served.desk(desk) as entry:
            entry.append(kinds.ASKED)
            pid = entry.connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            postgres.execute(f"SELECT pg_terminate_backend({pid})")

    with pytest.raises(Unavailable, match="not done; try again"):
        answer()
    assert events_of(served, desk) == []


CLUSTER = """
import os, signal
from postgres import Cluster, binaries
cluster = Cluster(binaries())
print(cluster.folder, cluster.new(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_test_run_leaves_no_server_behind(postgres: Cluster) -> None:
    command = [sys.executable, "-c", CLUSTER]
    killed = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    folder, url = killed.stdout.split()
    wait_until(lambda: not Path(folder).exists(), 60)
    with Database(url) as database, pytest.raises(Unavailable, match="refused"):
        database.prepare()


# -- news of other processes --------------------------------------------------------------------------------------


def test_a_listener_hears_what_was_committed_and_nothing_else(served: Database) -> None:
    desk, heard = add_desk(served), []
    with Listener(served, heard.append), Database(served.url.render_as_string(False)) as other:
        wait_until(lambda: heard == [{}])
        with pytest.raises(Conflicting):
            _notify_and_fail(other, desk)
        with other.desk(desk) as entry:
            event = entry.append(kinds.ASKED)
            entry.notify({"desk": desk, "event": event.id})
        wait_until(lambda: len(heard) > 1)
        assert heard == [{}, {"desk": desk, "event": event.id}]
        with other.write() as connection:
            connection.execute(text("NOTIFY askless, 'from another program'"))
        wait_until(lambda: len(heard) > 2)
        assert heard[2:] == [{}]  # look at everything
    with served.desk(desk) as entry:
        entry.notify({"desk": desk, "event": event.id + 1})
    assert len(heard) == 3


def _notify_and_fail(database: Database, desk: int) -> None:
    with database.desk(desk) as entry:
        entry.notify({"desk": desk, "event": 0})
        entry.append(kinds.ASKED, query=99)


def test_a_listener_comes_back_after_the_server(served: Database, postgres: Cluster) -> None:
    desk, heard = add_desk(served), []
    with Listener(served, heard.append):
        wait_until(lambda: heard == [{}])
        postgres.restart("immediate")
        wait_until(lambda: heard == [{}, {}])  # told to look at all that it may have missed
        with served.desk(desk) as entry:
            entry.notify({"desk": desk, "event": 1})
        wait_until(lambda: heard[2:] == [{"desk": desk, "event": 1}])


def test_a_listener_ends_when_the_server_is_gone(served: Database, postgres: Cluster) -> None:
    postgres.stop()
    try:
        heard: list[Any] = []
        Listener(served, heard.append).close()
        assert heard == []
    finally:
        postgres.start()
