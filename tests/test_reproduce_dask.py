"""The same jobs on a Dask cluster: a worker that is killed midway costs no row and doubles none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.reproduce.execute import run_jobs
from askless.reproduce.jobs import FileStream, Job, SyntheticStream
from askless.reproduce.labelled import labelled
from askless.reproduce.paper import Setting
from askless.reproduce.store import RowStore

SETTING = Setting("sphere", 4, "uniform")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a scheduler, and the two processes that work for it; a test may kill one of them."""
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    log = open(folder / "log.txt", "wb")  # noqa: SIM115
    # One thread each: the workers share what the tests have. Two seconds are enough to find a killed one gone.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}

    def start(*arguments):
        command = [sys.executable, "-m", *arguments, "--scheduler-file", str(file)]
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    scheduler = start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    workers = [
        start("distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard") for _ in range(2)
    ]
    try:
        yield address_in(file), workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
        log.close()


def address_in(file):
    import json

    for _ in range(300):
        if file.exists() and file.stat().st_size:
            return json.loads(file.read_text())["address"]
        time.sleep(0.1)
    raise AssertionError("no scheduler within 30 seconds")


def wait_for_workers(address, count):
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


def without_seconds(rows):
    return {key: {k: v for k, v in row.items() if k != "seconds"} for key, row in rows.items()}


def test_a_killed_worker_costs_no_row_and_doubles_none(cluster, tmp_path):
    address, workers = cluster
    wait_for_workers(address, 2)
    jobs = [
        Job(policy, SyntheticStream(SETTING, 600, 0, k)) for policy in ("skm", "cc:5", "amp:0.95") for k in range(20)
    ]
    seen = []

    def kill_one_midway(done, todo):
        seen.append(done)
        if done == 15:
            os.kill(workers[0].pid, signal.SIGKILL)

    with RowStore(tmp_path / "dask.sqlite") as store:
        run_jobs(jobs, store, dask=address, progress=kill_one_midway)
        there = store.rows()
    assert workers[0].wait(10) == -signal.SIGKILL
    assert seen == list(range(len(jobs) + 1))  # each row came once
    with RowStore(tmp_path / "here.sqlite") as store:
        here = run_jobs(jobs, store)
    assert without_seconds(there) == without_seconds(here)


def test_a_labelled_file_travels_to_the_workers(cluster, tmp_path):
    address, _ = cluster
    wait_for_workers(address, 1)
    rng = np.random.default_rng(0)
    data = labelled(rng.standard_normal((60, 5)), rng.integers(4, size=60))
    jobs = [Job("skm", FileStream(data.digest, "sphere", run)) for run in range(3)]
    with RowStore(tmp_path / "dask.sqlite") as store:
        there = run_jobs(jobs, store, dask=address, data=data)
    with RowStore(tmp_path / "here.sqlite") as store:
        here = run_jobs(jobs, store, data=data)
    assert without_seconds(there) == without_seconds(here)


def test_no_scheduler_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("askless.reproduce.execute._SECONDS_TO_CONNECT", 1)
    jobs = [Job("skm", SyntheticStream(SETTING, 50, 0, 0))]
    with RowStore(tmp_path / "rows.sqlite") as store:
        for address in ("tcp://127.0.0.1:9", "nonsense", "tcp://", "http://127.0.0.1:9"):
            with pytest.raises(InvalidInput, match=r"No Dask scheduler answers at '.*' \(\w+\)\. Start one with"):
                run_jobs(jobs, store, dask=address)
        assert store.rows() == {}
