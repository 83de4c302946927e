"""Webhooks of a running service: who may see them, what they hear of, and that a bad one disturbs nobody."""

from __future__ import annotations

import logging
import re
import time

import pytest

from askless.ledger.database import Database
from askless.service.keys import Role, create_key
from askless.service.webhooks import CourierSettings
from receiver import hang, receiving, status
from serving import serving

PATIENCE = 30.0  # seconds for what takes much less


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Database(tmp_path_factory.mktemp("webhooks") / "askless.db") as database:
        database.prepare()
        with serving(database) as running:
            yield running


@pytest.fixture
def desk(served, request):
    return served.make_desk(f"desk-{abs(hash(request.node.name)) % 10**8}", policy="ghc:0.9")


@pytest.fixture
def receiver():
    with receiving() as server:
        yield server


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def hook(served, desk, url, **fields):
    made = served.admin.post(f"{desk}/webhooks", json={"url": url, **fields})
    assert made.status_code == 201, made.text
    return made.json()


def ask(served, desk, text, id):
    return served.client.post(f"{desk}/queries", json={"id": id, "text": text}).json()


def answer(served, desk, ticket, label):
    made = served.expert.post(f"{desk}/tickets/{ticket}/answer", json={"label": label})
    assert made.status_code == 200, made.text


def deliveries(served, desk, **filters):
    return served.admin.get(f"{desk}/deliveries", params=filters).json()["items"]


def test_only_admins_see_webhooks_and_the_secret_is_shown_once(served, desk):
    made = hook(served, desk, "https://example.test/hook")
    assert made["kinds"] == ["ticket.created", "query.answered", "audit.failed"]
    listed = served.admin.get(f"{desk}/webhooks")
    assert [one["id"] for one in listed.json()["items"]] == [made["id"]]
    assert made["secret"] not in listed.text
    for client in (served.client, served.expert):
        assert client.get(f"{desk}/webhooks").status_code == 403
        assert client.post(f"{desk}/webhooks", json={"url": "https://example.test/"}).status_code == 403
        assert client.get(f"{desk}/deliveries").status_code == 403
        assert client.delete(f"{desk}/webhooks/{made['id']}").status_code == 403
    assert served.nobody.get(f"{desk}/webhooks").status_code == 401


def test_an_admin_of_one_desk_reaches_no_other_desks_webhooks(served, desk, receiver):
    other = served.make_desk("another", policy="ghc:0.9")
    bound = served.with_key(create_key(served.database, "bound", Role.ADMIN, "another").secret)
    made = hook(served, desk, receiver.url)
    ask(served, desk, "How do I pay?", "q")
    wait_for(lambda: deliveries(served, desk, status="sent"))
    (delivery,) = deliveries(served, desk)
    assert bound.get(f"{desk}/webhooks").status_code == 404
    assert bound.get(f"{desk}/deliveries").status_code == 404
    assert bound.delete(f"{other}/webhooks/{made['id']}").status_code == 404
    assert bound.post(f"{other}/deliveries/{delivery['id']}/resend").status_code == 404
    assert bound.get(f"{other}/deliveries").json() == {"items": [], "next": None}
    assert len(receiver.got) == 1


def test_a_webhook_hears_of_its_kinds_alone(served, desk, receiver):
    hook(served, desk, receiver.url, kinds=["audit.failed"])
    served.admin.patch(desk, json={"audit_rate": 1.0})
    served.teach(desk, {"How do I pay my invoice?": "invoice", "I forgot my password": "password"})
    first = ask(served, desk, "How do I pay my invoice?", "a")
    assert (first["status"], first["label"]) == ("guessed", "invoice")
    (ticket,) = served.expert.get(f"{desk}/tickets", params={"status": "open"}).json()["items"]
    answer(served, desk, ticket["id"], "password")  # the guess was wrong, says the expert
    wait_for(lambda: receiver.got)
    assert receiver.got[0].json["kind"] == "audit.failed"
    assert receiver.got[0].json["query"]["id"] == "a"
    assert [one["kind"] for one in deliveries(served, desk)] == ["audit.failed"]


@pytest.mark.parametrize("setting", [{"audit_rate": 1.0}, {"mode": "shadow"}])
def test_a_new_ticket_never_carries_the_guess_that_it_measures(served, receiver, setting):
    desk = served.make_desk(f"blind-{next(iter(setting))}".replace("_", "-"), policy="ghc:0.9", **setting)
    served.teach(desk, {"How do I pay my invoice?": "invoice", "I forgot my password": "password"})
    receiver.acts = [status(500)]
    hook(served, desk, receiver.url, kinds=["ticket.created"])
    ask(served, desk, "How do I pay my bill?", "a")
    wait_for(lambda: receiver.got)
    (ticket,) = served.expert.get(f"{desk}/tickets", params={"status": "open"}).json()["items"]
    answer(served, desk, ticket["id"], "invoice")
    wait_for(lambda: len(receiver.got) == 2)  # tried again, after the answer
    for got in receiver.got:
        assert got.json["ticket"] == ticket["id"]
        assert set(got.json) == {"id", "kind", "desk", "event", "at", "ticket", "query"}
        assert set(got.json["query"]) == {"id", "text", "received_at"}
        assert (got.json["query"]["id"], got.json["query"]["text"]) == ("a", "How do I pay my bill?")
        assert b"password" not in got.body
        assert b"invoice" not in got.body


