"""The database of the ledger, on SQLite and on PostgreSQL: one suite, and what only one of them can do."""

from __future__ import annotations

import math
import os
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import PendingRollbackError

from askless.errors import Conflicting, InvalidInput, MissingExtra, Unavailable, UnwritableFile
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.entry import Entry, events_after
from askless.ledger.listen import Listener
from ledger_rows import add_desk, events_of


@pytest.fixture
def desk(database: Database) -> int:
    return add_desk(database)


# -- what is written is read back ---------------------------------------------------------------------------------


def test_events_are_read_back_as_they_were_written(database: Database, desk: int) -> None:
    other = add_desk(database, "other")
    with database.desk(desk) as entry:
        first = entry.append(kinds.DECIDED, None, {"label": "ä\0<b>'; --", "ratio": 0.1 + 0.2}, who="me", seen=7)
        second = entry.append(kinds.ASKED)
        assert first.at == second.at == entry.at
        assert entry.at.tzinfo is UTC
    with database.desk(other) as entry:
        entry.append(kinds.ASKED)
    with database.desk(desk) as entry:
        third = entry.append(kinds.ANSWERED, None, {"label": "x"})
        assert list(entry.events_after(0)) == [first, second, third]
        assert list(entry.events_after(first.id, upto=second.id)) == [second]
    assert events_of(database, desk) == [first, second, third]
    assert first.id < second.id < third.id
    assert events_of(database, desk)[0].at.tzinfo is UTC


def test_payloads_keep_every_number_and_sign(database: Database, desk: int) -> None:
    numbers = [0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, 2**53 + 1, 2**70, 1e16, 123456789.12345679]
    payload = {
        "numbers": numbers,
        "none": None,
        "yes": True,
        "text": '\u2028 <b> \\" \x7f 🦄',
        "pair": [1, [2, []]],
        "": {},
    }
    with database.desk(desk) as entry:
        event = entry.append(kinds.DECIDED, None, payload)
    (found,) = events_of(database, desk)
    assert found == event
    assert [math.copysign(1, n) for n in found.payload["numbers"][:2]] == [1, -1]


def test_payloads_may_hold_what_json_alone_cannot(file: Database) -> None:
    """Infinity, and halves of surrogate pairs, as Python's own JSON has them; PostgreSQL takes neither."""
    desk = add_desk(file)
    with file.desk(desk) as entry:
        entry.append(kinds.DECIDED, None, {"ratio": math.inf, "least": -math.inf, "sign": "\ud800"})
    assert events_of(file, desk)[0].payload == {"ratio": math.inf, "least": -math.inf, "sign": "\ud800"}


@pytest.mark.parametrize("count", [0, 1, 6, 7])
def test_events_are_read_in_chunks_without_loss(database: Database, desk: int, count: int) -> None:
    with database.desk(desk) as entry:
        written = [entry.append(kinds.ASKED, None, {"k": k}) for k in range(count)]
        assert list(entry.events_after(0, chunk=3)) == written
        if count > 2:
            assert list(entry.events_after(written[0].id, upto=written[-2].id, chunk=2)) == written[1:-1]


def test_a_time_of_any_zone_is_read_in_utc_and_one_without_is_refused(database: Database) -> None:
    there = datetime(2026, 3, 1, 12, 30, 5, 123456, tzinfo=timezone(timedelta(hours=-5)))
    row = {"name": "a", "embedder": "toy/1", "created_at": there}
    with database.write() as connection:
        connection.execute(insert(schema.desks), row)
    with database.read() as connection:
        at = connection.execute(select(schema.desks.c.created_at)).scalar_one()
        assert connection.execute(select(schema.desks.c.id).where(schema.desks.c.created_at == there)).all()
    assert (at, at.tzinfo) == (there, UTC)
    with pytest.raises(Exception, match="no zone"), database.write() as connection:
        connection.execute(insert(schema.desks), row | {"name": "b", "created_at": datetime(2026, 3, 1)})


def test_the_id_of_a_deleted_desk_is_not_used_again(database: Database, desk: int) -> None:
    with database.write() as connection:
        connection.execute(delete(schema.desks))
    assert add_desk(database, "another") > desk


def test_ids_go_beyond_what_32_bits_hold(database: Database, desk: int) -> None:
    row = {"id": 2**40, "desk": desk, "kind": "asked", "at": datetime.now(UTC), "payload": {}, "seen": 2**40 - 1}
    with database.write() as connection:
        connection.execute(insert(schema.events), row)
    (event,) = events_of(database, desk)
    assert (event.id, event.seen) == (2**40, 2**40 - 1)


# -- all or nothing -----------------------------------------------------------------------------------------------


