"""A change of the embedder outlives the process that was at it, and the others that have the desk open."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from askless.desk.live import reembed, switch
from askless.desk.live.desks import Desks
from askless.desk.live.switch import Job, JobStatus
from askless.errors import Unavailable
from askless.ledger import schema
from askless.ledger.database import Database
from askless.service import app
from live_admin import ADMIN, NAME, Flipped, answer_all, ask, embedders, toy
from toy_desk import some_texts

TEXTS = some_texts(60, seed=8)


@pytest.fixture
def desks(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desks]:
    monkeypatch.setattr(reembed, "_BLOCK", 16)
    monkeypatch.setattr(switch, "LAST", 4)
    with toy(database) as desks:
        yield desks


def stands(desks: Desks, job: int) -> Job:
    with desks.database.read() as connection:
        return reembed.find(connection, desks.row(NAME).id, job)


def ended(jobs: reembed.Reembedding) -> bool:
    until = time.monotonic() + 20
    while jobs._under_way and time.monotonic() < until:
        time.sleep(0.01)
    return not jobs._under_way


def test_who_stops_in_the_middle_leaves_the_job_to_the_next(desks: Desks) -> None:
    ask(desks, TEXTS)
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    stop = threading.Event()
    reembed.work(desks, NAME, job.id, stop=stop, progress=lambda done, total: stop.set())
    assert stands(desks, job.id).done == 16
    assert reembed.work(desks, NAME, job.id).status is JobStatus.DONE  # at once


def test_an_interrupt_leaves_the_job_to_the_next(desks: Desks) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    ask(desks, TEXTS)
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    with pytest.raises(KeyboardInterrupt):
        reembed.work(desks, NAME, job.id, progress=interrupt)
    assert reembed.work(desks, NAME, job.id).status is JobStatus.DONE


def test_the_job_of_a_process_that_was_killed_is_taken_over_in_time(desks: Desks, monkeypatch: Any) -> None:
    ask(desks, TEXTS)
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    assert desks.run(NAME, lambda desk: switch.claim(desk, job.id, "killed")).result()
    jobs = reembed.Reembedding(desks)
    logged: list[str] = []

    async def work(function: Any) -> Any:
        return await asyncio.to_thread(function)

    service: Any = SimpleNamespace(
        work=work, reembedding=jobs, log=SimpleNamespace(error=lambda what, **rest: logged.append(what))
    )
    monkeypatch.setattr(app, "_TAKE_OVER_SECONDS", 0.05)

    async def serve() -> None:
        task = asyncio.create_task(app._take_over_jobs(service))
        await asyncio.sleep(0.5)
        assert stands(desks, job.id).status is JobStatus.RUNNING  # it may be at work yet
        with desks.database.write() as connection:
            table = schema.jobs
            at = connection.execute(select(table.c.updated_at)).scalar_one()
            connection.execute(update(table).values(updated_at=at - timedelta(seconds=300)))
        for _ in range(400):
            if stands(desks, job.id).status is JobStatus.DONE:
                break
            await asyncio.sleep(0.05)
        task.cancel()

    asyncio.run(serve())
    assert stands(desks, job.id).status is JobStatus.DONE
    assert logged == []
    jobs.close()
    assert jobs.resume() == []


def test_a_job_has_one_thread_however_often_it_is_resumed(desks: Desks, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(desks, TEXTS)
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    go_on = threading.Event()
    step = reembed._step

    def slow(*args: Any) -> None:
        go_on.wait(20)
        step(*args)

    monkeypatch.setattr(reembed, "_step", slow)
    jobs = reembed.Reembedding(desks)
    assert [found.id for found in jobs.resume()] == [job.id]
    assert jobs.resume() == []
    go_on.set()
    assert ended(jobs)
    assert stands(desks, job.id).status is JobStatus.DONE
    jobs.close()


def test_a_database_that_is_away_does_not_end_the_job(desks: Desks, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any) -> Job:
        raise Unavailable("The database cannot be reached.")

    ask(desks, TEXTS)
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    jobs = reembed.Reembedding(desks)
    with monkeypatch.context() as patch:
        patch.setattr(reembed, "_now", away)
        jobs.resume()
        assert ended(jobs)
    assert stands(desks, job.id).status is JobStatus.RUNNING
    jobs.resume()
    assert ended(jobs)
    assert stands(desks, job.id).status is JobStatus.DONE
    jobs.close()


def test_a_process_with_events_from_before_the_switch_to_read_goes_on(desks: Desks, database: Database) -> None:
    with Desks(database, listen=False, embedders=embedders) as others:
        ask(desks, TEXTS[:30])
        others.run(NAME, lambda desk: None).result()
        assert answer_all(desks, 2) == 2  # which the others have not read
        job = reembed.start(desks, NAME, "flipped", ADMIN)
        assert reembed.work(desks, NAME, job.id).status is JobStatus.DONE
        there = others.run(NAME, lambda desk: (desk.row.embedder, list(desk.fold.examples.items()))).result()
        assert there == desks.run(NAME, lambda desk: (desk.row.embedder, list(desk.fold.examples.items()))).result()
        assert there[0] == Flipped.id


def test_a_process_that_is_told_of_the_switch_loads_the_desk_without_a_request(
    desks: Desks, database: Database
) -> None:
    with Desks(database, embedders=embedders) as others:
        ask(desks, TEXTS[:30])
        others.run(NAME, lambda desk: None).result()
        assert answer_all(desks, 2) == 2
        job = reembed.start(desks, NAME, "flipped", ADMIN)
        assert reembed.work(desks, NAME, job.id).status is JobStatus.DONE
        worker = others._workers[NAME]
        until = time.monotonic() + 20
        while worker.embedder != "flipped" and time.monotonic() < until:
            time.sleep(0.02)
        assert (worker.embedder, worker._desk.row.embedder) == ("flipped", Flipped.id)
