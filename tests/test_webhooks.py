"""Deliveries to webhooks, on both databases, to a real receiver that behaves well, and badly."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, select, update

from askless.client import verify_signature
from askless.errors import InvalidInput, Unavailable, Unknown, UnknownQuery
from askless.ledger import schema
from askless.service import outbox
from askless.service.webhooks import Courier, CourierSettings
from receiver import drip, hang, hang_up, receiving, status, talk

QUICK = CourierSettings(delays=(0.05, 0.1, 0.1), timeout=1.0, poll=0.05, pace=0.01, grace=0.3)
PATIENCE = 20.0  # seconds for what takes much less


def outcome(connection, due):
    """What the API would say of the query."""
    found = connection.execute(select(schema.queries.c.text).where(schema.queries.c.key == due.key)).scalar()
    return {"id": due.key, "status": "asked", "text": found}


class Desk:
    """A desk with one query, in the database alone; `tell` does what a live desk does in its transaction."""

    def __init__(self, database):
        self.database, self.now = database, datetime.now(UTC)
        with database.write() as connection:
            self.id = self._insert(connection, schema.desks, name="support", embedder="toy", created_at=self.now)
            self.query = self._insert(connection, schema.queries, desk=self.id, key="q1", text="How do I pay?")

    @staticmethod
    def _insert(connection, table, **values):
        return connection.execute(insert(table).values(**values)).inserted_primary_key[0]

    def hook(self, url, **options):
        with self.database.write() as connection:
            return outbox.create(
                connection, self.id, url, options.get("kinds"), options.get("secret"), datetime.now(UTC)
            )

    def open_ticket(self):
        with self.database.write() as connection:
            values = {"desk": self.id, "query": self.query, "status": "open", "why": "audit", "priority": 0.0}
            values |= {"opened_at": self.now, "opened": 1, "skipped_by": [], "guess": "invoice"}
            return self._insert(connection, schema.tickets, **values)

    def tell(self, webhook, times=1, kind="query.answered"):
        with self.database.write() as connection:
            made = []
            for _ in range(times):
                event = self._insert(
                    connection, schema.events, desk=self.id, kind="asked", query=self.query, at=self.now, payload={}
                )
                values = {"desk": self.id, "webhook": webhook.id, "kind": kind, "event": event}
                values |= {"query": self.query, "status": "pending", "attempts": 0}
                values |= {"next_at": datetime.now(UTC), "created_at": self.now}
                made.append(self._insert(connection, schema.deliveries, **values))
            return made

    def deliveries(self, **filters):
        with self.database.read() as connection:
            return outbox.page(connection, self.id, limit=1000, **filters)

    def the(self, delivery):
        return next(row for row in self.deliveries() if row.id == delivery)


@pytest.fixture
def desk(database):
    return Desk(database)


@pytest.fixture
def receiver():
    with receiving() as server:
        yield server


def courier(desk, settings=QUICK, **options):
    return Courier(desk.database, options.pop("outcome", outcome), settings, **options)


def send_until(desk, condition, *couriers, seconds=PATIENCE):
    """Run couriers until the condition holds; whether it did."""

    async def run():
        tasks = [asyncio.create_task(one.run()) for one in couriers or (courier(desk),)]
        end = time.monotonic() + seconds
        while not (held := await asyncio.to_thread(condition)) and time.monotonic() < end:
            for task in tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        return held

    return asyncio.run(run())


def test_a_delivery_is_signed_and_says_what_stands(desk, receiver):
    hook, secret = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    assert send_until(desk, lambda: desk.the(delivery).status == "sent")
    (got,) = receiver.got
    assert got.json == {
        "id": delivery,
        "kind": "query.answered",
        "desk": "support",
        "event": desk.the(delivery).event,
        "at": desk.now.isoformat(),
        "query": {"id": "q1", "status": "asked", "text": "How do I pay?"},
    }
    assert got.headers["x-askless-delivery"] == str(delivery)
    assert got.headers["content-type"] == "application/json"
    assert verify_signature(secret, got.headers["x-askless-signature"], got.body)
    assert not verify_signature("x" * 43, got.headers["x-askless-signature"], got.body)
    row = desk.the(delivery)
    assert (row.attempts, row.last_error, row.query) == (1, None, "q1")
    assert row.sent_at is not None


def test_a_new_ticket_is_told_by_its_number_and_its_query_alone(desk, receiver):
    hook, _ = desk.hook(receiver.url)
    ticket = desk.open_ticket()
    (delivery,) = desk.tell(hook, kind="ticket.created")
    assert send_until(desk, lambda: desk.the(delivery).status == "sent")
    said = receiver.got[0].json
    assert (said["ticket"], said["kind"]) == (ticket, "ticket.created")
    assert said["query"] == {"id": "q1", "text": "How do I pay?", "received_at": None}
    assert b"invoice" not in receiver.got[0].body


def test_each_is_sent_once_where_the_receiver_accepts_it(desk, receiver):
    hook, _ = desk.hook(receiver.url)
    made = desk.tell(hook, 40)
    pair = courier(desk), courier(desk)
    assert send_until(desk, lambda: not desk.deliveries(status="pending"), *pair)
    assert sorted(got.json["id"] for got in receiver.got) == sorted(made)


def test_a_failing_receiver_is_tried_again_and_then_has_it(desk, receiver):
    receiver.acts = [status(500), hang_up, status(429)]
    hook, secret = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    assert send_until(desk, lambda: desk.the(delivery).status == "sent")
    assert desk.the(delivery).attempts == 4
    assert [got.json["id"] for got in receiver.got] == [delivery] * 4
    assert all(verify_signature(secret, got.headers["x-askless-signature"], got.body) for got in receiver.got)


def test_after_the_last_try_it_is_dead_and_can_be_sent_again(desk, receiver):
    receiver.always = status(503)
    hook, _ = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    assert send_until(desk, lambda: desk.the(delivery).status == "dead")
    assert len(receiver.got) == 1 + len(QUICK.delays)
    assert desk.the(delivery).last_error == "It was answered with status 503."
    assert [row.id for row in desk.deliveries(status="dead")] == [delivery]
    assert not send_until(desk, lambda: len(receiver.got) > 4, seconds=0.4)

    receiver.always = None
    with desk.database.write() as connection:
        again = outbox.resend(connection, desk.id, delivery, datetime.now(UTC))
    assert (again.status, again.attempts, again.last_error) == ("pending", 0, None)
    assert send_until(desk, lambda: desk.the(delivery).status == "sent")


def test_the_delays_grow_with_a_part_at_random(desk, receiver):
    receiver.always = status(500)
    hook, _ = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    settings = replace(QUICK, delays=(0.15, 0.4), jitter=0.5)
    assert send_until(desk, lambda: desk.the(delivery).status == "dead", courier(desk, settings))
    first, second, third = (got.at for got in receiver.got)
    assert second - first >= 0.15
    assert third - second >= 0.4


def test_the_usual_delays_are_a_second_to_an_hour():
    assert CourierSettings().delays == (1, 5, 30, 120, 600, 3600)


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (status(302, Location="http://127.0.0.1:1/"), "status 302; redirects are not followed"),
        (status(404), "status 404"),
        (hang, "No complete answer within 0.4 s"),
        (drip, "No complete answer within 0.4 s"),
        (hang_up, "It could not be sent (RemoteProtocolError)"),
    ],
    ids=["redirects", "refuses", "hangs", "drips", "hangs up"],
)
def test_why_it_failed_is_said(desk, receiver, act, why):
    receiver.always = act
    hook, _ = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    settings = replace(QUICK, timeout=0.4, delays=())
    assert send_until(desk, lambda: desk.the(delivery).status == "dead", courier(desk, settings))
    assert why in desk.the(delivery).last_error
    assert len(receiver.got) == 1


def test_nobody_there_is_a_failure_like_any_other(desk, receiver):
    unused = receiver.url.replace(str(receiver.server_port), "9")
    hook, _ = desk.hook(unused)
    (delivery,) = desk.tell(hook)
    assert send_until(desk, lambda: desk.the(delivery).status == "dead")
    assert "ConnectError" in desk.the(delivery).last_error


def test_a_host_that_turns_out_to_be_of_the_link_is_sent_nothing(desk, receiver, monkeypatch):
    monkeypatch.setattr(outbox, "is_link_local", "127.0.0.1".__eq__)
    hook, _ = desk.hook(receiver.url.replace("127.0.0.1", "localhost"))
    (delivery,) = desk.tell(hook)
    assert send_until(desk, lambda: desk.the(delivery).status == "dead")
    assert desk.the(delivery).last_error == "Its host has a link-local address, to which nothing is sent."
    assert not receiver.got


def test_a_host_that_is_looked_for_without_end_is_given_up_in_time(desk, monkeypatch):
    async def never(*_, **__):
        await asyncio.sleep(2 * PATIENCE)

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", never)
    hook, _ = desk.hook("http://slow.example/")
    (delivery,) = desk.tell(hook)
    in_time = courier(desk, replace(QUICK, timeout=0.1))
    assert send_until(desk, lambda: desk.the(delivery).status == "dead", in_time)
    assert desk.the(delivery).last_error == "No complete answer within 0.1 s."


def test_an_answer_without_end_is_left_and_counts_by_its_status(desk, receiver):
    receiver.always = talk
    hook, _ = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    assert send_until(desk, lambda: desk.the(delivery).status == "sent", courier(desk, replace(QUICK, timeout=15.0)))


def test_a_webhook_that_hangs_holds_up_no_other(desk, receiver):
    with receiving() as slow:
        slow.always = hang
        hangs, _ = desk.hook(slow.url)
        works, _ = desk.hook(receiver.url)
        desk.tell(hangs, 50)
        quick = desk.tell(works, 20)
        patient = courier(desk, replace(QUICK, timeout=60.0))
        assert send_until(desk, lambda: all(desk.the(one).status == "sent" for one in quick), patient)
        assert len(slow.got) <= QUICK.per_webhook
        assert len(receiver.got) == 20


def test_one_that_was_taken_by_a_process_that_died_is_sent_by_another(desk, receiver):
    hook, _ = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    now = datetime.now(UTC)
    with desk.database.write() as connection:
        (taken,) = outbox.take_due(connection, {hook.id: 4}, now, timedelta(seconds=0.7))
    assert taken.id == delivery
    assert not send_until(desk, lambda: receiver.got, seconds=0.2)  # it has it until the lease ends
    assert send_until(desk, lambda: desk.the(delivery).status == "sent")


def test_two_processes_never_take_the_same_one(desk, receiver):
    hook, _ = desk.hook(receiver.url)
    made = desk.tell(hook, 60)
    taken, at_once = [], threading.Barrier(3)

    def take():
        at_once.wait()
        for _ in range(20):
            with desk.database.write() as connection:
                found = outbox.take_due(connection, {hook.id: 3}, datetime.now(UTC), timedelta(minutes=1))
            taken.extend(one.id for one in found)

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == made


def test_stopping_gives_back_what_was_under_way(desk, receiver):
    receiver.always = hang
    hook, _ = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    assert send_until(desk, lambda: receiver.got, courier(desk, replace(QUICK, timeout=60.0)))
    assert desk.the(delivery).status == "pending"
    assert desk.the(delivery).next_at <= datetime.now(UTC)
    receiver.always = None
    receiver.stopping.set()
    assert send_until(desk, lambda: desk.the(delivery).status == "sent")


def test_what_was_erased_meanwhile_is_not_sent(desk, receiver):
    hook, _ = desk.hook(receiver.url)
    receiver.acts = [status(500)]
    (delivery,) = desk.tell(hook)
    patient = courier(desk, replace(QUICK, delays=(0.6,)))
    assert send_until(desk, lambda: desk.the(delivery).attempts == 1, patient)
    with desk.database.write() as connection:
        connection.execute(update(schema.queries).values(text=None))
    assert send_until(desk, lambda: desk.the(delivery).status == "sent")
    assert b"How do I pay?" in receiver.got[0].body
    assert b"How do I pay?" not in receiver.got[1].body


def test_one_whose_query_is_gone_is_dead_at_once(desk, receiver):
    def gone(connection, due):
        raise UnknownQuery(f"No query has the id {due.key!r}.")

    hook, _ = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    assert send_until(desk, lambda: desk.the(delivery).status == "dead", courier(desk, outcome=gone))
    assert desk.the(delivery).last_error == "Its query is gone."
    assert receiver.got == []


def test_one_that_cannot_be_written_holds_up_no_other(desk, receiver):
    calls = iter(range(1000))

    def broken_once(connection, due):
        if next(calls) == 0:
            raise RuntimeError("a mistake of the service")
        return outcome(connection, due)

    hook, _ = desk.hook(receiver.url)
    made = desk.tell(hook, 3)
    assert send_until(desk, lambda: not desk.deliveries(status="pending"), courier(desk, outcome=broken_once))
    assert {row.status for row in desk.deliveries()} == {"sent"}
    assert sorted(row.attempts for row in desk.deliveries()) == [1, 1, 2]
    assert sorted(got.json["id"] for got in receiver.got) == made


def test_a_database_that_is_away_for_a_while_loses_nothing(desk, receiver, monkeypatch):
    hook, _ = desk.hook(receiver.url)
    (delivery,) = desk.tell(hook)
    write, failures = desk.database.write, iter([True, True, False, True, True])

    @contextlib.contextmanager
    def away():
        if threading.current_thread() is not threading.main_thread() and next(failures, False):
            raise Unavailable("The database is away.")
        with write() as connection:
            yield connection

    monkeypatch.setattr(desk.database, "write", away)
    assert send_until(desk, lambda: desk.the(delivery).status == "sent")
    assert len(receiver.got) == 1  # accepted once, and remembered while the database was away


def test_a_commit_wakes_the_courier(desk, receiver):
    callbacks = []

    def subscribe(callback):
        callbacks.append(callback)
        return callbacks.clear

    async def run():
        sleepy = courier(desk, replace(QUICK, poll=60.0))
        task = asyncio.create_task(sleepy.run(subscribe))
        await asyncio.sleep(0.3)
        hook, _ = await asyncio.to_thread(desk.hook, receiver.url)
        await asyncio.to_thread(desk.tell, hook)
        await asyncio.to_thread(callbacks[0], desk.id, 1)  # as a worker's thread does
        end = time.monotonic() + PATIENCE
        while not receiver.got and time.monotonic() < end:
            await asyncio.sleep(0.01)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert len(receiver.got) == 1
    assert callbacks == []  # it has unsubscribed


def test_sent_ones_are_swept_away_after_a_week_and_dead_ones_after_a_month(desk, receiver):
    receiver.always = status(500)
    hook, _ = desk.hook(receiver.url)
    late, *told = desk.tell(hook, 5)
    sent, swept, dead, gone = told
    assert send_until(desk, lambda: len(desk.deliveries(status="dead")) == 5), "they die as all others do"
    with desk.database.write() as connection:
        d = schema.deliveries

        def aged(one, days, **values):
            by = timedelta(days=days)
            row = connection.execute(select(d).where(d.c.id == one)).one()
            times = {"next_at": row.next_at - by, "created_at": row.created_at - by}
            connection.execute(update(d).where(d.c.id == one).values(**times, **values))

        for one, days in ((sent, 6), (swept, 8)):
            aged(one, days, status="sent", sent_at=datetime.now(UTC) - timedelta(days=days))
        aged(dead, 29)
        aged(gone, 31)
        aged(late, 31, status="pending")  # one that waits is never swept away, however old it is
    receiver.always = status(200)
    assert send_until(desk, lambda: len(desk.deliveries()) == 3 and desk.the(late).status == "sent")
    assert {row.id: row.status for row in desk.deliveries()} == {late: "sent", sent: "sent", dead: "dead"}


def test_a_deleted_webhook_takes_its_deliveries_along(desk, receiver):
    hook, _ = desk.hook(receiver.url)
    other, _ = desk.hook(receiver.url)
    desk.tell(hook, 3)
    (kept,) = desk.tell(other)
    with desk.database.write() as connection:
        outbox.remove(connection, desk.id, hook.id)
        with pytest.raises(Unknown, match="no webhook"):
            outbox.remove(connection, desk.id, hook.id)
        with pytest.raises(Unknown, match="no webhook"):
            outbox.remove(connection, desk.id + 1, other.id)
        with pytest.raises(Unknown, match="no delivery"):
            outbox.resend(connection, desk.id + 1, kept, datetime.now(UTC))
    assert [row.id for row in desk.deliveries()] == [kept]


def test_a_secret_is_made_where_none_is_given(desk):
    _, one = desk.hook("https://example.test/a")
    _, other = desk.hook("https://example.test/a")
    assert len(one) >= 40
    assert one != other
    assert desk.hook("https://example.test/a", secret="0123456789abcdef")[1] == "0123456789abcdef"
    with pytest.raises(InvalidInput, match="16 to 200"):
        desk.hook("https://example.test/a", secret="short")


def test_pages_of_deliveries(desk):
    hook, _ = desk.hook("https://example.test/a")
    made = desk.tell(hook, 7)
    with desk.database.read() as connection:
        first = outbox.page(connection, desk.id, limit=3)
        second = outbox.page(connection, desk.id, limit=9, before=first[-1].id)
    assert [row.id for row in first + second] == made[::-1]