def test_the_address_of_a_webhook_is_in_no_log(served, desk, receiver, caplog):
    caplog.set_level(logging.INFO)  # as where a program around the service logs all that libraries say
    hook(served, desk, f"{receiver.url}?token=s3cret")
    ask(served, desk, "How do I pay?", "q")
    wait_for(lambda: receiver.got)
    assert not [record for record in caplog.records if "s3cret" in record.getMessage()]
    assert "s3cret" not in served.log.getvalue()


def test_what_is_sent_is_what_the_api_gives(served, desk, receiver):
    hook(served, desk, receiver.url, kinds=["query.answered"])
    answer(served, desk, ask(served, desk, "How do I pay?", "q")["ticket"], "invoice")
    wait_for(lambda: receiver.got)
    assert receiver.got[0].json["query"] == served.client.get(f"{desk}/queries/q").json()


def test_a_failing_webhook_is_seen_and_sent_again(served, desk, receiver):
    receiver.acts = [status(500)]
    hook(served, desk, receiver.url)
    ask(served, desk, "How do I pay?", "q")
    wait_for(lambda: any(one["last_error"] for one in deliveries(served, desk, status="pending")))
    (failing,) = deliveries(served, desk)
    assert failing["last_error"] == "It was answered with status 500."
    wait_for(lambda: deliveries(served, desk, status="sent"))
    again = served.admin.post(f"{desk}/deliveries/{failing['id']}/resend").json()
    assert (again["status"], again["attempts"]) == ("pending", 0)
    wait_for(lambda: len(receiver.got) == 3)
    assert {got.json["id"] for got in receiver.got} == {failing["id"]}


def test_a_webhook_that_hangs_disturbs_neither_the_api_nor_the_others(served, desk, receiver):
    with receiving() as slow:
        slow.always = hang
        hook(served, desk, slow.url)
        hook(served, desk, receiver.url)
        for n in range(20):
            assert ask(served, desk, f"A question about thing number {n}", f"q{n}")["status"] == "asked"
        wait_for(lambda: len(receiver.got) == 20)
        assert len(slow.got) <= CourierSettings().per_webhook
        assert served.nobody.get("/healthz").status_code == 200


def test_an_erased_text_is_not_sent(served, desk, receiver):
    needle = "my name is Rumpelstilzchen"
    served.admin.patch(desk, json={"share_examples": True})
    receiver.acts = [status(500), status(500)]
    hook(served, desk, receiver.url, kinds=["query.answered"])
    first, second = (ask(served, desk, needle, id) for id in ("q", "r"))
    assert (first["status"], second["status"]) == ("asked", "asked")
    answer(served, desk, first["ticket"], "invoice")  # which settles the other one, with this one as its evidence
    wait_for(lambda: len(receiver.got) == 2)
    assert any(needle.encode() in got.body for got in receiver.got)
    assert served.admin.delete(f"{desk}/queries/q").status_code == 204
    wait_for(lambda: len(deliveries(served, desk, status="sent")) == 2)
    before = len(receiver.got)
    for one in deliveries(served, desk):
        served.admin.post(f"{desk}/deliveries/{one['id']}/resend")
    wait_for(lambda: len(receiver.got) == before + 2)
    assert needle.encode() not in b"".join(got.body for got in receiver.got[before:])


def test_a_deleted_desk_sends_nothing_more(served, desk, receiver):
    receiver.always = status(500)
    hook(served, desk, receiver.url)
    ask(served, desk, "How do I pay?", "q")
    wait_for(lambda: receiver.got)
    assert served.admin.delete(desk).status_code == 204
    assert served.admin.get(f"{desk}/deliveries").status_code == 404


def test_pages_and_mistakes(served, desk, receiver):
    hook(served, desk, receiver.url)
    for n in range(5):
        ask(served, desk, f"A question about thing number {n}", f"q{n}")
    first = served.admin.get(f"{desk}/deliveries", params={"limit": 2}).json()
    rest = served.admin.get(f"{desk}/deliveries", params={"cursor": first["next"]}).json()
    assert [one["query"] for one in first["items"] + rest["items"]] == ["q4", "q3", "q2", "q1", "q0"]
    assert rest["next"] is None
    for body in (
        {},
        {"url": "file:///etc/passwd"},
        {"url": "http://example.test/", "kinds": []},
        {"url": "http://example.test/", "kinds": ["x"]},
        {"url": "http://example.test/", "secret": "short"},
        {"url": "http://example.test/", "more": 1},
        {"url": "http://user:password@example.test/"},
        {"url": "http://example.test/", "secret": "one that has spaces in it"},
    ):
        found = served.admin.post(f"{desk}/webhooks", json=body)
        assert not re.search(r"\^|\[A-Z|should", found.json()["detail"].replace("Input should", "")), "a plain sentence"
        assert (found.status_code, found.headers["content-type"]) == (422, "application/problem+json")
    assert served.admin.get(f"{desk}/deliveries", params={"status": "lost"}).status_code == 422
    assert served.admin.delete(f"{desk}/webhooks/999999").status_code == 404
    assert served.admin.post(f"{desk}/deliveries/999999/resend").status_code == 404
