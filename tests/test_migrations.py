"""An old ledger becomes a new one with all its data; a foreign or newer one is refused; both lead to one schema."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, insert, inspect, select, text

from askless.cli.main import main
from askless.errors import Unavailable, UnreadableFile
from askless.ledger import schema, upgrade
from askless.ledger.database import Database
from askless.ledger.entry import events_after
from askless.ledger.ledger import Ledger
from postgres import Cluster
from toy_desk import open_toy, some_texts, standing_of

# The tables as askless made them before there were migrations, word for word.
VERSION_1 = """
CREATE TABLE desks (
    id INTEGER NOT NULL, name VARCHAR NOT NULL, embedder VARCHAR NOT NULL, created_at DATETIME NOT NULL,
    PRIMARY KEY (id), UNIQUE (name)
);
CREATE TABLE queries (
    id INTEGER NOT NULL, desk INTEGER NOT NULL, "key" VARCHAR NOT NULL, text TEXT, vector BLOB, embedder VARCHAR,
    PRIMARY KEY (id), CONSTRAINT uq_queries_desk_key UNIQUE (desk, "key"), FOREIGN KEY(desk) REFERENCES desks (id)
);
CREATE TABLE events (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, desk INTEGER NOT NULL, kind VARCHAR NOT NULL, "query" INTEGER,
    at DATETIME NOT NULL, who VARCHAR, seen INTEGER, payload JSON NOT NULL,
    FOREIGN KEY(desk) REFERENCES desks (id), FOREIGN KEY("query") REFERENCES queries (id)
);
CREATE INDEX ix_events_desk_id ON events (desk, id);
PRAGMA application_id=1095977804;
PRAGMA user_version=1;
"""
TABLES_1 = ("desks", "queries", "events")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database without any table, on each backend in turn."""
    where = str(tmp_path / "x.db")
    if request.param == "postgresql":
        where = request.getfixturevalue("postgres").new()
    with Database(where) as database:
        yield database


def reflected(connection: Connection) -> dict[str, Any]:
    """All that the database says about its tables, apart from the order in which it says it."""
    found: dict[str, Any] = {}
    look = inspect(connection)
    for table in look.get_table_names():
        columns = [{k: str(v) for k, v in column.items()} for column in look.get_columns(table)]
        others = (look.get_indexes(table), look.get_unique_constraints(table), look.get_foreign_keys(table))
        if connection.dialect.name == "sqlite":
            made = connection.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE name = '{table}'").scalar_one()
            columns.append({"autoincrement": str("AUTOINCREMENT" in made)})
        found[table] = (columns, look.get_pk_constraint(table), [sorted(map(str, some)) for some in others])
    return found


def as_written_by_version_1(path: Path, texts: list[str], policy: str = "ghc:0.8") -> list[tuple[Any, ...]]:
    """A ledger of version 1 with the rows that a run of the desk writes; how the desk stands after it."""
    desk = open_toy(path.with_suffix(".new"), texts, policy)
    for _ in range(6):
        question = desk.next()
        assert question is not None
        desk.answer(question, question.text[0])
    desk.next()
    stands = standing_of(desk)
    desk.book._ledger.close()
    new, old = sqlite3.connect(path.with_suffix(".new")), sqlite3.connect(path)
    old.executescript(VERSION_1)
    for table in TABLES_1:
        names = [row[1] for row in old.execute(f"PRAGMA table_info({table})")]
        columns = ", ".join(f'"{name}"' for name in names)
        rows = new.execute(f"SELECT {columns} FROM {table}").fetchall()
        old.executemany(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))})", rows)
    old.commit()
    old.close()
    new.close()
    return stands


def rows_of(path: Path) -> dict[str, list[Any]]:
    """What a version 1 knows of the file."""
    raw = sqlite3.connect(path)
    columns = {"desks": "*", "queries": 'id, desk, "key", text, vector, embedder', "events": "*"}
    found = {table: raw.execute(f"SELECT {columns[table]} FROM {table} ORDER BY id").fetchall() for table in TABLES_1}
    raw.close()
    return found


# -- one schema, whichever way it was made ----------------------------------------------------------------------


def test_all_migrations_lead_to_the_declared_tables(empty: Database, request: pytest.FixtureRequest) -> None:
    with empty.write() as connection:
        upgrade.upgrade(connection, 0)
        context = MigrationContext.configure(
            connection, opts={"version_table": upgrade.VERSION_TABLE, "compare_server_default": True}
        )
        assert compare_metadata(context, schema.metadata) == []
        migrated = reflected(connection)
    address = empty.url.database + "2" if empty.is_sqlite else request.getfixturevalue("postgres").new()
    with Database(address) as other:
        other.prepare()
        with other.read() as connection:
            assert reflected(connection) == migrated
            assert set(migrated) == {*schema.metadata.tables, upgrade.VERSION_TABLE}


