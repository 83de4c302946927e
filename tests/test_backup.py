"""Backups: whole while others write, never over something else, and a ledger again when restored."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import insert, select, text, update

from askless.cli.main import main
from askless.errors import InvalidInput, MissingExtra, Unavailable, UnreadableFile, UnwritableFile
from askless.ledger import events as kinds
from askless.ledger import schema, upgrade
from askless.ledger.backup import backup, restore
from askless.ledger.database import Database
from askless.ledger.entry import Entry, events_after
from askless.ledger.postgresql_tools import dump
from ledger_rows import add_desk
from live_admin import NAME, answer_all, ask, toy
from postgres import wait_until
from toy_desk import ledger_of, open_toy, some_texts

TABLES = list(schema.metadata.sorted_tables)


@pytest.fixture
def empty(database: Database, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Where a ledger can be restored to: the same backend, nothing there."""
    where = str(tmp_path / "restored.db")
    if not database.is_sqlite:
        where = request.getfixturevalue("postgres").new()
    with Database(where) as other:
        yield other


def write_one(entry: Entry, k: int) -> None:
    """A query with two events, as one transaction writes them."""
    row = {"desk": entry.desk, "key": f"key {k}", "text": f"täxt {k}", "vector": np.float32([k, 1]).tobytes()}
    key: Any = entry.connection.execute(insert(schema.queries), row).inserted_primary_key
    received = entry.append(kinds.RECEIVED, key[0])
    entry.append(kinds.DECIDED, key[0], {"k": k}, seen=received.id)


def contents(database: Database) -> dict[str, list[Any]]:
    with database.read() as connection:
        return {
            table.name: sorted(tuple(row) for row in connection.execute(select(table)).all()) for table in TABLES[:3]
        }


# -- there and back ------------------------------------------------------------------------------------------------


