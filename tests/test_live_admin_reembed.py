"""Another embedder: in the background, caught up with, switched at once, and nothing lost on the way."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import func, select

from askless.desk.live import examples, reembed, switch
from askless.desk.live.configure import settings_of
from askless.desk.live.desks import Desks
from askless.desk.live.erase import erase
from askless.desk.live.switch import JobStatus
from askless.desk.live.types import NewQuery
from askless.desk.live.verify import SWITCHED, verify
from askless.errors import Conflicting, InvalidInput, Unavailable, Unknown
from askless.ledger import schema
from askless.ledger.database import Database
from askless.policies.named import make_policy
from askless.types import Guess
from live_admin import ADMIN, NAME, Broken, Flipped, answer_all, ask, decisions, embedders, query_row, toy
from toy_desk import Letters, some_texts

TEXTS = some_texts(90, seed=8)
LETTERS = [f"{letter}probe{k}" for letter in "abcd" for k in range(8)]
OLD, NEW = Letters().embed(LETTERS), Flipped().embed(LETTERS)


@pytest.fixture
def desks(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desks]:
    monkeypatch.setattr(reembed, "_BLOCK", 16)
    monkeypatch.setattr(switch, "LAST", 4)
    with toy(database) as desks:
        yield desks


def count_events(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(schema.events)).scalar_one())


def count_new_vectors(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(schema.new_vectors)).scalar_one())


def taught_anew(desks: Desks) -> list[str | None]:
    """What a policy says that learns the examples, in their order, with the new embedder."""
    learned = desks.run(NAME, lambda desk: dict(desk.fold.examples)).result()
    with desks.database.read() as connection:
        texts = dict(tuple(row) for row in connection.execute(select(schema.queries.c.id, schema.queries.c.text)))
    policy = make_policy("ghc:0.8")
    for id, label in learned.items():
        policy.learn(Flipped().embed([texts[id]])[0], label)
    return [d.label if isinstance(d, Guess) else None for d in map(policy.decide, NEW)]


def check_switched(desks: Desks) -> None:
    database = desks.database
    wanted = taught_anew(desks)
    assert [label for label, _ in decisions(desks, NEW)] == wanted
    assert desks.row(NAME).embedder == Flipped.id
    assert settings_of(desks, NAME).embedder == "flipped"
    assert count_new_vectors(database) == 0
    with Desks(database, listen=False, embedders=embedders) as again:
        assert [label for label, _ in decisions(again, NEW)] == wanted
        ask(again, ["a-after", "b-after"])
    found = verify(database, NAME)
    assert found.sound, [str(d) for d in found.differences]
    assert found.skipped[SWITCHED] > 0
    assert found.same >= 2


def test_texts_are_embedded_in_blocks_and_the_desk_switched(desks: Desks, database: Database) -> None:
    ask(desks, TEXTS)
    answer_all(desks, 25)
    before = decisions(desks, OLD)
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    assert (job.status, job.done, job.total) == (JobStatus.RUNNING, 0, len(TEXTS))
    with pytest.raises(Conflicting, match=f"Job {job.id}"):
        reembed.start(desks, NAME, "flipped", ADMIN)
    stop, steps = threading.Event(), list[int]()

    def step(done: int, total: int) -> None:
        steps.append(done)
        if done == 32:
            stop.set()

    assert reembed.work(desks, NAME, job.id, stop=stop, progress=step).done == 32
    assert decisions(desks, OLD) == before  # nothing has changed yet
    ask(desks, ["a-late", "c-late"])  # meanwhile
    answer_all(desks, 2)
    with database.write() as connection:  # the process is gone, and another takes the job over
        row = connection.execute(select(schema.jobs)).one()
        late = {"payload": row.payload | {"by": None}}
        connection.execute(schema.jobs.update().values(late))
    done = reembed.work(desks, NAME, job.id)
    assert (done.status, done.done, done.error) == (JobStatus.DONE, len(TEXTS) + 2, None)
    assert steps == [16, 32]
    check_switched(desks)
    with pytest.raises(InvalidInput, match="already"):
        reembed.start(desks, NAME, "flipped", ADMIN)


def test_a_job_goes_on_in_the_background_and_after_a_restart(desks: Desks) -> None:
    ask(desks, TEXTS[:40])
    answer_all(desks, 15)
    jobs = reembed.Reembedding(desks)
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    assert [found.id for found in jobs.resume()] == [job.id]
    jobs._threads.shutdown(wait=True)
    with desks.database.read() as connection:
        assert reembed.find(connection, desks.row(NAME).id, job.id).status is JobStatus.DONE
        assert [found.id for found in reembed.jobs(connection, desks.row(NAME).id)] == [job.id]
        with pytest.raises(Unknown):
            reembed.find(connection, desks.row(NAME).id, 99)
    check_switched(desks)
    jobs.close()


def test_two_workers_of_one_job_do_not_meet(desks: Desks) -> None:
    ask(desks, TEXTS[:40])
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    assert desks.run(NAME, lambda desk: switch.claim(desk, job.id, "another process")).result()
    assert reembed.work(desks, NAME, job.id).status is JobStatus.RUNNING  # left to that one
    assert desks.row(NAME).embedder == Letters.id


def test_an_embedder_that_fails_leaves_everything_as_it_was(desks: Desks, database: Database) -> None:
    ask(desks, TEXTS)
    answer_all(desks, 20)
    before = decisions(desks, OLD)
    job = reembed.start(desks, NAME, "broken", ADMIN)
    ended = reembed.work(desks, NAME, job.id)
    assert ended.status is JobStatus.FAILED
    assert "cannot be reached" in (ended.error or "")
    assert decisions(desks, OLD) == before
    assert desks.row(NAME).embedder == Letters.id
    assert reembed.work(desks, NAME, job.id) == ended
    assert verify(database, NAME).sound


def test_an_error_that_nobody_foresaw_ends_the_job_too(desks: Desks, monkeypatch: pytest.MonkeyPatch) -> None:
    def surprise(self: Broken, texts: Sequence[str]) -> NDArray[np.float32]:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Broken, "embed", surprise)
    ask(desks, TEXTS[:20])
    jobs = reembed.Reembedding(desks)
    job = jobs.start(NAME, "broken", ADMIN)
    jobs._threads.shutdown(wait=True)
    with desks.database.read() as connection:
        ended = reembed.find(connection, desks.row(NAME).id, job.id)
    assert (ended.status, ended.error) == (JobStatus.FAILED, "RuntimeError: out of memory")


def test_a_cancelled_job_leaves_nothing(desks: Desks, database: Database) -> None:
    ask(desks, TEXTS)
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    stop = threading.Event()
    reembed.work(desks, NAME, job.id, stop=stop, progress=lambda done, total: stop.set())
    assert count_new_vectors(database) == 16
    assert reembed.cancel(desks, NAME, job.id, ADMIN).status is JobStatus.CANCELLED
    assert count_new_vectors(database) == 0
    assert reembed.work(desks, NAME, job.id).status is JobStatus.CANCELLED
    assert desks.row(NAME).embedder == Letters.id
    assert verify(database, NAME).sound


def test_what_is_erased_meanwhile_stays_erased(desks: Desks, database: Database) -> None:
    ask(desks, TEXTS)
    answer_all(desks, 10)
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    stop = threading.Event()
    reembed.work(desks, NAME, job.id, stop=stop, progress=lambda done, total: stop.set())
    erase(desks, NAME, [TEXTS[0], TEXTS[-1]], ADMIN)
    kept = desks.run(
        NAME,
        lambda desk: switch.store(desk, job.id, [query_row(database, TEXTS[-1]).id], np.ones((1, 5), dtype=np.float32)),
    ).result()
    assert kept == set()
    desks.run(NAME, lambda desk: switch.end(desk, job.id, JobStatus.CANCELLED, "over")).result()
    job = reembed.start(desks, NAME, "flipped", ADMIN)
    assert reembed.work(desks, NAME, job.id).status is JobStatus.DONE
    assert query_row(database, TEXTS[0]).vector is None
    assert query_row(database, TEXTS[-1]).vector is None
    check_switched(desks)


def test_examples_without_a_text_are_forgotten_only_where_that_is_allowed(desks: Desks, database: Database) -> None:
    ask(desks, TEXTS[:30])
    x = Letters().embed(["a-vector"])[0]
    desks.submit(NAME, [NewQuery("bare", vector=x)], "client").result()
    desks.run(NAME, lambda desk: None).result()
    answer_all(desks)
    if not query_row(database, "bare").example:
        desks.run(NAME, lambda desk: examples.relabel(desk, "bare", "a", ADMIN)).result()
    with pytest.raises(Conflicting, match=r"has 1 example that came without a text"):
        reembed.start(desks, NAME, "flipped", ADMIN)
    job = reembed.start(desks, NAME, "flipped", ADMIN, forget_vectors=True)
    assert job.forgets == 1
    assert reembed.work(desks, NAME, job.id).status is JobStatus.DONE
    row = query_row(database, "bare")
    assert (row.vector, row.example) == (None, False)
    assert row.label is not None
    check_switched(desks)


def test_a_question_without_a_text_that_waits_is_not_lost_unasked(desks: Desks, database: Database) -> None:
    ask(desks, TEXTS[:10])
    x = Letters().embed(["a-vector"])[0]
    desks.submit(NAME, [NewQuery("bare", vector=x)], "client").result()
    with pytest.raises(Conflicting, match=r"has 1 open question that came without a text"):
        reembed.start(desks, NAME, "flipped", ADMIN)
    job = reembed.start(desks, NAME, "flipped", ADMIN, forget_vectors=True)
    assert reembed.work(desks, NAME, job.id).status is JobStatus.DONE
    check_switched(desks)
    before = count_events(database)
    (again,) = desks.submit(NAME, [NewQuery("bare", vector=x[:3])], "client").result()  # sent again, as it was then
    assert (again.key, again.waits) == ("bare", True)
    assert count_events(database) == before
    with pytest.raises(InvalidInput, match="have 5 dimensions"):
        desks.submit(NAME, [NewQuery("new", vector=x[:3])], "client").result()


def test_another_process_that_had_the_desk_open_is_switched_too(desks: Desks, database: Database) -> None:
    with Desks(database, listen=False, embedders=embedders) as others:
        ask(desks, TEXTS[:40])
        answer_all(others, 10)
        job = reembed.start(desks, NAME, "flipped", ADMIN)
        answer_all(desks, 2)  # which the others have not seen before the switch
        assert reembed.work(desks, NAME, job.id).status is JobStatus.DONE
        erase(desks, NAME, TEXTS[:3], ADMIN)
        with pytest.raises(Unavailable, match="switched: try again"):  # their vectors were the old embedder's
            ask(others, ["a-new", "?-new", "d-new"])
        outcomes = ask(others, ["a-new", "?-new", "d-new"])
        assert [outcome.key for outcome in outcomes] == ["a-new", "?-new", "d-new"]
        assert decisions(others, NEW) == decisions(desks, NEW)
        check_switched(others)
