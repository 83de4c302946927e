"""`askless reproduce`, interrupted: what was made is kept, and the same command goes on from there."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from askless.cli.main import main

ASKLESS = [sys.executable, "-c", "from askless.cli.main import main; main()"]
SIZE = ["--draws", "1", "--seeds", "1", "--rounds", "2000"]


def contents(store):
    connection = sqlite3.connect(store)
    found = connection.execute("SELECT key, row FROM rows ORDER BY key").fetchall()
    connection.close()
    return found


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_the_rows_and_the_same_command_goes_on(tmp_path, monkeypatch, capsys, jobs):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "table", "cube-center", *SIZE, "--jobs"]
    process = subprocess.Popen(
        [*ASKLESS, *command, jobs], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    store = tmp_path / "askless-reproduce" / "rows.sqlite"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (store.exists() and rows_in(store) >= 5):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers hear it too
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    kept = re.fullmatch(
        r"askless: interrupted with (\d+) of 64 new rows made, which are kept in askless-reproduce; "
        r"the same command goes on from there\.\n",
        said,
    )
    assert kept, said
    assert not (tmp_path / "askless-reproduce" / "cube-center" / "report.html").exists()
    before = dict(contents(store))
    assert 5 <= int(kept[1]) <= len(before) < 64
    with pytest.raises(SystemExit) as left:
        main([*command, "1"])  # however many processes made what is kept
    assert left.value.code == 0
    assert "No verdicts" in capsys.readouterr().out
    after = dict(contents(store))
    assert len(after) == 64
    assert {key: after[key] for key in before} == before


def rows_in(store):
    connection = sqlite3.connect(store, timeout=10)
    try:
        return connection.execute("SELECT count(*) FROM rows").fetchone()[0]
    except sqlite3.OperationalError:  # the table is not there yet
        return 0
    finally:
        connection.close()
