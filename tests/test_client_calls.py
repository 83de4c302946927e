"""The client without a service: what it sends, what it reads, when it tries again."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import random
import ssl
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from askless import errors
from askless.client import (
    AsyncClient,
    BadRequest,
    Client,
    Conflict,
    NotAllowed,
    NotFound,
    Retries,
    ServiceError,
    TooMany,
    Unreachable,
)
from askless.client.sse import EventReader, ServerEvent

OUTCOME = {
    "id": "q1",
    "status": "guessed",
    "label": "password",
    "answer": "Use the link.",
    "probability": 0.9,
    "evidence": [{"id": "e1", "text": None, "label": "password", "weight": 1.0}],
    "ticket": None,
    "reason": None,
    "received_at": "2026-01-02T03:04:05+00:00",
    "event": 7,
    "a field of tomorrow": [1, 2],
}
WAITS = OUTCOME | {"status": "asked", "label": None, "evidence": [], "ticket": 3}


class Script:
    """Answers requests one after the other; an exception is raised instead. Remembers what came."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def bodies(self):
        return [json.loads(request.content) for request in self.requests]


class Away:
    """A service that nobody reaches for so many seconds of pauses; then it answers as the script says."""

    def __init__(self, pauses, seconds, *answers):
        self.pauses, self.seconds, self.script, self.tries = pauses, seconds, Script(*answers), 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.tries += 1
        if sum(self.pauses) < self.seconds:
            raise httpx.ConnectError("Connection refused")
        return self.script(request)


@pytest.fixture
def pauses(monkeypatch):
    """The pauses that a client makes, which take no time here: only its clock goes on, by as much."""
    made, start = [], time.monotonic()

    async def slept(seconds):
        made.append(seconds)

    monkeypatch.setattr("askless.client.sync.time.sleep", made.append)
    monkeypatch.setattr("askless.client.aio.asyncio.sleep", slept)
    monkeypatch.setattr("askless.client.retries.time.monotonic", lambda: start + math.fsum(made))
    return made


def call(kind, script, method, *arguments, retries=None, desk="help desk", **named):
    """One method of a client of either kind, whose requests the script answers."""
    options = {"key": "ask_secret", "desk": desk, "transport": httpx.MockTransport(script), "retries": retries}
    if kind is Client:
        with Client("http://askless.test", **options) as client:
            return getattr(client, method)(*arguments, **named)

    async def one():
        async with AsyncClient("http://askless.test", **options) as client:
            return await getattr(client, method)(*arguments, **named)

    return asyncio.run(one())


both = pytest.mark.parametrize("kind", [Client, AsyncClient])


def ok(body=None, status=200, **headers):
    return httpx.Response(status, json=body, headers=headers)


def problem(status, detail="no", **headers):
    body = {"title": "t", "status": status, "detail": detail, "request_id": "r-1"}
    return httpx.Response(status, json=body, headers={"Content-Type": "application/problem+json", **headers})


@both
def test_a_query_is_sent_with_the_key_and_read_back(kind):
    script = Script(ok(OUTCOME))
    outcome = call(kind, script, "ask", "How?", "q1")
    (request,) = script.requests
    assert (request.method, request.url.raw_path) == ("POST", b"/api/v1/desks/help%20desk/queries")
    assert request.headers["Authorization"] == "Bearer ask_secret"
    assert script.bodies == [{"id": "q1", "text": "How?"}]
    assert (outcome.label, outcome.answer, outcome.waits) == ("password", "Use the link.", False)
    assert outcome.received_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert [(e.id, e.text, e.weight) for e in outcome.evidence] == [("e1", None, 1.0)]


@both
def test_every_try_of_a_query_bears_the_same_id(kind, pauses):
    script = Script(httpx.ReadTimeout("slow"), problem(503), ok(WAITS, 202))
    outcome = call(kind, script, "ask", "How?")
    ids = [body["id"] for body in script.bodies]
    assert len(ids) == 3
    assert len(set(ids)) == 1
    assert len(ids[0]) == 32
    assert outcome.waits
    assert len(pauses) == 2
    other = Script(ok(OUTCOME))
    call(kind, other, "ask", "How?")
    assert other.bodies[0]["id"] != ids[0]


