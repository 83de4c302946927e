"""Waiting for an answer: long polls, streams of events, callers that hang up."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from askless.ledger.database import Database
from askless.service.app import create_app
from askless.service.config import ServiceConfig
from serving import Served, running, serving

DESK = "/api/v1/desks/support"
WAIT = 40  # seconds: far more than is needed, for a busy machine


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Database(tmp_path_factory.mktemp("served") / "askless.db") as database:
        database.prepare()
        with serving(database, heartbeat_seconds=0.2) as found:
            found.make_desk("support")
            yield found


def ask(served: Served, id: str, text: str = "What is this?") -> int:
    found = served.client.post(f"{DESK}/queries", json={"id": id, "text": f"{text} {id}"})
    assert found.status_code == 202, found.text
    return int(found.json()["ticket"])


def later(seconds: float, function: Any, *arguments: Any, **named: Any) -> threading.Thread:
    def act() -> None:
        time.sleep(seconds)
        function(*arguments, **named)

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def events_of(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """The events of a stream, heartbeats included as {"comment": ...}."""
    event: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            yield {"comment": line[1:].strip()}
        elif line:
            name, _, value = line.partition(":")
            event[name] = value.strip()
        elif event:
            yield event
            event = {}


def test_a_long_poll_ends_with_the_answer(served: Served) -> None:
    ticket = ask(served, "poll")
    assert served.client.get(f"{DESK}/queries/poll", params={"wait": 0}).json()["status"] == "asked"
    thread = later(0.3, served.expert.post, f"{DESK}/tickets/{ticket}/answer", json={"label": "a", "answer": "So."})
    began = time.monotonic()
    found = served.client.get(f"{DESK}/queries/poll", params={"wait": WAIT}).json()
    assert (found["status"], found["label"], found["answer"]) == ("answered", "a", "So.")
    assert time.monotonic() - began < WAIT - 5
    thread.join()


def test_a_long_poll_without_an_answer_ends_when_its_time_is_up(served: Served) -> None:
    ask(served, "nobody")
    began = time.monotonic()
    found = served.client.get(f"{DESK}/queries/nobody", params={"wait": 0.5})
    assert (found.status_code, found.json()["status"]) == (200, "asked")
    assert time.monotonic() - began >= 0.5
    for wrong in ("61", "-1", "nan", "inf", "x"):
        assert served.client.get(f"{DESK}/queries/nobody", params={"wait": wrong}).status_code == 422
    assert served.client.get(f"{DESK}/queries/missing", params={"wait": 5}).status_code == 404


def test_a_stream_gives_the_outcome_then_each_change_and_ends_once_answered(served: Served) -> None:
    ticket = ask(served, "watched")
    with served.client.stream("GET", f"{DESK}/queries/watched/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        events = events_of(stream.iter_lines())
        first = next(events)
        assert first["event"] == "outcome"
        assert json.loads(first["data"])["status"] == "asked"
        assert "comment" in next(events), "a heartbeat keeps the connection open"
        thread = later(0.0, served.expert.post, f"{DESK}/tickets/{ticket}/answer", json={"label": "b"})
        rest = [event for event in events if "comment" not in event]
        thread.join()
    assert [json.loads(event["data"])["status"] for event in rest] == ["answered"]
    assert int(rest[0]["id"]) == json.loads(rest[0]["data"])["event"] > int(first["id"])
    seen = served.client.get(f"{DESK}/queries/watched/events", headers={"Last-Event-ID": rest[0]["id"]})
    assert seen.status_code == 204, "a browser does not come again after that"
    again = served.client.get(f"{DESK}/queries/watched/events", headers={"Last-Event-ID": first["id"]})
    assert [event["id"] for event in events_of(iter(again.text.splitlines()))] == [rest[0]["id"]]
    odd = served.client.get(f"{DESK}/queries/watched/events", headers={"Last-Event-ID": "x"})
    assert odd.status_code == 200


def test_waits_end_when_the_query_is_erased(served: Served) -> None:
    ask(served, "gone")
    with served.client.stream("GET", f"{DESK}/queries/gone/events") as stream:
        events = events_of(stream.iter_lines())
        assert json.loads(next(events)["data"])["erased"] is False
        thread = later(0.0, served.admin.delete, f"{DESK}/queries/gone")
        rest = [json.loads(event["data"]) for event in events if "comment" not in event]
        thread.join()
    assert [(found["erased"], found["ticket"]) for found in rest] == [(True, None)]
    began = time.monotonic()
    assert served.client.get(f"{DESK}/queries/gone", params={"wait": WAIT}).json() == rest[0]
    assert time.monotonic() - began < WAIT - 5


def test_a_disputed_answer_is_waited_for_as_a_first_one_is(served: Served) -> None:
    served.expert.post(f"{DESK}/tickets/{ask(served, 'doubted')}/answer", json={"label": "a"})
    path = f"{DESK}/queries/doubted"
    found = served.client.post(f"{path}/feedback", json={"right": "b"}).json()
    assert (found["status"], found["label"], found["disputed"]) == ("answered", "a", True)
    with served.client.stream("GET", f"{path}/events") as stream:
        events = events_of(stream.iter_lines())
        assert json.loads(next(events)["data"])["disputed"] is True
        thread = later(0.3, served.expert.post, f"{DESK}/tickets/{found['ticket']}/answer", json={"label": "b"})
        polled = served.client.get(path, params={"wait": WAIT}).json()
        rest = [json.loads(event["data"]) for event in events if "comment" not in event]
        thread.join()
    assert (polled["label"], polled["disputed"], polled["ticket"]) == ("b", False, None)
    assert rest[-1] == polled


def test_the_desk_s_stream_tells_an_inbox_of_every_change(served: Served) -> None:
    with served.expert.stream("GET", f"{DESK}/events") as stream:
        events = (event for event in events_of(stream.iter_lines()) if "comment" not in event)
        before = json.loads(next(events)["data"])
        ask(served, "inbox")
        after = json.loads(next(events)["data"])
    assert after["event"] > before["event"]
    assert after["waiting"] == before["waiting"] + 1
    assert served.client.get(f"{DESK}/events").status_code == 403


def test_streams_of_callers_that_have_gone_are_let_go_and_too_many_are_refused(tmp_path: Any) -> None:
    with Database(tmp_path / "askless.db") as database:
        database.prepare()
        with serving(database, max_streams=2, heartbeat_seconds=0.1) as served:
            served.make_desk("support")
            ask(served, "x")
            open_ones = [who.stream("GET", f"{DESK}/queries/x/events") for who in (served.client, served.expert)]
            lines = [one.__enter__().iter_lines() for one in open_ones]
            for one in lines:
                next(one)
            assert served.client.get(f"{DESK}/queries/x", params={"wait": 5}).status_code == 429
            for one in open_ones:
                one.__exit__(None, None, None)
            end = time.monotonic() + WAIT
            while served.app.state.service.wakes.count and time.monotonic() < end:
                time.sleep(0.05)
            assert served.app.state.service.wakes.count == 0
            assert served.client.get(f"{DESK}/queries/x", params={"wait": 0.1}).status_code == 200


def test_one_key_s_waits_leave_places_for_the_others(tmp_path: Any) -> None:
    with Database(tmp_path / "askless.db") as database:
        database.prepare()
        with serving(database, max_streams=4) as served:
            served.make_desk("support", policy="ghc:0.8")
            ticket, wakes = ask(served, "x"), served.app.state.service.wakes
            found: list[int] = []

            def wait() -> None:
                found.append(served.client.get(f"{DESK}/queries/x", params={"wait": WAIT}).status_code)

            waiting = later(0.0, wait)
            end = time.monotonic() + WAIT
            while not wakes.count and time.monotonic() < end:
                time.sleep(0.01)
            second = served.client.get(f"{DESK}/queries/x", params={"wait": WAIT})
            assert (second.status_code, "'client'" in second.json()["detail"]) == (429, True)
            assert served.client.get(f"{DESK}/queries/x/events").status_code == 429, "waits and streams count together"
            other = served.expert.get(f"{DESK}/queries/x", params={"wait": 0.1})
            assert other.status_code == 200
            served.expert.post(f"{DESK}/tickets/{ticket}/answer", json={"label": "a"})
            waiting.join()
            assert (found, wakes.count) == ([200], 0)


def test_a_caller_that_hangs_up_loses_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """All hang up while the desk is held, after their queries were handed to it."""
    where, desks = urlsplit(served.url), served.app.state.service.desks
    handed = threading.Semaphore(0)
    submit, go_on = desks.submit, threading.Event()

    def noted(*arguments: Any) -> Any:
        found = submit(*arguments)
        handed.release()
        return found

    monkeypatch.setattr(desks, "submit", noted)
    held = desks.run("support", lambda desk: go_on.wait(WAIT))
    wires = [socket.create_connection((where.hostname, where.port), timeout=30) for _ in range(10)]
    for number, wire in enumerate(wires):
        body = json.dumps({"id": f"gone {number}", "text": f"Will you keep this? {number}"}).encode()
        head = (
            f"POST {DESK}/queries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.key['client']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        wire.sendall(head.encode() + body)
    for _ in wires:
        assert handed.acquire(timeout=WAIT)
    for wire in wires:
        wire.close()
    go_on.set()
    assert held.result(WAIT)
    end = time.monotonic() + WAIT
    while True:
        outcomes = [served.client.get(f"{DESK}/queries/gone {number}") for number in range(10)]
        if all(found.status_code == 200 for found in outcomes):
            break
        assert time.monotonic() < end, "a query was lost"
    again = served.client.post(f"{DESK}/queries", json={"id": "gone 3", "text": "Will you keep this? 3"})
    assert (again.status_code, again.json()) == (202, outcomes[3].json())


def test_an_answer_given_by_another_process_wakes_those_who_wait(database: Database) -> None:
    """Two services on one database, as two processes have them."""
    with serving(database) as first:
        first.make_desk("support")
        with running(create_app(database, ServiceConfig(rate=None, log_requests=False))) as address:
            ticket = ask(first, "far")
            headers = {"Authorization": f"Bearer {first.key['expert']}"}
            url = f"{address}{DESK}/tickets/{ticket}/answer"
            thread = later(0.3, first.expert.post, url, json={"label": "far away"}, headers=headers)
            found = first.client.get(f"{DESK}/queries/far", params={"wait": WAIT}).json()
            thread.join()
    assert (found["status"], found["label"]) == ("answered", "far away")
