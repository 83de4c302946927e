"""The row store: what is written stays, whoever is killed or writes beside it, and damage is said."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from askless.errors import InvalidInput, UnreadableFile, UnwritableFile
from askless.reproduce import jobs as jobs_module
from askless.reproduce.execute import RunFailed, run_jobs
from askless.reproduce.jobs import Job, SyntheticStream, run_job
from askless.reproduce.paper import Setting
from askless.reproduce.store import RowStore

STREAM = SyntheticStream(Setting("cube", 4, "mixture"), 80, 0, 0)
JOBS = [Job(policy, replace(STREAM, data_set=k)) for policy in ("skm", "cc:5", "amp:0.9") for k in range(20)]
RUN = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_reproduce_store import JOBS
from askless.reproduce.execute import run_jobs
from askless.reproduce.store import RowStore

def progress(done, todo):
    print(done, flush=True)
    if {pause}:
        import time
        time.sleep(0.02)

with RowStore(Path({path!r})) as store:
    run_jobs(JOBS, store, progress=progress)
"""


def start(path, pause=True):
    code = RUN.format(tests=os.path.dirname(__file__), path=str(path), pause=pause)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def stored(path):
    with RowStore(path) as store:
        return store.rows()


def damage(path, statement, *values):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    path = tmp_path / "rows.sqlite"
    process = start(path)
    for line in process.stdout:
        if int(line) == 20:
            os.kill(process.pid, signal.SIGKILL)
            break
    process.wait()
    process.stdout.close()
    before = stored(path)
    assert 20 <= len(before) < len(JOBS)
    ran = []
    with RowStore(path) as store:
        after = run_jobs(JOBS, store, progress=lambda done, todo: ran.append((done, todo)))
    assert ran[-1] == (len(JOBS) - len(before), len(JOBS) - len(before))
    assert {key: after[key] for key in before} == before  # seconds included: none of them was run again
    assert after.keys() == {job.key() for job in JOBS} == stored(path).keys()


def test_two_processes_at_once_write_one_row_a_job(tmp_path):
    path = tmp_path / "rows.sqlite"
    processes = [start(path, pause=False) for _ in range(2)]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    rows = stored(path)
    assert rows.keys() == {job.key() for job in JOBS}
    job = JOBS[7]
    again = run_job(job, job.key())
    assert rows[job.key()] | {"seconds": 0} == again | {"seconds": 0}


def test_threads_of_several_connections_lose_nothing(tmp_path):
    path = tmp_path / "rows.sqlite"

    def write(k):
        with RowStore(path) as store:
            for n in range(30):
                store.put(f"{k} {n}", {"n": n})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(stored(path)) == 120


def test_a_changed_parameter_reruns_only_what_it_touches(tmp_path, monkeypatch):
    path, ran = tmp_path / "rows.sqlite", []

    def count(done, todo):
        ran.append(todo)

    with RowStore(path) as store:
        run_jobs(JOBS, store, progress=count)
        run_jobs(JOBS, store, progress=count)
        assert ran[-1] == 0
        run_jobs([replace(job, stream=replace(job.stream, draw=1)) for job in JOBS] + JOBS, store, progress=count)
        assert ran[-1] == len(JOBS)
        monkeypatch.setitem(jobs_module.VERSIONS, "cc", jobs_module.VERSIONS["cc"] + 1)
        run_jobs(JOBS, store, progress=count)
        assert ran[-1] == 20  # those of cc


def test_every_parameter_is_in_the_address():
    other = [
        Job("skm", replace(STREAM, **change))
        for change in (
            {},
            {"rounds": 81},
            {"draw": 1},
            {"data_set": 1},
            {"setting": Setting("sphere", 4, "mixture")},
            {"setting": Setting("cube", 5, "mixture")},
            {"setting": Setting("cube", 4, "uniform")},
        )
    ]
    assert len({job.key() for job in (*other, Job("cc:5", STREAM), Job("cc:6", STREAM))}) == 9
    assert Job("skm", STREAM).key() == Job("skm", replace(STREAM)).key()


def test_a_damaged_row_alone_is_run_again(tmp_path):
    path = tmp_path / "rows.sqlite"
    with RowStore(path) as store:
        whole = run_jobs(JOBS, store)
    bad, worse = (job.key() for job in JOBS[3:5])
    damage(path, "UPDATE rows SET row = replace(row, '\"mistakes\": ', '\"mistakes\": 1') WHERE key = ?", bad)
    damage(path, "UPDATE rows SET row = CAST(x'7b22ff' AS TEXT) WHERE key = ?", worse)
    ran = []
    with RowStore(path) as store:
        mended = run_jobs(JOBS, store, progress=lambda done, todo: ran.append(todo))
        assert store.damaged == 2
    assert ran[-1] == 2
    for key, row in whole.items():
        assert mended[key] | {"seconds": 0} == row | {"seconds": 0}
    with RowStore(path) as store:
        assert len(store.rows()) == len(JOBS)
        assert store.damaged == 0


@pytest.mark.parametrize("spoil", ["foreign", "scrambled"])
def test_a_damaged_file_is_one_sentence_and_left_as_it_is(tmp_path, spoil):
    path = tmp_path / "rows.sqlite"
    with RowStore(path) as store:
        for k in range(400):
            store.put(str(k), {"text": "x" * 100})
    contents = bytearray(path.read_bytes())
    contents[:200] = b"not a database at all" * 10 if spoil == "foreign" else contents[:200]
    if spoil == "scrambled":
        contents[4096 * 2 :] = b"\xab" * (len(contents) - 4096 * 2)
    path.write_bytes(contents)
    with pytest.raises(UnreadableFile, match=r"is damaged \(.*\)\. Nothing was changed; put a copy"):
        stored(path)
    assert path.read_bytes() == contents


def test_a_store_that_cannot_be_opened_is_one_sentence(tmp_path):
    with pytest.raises(UnwritableFile, match=r"Cannot use the row store .* The rows in it are kept"):
        RowStore(tmp_path / "absent" / "rows.sqlite")


def test_a_worker_with_other_algorithms_refuses():
    with pytest.raises(InvalidInput, match="another version"):
        run_job(JOBS[0], JOBS[1].key())


def test_workers_change_nothing_and_a_killed_one_keeps_the_rows(tmp_path):
    with RowStore(tmp_path / "one.sqlite") as store:
        alone = run_jobs(JOBS, store)
    with RowStore(tmp_path / "two.sqlite") as store:
        together = run_jobs(JOBS, store, workers=2)
    strip = [{key: row | {"seconds": 0} for key, row in rows.items()} for rows in (alone, together)]
    assert strip[0] == strip[1]
    with RowStore(tmp_path / "three.sqlite") as store:
        with pytest.raises(RunFailed, match="killed"):
            run_jobs([Job("skm", replace(job.stream, rounds=5_000)) for job in JOBS], store, workers=2, progress=kill)
        assert store.rows()


def kill(done, todo):
    """Kill the worker processes once some rows are there."""
    from joblib.externals.loky import reusable_executor

    if done == 3:
        for process in list(reusable_executor._executor._processes.values()):
            os.kill(process.pid, signal.SIGKILL)


def test_no_jobs_at_a_time_is_refused(tmp_path):
    with RowStore(tmp_path / "rows.sqlite") as store, pytest.raises(InvalidInput, match="--jobs"):
        run_jobs(JOBS, store, workers=0)
