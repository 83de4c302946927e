"""The ledger: what is committed is kept, what is not is gone whole, and nothing foreign is touched."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from askless.errors import AsklessError, InvalidInput, UnreadableFile, UnwritableFile
from askless.ledger import events as kinds
from askless.ledger.events import Event, standing
from askless.ledger.ledger import Ledger
from askless.ledger.schema import SCHEMA_VERSION


def vectors(count: int, dim: int = 4) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((count, dim)).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "100% of ? tickets.csv.askless"  # signs that an address would take for its own


def filled(path: Path, count: int = 3) -> Ledger:
    ledger = Ledger(path)
    desk = ledger.add_desk("label", "toy/1")
    ledger.add_queries(
        desk, [f"key {k}" for k in range(count)], [f"text {k}" for k in range(count)], vectors(count), "toy/1"
    )
    ledger.commit()
    return ledger


def test_what_was_written_is_read_back(path: Path) -> None:
    with filled(path) as ledger:
        desk = ledger.desk("label")
        assert desk is not None
        written = ledger.append(desk, kinds.DECIDED, 2, {"label": "ä", "ratio": 0.1 + 0.2}, who="me", seen=7)
    with Ledger(path) as ledger:
        desk = ledger.desk("label")
        assert desk is not None
        assert desk.embedder == "toy/1"
        assert ledger.desk("other") is None
        queries, events = ledger.queries(desk), ledger.events(desk)
        assert [q.text for q in queries] == ["text 0", "text 1", "text 2"]
        assert np.array_equal([q.vector for q in queries], vectors(3))
        assert [e.kind for e in events] == [kinds.RECEIVED] * 3 + [kinds.DECIDED]
        assert events[-1] == written
        assert ledger.events(desk, kinds.DECIDED) == [written]
        assert ledger.last_event == written.id


def test_the_file_has_a_write_ahead_log_and_full_commits(path: Path) -> None:
    with filled(path) as ledger:
        raw = ledger._connection.connection.driver_connection
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert raw.execute("PRAGMA synchronous").fetchone() == (2,)
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # one file is left


def test_a_text_without_a_vector_is_stored_without_one(path: Path) -> None:
    rows = vectors(2)
    rows[1, 2] = np.nan
    with Ledger(path) as ledger:
        desk = ledger.add_desk("label", "toy/1")
        ledger.add_queries(desk, ["a", "b"], ["a", "b"], rows, "toy/1")
    stored = sqlite3.connect(path).execute("SELECT vector IS NULL FROM queries ORDER BY id").fetchall()
    assert stored == [(0,), (1,)]


def test_vectors_of_another_embedder_are_refused(path: Path) -> None:
    with filled(path) as ledger:
        desk = ledger.desk("label")
        assert desk is not None
        with pytest.raises(InvalidInput, match=r"come from toy/1, these from toy/2"):
            ledger.add_queries(desk, ["x"], ["x"], vectors(1), "toy/2")


def test_a_key_comes_once_at_a_desk(path: Path) -> None:
    with filled(path) as ledger:
        desk = ledger.desk("label")
        assert desk is not None
        with pytest.raises(InvalidInput, match="same key"):
            ledger.add_queries(desk, ["key 1"], ["again"], vectors(1), "toy/1")
        ledger.rollback()


def test_what_was_not_committed_is_gone_whole(path: Path) -> None:
    ledger = filled(path)
    desk = ledger.desk("label")
    assert desk is not None
    ledger.append(desk, kinds.DECIDED, 1)
    ledger.commit()
    ledger.append(desk, kinds.DECIDED, 2)
    ledger.append(desk, kinds.ASKED, 2)
    ledger.abandon()
    with Ledger(path) as again:
        assert [e.query for e in again.events(desk) if e.kind != kinds.RECEIVED] == [1]


KILLED = """
import sys
from pathlib import Path
from askless.ledger.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
desk = ledger.desk("label")
for k in range(10**6):
    ledger.append(desk, "answered", 1, {"k": k})
    ledger.append(desk, "audited", 1, {"k": k})
    ledger.commit()
    print(k, flush=True)
