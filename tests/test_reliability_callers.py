"""Receivers that hang or fail, and callers that hang up: nobody else notices, and nothing is lost or doubled."""

from __future__ import annotations

import json
import random
import socket
import struct
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import func, select, update

from askless.ledger import schema
from askless.ledger.database import Database
from askless.service import outbox
from askless.service.config import ServiceConfig
from askless.service.webhooks import CourierSettings
from receiver import Receiver, receiving, status
from reliability import SOAK, Server, Texts, poll, served, waits
from reliability_checks import check_verified

TICKETS = 500 if SOAK else 30
LAST = len(CourierSettings().delays)  # the tries after which one more makes a dead letter
HANG_UPS = 1_000 if SOAK else 30
PLACES = ServiceConfig().max_streams // 4  # for the waits of one key
ROUNDS = 4 if SOAK else 1


def counted(server: Server) -> dict[str, int]:
    """The deliveries of the desk, by what became of them."""
    return {kind: len(deliveries(server, kind)) for kind in ("pending", "sent", "dead")}


def deliveries(server: Server, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        page = server.get(f"deliveries?status={kind}&limit=100{after}").json()
        found += page["items"]
        if page["next"] is None:
            return found
        after = f"&cursor={page['next']}"


def test_receivers_that_hang_and_fail_hold_up_no_caller(tmp_path: Path) -> None:
    """While one hangs every query and answer succeeds; once it works again it gets each of them, dead letters too."""
    address, go_on = str(tmp_path / "askless.db"), threading.Event()
    with receiving() as receiver, served(address, tmp_path, policy="always-ask") as [server]:

        def hang(handler: Any) -> None:
            go_on.wait(60)
            status(500)(handler)

        receiver.always = hang
        made = server.post("webhooks", {"url": receiver.url, "kinds": ["ticket.created", "query.answered"]})
        assert made.status_code == 201, made.text
        texts = Texts(1)
        for n in range(TICKETS):
            text, label = texts.next()
            ticket = waits(server, text, f"q{n}")
            assert server.post(f"tickets/{ticket}/answer", {"label": label}).is_success
        poll(lambda: len(receiver.got) >= 1, True)
        assert counted(server) == {"pending": 2 * TICKETS, "sent": 0, "dead": 0}

        receiver.always = None  # the next ones are accepted, and those that hung are refused, so tried again
        go_on.set()
        poll(lambda: counted(server), {"pending": 0, "sent": 2 * TICKETS, "dead": 0})
        tries = [int(got.headers["x-askless-delivery"]) for got in receiver.got]
        assert len(set(tries)) == 2 * TICKETS
        assert len(tries) > 2 * TICKETS
        check_dead_letters(server, receiver, address)


def check_dead_letters(server: Server, receiver: Receiver, address: str) -> None:
    """A receiver that fails for days leaves dead letters, which can be sent again; a kill on the way loses none."""
    receiver.always = status(500)
    ids = [f"late {n}" for n in range(3)]
    before = len(receiver.got)
    for id in ids:
        waits(server, "where is it", id)
    poll(lambda: len({got.headers["x-askless-delivery"] for got in receiver.got[before:]}), 3)
    server.kill()
    let_days_pass(address)
    server.start()
    poll(lambda: len(deliveries(server, "dead")), 3)
    dead = deliveries(server, "dead")
    assert sorted(row["query"] for row in dead) == ids
    assert all("500" in row["last_error"] for row in dead)

    receiver.always = None
    for row in dead:
        assert server.post(f"deliveries/{row['id']}/resend").is_success
    poll(lambda: counted(server), {"pending": 0, "sent": 2 * TICKETS + 3, "dead": 0})
    assert sorted(got.json["query"]["id"] for got in receiver.got[-3:]) == ids


def let_days_pass(address: str) -> None:
    """All tries but the last one are behind, and that one is due."""
    table = schema.deliveries
    with Database(address) as database, database.write() as connection:
        late = table.c.status == outbox.PENDING
        changed = connection.execute(update(table).where(late).values(attempts=LAST, next_at=table.c.created_at))
        assert changed.rowcount == 3


def test_callers_that_hang_up_leave_one_query_or_none(database_address: str, tmp_path: Path) -> None:
    draw = random.Random(3)
    texts = Texts(2)
    with served(database_address, tmp_path) as [server]:
        sent: dict[str, str] = {}
        for n in range(HANG_UPS):
            after = ("headers", "some of the body", "the whole request")[n % 3]
            sent[f"{after} {n}"] = texts.next()[0]
            hang_up(server, f"{after} {n}", sent[f"{after} {n}"], after, draw)
        waits(server, "the last one, so that all before it are through", "last")
        stored = keys(database_address) - {"last"}
        assert stored <= {id for id in sent if id.startswith("the whole request")}
        for id, text in sent.items():  # the same id again: what stands, or a first decision
            assert server.post("queries", {"id": id, "text": text}).is_success
        assert keys(database_address) == {*sent, "last"}
        check_given_up_polls(server)
        check_verified(database_address)


def check_given_up_polls(server: Server) -> None:
    """More callers that wait hang up than there are places; the next one is served before their time is up."""
    where = urlsplit(server.path("queries/last?wait=60"))
    request = (
        f"GET {where.path}?{where.query} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {server.key}\r\n\r\n"
    ).encode()
    for _ in range(ROUNDS):
        lines = [
            socket.create_connection((where.hostname or "", where.port or 0), timeout=60) for _ in range(PLACES + 50)
        ]
        for line in lines:
            line.sendall(request)
        for line in lines:
            line.close()
    poll(lambda: server.get("queries/last?wait=0.01").status_code, 200, seconds=45)


def hang_up(server: Server, id: str, text: str, after: str, draw: random.Random) -> None:
    """Send that much of a submission, then reset the connection without reading an answer."""
    where = urlsplit(server.path("queries"))
    body = json.dumps({"id": id, "text": text}).encode()
    head = (
        f"POST {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {server.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    length = {"headers": 0, "some of the body": draw.randrange(1, len(body)), "the whole request": len(body)}[after]
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=60) as connection:
        connection.sendall(head + body[:length])
        threading.Event().wait(draw.choice([0.0, 0.0, 0.002, 0.01]))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def keys(address: str) -> set[str]:
    """The callers' ids in the ledger; each stands there once."""
    q = schema.queries
    with Database(address) as database, database.read() as connection:
        found = connection.execute(select(q.c.key, func.count()).group_by(q.c.key)).all()
    assert {count for _, count in found} <= {1}
    return {key for key, _ in found}