def test_the_newest_migration_is_the_declared_version() -> None:
    folder = Path(upgrade.__file__).parent / "migrations"
    assert ScriptDirectory(str(folder)).get_heads() == [f"{schema.SCHEMA_VERSION:04}"]
    assert len(list((folder / "versions").glob("v*.py"))) == schema.SCHEMA_VERSION


def test_the_first_migration_makes_what_the_first_askless_made(tmp_path: Path) -> None:
    raw = sqlite3.connect(tmp_path / "old.db")
    raw.executescript(VERSION_1)
    raw.close()
    with Database(tmp_path / "new.db") as new, new.write() as connection:
        upgrade.upgrade(connection, 0, to="0001")
        made = reflected(connection)
        assert connection.exec_driver_sql("PRAGMA user_version").scalar() == 1
    del made[upgrade.VERSION_TABLE]
    with Database(tmp_path / "old.db") as old, old.read() as connection:
        assert reflected(connection) == made


# -- an old ledger keeps its data --------------------------------------------------------------------------------


@pytest.mark.parametrize("opened_by", ["label", "service"])
def test_a_ledger_of_version_1_upgrades_with_its_data(tmp_path: Path, opened_by: str) -> None:
    path, texts = tmp_path / "old.askless", some_texts(80)
    stood = as_written_by_version_1(path, texts)
    before = rows_of(path)
    assert len(before["queries"]) == 80
    if opened_by == "label":
        Ledger(path).close()
    else:
        with Database(path) as database:
            database.prepare()
    assert rows_of(path) == before
    with Database(path) as database, database.read() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": upgrade.VERSION_TABLE})
        assert compare_metadata(context, schema.metadata) == []
        assert context.get_current_revision() == f"{schema.SCHEMA_VERSION:04}"
        assert connection.exec_driver_sql("PRAGMA user_version").scalar() == schema.SCHEMA_VERSION
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert [e.id for e in events_after(connection, 1)] == [row[0] for row in before["events"]]
        assert connection.execute(select(schema.queries.c.status).distinct()).scalars().all() == [None]
    desk = open_toy(path, texts)
    assert standing_of(desk) == stood
    question = desk.next()
    assert question is not None
    desk.answer(question, question.text[0])
    desk.book._ledger.close()
    assert len(rows_of(path)["events"]) > len(before["events"])


def test_askless_label_goes_on_with_a_ledger_of_version_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("askless.cli.label_open.DEFAULT_POLICY", "ghc:0.8")
    texts = ["where is my parcel", "block my card", "block my card now", "parcel where", "close my account"]
    Path("t.csv").write_text("\n".join(["text", *texts]))

    def label(answers: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(answers))
        with pytest.raises(SystemExit) as left:
            main(["label", "t.csv"])
        assert not left.value.code
        return capsys.readouterr().out

    label("track\nblock\n")
    path = Path("t.csv.askless")
    _make_old(path)
    assert "Going on: 2 questions and 2 guessed so far." in label("close\n")
    labelled = list(csv.DictReader(io.StringIO(Path("t.labelled.csv").read_text())))
    assert [row["label"] for row in labelled] == ["track", "block", "block", "track", "close"]
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION,)
    raw.close()


def _make_old(path: Path) -> None:
    """Put a file of version 1 with the same rows in the place of a ledger."""
    rows = rows_of(path)
    path.unlink()
    old = sqlite3.connect(path)
    old.executescript(VERSION_1)
    for table in TABLES_1:
        old.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[table][0]))})", rows[table])
    old.commit()
    old.close()


def test_an_upgrade_that_fails_leaves_the_old_ledger(tmp_path: Path) -> None:
    path = tmp_path / "old.askless"
    as_written_by_version_1(path, some_texts(20))
    before = rows_of(path)
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE webhooks (x)")  # the migration meets it after it has made most of the tables
    raw.commit()
    tables = raw.execute("SELECT name FROM sqlite_master").fetchall()
    with Database(path) as database, pytest.raises(UnreadableFile, match="webhooks"):
        database.prepare()
    assert raw.execute("SELECT name FROM sqlite_master").fetchall() == tables
    assert raw.execute("PRAGMA user_version").fetchone() == (1,)
    raw.execute("DROP TABLE webhooks")
    raw.close()
    with Database(path) as database:
        database.prepare()
    assert rows_of(path) == before