"""


def test_a_killed_process_loses_nothing_that_it_said_was_kept(path: Path) -> None:
    filled(path).close()
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for _ in range(20):
            child.stdout.readline()
        with pytest.raises(InvalidInput, match="Another askless is at work"):
            Ledger(path)
        child.send_signal(signal.SIGKILL)
        said = [int(line) for line in child.stdout if line.endswith("\n")]
    with Ledger(path) as ledger:  # the lock died with the process
        desk = ledger.desk("label")
        assert desk is not None
        pairs = [(e.kind, e.payload["k"]) for e in ledger.events(desk) if e.payload]
    last = pairs[-1][1]
    assert last >= max(said, default=19)
    assert pairs == [(kind, k) for k in range(last + 1) for kind in ("answered", "audited")]


def test_a_newer_ledger_is_refused_and_left_alone(path: Path) -> None:
    filled(path).close()
    raw = sqlite3.connect(path)
    raw.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(UnreadableFile, match=r"newer askless.*Upgrade"):
        Ledger(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("what", ["another program's", "text", "damaged"])
def test_what_is_no_ledger_is_refused_and_left_alone(path: Path, what: str) -> None:
    if what == "another program's":
        raw = sqlite3.connect(path)
        raw.execute("CREATE TABLE songs (name)")
        raw.commit()
        raw.close()
    elif what == "text":
        path.write_bytes(b"text,label\nhello,greeting\n" * 50)
    else:
        filled(path, 200).close()
        contents = bytearray(path.read_bytes())
        contents[100:4096] = b"\x00" * 3996
        path.write_bytes(contents)
    before = path.read_bytes()
    with pytest.raises(UnreadableFile, match=r"ledger"):
        Ledger(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()  # what a process leaves that is killed before the first commit
    filled(path).close()


def test_a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match="unable to open"):
        Ledger(tmp_path / "absent" / "x.askless")


def test_a_full_disk_is_one_sentence_and_keeps_what_was_there(path: Path) -> None:
    ledger = filled(path)
    desk = ledger.desk("label")
    assert desk is not None
    raw = ledger._connection.connection.driver_connection
    pages = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.execute(f"PRAGMA max_page_count={pages}")  # SQLite then says "database or disk is full"
    with pytest.raises(UnwritableFile, match=r"disk is full.*is kept"):
        ledger.append(desk, kinds.ANSWERED, 1, {"label": "x" * 50_000})
    ledger.abandon()
    with Ledger(path) as again:
        assert len(again.queries(desk)) == 3


def test_a_ledger_without_permission_is_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path).close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(AsklessError, match="cannot be written"):
        Ledger(path)


# -- what stands after an undo ---------------------------------------------------------------------------------


def numbered(*wanted: tuple[str, int | None]) -> list[Event]:
    found = []
    for k, (kind, back_to) in enumerate(wanted, 1):
        found.append(Event(k, kind, 1, {} if back_to is None else {"back_to": back_to}))
    return found


def test_an_undo_takes_back_all_that_was_decided_since_its_question() -> None:
    events = numbered(
        (kinds.RECEIVED, None),
        (kinds.ASKED, None),  # 2
        (kinds.ANSWERED, None),
        (kinds.DECIDED, None),
        (kinds.GIVEN, None),  # 5
        (kinds.CONFIGURED, None),
        (kinds.ASKED, None),
        (kinds.CORRECTED, 2),
        (kinds.ANSWERED, None),  # 9
    )
    assert [e.id for e in standing(events)] == [1, 2, 5, 6, 9]


def test_undos_follow_each_other_back() -> None:
    events = numbered(
        (kinds.ASKED, None),
        (kinds.ANSWERED, None),
        (kinds.ASKED, None),
        (kinds.ANSWERED, None),
        (kinds.CORRECTED, 3),
        (kinds.CORRECTED, 1),
    )
    assert [e.id for e in standing(events)] == [1]
