"""Several processes on one PostgreSQL: they decide as one, and none of them is needed."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from postgres import Cluster
from reliability import SOAK, Load, Server, is_running, poll, served, waits
from reliability_checks import check_kept, check_verified, check_whole

ANSWERS = 500 if SOAK else 20
NEWS = 20.0  # seconds for what takes less than one, on a machine that may be busy with something else


@pytest.fixture
def address(postgres: Cluster) -> Iterator[str]:
    url = postgres.new()
    yield url
    postgres.drop(url)


def guess_of(server: Server, text: str, id: str) -> tuple[object, ...]:
    outcome = server.post("queries", {"id": id, "text": text}).json()
    return outcome["status"], outcome["label"], outcome["probability"]


def stands(server: Server, id: str) -> Iterator[tuple[str, str | None]]:
    """Status and label of a query at each change, as a caller who watches it is told."""
    with server.watching(f"queries/{id}/events") as lines:
        end = time.monotonic() + NEWS
        for line in lines:
            if line.startswith("data:"):
                outcome = json.loads(line.removeprefix("data:"))
                yield outcome["status"], outcome["label"]
            assert time.monotonic() < end, "no news"


def check_one_decision(one: Server, other: Server) -> None:
    """What one process learns, the other knows: in its decisions, and in the news that it has for those who wait."""
    for n, label in enumerate(("parcel", "invoice", "parcel", "invoice")):
        ticket = waits(one, f"{label} {'lost' * n} where", f"first {n}")
        assert (one, other)[n % 2].post(f"tickets/{ticket}/answer", {"label": label}).is_success

    waiting = waits(one, "my cat ate the manual", "waiting")
    told = stands(other, "waiting")  # a caller of the other process waits for news of this one
    assert next(told) == ("asked", None)
    assert one.post(f"tickets/{waiting}/answer", {"label": "cats"}).is_success
    assert next(told) == ("answered", "cats")
    assert guess_of(other, "my cat ate the manual", "after it")[:2] == ("guessed", "cats")

    texts = ["invoice lost where", "my cat ate the manual", "a cat", "parcel and invoice", "the moon in June"]
    alike = [(guess_of(one, text, f"one {n}"), guess_of(other, text, f"other {n}")) for n, text in enumerate(texts)]
    assert all(mine == theirs for mine, theirs in alike)
    assert {mine[0] for mine, _ in alike} == {"asked", "guessed"}  # or it would say little


def check_rivals(servers: list[Server]) -> None:
    """Of two different answers to one ticket at the same time, one at each process, one wins and the other is told."""
    barrier = threading.Barrier(2)

    def answer(server: Server, ticket: int, label: str) -> int:
        barrier.wait(NEWS)
        return server.post(f"tickets/{ticket}/answer", {"label": label}).status_code

    with ThreadPoolExecutor(2) as pool:
        for n, text in enumerate(["a zebra", "the quantum", "lamps of iron", "tulips", "forty two"]):
            ticket = waits(servers[n % 2], text, f"rival {n}")
            both = [pool.submit(answer, server, ticket, f"label {k}") for k, server in enumerate(servers)]
            assert sorted(done.result() for done in both) == [200, 409]


def test_two_processes_decide_as_one_and_one_is_killed_and_the_other_goes_on(address: str, tmp_path: Path) -> None:
    with served(address, tmp_path, processes=2) as [one, other]:
        with Load([one, other]) as load:
            load.until(ANSWERS)
            one.kill()
            check_kept(address, load.told)
            load.until(2 * ANSWERS)  # by the other alone
            one.start()
            load.until(3 * ANSWERS)
            told = load.finish()
        assert load.lost > 0
        check_whole(address, told)

        one.desk = other.desk = "quiet"
        one.make_desk(policy="ghc:0.3")
        check_one_decision(one, other)
        check_rivals([one, other])
        check_verified(address, "quiet")


def test_a_worker_process_is_killed_and_replaced(address: str, tmp_path: Path) -> None:
    with served(address, tmp_path, "--workers", "2") as [server]:
        poll(lambda: len(server.workers()), 2)
        first = server.workers()
        with Load([server], seed=2) as load:
            load.until(ANSWERS)
            os.kill(first[0], signal.SIGKILL)
            load.until(2 * ANSWERS)
            poll(lambda: len(set(server.workers()) - {first[0]}), 2)
            told = load.finish()
        check_whole(address, told)
        check_workers_end_with_their_parent(server)


def check_workers_end_with_their_parent(server: Server) -> None:
    """Nobody would start them again, so they stop as at SIGTERM: who waits is let go, and the port is free."""
    waits(server, "the sea at night", "no more news")
    told = stands(server, "no more news")
    assert next(told) == ("asked", None)
    workers, address = server.workers(), urlsplit(server.url)
    assert len(workers) == 2
    server.kill_parent()
    assert list(told) == []  # and no broken connection, which would be an error here
    poll(lambda: [worker for worker in workers if is_running(worker)], [])
    with socket.create_server((address.hostname or "", address.port or 0)):
        pass