@both
def test_pauses_grow_are_spread_and_end(kind, pauses):
    retries = Retries(most=5, first=1.0, longest=4.0, draw=random.Random(3))
    script = Script(*[problem(503) for _ in range(6)])
    with pytest.raises(Unreachable) as raised:
        call(kind, script, "query", "q1", retries=retries)
    assert raised.value.status == 503
    assert len(script.requests) == 6
    for pause, whole in zip(pauses, [1.0, 2.0, 4.0, 4.0, 4.0], strict=True):
        assert 0.5 * whole <= pause <= whole
    assert len(set(pauses)) == 5


@both
def test_the_service_says_how_long_to_wait(kind, pauses):
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    answers = [problem(429, **{"Retry-After": "7"}), problem(503, **{"Retry-After": at}), ok(OUTCOME)]
    call(kind, Script(*answers), "query", "q1")
    assert pauses[0] == 7.0
    assert 20.0 < pauses[1] <= 30.0


@both
def test_a_wait_beyond_patience_is_an_error_at_once(kind, pauses):
    script = Script(problem(429, "Come again tomorrow.", **{"Retry-After": "86400"}))
    with pytest.raises(TooMany, match="tomorrow"):
        call(kind, script, "query", "q1")
    assert pauses == []


@both
@pytest.mark.parametrize(
    ("method", "arguments"),
    [("skip", (3,)), ("feedback", ("q1",)), ("undo", (3,)), ("merge_labels", (1, 2)), ("create_key", ("a", "client"))],
)
def test_what_might_be_done_twice_is_not_sent_twice(kind, method, arguments, pauses):
    for doubtful in (httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut off"), problem(503), problem(502)):
        script = Script(doubtful, ok(OUTCOME))
        with pytest.raises(Unreachable):
            call(kind, script, method, *arguments)
        assert len(script.requests) == 1


@both
def test_what_was_surely_not_done_is_always_sent_again(kind, pauses):
    script = Script(httpx.ConnectError("refused"), httpx.ConnectTimeout("slow"), problem(429), httpx.Response(204))
    assert call(kind, script, "delete_label", 3) is None
    assert len(script.requests) == 4


LABEL = {"id": 3, "name": "a", "examples": 0}
TICKET = {"id": 3, "query": "q1", "status": "open", "priority": 1.0, "opened_at": "2026-01-02T03:04:05+00:00"}


@both
@pytest.mark.parametrize(
    ("method", "arguments", "answer"),
    [
        ("erase", ("q1",), None),
        ("revoke_key", (3,), None),
        ("forget", ("q1",), None),
        ("create_label", ("a",), LABEL),
        ("change_label", (3,), LABEL),
        ("release", (3,), TICKET),
    ],
)
def test_what_changes_nothing_the_second_time_is_sent_again(kind, method, arguments, answer, pauses):
    done = httpx.Response(204) if answer is None else ok(answer)
    script = Script(problem(503, **{"Retry-After": "1"}), httpx.ReadTimeout("slow"), done)
    call(kind, script, method, *arguments)
    assert len(script.requests) == 3
    assert pauses[0] == 1.0


@both
@pytest.mark.parametrize(
    ("method", "arguments", "status"), [("query", ("q1",), 200), ("ask", ("How?",), 202), ("delete_label", (3,), 204)]
)
def test_a_server_that_restarts_is_waited_for(kind, method, arguments, status, pauses):
    call(kind, Away(pauses, 45, ok(OUTCOME, status)), method, *arguments)
    assert 45 <= sum(pauses) <= 50


@both
def test_a_service_that_is_not_there_is_told_in_a_sentence_after_a_minute(kind, pauses):
    away = Away(pauses, 10**6)
    with pytest.raises(Unreachable, match=r"No answer from http://askless.test.*tried \d\d times.*refused"):
        call(kind, away, "query", "q1")
    assert math.isclose(sum(pauses), 60)
    assert max(pauses) <= Retries().longest
    assert away.tries == len(pauses) + 1 < 40


@both
def test_callers_choose_how_long_they_are_patient(kind, pauses):
    with pytest.raises(Unreachable, match="tried once"):
        call(kind, Away(pauses, 10**6), "query", "q1", retries=Retries(most=0))
    assert pauses == []
    with pytest.raises(Unreachable, match="tried 3 times"):
        call(kind, Away(pauses, 10**6), "query", "q1", retries=Retries(most=2))
    pauses.clear()
    with pytest.raises(Unreachable):
        call(kind, Away(pauses, 10**6), "query", "q1", retries=Retries(patience=600))
    assert math.isclose(sum(pauses), 600)


@both
def test_tries_that_take_long_use_up_the_patience_too(kind, pauses):
    tries = []

    def slow(request):
        tries.append(request)
        pauses.append(35.0)  # so long it took
        raise httpx.ReadTimeout("slow")

    with pytest.raises(Unreachable, match="tried 3 times"):
        call(kind, slow, "query", "q1")
    assert len(tries) == 3  # the minute begins when the first one has failed


@both
def test_a_service_in_a_hurry_is_not_asked_without_pause(kind, pauses):
    script = Script(*[problem(503, **{"Retry-After": "0"}) for _ in range(40)])
    with pytest.raises(Unreachable):
        call(kind, script, "query", "q1")
    assert min(pauses[:10]) > 0.1
    assert math.isclose(sum(pauses), 60)


@pytest.fixture(scope="module")
def distrusted(tmp_path_factory):
    """The address of a server with a certificate that nobody has signed but itself."""
    folder = tmp_path_factory.mktemp("tls")
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout key.pem -out certificate.pem"
    subprocess.run(made.split(), cwd=folder, capture_output=True, check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(10)


@both
def test_a_certificate_that_is_refused_is_told_at_once(kind, distrusted, pauses):
    def ordinary():
        with Client(distrusted, desk="d") as client:
            client.query("q1")

    async def awaited():
        async with AsyncClient(distrusted, desk="d") as client:
            await client.query("q1")

    ask = ordinary if kind is Client else lambda: asyncio.run(awaited())
    with pytest.raises(Unreachable, match=r"tried once.*certificate verify failed"):
        ask()
    assert pauses == []


@both
def test_waiting_outlasts_a_service_that_is_away_but_not_its_own_limit(kind, pauses):
    away = Away(pauses, 30, ok(OUTCOME | {"status": "answered"}))
    assert call(kind, away, "wait", "q1", 40).status == "answered"
    (request,) = away.script.requests
    left = 40 - sum(pauses)
    assert math.isclose(float(request.url.params["wait"]), left, abs_tol=0.001)  # and not the 40 of the first try
    for timeout in (5, 200):
        pauses.clear()
        with pytest.raises(Unreachable, match="No answer"):
            call(kind, Away(pauses, 10**6), "wait", "q1", timeout, retries=Retries(patience=60))
        assert math.isclose(sum(pauses), timeout)
    pauses.clear()
    with pytest.raises(Unreachable, match="tried once"):
        call(kind, Away(pauses, 10**6), "wait", "q1", 60, retries=Retries(most=0))


@both
def test_only_the_answer_of_a_long_wait_may_take_long(kind):
    script = Script(ok(OUTCOME))
    call(kind, script, "wait", "q1", 40)
    limits = script.requests[0].extensions["timeout"]
    assert limits["read"] > 40 > limits["connect"]


@both
@pytest.mark.parametrize(
    ("status", "kind_of_error", "root"),
    [
        (400, BadRequest, errors.InvalidInput),
        (401, NotAllowed, errors.Forbidden),
        (403, NotAllowed, errors.Forbidden),
        (404, NotFound, errors.Unknown),
        (409, Conflict, errors.Conflicting),
        (413, TooMany, errors.TooMuch),
        (422, BadRequest, errors.InvalidInput),
        (500, Unreachable, errors.Unavailable),
        (418, ServiceError, errors.AsklessError),
    ],
)
def test_a_problem_is_an_error_with_its_detail(kind, status, kind_of_error, root):
    with pytest.raises(kind_of_error) as raised:
        call(kind, Script(problem(status, "It is so.")), "query", "q1")
    assert isinstance(raised.value, root)
    assert (str(raised.value), raised.value.status, raised.value.request_id) == ("It is so.", status, "r-1")


@both
def test_something_else_at_that_address_is_told_in_a_sentence(kind):
    page = httpx.Response(200, text="<html>router</html>", headers={"Content-Type": "text/html"})
    with pytest.raises(ServiceError, match="text/html, not JSON; is that the address"):
        call(kind, Script(page), "query", "q1")
    with pytest.raises(ServiceError, match="has no 'status'"):
        call(kind, Script(ok({"id": "q1"})), "query", "q1")
    with pytest.raises(ServiceError, match="status 404"):
        call(kind, Script(httpx.Response(404, text="nginx")), "query", "q1")
    moved = httpx.Response(302, headers={"Location": "http://elsewhere.test/"})
    with pytest.raises(ServiceError, match="302"):
        call(kind, Script(moved), "query", "q1")


@both
def test_many_texts_go_in_requests_of_a_thousand(kind):
    def answer(request):
        rows = json.loads(request.content)["queries"]
        return ok({"results": [OUTCOME | {"id": row["id"], "label": row["text"]} for row in rows]})

    sizes = []

    def counting(request):
        sizes.append(len(json.loads(request.content)["queries"]))
        return answer(request)

    texts = [f"text {n}" for n in range(2_345)]
    outcomes = call(kind, counting, "ask_many", texts)
    assert sizes == [1000, 1000, 345]
    assert [outcome.label for outcome in outcomes] == texts
    assert len({outcome.id for outcome in outcomes}) == 2_345
    assert call(kind, counting, "ask_many", []) == []
    assert [o.id for o in call(kind, counting, "ask_many", ["a", "b"], ["x", "y"])] == ["x", "y"]


@both
def test_waiting_goes_on_in_polls_until_it_is_answered(kind):
    script = Script(ok(WAITS, 202), ok(WAITS), ok(WAITS), ok(OUTCOME | {"status": "answered"}))
    assert call(kind, script, "ask", "How?", "q1", wait=120).status == "answered"
    polls = script.requests[1:]
    assert all(0 < float(request.url.params["wait"]) <= 60 for request in polls)
    assert all(request.extensions["timeout"]["read"] > float(request.url.params["wait"]) for request in polls)
    assert call(kind, Script(ok(WAITS)), "wait", "q1", 0).waits
    assert not call(kind, Script(ok(OUTCOME)), "ask", "How?", wait=60).waits


@both
def test_no_ticket_is_none(kind):
    assert call(kind, Script(httpx.Response(204)), "next_ticket") is None


@both
def test_ids_are_quoted(kind):
    script = Script(ok(OUTCOME))
    call(kind, script, "query", "a/b ?#%ü")
    assert script.requests[0].url.raw_path == b"/api/v1/desks/help%20desk/queries/a%2Fb%20%3F%23%25%C3%BC"


@both
def test_a_callers_mistakes_are_found_before_anything_is_sent(kind):
    for method, arguments in [("ask", ()), ("ask_many", ("a text",)), ("ask_many", (["a"], ["x", "y"]))]:
        with pytest.raises(errors.InvalidInput):
            call(kind, Script(), method, *arguments)


@both
@pytest.mark.parametrize("url", ["", "127.0.0.1:8400", "localhost", "ftp://x", "http://", "file:///x", "http://a\nb"])
def test_an_address_that_is_none_is_refused_in_a_sentence(kind, url):
    with pytest.raises(errors.InvalidInput, match="The address of a service is like http"):
        kind(url)


@both
@pytest.mark.parametrize("key", ["", " ask_x", "ask_x\n", "schlüssel", "a\r\nX-Evil: 1"])
def test_a_key_that_is_none_is_refused_and_not_shown(kind, key):
    with pytest.raises(errors.InvalidInput, match="plain characters alone") as raised:
        kind(key=key)
    assert "ask_x" not in str(raised.value)


def watch(kind, script, retries=None):
    if kind is Client:
        with Client("http://askless.test", desk="d", transport=httpx.MockTransport(script), retries=retries) as client:
            return list(client.watch("q1"))

    async def all_of_them():
        async with AsyncClient(
            "http://askless.test", desk="d", transport=httpx.MockTransport(script), retries=retries
        ) as client:
            return [outcome async for outcome in client.watch("q1")]

    return asyncio.run(all_of_them())


def stream(*outcomes, end=b""):
    text = "".join(f"id: {o['event']}\nevent: outcome\ndata: {json.dumps(o)}\n\n: ping\n\n" for o in outcomes)
    return httpx.Response(200, content=text.encode() + end, headers={"Content-Type": "text/event-stream"})


@both
def test_watching_ends_once_it_is_answered(kind):
    script = Script(stream(WAITS, WAITS | {"event": 8}, OUTCOME | {"event": 9}))
    assert [outcome.event for outcome in watch(kind, script)] == [7, 8, 9]


@both
def test_a_stream_that_breaks_is_taken_up_where_it_was(kind, pauses):
    script = Script(
        stream(WAITS, end=b"data: {half"), httpx.ReadError("cut"), problem(503), stream(OUTCOME | {"event": 9})
    )
    assert [outcome.event for outcome in watch(kind, script)] == [7, 9]
    assert [request.headers.get("Last-Event-ID") for request in script.requests] == [None, "7", "7", "7"]
    assert len(pauses) == 3


@both
def test_a_stream_outlasts_one_restart_after_another(kind, pauses):
    def ping():
        return httpx.Response(200, content=b": ping\n\n", headers={"Content-Type": "text/event-stream"})

    class Restarts(Away):
        def __call__(self, request):
            answer = super().__call__(request)
            self.seconds = sum(self.pauses) + 45  # after each stream it is away again
            return answer

    restarts = Restarts(pauses, 45, stream(WAITS), ping(), ping(), stream(OUTCOME | {"event": 9}))
    assert [outcome.event for outcome in watch(kind, restarts)] == [7, 9]
    assert sum(pauses) > 4 * 45


@both
def test_a_stream_that_is_refused_or_stays_away_is_an_error(kind, pauses):
    with pytest.raises(NotFound, match="no query"):
        watch(kind, Script(problem(404, "There is no query q1.")))
    with pytest.raises(Unreachable):
        watch(kind, Script(*[httpx.ConnectError("refused")] * 9), Retries(most=2))
    assert len(pauses) == 2
    pauses.clear()
    with pytest.raises(Unreachable, match=r"No answer from http://askless.test"):
        watch(kind, Away(pauses, 10**6))
    assert math.isclose(sum(pauses), 60)


def test_events_are_read_from_pieces_of_any_size():
    text = ': hello\n\nid: 1\ndata: {"a": "x\u2028y\x0bz"}\n\nevent: end\r\ndata: one\r\ndata:two\r\n\r\ndata\rid:3\r\r'
    whole = [
        ServerEvent("message", '{"a": "x\u2028y\x0bz"}', "1"),
        ServerEvent("end", "one\ntwo", "1"),
        ServerEvent("message", "", "3"),
    ]
    for size in (1, 2, 3, 7, len(text)):
        reader = EventReader()
        pieces = [text[at : at + size] for at in range(0, len(text), size)] + ["data: not ended"]
        assert [event for piece in pieces for event in reader.feed(piece)] == whole


def test_both_clients_have_the_same_methods_with_the_same_parameters():
    def methods(kind):
        return {name for name, value in vars(kind).items() if callable(value) and not name.startswith("_")}

    assert methods(Client) == methods(AsyncClient)
    for name in methods(Client) - {"at", "send", "close", "watch", "each"}:
        one, other = getattr(Client, name), getattr(AsyncClient, name)
        assert inspect.signature(one) == inspect.signature(other)
        assert next(iter(inspect.signature(one).parameters)) == "self"
        assert one.__doc__
        assert not inspect.iscoroutinefunction(one)
        assert inspect.iscoroutinefunction(other)


def each(kind, script, method, **named):
    """All that a method lists in pages."""
    options = {"desk": "d", "transport": httpx.MockTransport(script)}
    if kind is Client:
        with Client("http://askless.test", **options) as client:
            return list(client.each(getattr(client, method), **named))

    async def all_of_them():
        async with AsyncClient("http://askless.test", **options) as client:
            return [item async for item in client.each(getattr(client, method), **named)]

    return asyncio.run(all_of_them())


@both
@pytest.mark.parametrize("method", ["tickets", "examples", "queries", "deliveries"])
def test_all_pages_are_walked_with_the_same_filters(kind, method):
    row = (
        OUTCOME | LABEL | TICKET | {"label": "a", "webhook": 1, "kind": "k", "attempts": 0, "created_at": "2026-01-02"}
    )
    pages = [([1, 2], "x"), ([], "y"), ([3], None)]
    script = Script(*[ok({"items": [row | {"id": n} for n in items], "next": after}) for items, after in pages])
    assert [item.id for item in each(kind, script, method, limit=2)] == [1, 2, 3]
    assert [dict(request.url.params) for request in script.requests] == [
        {"limit": "2"},
        {"limit": "2", "cursor": "x"},
        {"limit": "2", "cursor": "y"},
    ]
    assert each(kind, Script(ok({"items": [], "next": None})), method) == []


def test_another_desk_with_the_same_connections():
    script = Script(ok(OUTCOME), ok(OUTCOME))
    with Client("http://askless.test", desk="a", transport=httpx.MockTransport(script)) as client:
        client.at("b").query("q")
        client.query("q")
    assert [request.url.path.split("/")[4] for request in script.requests] == ["b", "a"]


def _desks(*names):
    return ok({"items": [{"name": name, "vectors": "v", "settings": {}, "labels": 0, "examples": 0, "waiting": 0}
                         for name in names]})  # fmt: skip


@both
def test_without_a_name_the_only_desk_is_meant_and_asked_for_once(kind):
    script = Script(_desks("returns"), ok(OUTCOME), ok(OUTCOME))

    async def twice():
        async with AsyncClient("http://askless.test", transport=httpx.MockTransport(script)) as client:
            return [await client.query("q"), await client.query("q")]

    if kind is Client:
        with Client("http://askless.test", transport=httpx.MockTransport(script)) as client:
            client.query("q")
            client.query("q")
    else:
        asyncio.run(twice())
    paths = [request.url.path.removeprefix("/api/v1/desks") for request in script.requests]
    assert paths == ["", "/returns/queries/q", "/returns/queries/q"]


@both
@pytest.mark.parametrize(
    ("names", "said"),
    [(["support", "returns"], r"2 desks here: support, returns\..*desk='support'"), ([], "no desk.*create_desk")],
)
def test_without_a_name_and_without_one_desk_there_is_an_error_that_lists_them(kind, names, said):
    with pytest.raises(errors.InvalidInput, match=said):
        call(kind, Script(_desks(*names)), "query", "q", desk=None)
    assert [desk.name for desk in call(kind, Script(_desks(*names)), "desks", desk=None)] == names


def test_the_client_loads_nothing_of_the_service():
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, askless.client; print([m for m in ('fastapi', 'sqlalchemy', 'numba', 'scipy', 'pandas',"
            " 'typer', 'askless.service', 'askless.desk', 'askless.ledger', 'askless.policies') if m in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[]"
