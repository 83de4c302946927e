"""Snapshots make a start quick and are never trusted further than they can be checked."""

from __future__ import annotations

import io
import threading
import time

import numpy as np
import pytest
from sqlalchemy import select, update

from askless.desk.live import snapshot
from askless.desk.live.bus import Bus
from askless.desk.live.desk import LiveDesk
from askless.desk.live.worker import DeskWorker
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.events import ERASED
from live_desks import NAME, a_desk, check_tables, replayed, seen
from toy_desk import some_texts

_table = schema.snapshots


def keep(desk: LiveDesk) -> None:
    taken = snapshot.take(desk.fold, desk.row.embedder)
    assert taken is not None
    snapshot.store(desk.entry, taken)


def loaded(desk: LiveDesk) -> int:
    """How many events a start would still have to read."""
    found = snapshot._newest(desk.entry.connection, desk.row)
    return -1 if found is None else desk.fold.last_event - found.last_event


@pytest.mark.parametrize("policy", ["self-tuning", "ghc:0.8", "skm:n_labels=4"])
def test_a_snapshot_gives_the_state_back(database: Database, policy: str) -> None:
    with a_desk(database, policy=policy) as toy:
        toy.do(keep)  # of an empty desk
        toy.check()
        toy.teach(*some_texts(40))
        toy.do(keep)
        assert toy.do(loaded) == 0
        toy.check()
        toy.teach("a100", "b100")
        assert toy.do(loaded) > 0
        toy.check()


def test_vectors_that_stand_in_the_queries_are_not_stored_again(database: Database) -> None:
    with a_desk(database, policy="self-tuning") as toy:
        toy.teach(*some_texts(40))

        def bodies(desk: LiveDesk) -> tuple[bytes, bytes]:
            taken = snapshot.take(desk.fold, desk.row.embedder)
            assert taken is not None
            return taken.body, desk.fold.near.rows.tobytes()

        body, vectors = toy.do(bodies)
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            assert "policy.rows" not in archive.files
            kept = [archive[name].tobytes() for name in archive.files]
        whole = [vectors[k : k + 16] for k in range(0, len(vectors), 16)]  # four numbers each
        assert sum(any(row in bytes for bytes in kept) for row in whole) < len(whole) / 10


@pytest.mark.parametrize("damage", ["body", "version", "embedder", "digest"])
def test_one_that_cannot_be_trusted_is_ignored(database: Database, damage: str) -> None:
    with a_desk(database) as toy:
        toy.teach(*some_texts(20))
        toy.do(keep)

        def spoil(desk: LiveDesk) -> None:
            row = desk.entry.connection.execute(select(_table)).one()
            header = dict(row.header)
            values = {
                "body": {"body": row.body[:-7] + b"garbage"},
                "version": {"header": header | {"version": 99}},
                "embedder": {"header": header | {"embedder": "another"}},
                "digest": {"header": header | {"sha256": "0" * 64}},
            }[damage]
            desk.entry.connection.execute(update(_table).values(**values))

        toy.do(spoil)
        assert toy.do(loaded) == -1
        toy.check()


@pytest.mark.parametrize("policy", ["self-tuning", "ghc:0.8", "amp:0.9", "toy_desk_policy:Drifting"])
def test_what_was_erased_is_in_no_state(database: Database, policy: str) -> None:
    """The vector is blanked beside the events: memory and a replay decide alike all the same."""

    def erase(desk: LiveDesk, id: int) -> None:
        queries = schema.queries
        blank = {"text": None, "vector": None, "example": False}
        desk.entry.connection.execute(update(queries).where(queries.c.id == id).values(**blank))
        event = desk.record(ERASED, id)
        closed = {"status": "withdrawn", "closed": event.id}
        tickets = schema.tickets
        opened = (tickets.c.query == id) & (tickets.c.status == "open")
        desk.entry.connection.execute(update(tickets).where(opened).values(**closed))

    with a_desk(database, policy=policy) as toy:
        toy.teach(*some_texts(30))
        toy.send("a77", "b77")
        toy.do(keep)
        for id in (3, 20, 31):
            toy.do(erase, id)
            toy.do(check_tables)
            here, anew = toy.do(lambda desk: (seen(desk.fold), seen(replayed(desk))))
            said, again = here.pop("decisions"), anew.pop("decisions")
            assert here == anew
            for one, other in zip(said, again, strict=True):  # the order of a store's rows shows in the last digits
                assert [one.get(name) for name in ("action", "label")] == [
                    other.get(name) for name in ("action", "label")
                ]
                assert one.get("distance") == pytest.approx(other.get("distance"), abs=1e-6)
                assert one.get("probability") == pytest.approx(other.get("probability"), abs=1e-6)
        assert toy.do(lambda desk: 3 in desk.fold.examples) is False


def test_the_worker_keeps_one_when_it_closes_and_starts_from_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askless.desk.live.worker._SNAPSHOT_AT_CLOSE", 20)
    with a_desk(database) as toy:
        toy.teach(*some_texts(40))
        before = toy.do(lambda desk: seen(desk.fold))
    with a_desk(database, make=False) as toy:
        assert toy.do(loaded) == 0
        assert toy.do(lambda desk: seen(desk.fold)) == before
        assert toy.do(lambda desk: seen(replayed(desk))) == before


def test_news_of_another_process_arrive_by_themselves(database: Database) -> None:
    """What one records, the other has applied within a second or so, and its listeners are told, without a request."""
    heard: dict[int, float] = {}
    with a_desk(database, policy="chc") as one, a_desk(database, make=False) as two:
        one.teach("a0", "b0")
        assert two.outcome("a0").label == "a"
        two.do(lambda desk: None)
        arrived = threading.Event()

        def note(desk: int, event: int) -> None:
            heard[event] = time.monotonic()
            arrived.set()

        stop = two.desks.bus.subscribe(note)
        (asked,) = one.send("c0")
        last = one.answer(asked.ticket or 0, "c").outcome.event
        worker: DeskWorker = two.desks._workers[NAME]
        until = time.monotonic() + 20
        while worker._desk.fold.last_event < last and time.monotonic() < until:
            time.sleep(0.01)
        assert worker._desk.fold.examples.get(asked.query) == "c"
        assert arrived.wait(20)
        stop()


def test_the_bus_tells_no_news_twice_and_survives_a_bad_listener() -> None:
    bus, heard = Bus(), list[tuple[int, int]]()

    def bad(desk: int, event: int) -> None:
        raise ValueError("a mistake of the listener")

    bus.subscribe(bad)
    stop = bus.subscribe(lambda desk, event: heard.append((desk, event)))
    for event in (5, 5, 4, 6):
        bus.publish(1, event)
    bus.publish(2, 5)
    stop()
    bus.publish(1, 7)
    assert heard == [(1, 5), (1, 6), (2, 5)]


def test_memory_does_not_grow_with_queries(database: Database) -> None:
    with a_desk(database, policy="ghc:1.0") as toy:
        toy.teach("a0", "b0")
        for start in range(0, 300, 100):
            toy.send(*[f"a{start + k}x" for k in range(100)])
        held = toy.do(lambda desk: (len(desk.fold.examples), len(desk.fold.waiting), len(desk.due)))
        assert held == (2, 0, 0)
