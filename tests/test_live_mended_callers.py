"""Conflicts of queries that lost their vectors, places for those who wait, and wrong keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import update
from sse_starlette import ServerSentEvent

from askless.desk.live import tickets
from askless.desk.live.bus import Bus
from askless.desk.live.configure import configure
from askless.desk.live.conflicts import conflicts
from askless.desk.live.types import NewQuery
from askless.ledger import schema
from askless.ledger.database import Database
from askless.service.errors import Problem
from askless.service.routes.insights import _conflicts_shown
from askless.service.streams import Wakes, event_stream
from live_admin import ADMIN, NAME, toy
from serving import Served, serving

DESK = "/api/v1/desks/support"
PROBLEM = "application/problem+json"


@pytest.fixture
def fresh(tmp_path: Path) -> Any:
    with Database(tmp_path / "askless.db") as database:
        database.prepare()
        yield database


def test_a_conflict_whose_query_lost_its_vector_does_not_hide_the_others(database: Database) -> None:
    with toy(database, "always-ask") as desks:
        for key, x in {"up1": [1, 0, 0, 0], "up2": [0, 1, 0, 0], "no1": [2, 1, 1, 0], "no2": [1, 2, -1, 0]}.items():
            query = NewQuery(key, vector=np.array(x, dtype=np.float32))
            ticket = desks.submit(NAME, [query], "client").result()[0].ticket
            assert ticket is not None
            desks.run(NAME, lambda desk, t=ticket, k=key: tickets.answer(desk, t, k[:-1], "eve")).result()  # type: ignore[misc]
        desks.run(NAME, lambda desk: configure(desk, {"policy": "chc"}, ADMIN)).result()
        for key in ("lost", "kept"):
            desks.submit(NAME, [NewQuery(key, vector=np.array([1, 1, 0, 0], dtype=np.float32))], "client").result()
        id = desks.row(NAME).id
        with database.read() as connection:
            assert [found.key for found in conflicts(connection, id)] == ["lost", "kept"]
        with database.write() as connection:
            connection.execute(update(schema.queries).where(schema.queries.c.key == "lost").values(vector=None))
        with database.read() as connection:
            assert [item["id"] for item in _conflicts_shown(connection, id)["items"]] == ["kept"]


# -- places --------------------------------------------------------------------------------------------------------
def opened(stack: ExitStack, client: httpx.Client, path: str) -> httpx.Response:
    found = stack.enter_context(client.stream("GET", path))
    if found.status_code == 200:
        lines = found.iter_lines()
        next(lines)
        stack.callback(lines.close)  # type: ignore[attr-defined]  # not before: it closes the connection
    else:
        found.read()
    return found


def start(served: Served) -> None:
    served.make_desk("support")
    assert served.client.post(f"{DESK}/queries", json={"id": "x", "text": "What is this?"}).status_code == 202


@pytest.mark.parametrize("path", ["/queries/x/events", "/events"])
def test_a_stream_for_which_there_is_no_place_is_refused_with_429(fresh: Database, path: str) -> None:
    with serving(fresh, max_streams=2, heartbeat_seconds=0.1) as served, ExitStack() as stack:
        start(served)
        assert opened(stack, served.expert, DESK + path).status_code == 200
        own = opened(stack, served.expert, DESK + path)
        assert (own.status_code, own.headers["content-type"], own.headers["retry-after"]) == (429, PROBLEM, "1")
        assert own.json()["detail"].startswith("1 callers wait with the key 'expert' already")
        assert opened(stack, served.client, f"{DESK}/queries/x/events").status_code == 200
        found = opened(stack, served.admin, DESK + path)
        assert (found.status_code, found.headers["content-type"]) == (429, PROBLEM)
        assert found.json()["detail"].startswith("2 callers wait already")
        assert served.app.state.service.wakes.count == 2


def test_one_key_has_a_quarter_of_the_places_and_gets_them_back() -> None:
    wakes = Wakes(Bus(), 8)
    first, second = wakes.take(1, "ann"), wakes.take(2, "ann")
    with pytest.raises(Problem, match="ann"), wakes.waiter(1, "ann"):
        pass
    others = [wakes.take(1, f"bob {k}") for k in range(6)]
    with pytest.raises(Problem, match="8 callers"):
        wakes.take(1, "eve")
    wakes.release(first)
    wakes.release(first)
    assert wakes.count == 7
    with wakes.waiter(1, "ann"):
        assert wakes.count == 8
    for place in (second, *others):
        wakes.release(place)
    assert wakes.count == 0
    wakes.release(wakes.take(1, "ann"))


def test_a_place_is_released_where_the_stream_never_starts() -> None:
    wakes = Wakes(Bus(), 8)
    service: Any = SimpleNamespace(wakes=wakes, config=SimpleNamespace(heartbeat_seconds=1.0))
    started = []

    async def events() -> AsyncIterator[ServerSentEvent]:
        started.append(True)
        yield ServerSentEvent("x")

    async def serve() -> None:
        async def broken(message: Any) -> None:
            raise OSError("the caller has gone")

        async def silent() -> Any:
            await asyncio.sleep(60)

        response = event_stream(service, wakes.take(1, "ann"), events())
        assert wakes.count == 1
        with pytest.raises(OSError, match="gone"):
            await response({"type": "http", "method": "GET"}, silent, broken)

    asyncio.run(serve())
    assert (started, wakes.count) == ([], 0)


# -- wrong keys ----------------------------------------------------------------------------------------------------
def test_above_the_rate_wrong_keys_do_not_reach_the_database(fresh: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(fresh, rate=0.2, burst_seconds=60, key_cache_seconds=0.0) as served:
        keys = served.app.state.service.keys
        find, looked = keys.find, []

        def noted(secret: str, **named: Any) -> Any:
            looked.append(secret)
            return find(secret, **named)

        monkeypatch.setattr(keys, "find", noted)
        assert served.client.get("/api/v1/desks").status_code == 200
        wrong = [{"Authorization": f"Bearer x{n}"} for n in range(20)] + [
            {"Cookie": f"askless_session={n}"} for n in range(20)
        ]
        found = [served.nobody.get("/api/v1/desks", headers=header) for header in wrong]
        codes = [one.status_code for one in found]
        assert codes.count(429) >= 15, "twelve a minute, and what a new minute lets in on top"
        assert codes.count(401) + codes.count(429) == len(wrong)
        refused = next(one for one in found if one.status_code == 429)
        assert int(refused.headers["retry-after"]) >= 1
        assert len(looked) == 1 + codes.count(401)
        assert served.client.get("/api/v1/desks").status_code == 200, "one that was right before is looked for"
        assert looked[-1] == served.key["client"]