def test_a_restored_ledger_holds_the_same_and_goes_on(database: Database, empty: Database, tmp_path: Path) -> None:
    desk, file = add_desk(database), tmp_path / "b.backup"
    for k in range(20):
        with database.desk(desk) as entry:
            write_one(entry, k)
    backup(database, file)
    restore(file, empty)
    assert contents(empty) == contents(database)
    with empty.read() as connection:
        last = max(event.id for event in events_after(connection, desk))
    with empty.desk(desk) as entry:  # numbers go on where they were
        write_one(entry, 20)
        assert [e.payload for e in entry.events_after(last)] == [{}, {"k": 20}]
    left = {p.name for p in tmp_path.iterdir() if not p.name.endswith(("-wal", "-shm"))}
    assert left - {"askless.db", "restored.db"} == {"b.backup"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_backup_while_others_write_is_one_moment(database: Database, empty: Database, tmp_path: Path) -> None:
    """The writers are not held up, and the copy has every transaction whole: all up to one, and none after it."""
    desk, written, over = add_desk(database), [0], threading.Event()

    def work() -> None:
        while not over.is_set():
            with database.desk(desk) as entry:
                write_one(entry, written[0])
            written[0] += 1

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            wait_until(lambda: written[0] > 5 or working.done())
            before = written[0]
            backup(database, tmp_path / "b.backup")
            after = written[0]
            wait_until(lambda: written[0] > after + 5 or working.done())
        finally:
            over.set()
        working.result()
    restore(tmp_path / "b.backup", empty)
    with empty.read() as connection:
        events = list(events_after(connection, desk))
        queries = connection.execute(select(schema.queries.c.key).order_by(schema.queries.c.id)).scalars().all()
    assert before <= len(queries) <= after + 1
    assert queries == [f"key {k}" for k in range(len(queries))]
    assert [e.payload["k"] for e in events[1::2]] == list(range(len(queries)))
    assert len(events) == 2 * len(queries)


def test_writers_go_on_in_the_middle_of_a_backup(tmp_path: Path) -> None:
    """SQLite: the copy is of the moment it began, and a commit half way neither waits nor starts it over."""
    with Database(tmp_path / "x.db") as database:
        database.prepare()
        desk = add_desk(database)
        with database.desk(desk) as entry:
            for _ in range(500):
                entry.append(kinds.DECIDED, None, {"much": "x" * 10_000})
        shown = []

        def step(done: int, total: int) -> None:
            shown.append((done, total))
            with database.desk(desk) as entry:
                entry.append(kinds.ANSWERED)

        backup(database, tmp_path / "b.backup", step)
        with database.read() as connection:
            answers = sum(event.kind == kinds.ANSWERED for event in events_after(connection, desk))
    assert answers == len(shown) > 1
    assert shown == sorted(shown)
    assert shown[-1][0] == shown[-1][1]
    raw = sqlite3.connect(tmp_path / "b.backup")
    assert raw.execute("SELECT count(*), count(DISTINCT kind) FROM events").fetchone() == (500, 1)
    raw.close()


def test_the_backup_of_an_older_ledger_is_brought_to_the_newest_schema(
    database_address: str, empty: Database, tmp_path: Path
) -> None:
    with Database(database_address) as database:
        with database.write() as connection:  # as if the database had been made by the first version
            for table in (*reversed(TABLES), upgrade.VERSION_TABLE):
                connection.execute(text(f"DROP TABLE {table}"))
            upgrade.upgrade(connection, 0, to="0001")
        add_desk(database)
        backup(database, tmp_path / "b.backup")
    restore(tmp_path / "b.backup", empty)
    with empty.read() as connection:
        assert upgrade.version_of(connection, "it") == schema.SCHEMA_VERSION
        assert connection.execute(select(schema.desks.c.name)).scalars().all() == ["support"]
        assert connection.execute(select(schema.tickets)).all() == []


# -- what is refused -----------------------------------------------------------------------------------------------


def test_a_file_that_is_there_is_not_overwritten(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "b.backup"
    file.write_text("mine")
    with pytest.raises(InvalidInput, match=r"is there already.*Name another"):
        backup(database, file)
    assert file.read_text() == "mine"


def test_a_ledger_that_is_there_is_not_overwritten(database: Database, tmp_path: Path) -> None:
    add_desk(database)
    backup(database, tmp_path / "b.backup")
    before = contents(database)
    with pytest.raises(InvalidInput, match=r"was left as it is\. Restore to (another|an empty)"):
        restore(tmp_path / "b.backup", database)
    assert contents(database) == before


def test_a_log_of_a_ledger_that_is_gone_is_not_taken_for_the_new_ones(tmp_path: Path) -> None:
    with Database(tmp_path / "x.db") as database:
        database.prepare()
        backup(database, tmp_path / "b.backup")
    (tmp_path / "y.db-wal").write_bytes(b"pages of another")
    with Database(tmp_path / "y.db") as other, pytest.raises(InvalidInput, match=r"y\.db-wal is there already"):
        restore(tmp_path / "b.backup", other)
    assert not (tmp_path / "y.db").exists()


@pytest.mark.parametrize("harm", ["cut short", "scribbled over", "of another program", "text", "absent", "newer"])
def test_what_is_no_whole_backup_is_refused_and_nothing_made(
    database: Database, empty: Database, tmp_path: Path, harm: str
) -> None:
    desk, file = add_desk(database), tmp_path / "b.backup"
    with database.desk(desk) as entry:
        for _ in range(50):
            entry.append(kinds.DECIDED, None, {"much": os.urandom(500).hex()})
    if harm == "newer":
        _make_newer(database)
        with pytest.raises(UnreadableFile, match="newer askless"):
            backup(database, file)
        return
    backup(database, file)
    _harm(file, harm)
    with pytest.raises((UnreadableFile, InvalidInput), match=r"b\.backup"):
        restore(file, empty)
    if empty.path is not None:
        assert not empty.path.exists()
        return
    with empty.read() as connection:
        assert upgrade.version_of(connection, "it") == 0


def _make_newer(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text(f"UPDATE {upgrade.VERSION_TABLE} SET version_num = '0099'"))
        if database.is_sqlite:
            connection.exec_driver_sql("PRAGMA user_version=99")


def _harm(file: Path, harm: str) -> None:
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    if harm == "cut short":
        file.write_bytes(data[:middle])
    elif harm == "scribbled over":
        data[middle : middle + 9000] = b"\xff" * 9000
        file.write_bytes(data)
    elif harm == "of another program":
        file.unlink()
        raw = sqlite3.connect(file)
        raw.execute("CREATE TABLE songs (name)")
        raw.commit()
        raw.close()
    elif harm == "text":
        file.write_text("text,label\nhello,greeting\n")
    else:
        file.unlink()


def test_the_backup_of_one_kind_of_database_is_not_for_the_other(tmp_path: Path, request: Any) -> None:
    server = request.getfixturevalue("postgres").new()
    for source, target in ((tmp_path / "x.db", server), (server, tmp_path / "y.db")):
        file = tmp_path / f"{len(str(source))}.backup"
        with Database(source) as database, Database(target) as other:
            database.prepare()
            backup(database, file)
            with pytest.raises(InvalidInput, match="backup of a ledger in"):
                restore(file, other)
    assert not (tmp_path / "y.db").exists()


def test_what_is_not_there_or_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with Database(tmp_path / "x.db") as database:
        with pytest.raises(InvalidInput, match=r"no ledger in .*x\.db"):
            backup(database, tmp_path / "b.backup")
        assert list(tmp_path.iterdir()) == []
        database.prepare()
        with pytest.raises(UnwritableFile, match="Nothing was left behind"):
            backup(database, tmp_path / "absent" / "b.backup")
    with Database("postgresql://nobody@127.0.0.1:9/x") as database:
        with pytest.raises(Unavailable, match="refused"):
            backup(database, tmp_path / "b.backup")
        assert not list(tmp_path.glob("*b.backup*"))


def test_a_database_without_a_ledger_is_not_backed_up(empty: Database, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="There is no ledger in"):
        backup(empty, tmp_path / "b.backup")
    assert not (tmp_path / "b.backup").exists()


def test_without_the_programs_of_postgresql_they_are_named(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askless.ledger.postgresql_tools._DEBIAN", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    if database.is_sqlite:  # needs none
        backup(database, tmp_path / "b.backup")
        return
    with pytest.raises(MissingExtra, match="postgresql-client"):
        backup(database, tmp_path / "b.backup")


def test_a_password_is_not_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "pg_dump"
    tool.write_text('#!/bin/sh\necho "$@ with $PGPASSWORD" >&2\nexit 1\n')
    tool.chmod(0o755)
    monkeypatch.setattr("askless.ledger.postgresql_tools._DEBIAN", tmp_path / "absent")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with Database("postgresql://me:secret@db.example/x?host=/run/db") as database, pytest.raises(Unavailable) as caught:
        dump(database, tmp_path / "b.backup")
    assert "--dbname=postgresql://me@db.example/x?host=%2Frun%2Fdb with secret" in str(caught.value)


# -- the commands --------------------------------------------------------------------------------------------------

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(["ledger", *arguments])
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return call


def test_the_commands_copy_a_ledger_and_make_it_anew(run: Run, database_address: str, empty: Database) -> None:
    with Database(database_address) as database:
        desk = add_desk(database)
        with database.desk(desk) as entry:
            write_one(entry, 0)
    code, out, _ = run("backup", "monday.backup", "--database", database_address)
    assert (code, out.splitlines()[0].split(" (")[0]) == (0, "Saved monday.backup")
    where = str(empty.path) if empty.path is not None else empty.url.render_as_string(False)
    code, out, _ = run("restore", "monday.backup", "--database", where)
    assert code == 0
    assert out.endswith(": 1 desk, 1 query, 2 events.\n")
    code, _, err = run("restore", "monday.backup", "--database", where)
    assert code == 2
    assert "was left as it is" in err
    assert "Traceback" not in err


def test_a_backup_of_a_desk_at_work_verifies_once_restored(
    run: Run, database: Database, empty: Database, tmp_path: Path
) -> None:
    texts = some_texts(60)
    with toy(database) as desks:
        ask(desks, texts[:20])

        def work() -> None:
            for text in texts[20:]:
                ask(desks, [text])
                answer_all(desks, most=1)

        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(work)
            backup(database, tmp_path / "monday.backup")
            working.result()
    restore(tmp_path / "monday.backup", empty)
    where = str(empty.path) if empty.path is not None else empty.url.render_as_string(False)
    code, out, _ = run("verify", "--database", where)
    assert code == 0
    assert out.startswith("toy: ")
    assert "all as the events say." in out
    with empty.write() as connection:  # as a hand in the database would: the expert's word is changed afterwards
        connection.execute(update(schema.queries).where(schema.queries.c.key == texts[0]).values(label="forged"))
    code, out, _ = run("verify", NAME, "--database", where)
    assert code == 1
    assert "1 difference." in out
    assert "forged" in out
    assert run("verify", "nobody", "--database", where)[0] == 2


def test_a_ledger_without_desks_has_nothing_to_verify(run: Run, database_address: str) -> None:
    code, out, _ = run("verify", "--database", database_address)
    assert code == 0
    assert "nothing to verify" in out


def test_a_desk_of_askless_label_is_left_out_and_said(run: Run, tmp_path: Path) -> None:
    ledger_of(open_toy(tmp_path / "t.csv.askless", some_texts(5))).close()
    code, out, _ = run("verify", "--database", "t.csv.askless")
    assert code == 0
    assert out.startswith("toy: left out. 'toy' is a desk of `askless label`")
    assert run("verify", "toy", "--database", "t.csv.askless")[0] == 2
