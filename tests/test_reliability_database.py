"""A full disk, a locked file, a PostgreSQL that restarts: callers are told to try again, and nothing is half done."""

from __future__ import annotations

import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from postgres import Cluster
from reliability import PATIENCE, SOAK, Acknowledged, Load, Server, is_try_again, served, waits
from reliability_checks import check_verified, check_whole

ANSWERS = 500 if SOAK else 40
KEPT = "how do I lose my keys"
MOST = 400  # queries that surely fill what is left


class LimitedFiles:
    """No file of the server can grow beyond what it is: its writes fail as on a disk that has no room."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, server: Server) -> None:
        largest = max(file.stat().st_size for file in self.folder.iterdir())
        most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (largest, most))

    def make_room(self, server: Server) -> None:
        most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))


class SmallDisk:
    """A filesystem of 8 MB in memory that another program fills to the last byte."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._other = folder / "other"

    def fill(self, server: Server) -> None:
        with self._other.open("wb", buffering=0) as file, suppress(OSError):  # which says that nothing is left
            while file.write(b"\1" * 4096):
                pass

    def make_room(self, server: Server) -> None:
        self._other.unlink()


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "askless", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"needs the right to mount a filesystem in memory: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def limited_files(folder: Path) -> Iterator[LimitedFiles]:
    yield LimitedFiles(folder)


def tried(server: Server, told: Acknowledged, numbers: range) -> list[httpx.Response]:
    """Submit queries; what was refused."""
    refused = []
    for n in numbers:
        response = server.post("queries", {"id": f"q{n}", "text": f"question {n} about {'very ' * 300} {n} things"})
        if response.is_success:
            told.queries[f"q{n}"] = response.json()
        else:
            refused.append(response)
            if len(refused) == 3:
                break
    return refused


@pytest.mark.parametrize("disk", [limited_files, small_disk])
def test_a_full_disk_refuses_writes_and_nothing_else(disk: Callable[[Path], Any], tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with disk(folder) as full:
        address = str(folder / "askless.db")
        with served(address, tmp_path) as [server]:
            told = Acknowledged()
            told.queries["kept"] = server.post("queries", {"id": "kept", "text": KEPT}).json()
            ticket = told.queries["kept"]["ticket"]
            full.fill(server)
            refused = tried(server, told, range(MOST))
            assert len(refused) == 3
            assert all(is_try_again(response) for response in refused)
            assert not [name for name in (str(tmp_path), "sqlite", "SELECT") if name in refused[0].text]
            assert is_try_again(server.post(f"tickets/{ticket}/answer", {"label": "keys"}))

            assert server.get("queries/kept").json()["status"] == "asked"  # reads go on
            assert server.get("statistics").is_success
            assert server.is_ready()
            assert httpx.get(f"{server.url}/healthz", timeout=60).is_success
            told_before = len(told.queries)
            assert server.get(f"queries/q{told_before - 1}").status_code == 404  # the first that was refused

            full.make_room(server)
            assert server.post(f"tickets/{ticket}/answer", {"label": "keys"}).is_success
            told.answers[ticket] = "keys"
            assert not tried(server, told, range(told_before - 1, told_before + 20))
            assert server.starts == 1
            assert server.process.poll() is None
            check_whole(address, told)
            server.kill()


def test_a_file_that_another_program_has_locked(tmp_path: Path) -> None:
    address = str(tmp_path / "askless.db")
    with served(address, tmp_path) as [server]:
        ticket = waits(server, KEPT, "kept")
        with closing(sqlite3.connect(address, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with ThreadPoolExecutor(2) as pool:
                asked = pool.submit(server.post, "queries", {"id": "late", "text": "what now"})
                answered = pool.submit(server.post, f"tickets/{ticket}/answer", {"label": "keys"})
                assert server.get("queries/kept").json()["status"] == "asked"
                assert is_try_again(asked.result())
                assert is_try_again(answered.result())
            assert server.get("queries/late").status_code == 404
            other.execute("ROLLBACK")
        assert server.post(f"tickets/{ticket}/answer", {"label": "keys"}).is_success
        assert server.post("queries", {"id": "late", "text": "what now"}).status_code == 202
        check_verified(address)


def test_postgresql_restarts_under_load(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.new()
    with served(address, tmp_path) as [server]:
        with Load([server]) as load:
            for how in ("fast", "immediate"):
                load.until(len(load.told.answers) + ANSWERS // 4)
                before = load.statuses[503]
                postgres.stop(how)
                assert is_try_again(httpx.get(f"{server.url}/readyz", timeout=PATIENCE))
                postgres.start()
                load.until(len(load.told.answers) + ANSWERS // 4)
                assert load.statuses[503] > before
            told = load.finish()
        assert set(load.statuses) <= {200, 202, 409, 503}
        assert load.lost == 0  # the server itself never hung up
        assert server.starts == 1
        check_whole(address, told)
        check_rush(postgres, server)
    postgres.drop(address)


def check_rush(postgres: Cluster, server: Server) -> None:
    """The pool of connections is smaller than the rush: each caller is told, and the pool is whole afterwards."""
    postgres.stop("immediate")
    with ThreadPoolExecutor(40) as pool:
        away = list(pool.map(lambda n: server.get(f"queries/none {n}"), range(40)))
    assert all(is_try_again(response) for response in away)
    postgres.start()
    with ThreadPoolExecutor(40) as pool:
        back = list(pool.map(lambda n: server.get(f"queries/none {n}"), range(40)))
    assert {response.status_code for response in back} == {404}
    assert server.post("queries", {"id": "kept", "text": KEPT}).is_success
    assert server.get("queries/kept").json()["id"] == "kept"
