"""Large bodies are read in a thread and not on the event loop, and are refused in the same words as small ones."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from pydantic import AfterValidator, BaseModel

from askless.ledger.database import Database
from askless.service import bodies
from askless.service.bodies import LARGE, BodyRoute, LongResponse
from askless.service.limits import _BULK
from askless.service.schemas import BatchBody, ExamplesBody
from serving import Served, serving

TRACK = {"id": "a", "text": "Where is my parcel?", "label": "track"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Database(tmp_path_factory.mktemp("bodies") / "askless.db") as database:
        database.prepare()
        with serving(database) as found:
            found.make_desk("support", policy="ghc:0.9")
            yield found


def read_in() -> tuple[FastAPI, list[int]]:
    """An application with one such route, and the threads in which the parts of its bodies were checked."""
    threads: list[int] = []

    def noted(word: str) -> str:
        threads.append(threading.get_ident())
        return word

    class Words(BaseModel):
        words: list[Annotated[str, AfterValidator(noted)]]

    router = APIRouter(route_class=BodyRoute)

    async def count(body: Words) -> dict[str, int]:
        return {"words": len(body.words), "thread": threading.get_ident()}

    count.__annotations__["body"] = Words  # which is known in this function alone
    router.post("/count")(count)
    app = FastAPI()
    app.include_router(router)
    return app, threads


@pytest.mark.parametrize("large", [True, False])
def test_a_large_body_is_read_in_another_thread_than_the_event_loop_s(large: bool) -> None:
    app, threads = read_in()
    words = ["parcel"] * (LARGE // 6 if large else 3)

    async def send() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
            return await client.post("/count", json={"words": words})

    answered = asyncio.run(send()).json()
    assert answered["words"] == len(words)
    assert len(threads) == len(words), "checked once"
    assert (answered["thread"] in threads) is not large


def test_every_route_with_the_larger_limit_reads_its_json_so(served: Served) -> None:
    paths = {
        route.path
        for route in _routes(served.app)
        if isinstance(route, BodyRoute) and route.path.endswith(_BULK) and "POST" in route.methods
    }
    document = served.nobody.get("/openapi.json").json()["paths"]
    expected = {
        path
        for path, methods in document.items()
        if path.endswith(_BULK) and "application/json" in methods["post"]["requestBody"]["content"]
    }
    assert len(expected) == 2
    assert {path.removeprefix("/api/v1") for path in paths} == {path.removeprefix("/api/v1") for path in expected}


def _routes(app: Any) -> Iterator[APIRoute]:
    for route in app.routes:
        if isinstance(route, APIRoute):
            yield route
        else:  # routes that were included
            inner = getattr(route, "original_router", None)
            yield from _routes(inner) if inner is not None else ()


@pytest.mark.parametrize(
    "body",
    [
        b"[1, 2]",
        b"{",
        b'{"queries": [{"text": "a"}, ]}',
        b'{"queries": [{"text": "half of a pair: \\ud83d"}]}',
        b'{"queries": [{"text": 5, "id": true, "colour": "red"}, {}]}',
        b'{"queries": [{"id": "batch", "text": "a"}, {"id": "", "text": "\\u0000"}]}',
        b'{"queries": [{"vector": [1, NaN, "x"]}]}',
        b'{"queries": []}',
        b'{"queries": [{"text": "never ends',
        b'{"queries": [{"text": "no UTF-8: \xff"}]}',
        b'{"queries": [{"text": ' + b"[" * 5000 + b"]" * 5000 + b"}]}",
        b'{"queries": [{"text": ' + b"9" * 5000 + b"}]}",
    ],
    ids=lambda body: body[:40],
)
def test_a_large_body_is_refused_in_the_words_of_a_small_one(
    served: Served, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for large in (LARGE, 0):  # with 0 every body is a large one
        monkeypatch.setattr(bodies, "LARGE", large)
        headers = {"Content-Type": "application/json"}
        answered = served.client.post("/api/v1/desks/support/queries/batch", content=body, headers=headers)
        assert answered.status_code in (400, 422), answered.text
        found.append({name: value for name, value in answered.json().items() if name != "request_id"})
    assert found[0] == found[1]


def test_a_role_is_asked_for_before_a_large_body_is_refused(served: Served) -> None:
    body = json.dumps({"examples": [{"text": 5}]}) + " " * LARGE
    headers = {"Content-Type": "application/json"}
    path = "/api/v1/desks/support/examples"
    assert served.client.post(path, content=body, headers=headers).status_code == 403
    assert served.expert.post(path, content=body, headers=headers).status_code == 422


def test_large_bodies_are_taken_as_small_ones_are(served: Served) -> None:
    given = [{"text": f"{k} {'word ' * 30}", "label": "x"} for k in range(600)]
    assert len(json.dumps(given)) > LARGE
    desk = served.make_desk("large", policy="ghc:0.9")
    made = served.expert.post(f"{desk}/examples", json={"examples": [*given, TRACK]})
    assert (made.status_code, made.json()) == (201, {"added": 601, "same": 0})
    queries = [{"id": f"q{k}", "text": f"{TRACK['text']} {' ' * 200}"} for k in range(400)]
    assert len(json.dumps(queries)) > LARGE
    found = served.client.post(f"{desk}/queries/batch", json={"queries": queries}).json()["results"]
    assert [one["id"] for one in found] == [query["id"] for query in queries]
    assert {one["label"] for one in found} == {"track"}


@pytest.mark.parametrize(
    ("model", "name", "right"), [(BatchBody, "queries", {"text": "a"}), (ExamplesBody, "examples", TRACK)]
)
def test_the_bodies_are_as_strict_from_json_as_from_what_it_says(
    model: type[BaseModel], name: str, right: dict[str, Any]
) -> None:
    assert _read(model.model_validate_json, json.dumps({name: [right]})) is not None
    for value in ("1", 1, 1.5, True, None, [], ["a"], {"a": 1}):
        for field in ("id", "text", "label", "vector", "colour"):
            body = {name: [right | {field: value}]}
            assert _read(model.model_validate, body) == _read(model.model_validate_json, json.dumps(body)), body


def _read(reading: Callable[[Any], BaseModel], body: Any) -> BaseModel | None:
    try:
        return reading(body)
    except ValueError:
        return None


def test_a_long_answer_says_what_json_says() -> None:
    content = {"texts": ['\u2028 <b> "\\', "\N{GRINNING FACE}", ""], "numbers": [0.1, -0.0, 2**40, 1e300, None, True]}
    assert json.loads(LongResponse(content).body) == content
    assert LongResponse({"p": float("nan"), "q": float("inf")}).body == b'{"p":null,"q":null}'