def test_a_block_that_raises_writes_nothing(database: Database, desk: int) -> None:
    def fail_with_an_entry() -> None:
        with database.desk(desk) as entry:
            entry.append(kinds.ASKED)
            raise ZeroDivisionError

    def fail_with_a_connection() -> None:
        with database.write() as connection:
            connection.execute(update(schema.desks).values(name="changed"))
            raise ZeroDivisionError

    for fail in (fail_with_an_entry, fail_with_a_connection):
        with pytest.raises(ZeroDivisionError):
            fail()
    assert events_of(database, desk) == []
    with database.read() as connection:
        assert connection.execute(select(schema.desks.c.name)).scalars().all() == ["support"]


def test_a_savepoint_undoes_its_own_writes_alone(database: Database, desk: int) -> None:
    def refuse(entry: Entry) -> None:
        with entry.savepoint():
            entry.append(kinds.ANSWERED)
            raise InvalidInput("no such label")

    def contradict(entry: Entry) -> None:
        with entry.savepoint():
            entry.append(kinds.ANSWERED)
            row = {"name": "support", "embedder": "x", "created_at": entry.at}
            entry.connection.execute(insert(schema.desks), row)

    with database.desk(desk) as entry:
        before = entry.append(kinds.ASKED)
        with pytest.raises(InvalidInput):
            refuse(entry)
        with pytest.raises(Conflicting):
            contradict(entry)
        with entry.savepoint():
            after = entry.append(kinds.SKIPPED)
        assert entry.lost is None
    assert events_of(database, desk) == [before, after]


def test_what_must_be_unique_is_a_conflict_that_repeats_no_text(database: Database, desk: int) -> None:
    row = {"desk": desk, "key": "the caller's own id", "text": "my PIN is 1234"}
    with database.write() as connection:
        connection.execute(insert(schema.queries), row)
    with pytest.raises(Conflicting, match="nothing was changed") as caught, database.write() as connection:
        connection.execute(insert(schema.queries), row)
    said: BaseException | None = caught.value
    while said is not None:  # nor do the errors that it came from, which a log may show
        assert "1234" not in str(said)
        said = said.__cause__


def test_what_refers_to_nothing_is_refused(database: Database) -> None:
    row = {"desk": 99, "key": "k", "text": "t"}
    with pytest.raises(Conflicting), database.write() as connection:
        connection.execute(insert(schema.queries), row)


def test_half_a_sign_cannot_be_stored_and_is_one_sentence(database: Database, desk: int) -> None:
    with pytest.raises(InvalidInput, match=r"half a sign.*nothing was changed"), database.write() as connection:
        connection.execute(insert(schema.queries), {"desk": desk, "key": "k", "text": "\ud800"})


# -- one line for each desk ---------------------------------------------------------------------------------------

CHAIN = """
import sys
from askless.ledger.database import Database
database = Database(sys.argv[1])
desk = int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for k in range(40):
    with database.desk(desk) as entry:
        last = max((event.id for event in entry.events_after(0)), default=0)
        entry.append("decided", None, {}, seen=last, who=sys.argv[3])
"""


