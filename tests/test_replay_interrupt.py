"""`askless replay`, interrupted: what was run is kept, and the same command goes on from there."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pandas as pd
import pytest

from askless.cli.main import main
from askless.datasets.sample import support_questions

ASKLESS = [sys.executable, "-c", "from askless.cli.main import main; main()"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the sample in it, and a cache of its own."""
    texts, labels = support_questions()
    pd.DataFrame({"question": texts, "topic": labels}).to_csv(tmp_path / "desk.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "cache"))
    return tmp_path


def contents(store):
    connection = sqlite3.connect(store, timeout=10)
    try:
        return connection.execute("SELECT key, row FROM rows ORDER BY key").fetchall()
    except sqlite3.OperationalError:  # the table is not there yet
        return []
    finally:
        connection.close()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_the_runs_and_the_same_command_goes_on(folder, jobs):
    policies = ["--policy", "chc", "--policy", "ghc:0.5", "--policy", "ghc:0.8"]
    command = ["replay", "desk.csv", "--label", "topic", *policies, "--seeds", "5", "--jobs"]
    process = subprocess.Popen(
        [*ASKLESS, *command, jobs], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    store = folder / "askless-replay" / "rows.sqlite"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (store.exists() and len(contents(store)) >= 3):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers hear it too
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    kept = re.search(
        r"askless: interrupted with (\d+) of 15 new runs made, which are kept in askless-replay; "
        r"the same command goes on from there\.\n",
        said,
    )
    assert kept, said
    assert not (folder / "askless-replay" / "report.html").exists()
    before = dict(contents(store))
    assert 3 <= int(kept[1]) <= len(before) < 15
    with pytest.raises(SystemExit) as left:
        main([*command, "1"])  # however many processes made what is kept
    assert left.value.code == 0
    after = dict(contents(store))
    assert len(after) == 15
    assert {key: after[key] for key in before} == before
    assert (folder / "askless-replay" / "report.html").exists()
