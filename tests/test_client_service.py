"""Both clients against a real service: the whole life of queries, tickets, labels, examples, desks, webhooks, keys."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import threading
import time
from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from askless.client import (
    AsyncClient,
    BadRequest,
    Client,
    Conflict,
    NotAllowed,
    NotFound,
    Retries,
    Unreachable,
    verify_signature,
)
from askless.ledger.database import Database
from askless.service.insight_results import ConflictsOut, StatisticsOut
from dropping import dropping
from receiver import receiving
from serving import serving

PAY, LOGIN = "How do I pay my invoice?", "I forgot my password"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Database(tmp_path_factory.mktemp("client") / "askless.db") as database:
        database.prepare()
        with serving(database) as running:
            yield running


class Awaited:
    """An AsyncClient called as the other one is, each call on one event loop of its own thread."""

    def __init__(self, loop, client):
        self._loop, self._client = loop, client

    def __getattr__(self, name):
        method = getattr(self._client, name)
        if name == "at":
            return lambda desk: Awaited(self._loop, method(desk))
        if name == "watch":
            return lambda id: iter(self._run(self._all(method(id))))
        return lambda *arguments, **named: self._run(method(*arguments, **named))

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    @staticmethod
    async def _all(iterator):
        return [outcome async for outcome in iterator]


@pytest.fixture(params=["sync", "async"])
def at_desk(request, served):
    """Clients of each role at a desk of their own."""
    name = f"desk-{request.param}-{abs(hash(request.node.name)) % 10**8}"
    served.make_desk(name, policy="ghc:0.9")
    if request.param == "sync":
        clients = {role: Client(served.url, key, name) for role, key in served.key.items()}
        yield clients
        for client in clients.values():
            client.close()
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    clients = {role: Awaited(loop, AsyncClient(served.url, key, name)) for role, key in served.key.items()}
    yield clients
    for client in clients.values():
        client.close()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def client(at_desk):
    return at_desk["client"]


@pytest.fixture
def expert(at_desk):
    return at_desk["expert"]


@pytest.fixture
def admin(at_desk):
    return at_desk["admin"]


def test_a_query_is_asked_answered_and_then_guessed(client, expert):
    asked = client.ask(PAY, "q-1")
    assert (asked.status, asked.id, asked.label) == ("asked", "q-1", None)
    assert client.ask(PAY, "q-1") == asked  # the same id counts once
    with pytest.raises(Conflict, match="q-1"):
        client.ask(LOGIN, "q-1")
    ticket = expert.next_ticket()
    assert (ticket.id, ticket.query, ticket.text) == (asked.ticket, "q-1", PAY)
    assert ticket.lease_by == "expert"
    assert expert.next_ticket().id == ticket.id
    done = expert.answer(ticket.id, "invoice", "In your account, under Bills.")
    assert (done.outcome.status, done.outcome.label) == ("answered", "invoice")
    assert expert.answer(ticket.id, "invoice", "In your account, under Bills.") == done
    assert expert.next_ticket() is None
    guess = client.ask(PAY)
    assert (guess.status, guess.label, guess.answer) == ("guessed", "invoice", "In your account, under Bills.")
    assert [(evidence.id, evidence.text, evidence.label) for evidence in guess.evidence] == [(None, None, "invoice")]
    assert [(evidence.id, evidence.text) for evidence in expert.query(guess.id).evidence] == [("q-1", PAY)]
    assert client.query("q-1").status == "answered"
    with pytest.raises(NotFound, match="nothing"):
        client.query("nothing")
    with pytest.raises(NotFound):
        client.at("nowhere").ask("x")


def test_many_at_once_in_their_order(client, expert):
    outcomes = client.ask_many([PAY, LOGIN, PAY + " Now."], ["a", "b", "c"])
    assert [outcome.id for outcome in outcomes] == ["a", "b", "c"]
    page = expert.queries(status="asked", limit=2)
    assert [row.id for row in page.items] == ["c", "b"]
    assert (page.items[1].text, page.items[1].asker, page.items[1].erased) == (LOGIN, "client", False)
    assert [row.id for row in expert.queries(cursor=page.next).items] == ["a"]


def later(act):
    """Do it in a moment, on a thread."""
    timer = threading.Timer(0.5, act)
    timer.start()
    return timer


def test_waiting_and_watching_see_the_answer(client, expert):
    asked = client.ask(PAY, "w")
    assert client.wait("w", 0.2).waits
    timer = later(lambda: expert.answer(asked.ticket, "invoice"))
    assert client.wait("w", 30).label == "invoice"
    timer.join()
    second = client.ask(LOGIN, "v")
    timer = later(lambda: expert.answer(second.ticket, "password"))
    seen = list(client.watch("v"))
    timer.join()
    assert [outcome.status for outcome in seen] == ["asked", "answered"]
    assert seen[-1] == client.query("v")
    assert [outcome.status for outcome in client.watch("v")] == ["answered"]
    third = client.ask("Where is my parcel?", "u", wait=0.1)
    assert third.waits
    with pytest.raises(NotFound):
        list(client.watch("nothing"))


def test_tickets_are_claimed_skipped_released_and_undone(client, expert, admin):
    asked = client.ask(PAY, "t")
    number = asked.ticket
    assert expert.claim(number).lease_by == "expert"
    with pytest.raises(Conflict, match="expert"):
        admin.answer(number, "invoice")
    assert expert.release(number).lease_by is None
    expert.skip(number)
    assert admin.next_ticket().id == number
    assert admin.answer(number, "invoice").outcome.label == "invoice"
    with pytest.raises(Conflict):
        expert.answer(number, "password")
    assert admin.undo(number).status == "open"
    assert client.query("t").waits
    assert expert.ticket(number).query == "t"
    assert [ticket.id for ticket in expert.tickets(status="open").items] == [number]


def test_feedback_becomes_a_ticket_and_an_expert_decides(client, expert):
    expert.give_examples([{"text": PAY, "label": "invoice"}, {"text": LOGIN, "label": "password"}])
    assert client.ask(PAY, "f").label == "invoice"
    client.feedback("f", "password")
    ticket = expert.next_ticket()
    assert (ticket.query, ticket.suggested) == ("f", "password")
    assert expert.answer(ticket.id, "password").outcome.label == "password"


def test_labels_and_examples(client, expert):
    assert expert.give_examples([{"id": "e1", "text": PAY, "label": "bill"}, {"text": LOGIN, "label": "password"}]) == 2
    assert expert.give_examples([{"id": "e1", "text": PAY, "label": "bill"}]) == 0
    new = expert.create_label("parcel", "It is on its way.")
    assert {label.name: label.examples for label in expert.labels()} == {"bill": 1, "password": 1, "parcel": 0}
    bill = next(label for label in expert.labels() if label.name == "bill")
    assert expert.change_label(bill.id, name="invoice", answer="Under Bills.").answer == "Under Bills."
    assert expert.change_label(bill.id, answer="").answer is None
    with pytest.raises(Conflict, match="merge"):
        expert.change_label(bill.id, name="password")
    assert expert.relabel("e1", "parcel").label == "parcel"
    assert [row.id for row in expert.examples(label="parcel").items] == ["e1"]
    assert expert.merge_labels(new.id, bill.id).examples == 1
    expert.forget("e1")
    expert.forget("e1")
    assert [row.label for row in expert.examples().items] == ["password"]
    expert.delete_label(bill.id)
    with pytest.raises(NotFound):
        expert.delete_label(bill.id)


def test_desks_settings_statistics_and_export(client, expert, admin):
    name = admin.show().name
    assert name in [desk.name for desk in client.desks()]
    assert admin.configure(policy="ghc:0.8", audit_rate=0.5).settings["policy"] == "ghc:0.8"
    with pytest.raises(BadRequest, match="audit_rate"):
        admin.configure(audit_rate=7)
    with pytest.raises(BadRequest):
        admin.configure(colour="red")
    admin.pause()
    with pytest.raises(Conflict, match="paused"):
        client.ask(PAY)
    assert admin.resume().settings["paused"] is False
    expert.answer(client.ask(PAY, "s").ticket, "invoice")
    found = expert.statistics(call_price=2.0, mistake_price=11.0, bucket="hour")
    assert (found.calls, found.guesses, found.saved.value) == (1, 0, 0.0)
    assert expert.conflicts().items == ()
    rows = list(csv.DictReader(io.StringIO(admin.export("csv").decode())))
    assert [row["id"] for row in rows] == ["s"]
    admin.erase("s")
    assert expert.queries().items[0].erased
    other = admin.create_desk(f"{name}-other", policy="chc", costs={"call": -2.0})
    assert other.settings["costs"]["call"] == -2.0
    admin.at(other.name).delete_desk()
    assert other.name not in [desk.name for desk in admin.desks()]


def plain(value):
    """As JSON holds it, times as texts: for comparison."""
    return json.loads(json.dumps(value, default=str))


def test_statistics_say_what_the_service_says(client, expert, admin, served):
    admin.configure(audit_rate=1.0)
    expert.give_examples([{"text": PAY, "label": "invoice"}, {"text": LOGIN, "label": "password"}])
    for id, label in (("right", "invoice"), ("wrong", "password")):
        client.ask(PAY, id)
        expert.answer(expert.next_ticket().id, label)
    prices = {"call_price": 4.0, "mistake_price": 40.0}
    found = expert.statistics(**prices, since=datetime(2026, 1, 1, tzinfo=UTC), bucket="hour")
    assert (found.audits.audited, found.audits.wrong, found.audits.rate) == (2, 1, 0.5)
    assert found.audits.low < 0.5 < found.audits.high
    assert found.saved.low < found.saved.high
    assert [(bucket.guesses, bucket.start.minute) for bucket in found.buckets] == [(2, 0)]
    assert {load.label: load.calls for load in found.labels} == {"invoice": 1, "password": 1}
    params = {**prices, "since": "2026-01-01T00:00:00Z", "bucket": "hour"}
    sent = served.expert.get(f"/api/v1/desks/{admin.show().name}/statistics", params=params).json()
    assert plain(asdict(found)) == plain(StatisticsOut.model_validate(sent).model_dump())


def test_conflicts_are_told_with_the_examples_behind_them(client, expert, admin, served):
    expert.give_examples([{"id": "a", "text": PAY, "label": "invoice"}, {"id": "b", "text": PAY, "label": "refund"}])
    asked = client.ask(PAY, "between")
    found = expert.conflicts()
    (contested,) = found.items
    assert (contested.id, contested.text, contested.ticket) == ("between", PAY, asked.ticket)
    assert set(contested.labels) == {"invoice", "refund"}
    assert {side.label: [e.id for e in side.examples] for side in contested.sides} == {
        "invoice": ["a"],
        "refund": ["b"],
    }
    assert all(side.inside for side in contested.sides)
    assert [{e.id for e in group} for group in found.contradictions] == [{"a", "b"}]
    sent = served.expert.get(f"/api/v1/desks/{admin.show().name}/conflicts").json()
    assert plain(asdict(found)) == plain(ConflictsOut.model_validate(sent).model_dump())


def test_another_embedder_in_the_background(expert, admin):
    expert.give_examples([{"text": PAY, "label": "invoice"}])
    job = admin.reembed("wordllama:64")
    end = time.monotonic() + 30
    while admin.job(job.id).status == "running" and time.monotonic() < end:
        time.sleep(0.05)
    assert admin.job(job.id).status == "done", admin.job(job.id)
    assert [one.id for one in admin.jobs()] == [job.id]
    assert "64" in admin.show().vectors
    assert admin.cancel_job(job.id).status == "done"  # one that has ended stays as it is


def test_what_the_client_may_send_twice_changes_nothing_the_second_time(client, expert, admin):
    made = expert.create_label("parcel", "It is on its way.")
    assert expert.create_label("parcel", "It is on its way.") == made
    changed = expert.change_label(made.id, name="post", answer="It is there.")
    assert expert.change_label(made.id, name="post", answer="It is there.") == changed
    number = client.ask(PAY, "twice").ticket
    expert.claim(number)
    freed = expert.release(number)
    assert expert.release(number) == freed
    for _ in range(2):
        admin.erase("twice")
    key = admin.create_key(f"robot {time.time_ns()}", "client", only=admin.show().name)
    admin.revoke_key(key.id)
    revoked = admin.keys()
    admin.revoke_key(key.id)
    assert admin.keys() == revoked


def test_webhooks_and_keys(client, admin):
    hook = admin.create_webhook("http://127.0.0.1:9/hook", ["query.answered"])
    assert len(hook.secret) >= 32
    assert [(one.id, one.kinds, one.secret) for one in admin.webhooks()] == [(hook.id, ("query.answered",), None)]
    with pytest.raises(BadRequest, match="url"):
        admin.create_webhook("ftp://example.com/")
    with pytest.raises(BadRequest, match="kinds"):
        admin.create_webhook("http://example.com/", ["everything"])
    assert admin.deliveries(status="dead").items == ()
    with pytest.raises(NotFound):
        admin.resend(12345)
    admin.delete_webhook(hook.id)
    assert admin.webhooks() == ()
    with pytest.raises(NotAllowed):
        client.create_webhook("http://example.com/")
    made = admin.create_key(f"robot {time.time_ns()}", "client", only=admin.show().name)
    assert made.secret.startswith("ask_")
    all_keys = admin.keys()
    assert made.id in [key.id for key in all_keys]
    admin.revoke_key(made.id)
    all_keys = admin.keys()
    assert next(key for key in all_keys if key.id == made.id).revoked_at is not None


def test_a_key_that_is_none_is_told(served):
    with Client(served.url, "ask_wrong") as stranger, pytest.raises(NotAllowed, match="key"):
        stranger.desks()


def test_a_service_that_is_gone(served):
    with Client("http://127.0.0.1:9", retries=Retries(most=1, first=0.01)) as client, pytest.raises(Unreachable):
        client.desks()


def test_a_service_that_drops_connections_counts_each_query_once(served):
    """Behind a proxy that forwards each request and hangs up on every second answer."""
    desk, key, retries = "dropped", served.key["client"], Retries(first=0.01)
    served.make_desk(desk, policy="ghc:0.9")

    async def awaited(url):
        async with AsyncClient(url, key, desk, retries=retries) as client:
            return [(await client.ask(f"awaited text {n}")).id for n in range(6)]

    with dropping(served.url) as proxy:
        with Client(proxy.url, key, desk, retries=retries) as client:
            ids = [client.ask(f"text number {n}").id for n in range(6)]
        ids += asyncio.run(awaited(proxy.url))
    assert proxy.dropped >= 10
    with Client(served.url, served.key["expert"], desk) as expert:
        assert sorted(row.id for row in expert.queries(limit=100).items) == sorted(ids)


def test_a_webhook_hears_of_the_life_of_a_query(client, expert, admin):
    with receiving() as receiver:
        hook = admin.create_webhook(receiver.url)
        asked = client.ask(PAY, "h")
        expert.answer(asked.ticket, "invoice", "Under Bills.")
        end = time.monotonic() + 30
        while len(receiver.got) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        said = {got.json["kind"]: got for got in receiver.got}
        assert set(said) == {"ticket.created", "query.answered"}
        answered = said["query.answered"].json
        assert answered["desk"] == admin.show().name
        assert (answered["query"]["id"], answered["query"]["answer"]) == ("h", "Under Bills.")
        for got in receiver.got:
            assert verify_signature(hook.secret, got.headers["x-askless-signature"], got.body)
        while admin.deliveries(status="pending").items and time.monotonic() < end:
            time.sleep(0.02)
        sent = admin.deliveries().items
        assert [one.status for one in sent] == ["sent", "sent"]
        assert admin.resend(sent[0].id).status == "pending"
        while len(receiver.got) < 3 and time.monotonic() < end:
            time.sleep(0.02)
        assert receiver.got[-1].json["id"] == sent[0].id
        admin.delete_webhook(hook.id)
        assert admin.deliveries().items == ()