def test_transactions_of_a_desk_form_one_line_over_processes(
    database: Database, desk: int, database_address: str
) -> None:
    """Each one sees all that were committed before it, and nothing is committed between its look and its end."""
    command = [sys.executable, "-c", CHAIN, database_address, str(desk)]
    children = [
        subprocess.Popen([*command, who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for who in "ab"
    ]
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    threads = [threading.Thread(target=_chain, args=(database, desk, who)) for who in "cd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for child in children:
        child.communicate()
        assert child.returncode == 0
    events = events_of(database, desk)
    assert len(events) == 160
    assert [event.seen for event in events] == [0, *(event.id for event in events[:-1])]
    assert [event.at for event in events] == sorted(event.at for event in events)


def _chain(database: Database, desk: int, who: str) -> None:
    for _ in range(40):
        with database.desk(desk) as entry:
            last = max((event.id for event in entry.events_after(0)), default=0)
            entry.append(kinds.DECIDED, None, {}, seen=last, who=who)


def test_readers_see_one_moment_and_wait_for_nobody(database: Database, desk: int) -> None:
    with database.desk(desk) as entry:
        entry.append(kinds.ASKED)
        assert events_of(database, desk) == []  # a reader beside an open transaction
    with database.read() as connection:
        assert len(list(events_after(connection, desk))) == 1
        with database.desk(desk) as entry:
            entry.append(kinds.ANSWERED)
        assert len(list(events_after(connection, desk))) == 1
    assert len(events_of(database, desk)) == 2


def test_a_desk_that_stays_locked_is_unavailable(database_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askless.ledger.engines.BUSY_MILLISECONDS", 200)
    with Database(database_address) as one, Database(database_address) as two:
        desk = add_desk(one)
        with one.desk(desk) as entry:
            kept = entry.append(kinds.ASKED)
            with pytest.raises(Unavailable, match=r"lock.*not done; try again"), two.desk(desk) as other:
                other.append(kinds.ASKED)
        assert events_of(two, desk) == [kept]
        with two.desk(desk) as entry:
            entry.append(kinds.ANSWERED)
        assert len(events_of(one, desk)) == 2


# -- SQLite: the file ---------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "100% of ? tickets.db") as database:
        database.prepare()
        yield database


def test_every_connection_is_durable_and_checks_references(file: Database) -> None:
    for block in (file.read, file.write):
        with block() as connection:
            found = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "secure_delete")
            }
        assert found == {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "busy_timeout": 5000,
            "secure_delete": 1,
        }
    assert file.path is not None
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


@contextmanager
def no_room(path: Path, bytes: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes more than the log of the database has now."""
    size = path.with_name(path.name + "-wal").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("guard", ["savepoint", "none", "swallowed"])
def test_a_full_disk_undoes_the_transaction_and_is_said(file: Database, guard: str) -> None:
    desk = add_desk(file)
    with file.desk(desk) as entry:
        kept = entry.append(kinds.ASKED)
    assert file.path is not None
    with no_room(file.path, 20_000), pytest.raises(Unavailable, match="not done; try again"):
        _overfill(file, desk, guard)
    assert events_of(file, desk) == [kept]
    with file.desk(desk) as entry:  # there is room again
        after = entry.append(kinds.ANSWERED)
    assert events_of(file, desk) == [kept, after]


def _overfill(file: Database, desk: int, guard: str) -> None:
    """Write more than there is room for, in one transaction whose pages do not fit into memory."""
    with file.desk(desk) as entry:
        entry.connection.exec_driver_sql("PRAGMA cache_size=10")
        try:
            if guard == "savepoint":
                with entry.savepoint():
                    _write_much(entry)
            else:
                _write_much(entry)
        except Exception:
            if guard == "none":
                raise
            _go_on(entry)  # as a careless caller would


def _go_on(entry: Entry) -> None:
    with pytest.raises(Unavailable), entry.savepoint():
        entry.append(kinds.SKIPPED)
    with pytest.raises(PendingRollbackError):
        entry.append(kinds.SKIPPED)
    assert entry.lost is not None


def _write_much(entry: Entry) -> None:
    for _ in range(200):
        entry.append(kinds.DECIDED, None, {"much": "x" * 2000})


def test_a_commit_for_which_there_is_no_room_is_said(file: Database) -> None:
    desk = add_desk(file)
    assert file.path is not None
    with no_room(file.path, 1000), pytest.raises(Unavailable, match="not done"), file.desk(desk) as entry:
        entry.append(kinds.DECIDED, None, {"much": "x" * 20_000})
    assert events_of(file, desk) == []


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "absent" / "x.db", tmp_path):
        with Database(path) as database, pytest.raises(UnwritableFile, match=r"cannot be written to: .*--database"):
            database.prepare()
    assert list(tmp_path.iterdir()) == []


def test_on_sqlite_there_is_nothing_to_listen_to(file: Database) -> None:
    desk, heard, before = add_desk(file), [], threading.active_count()
    with Listener(file, heard.append), file.desk(desk) as entry:
        entry.notify({"desk": desk})
        assert threading.active_count() == before
    assert heard == []


# -- addresses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("mysql://root:secret@db/askless", "in PostgreSQL .*; found an address of 'mysql'"),
        ("postgresql://user:secret@host:port/name", "file or postgresql://"),
        ("sqlite://", "needs a file"),
        (":memory:", "needs a file"),
        ("", "needs a file"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_sentence_without_its_password(where: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        Database(where)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_server_that_is_not_there_is_unavailable_and_its_password_kept_secret(scheme: str) -> None:
    with Database(f"{scheme}://me:secret@127.0.0.1:9/askless") as database:
        with pytest.raises(Unavailable, match=r"me:\*\*\*@127\.0\.0\.1.*try again") as caught:
            database.prepare()
        assert "secret" not in str(caught.value) + str(caught.value.__cause__)
        assert not database.is_sqlite
        assert database.path is None


def test_a_path_and_its_address_are_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    for where in (path, str(path), f"sqlite:///{path}"):
        with Database(where) as database:
            assert database.path == path
            assert database.is_sqlite


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"askless\[serve\]"):
        Database("postgresql://localhost/askless")


def test_a_ledger_in_a_file_needs_no_driver_of_postgresql(tmp_path: Path) -> None:
    code = (
        "import sys; from askless.ledger.database import Database; from askless.ledger.listen import Listener\n"
        f"d = Database({str(tmp_path / 'x.db')!r}); d.prepare(); d.prepare()\n"
        "assert not {'psycopg', 'alembic'} & set(sys.modules), 'loaded for nothing'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