def test_an_older_ledger_in_postgresql_upgrades_with_its_data(postgres: Cluster) -> None:
    with Database(postgres.new()) as database:
        with database.write() as connection:
            upgrade.upgrade(connection, 0, to="0001")
            now = datetime.now(UTC)
            connection.execute(insert(schema.desks), {"name": "a", "embedder": "toy/1", "created_at": now})
            x = np.ones(4, dtype=np.float32).tobytes()
            connection.execute(
                text("INSERT INTO queries (desk, key, text, vector, embedder) VALUES (1, 'k', 'ä', :x, 'toy/1')"),
                {"x": x},
            )
            row = {"desk": 1, "kind": "answered", "query": 1, "at": now, "payload": {"label": "ä"}}
            connection.execute(insert(schema.events), row)
        database.prepare()
        with database.read() as connection:
            (event,) = events_after(connection, 1)
            assert (event.query, event.payload, event.at) == (1, {"label": "ä"}, now)
            (query,) = connection.execute(select(schema.queries)).all()
            assert (query.text, query.vector, query.status) == ("ä", x, None)


# -- several at once, and what is not ours -------------------------------------------------------------------------

PREPARE = """
import sys
from askless.ledger.database import Database
database = Database(sys.argv[1])
sys.stdin.readline()
for _ in range(3):
    database.prepare()
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM deliveries").scalar() == 0
"""


@pytest.mark.parametrize("old", [False, True])
def test_processes_that_prepare_at_once(empty: Database, old: bool) -> None:
    if old:
        with empty.write() as connection:
            upgrade.upgrade(connection, 0, to="0001")
    where = empty.url.render_as_string(hide_password=False) if empty.path is None else str(empty.path)
    command = [sys.executable, "-c", PREPARE, where]
    children = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        assert child.communicate()[1] == ""
        assert child.returncode == 0


def test_prepare_twice_changes_nothing(database: Database) -> None:
    with database.read() as connection:
        before = reflected(connection)
    database.prepare()
    with database.read() as connection:
        assert reflected(connection) == before


def test_a_newer_ledger_is_refused_and_left_alone(database: Database) -> None:
    newer = schema.SCHEMA_VERSION + 1
    with database.write() as connection:
        connection.execute(text(f"UPDATE {upgrade.VERSION_TABLE} SET version_num = '{newer:04}'"))
        if database.is_sqlite:
            connection.exec_driver_sql(f"PRAGMA user_version={newer}")
        before = reflected(connection)
    with pytest.raises(
        UnreadableFile, match=rf"newer askless \(ledger version {newer}; this one reads up to .*Upgrade"
    ):
        database.prepare()
    with database.read() as connection:
        assert reflected(connection) == before


def test_a_database_of_another_program_is_refused_and_left_alone(empty: Database) -> None:
    with empty.write() as connection:
        connection.execute(text("CREATE TABLE events (song TEXT)"))
    with pytest.raises(UnreadableFile, match=r"of another program.*left\s+as"):
        empty.prepare()
    with empty.read() as connection:
        assert list(reflected(connection)) == ["events"]


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("text,label\nhello,greeting\n" * 50)
    before = path.read_bytes()
    with Database(path) as database, pytest.raises(UnreadableFile, match="no ledger of askless"):
        database.prepare()
    assert path.read_bytes() == before


def test_an_early_embedding_cache_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    raw = sqlite3.connect(path)
    raw.executescript("CREATE TABLE vector (x); PRAGMA application_id=1095977804; PRAGMA user_version=1;")
    raw.close()
    with Database(path) as database, pytest.raises(UnreadableFile, match="another program"):
        database.prepare()


def test_a_ledger_that_askless_label_works_on_is_waited_for_and_then_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askless.ledger.engines.BUSY_MILLISECONDS", 300)
    path = tmp_path / "x.db"
    with Ledger(path) as ledger:
        ledger.add_desk("label", "toy/1")
        ledger.commit()
        with Database(path) as database, pytest.raises(Unavailable, match=r"locked.*try again"):
            database.prepare()


def test_payloads_of_version_1_are_json(tmp_path: Path) -> None:
    """The rows above are what the old code wrote: text in JSON, times without a zone."""
    path = tmp_path / "old.askless"
    as_written_by_version_1(path, some_texts(20))
    for row in rows_of(path)["events"]:
        assert isinstance(json.loads(row[7]), dict)
        assert datetime.fromisoformat(row[4]).tzinfo is None
