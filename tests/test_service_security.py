"""Who may call, and what: a test for each line of the service's security."""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

import askless
from askless.errors import Conflicting, InvalidInput, Unknown
from askless.ledger import schema
from askless.ledger.database import Database
from askless.service.app import create_app
from askless.service.config import ServiceConfig, check_host, is_loopback
from askless.service.keys import KeyRing, Role, create_key, has_keys, hashed, list_keys, revoke_key
from serving import Served, serving

PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Database(tmp_path_factory.mktemp("served") / "askless.db") as database:
        database.prepare()
        with serving(database) as found:
            found.make_desk("support")
            found.make_desk("billing")
            yield found


def test_keys_are_made_listed_and_revoked_and_stored_only_as_hashes(database: Database) -> None:
    assert not has_keys(database)
    made = create_key(database, "inbox", Role.EXPERT)
    assert made.secret.startswith("ask_")
    assert len(made.secret) >= 36
    with database.read() as connection:
        rows = connection.execute(select(schema.keys)).all()
    assert [row.hash for row in rows] == [hashed(made.secret)]
    assert made.secret not in repr(rows)
    assert [(key.name, key.role, key.revoked_at) for key in list_keys(database)] == [("inbox", "expert", None)]
    ring = KeyRing(database)
    caller = ring.find(made.secret)
    assert caller is not None
    assert (caller.name, caller.role, caller.desk) == ("inbox", Role.EXPERT, None)
    assert ring.find(made.secret + "x") is None
    assert revoke_key(database, "inbox").revoked_at is not None
    assert not has_keys(database)
    assert ring.find(made.secret) is None
    with pytest.raises(Conflicting, match="inbox"):
        create_key(database, "inbox", Role.ADMIN)
    with pytest.raises(Unknown, match="nobody"):
        revoke_key(database, "nobody")
    with pytest.raises(InvalidInput, match="client, expert, admin"):
        create_key(database, "x", "owner")
    with pytest.raises(Unknown, match="nowhere"):
        create_key(database, "x", Role.CLIENT, "nowhere")


def test_two_secrets_differ_and_only_the_hash_of_each_is_compared(database: Database) -> None:
    first, second = (create_key(database, name, Role.CLIENT).secret for name in ("a", "b"))
    assert first != second
    assert hashed(first) != hashed(second)


@pytest.mark.parametrize("header", ["Bearer", "Bearer ask_wrong", "Basic !!!", "Basic OmFza193cm9uZw==", "ask_wrong"])
def test_without_a_key_in_force_nothing_is_told(served: Served, header: str) -> None:
    for path in ("/api/v1/desks", "/api/v1/desks/support/queries/1", "/api/v1/keys", "/api/v1/nothing"):
        found = served.nobody.get(path, headers={"Authorization": header})
        assert found.status_code == 401
        assert found.headers["content-type"] == PROBLEM
        assert found.headers["www-authenticate"] == "Bearer"
        assert set(found.json()) == {"type", "title", "status", "detail", "request_id"}


def test_a_key_comes_as_bearer_token_or_in_its_own_header(served: Served) -> None:
    for headers in ({"Authorization": f"bearer {served.key['client']}"}, {"X-API-Key": served.key["client"]}):
        assert served.nobody.get("/api/v1/session", headers=headers).json() == {
            "name": "client",
            "role": "client",
            "desk": None,
        }


def test_roles_allow_what_they_should(served: Served) -> None:
    desk = "/api/v1/desks/support"
    calls = [
        ("GET", desk, None, "client"),
        ("POST", f"{desk}/queries", {"id": "r1", "text": "May I?"}, "client"),
        ("GET", f"{desk}/queries/r1", None, "client"),
        ("GET", f"{desk}/queries", None, "expert"),
        ("GET", f"{desk}/tickets", None, "expert"),
        ("GET", f"{desk}/labels", None, "expert"),
        ("GET", f"{desk}/examples", None, "expert"),
        ("GET", f"{desk}/statistics", None, "expert"),
        ("GET", f"{desk}/conflicts", None, "expert"),
        ("PATCH", desk, {"lease_seconds": 300}, "admin"),
        ("GET", f"{desk}/export", None, "admin"),
        ("GET", f"{desk}/jobs", None, "admin"),
        ("GET", "/api/v1/keys", None, "admin"),
        ("GET", "/metrics", None, "admin"),
    ]
    for method, path, body, least in calls:
        for role in Role:
            found = served.clients[role].request(method, path, json=body)
            allowed = role.rank >= Role(least).rank
            assert found.is_success == allowed, (method, path, role, found.text)
            if not allowed:
                assert found.status_code == 403
                assert least in found.json()["detail"]


def test_one_desks_key_reads_nothing_of_another(served: Served) -> None:
    bound = served.with_key(create_key(served.database, "bound", Role.ADMIN, "support").secret)
    served.client.post("/api/v1/desks/billing/queries", json={"id": "b1", "text": "My card number is secret."})
    ticket = served.expert.post("/api/v1/desks/billing/tickets/next").json()["id"]
    served.expert.post("/api/v1/desks/billing/labels", json={"name": "card"})
    assert [desk["name"] for desk in bound.get("/api/v1/desks").json()["items"]] == ["support"]
    document = served.nobody.get("/openapi.json").json()
    tried = 0
    for path, methods in document["paths"].items():
        if "{desk}" not in path:
            continue
        address = path.replace("{desk}", "billing").replace("{id}", "b1").replace("{number}", str(ticket))
        for method in methods:
            found = bound.request(method, address, json={})
            missing = bound.request(method, address.replace("billing", "nowhere"), json={})
            tried += 1
            assert found.status_code in (404, 422), (method, address, found.text)
            assert found.status_code == missing.status_code
            assert "card" not in found.text
            if found.status_code == 404:
                assert found.json()["detail"] == missing.json()["detail"].replace("nowhere", "billing")
    assert tried > 30
    assert bound.post("/api/v1/desks", json={"name": "mine"}).status_code == 403
    assert bound.get("/api/v1/keys").status_code == 403
    assert bound.post("/api/v1/keys", json={"name": "up", "role": "admin"}).status_code == 403
    assert bound.get("/metrics").status_code == 403
    assert served.expert.get("/api/v1/desks/billing/tickets").json()["items"][0]["text"] == "My card number is secret."


def test_a_key_made_over_http_works_at_once_and_stops_at_once(served: Served) -> None:
    made = served.admin.post("/api/v1/keys", json={"name": "web", "role": "client", "desk": "support"})
    assert made.status_code == 201
    caller = served.with_key(made.json()["secret"])
    assert caller.get("/api/v1/desks/support").status_code == 200
    listed = served.admin.get("/api/v1/keys")
    assert made.json()["secret"] not in listed.text
    assert hashed(made.json()["secret"]) not in listed.text
    assert served.admin.delete(f"/api/v1/keys/{made.json()['id']}").status_code == 204
    assert caller.get("/api/v1/desks/support").status_code == 401
    assert served.admin.delete("/api/v1/keys/99999").status_code == 404
    assert served.admin.post("/api/v1/keys", json={"name": "web", "role": "client"}).status_code == 409


def test_a_key_revoked_by_another_process_is_remembered_for_a_second_at_most(database: Database) -> None:
    now = [100.0]
    ring = KeyRing(database, keep=1.0, clock=lambda: now[0])
    secret = create_key(database, "k", Role.CLIENT).secret
    assert ring.remembered(secret) is None
    assert ring.find(secret) is not None
    revoke_key(database, "k")
    now[0] += 0.9
    assert ring.remembered(secret) is not None
    now[0] += 0.2
    assert ring.remembered(secret) is None
    with pytest.raises(InvalidInput, match="key_cache_seconds"):
        ServiceConfig(key_cache_seconds=2.0)


def test_login_gives_a_cookie_that_scripts_cannot_read_and_changes_need_a_header(served: Served) -> None:
    with httpx.Client(base_url=served.url, timeout=60) as browser:
        assert browser.post("/api/v1/session", json={"key": "ask_wrong"}).status_code == 401
        entered = browser.post("/api/v1/session", json={"key": served.key["admin"]})
        assert entered.status_code == 200
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "max-age=43200" in cookie
        assert "secure" not in cookie
        assert served.key["admin"] not in cookie
        assert browser.get("/api/v1/session").json()["name"] == "admin"
        pause = "/api/v1/desks/billing/pause"
        assert browser.post(pause).status_code == 403
        assert browser.post(pause, headers={"X-Requested-With": "XMLHttpRequest"}).status_code == 403
        assert served.admin.get("/api/v1/desks/billing").json()["settings"]["paused"] is False
        mine = {"X-Requested-With": "askless"}
        assert browser.post(pause, headers=mine).status_code == 200
        assert browser.post("/api/v1/desks/billing/resume", headers=mine).status_code == 200
        token = browser.cookies["askless_session"]
        with served.database.read() as connection:
            stored = [row.hash for row in connection.execute(select(schema.sessions))]
        assert hashed(token) in stored
        assert token not in stored
        assert browser.delete("/api/v1/session", headers=mine).status_code == 204
        assert browser.get("/api/v1/session").status_code == 401
        again = {"Cookie": f"askless_session={token}"}
        assert browser.get("/api/v1/session", headers=again).status_code == 401


def test_the_cookie_is_secure_under_https_and_ends_with_the_key(database: Database) -> None:
    app = create_app(database, ServiceConfig(log_requests=False))
    key = create_key(database, "page", Role.EXPERT)

    async def visit() -> tuple[httpx.Response, int, int]:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="https://desk.example") as browser,
        ):
            entered = await browser.post("/api/v1/session", json={"key": key.secret})
            before = (await browser.get("/api/v1/session")).status_code
            await asyncio.to_thread(revoke_key, database, "page")
            app.state.service.keys.forget()
            return entered, before, (await browser.get("/api/v1/session")).status_code

    entered, before, after = asyncio.run(visit())
    assert "secure" in entered.headers["set-cookie"].lower()
    assert (before, after) == (200, 401)


def test_a_session_ends_by_itself(database: Database) -> None:
    ring = KeyRing(database)
    caller = ring.find(create_key(database, "k", Role.EXPERT).secret)
    assert caller is not None
    short, long = ring.log_in(caller, 0), ring.log_in(caller, 3600)
    assert ring.find(short, session=True) is None
    found = ring.find(long, session=True)
    assert found is not None
    assert found.session
    assert ring.find(long) is None, "a session's token is no key"


def test_listening_elsewhere_than_on_this_machine_needs_a_key(database: Database) -> None:
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1"):
        check_host(host, database)
    for host in ("0.0.0.0", "::", "192.168.1.4", "desk.example", ""):
        assert not is_loopback(host)
        with pytest.raises(InvalidInput, match="askless keys create NAME --role admin --database "):
            check_host(host, database)
    create_key(database, "first", Role.ADMIN)
    check_host("0.0.0.0", database)


def test_an_open_service_answers_this_machine_alone_and_only_until_there_is_a_key(tmp_path: Path) -> None:
    with Database(tmp_path / "askless.db") as database:
        database.prepare()
        app = create_app(database, ServiceConfig(open=True, log_requests=False))

        async def visit() -> list[int]:
            async def get(address: str, method: str = "GET", **headers: str) -> int:
                transport = httpx.ASGITransport(app, client=(address, 5))
                async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8400") as caller:
                    return (await caller.request(method, "/api/v1/desks", headers=headers)).status_code

            async with app.router.lifespan_context(app):
                found = [
                    await get("127.0.0.1"),
                    await get("192.168.1.4"),
                    await get("127.0.0.1", **{"X-Forwarded-For": "192.168.1.4"}),
                    await get("127.0.0.1", Host="evil.example"),
                    await get("127.0.0.1", "POST"),  # as a page of a stranger could send it
                    await get("127.0.0.1", "POST", **{"X-Requested-With": "askless"}),
                ]
                await asyncio.to_thread(create_key, database, "first", Role.ADMIN)
                return [*found, await get("127.0.0.1")]

        assert asyncio.run(visit()) == [200, 401, 401, 401, 403, 422, 401]


def test_a_service_that_is_not_open_answers_nobody_without_a_key(tmp_path: Path) -> None:
    with Database(tmp_path / "askless.db") as database:
        database.prepare()
        with serving(database) as found:
            for key in list_keys(database):
                revoke_key(database, key.name)
            time.sleep(1.1)
            assert found.nobody.get("/api/v1/desks").status_code == 401
            assert found.admin.get("/api/v1/desks").status_code == 401


def test_every_answer_has_the_headers_that_browsers_heed(served: Served) -> None:
    for found in (
        served.nobody.get("/healthz"),
        served.nobody.get("/api/v1/desks"),
        served.client.get("/api/v1/desks"),
        served.client.get("/nowhere"),
    ):
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["x-frame-options"] == "DENY"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in found.headers["content-security-policy"]
        assert "access-control-allow-origin" not in found.headers
    assert served.client.get("/docs").status_code == 404


def test_no_pickle_no_eval_and_no_caller_s_path_as_a_file_name(served: Served) -> None:
    folder = Path(askless.__file__).parent
    for path in [*folder.glob("service/**/*.py"), *folder.glob("desk/**/*.py"), *folder.glob("ledger/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), path
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not {"pickle", "marshal", "shelve", "dill"} & {*names, module.split(".")[0]}, path
    desk = "/api/v1/desks/support"
    for policy in ("os:system", "subprocess:Popen", "../x:Y", "askless.checks:check_policy"):
        assert served.admin.patch(desk, json={"policy": policy}).status_code == 422
    for embedder in ("vectors:/etc/passwd", "sentence-transformers:/etc", "e5-large:/etc", "openai:x"):
        assert served.admin.post(f"{desk}/embedder", json={"embedder": embedder}).status_code == 422
        assert served.admin.post("/api/v1/desks", json={"name": "n", "embedder": embedder}).status_code == 422
    for name in ("../up", "a/b", "..", "", "x" * 65, "a\nb"):
        assert served.admin.post("/api/v1/desks", json={"name": name}).status_code == 422
    sent = served.admin.post(
        f"{desk}/import", files={"file": ("../../../../etc/passwd", b"text,label\nHow do I pay?,pay\n", "text/csv")}
    )
    assert (sent.json()["added"], sent.json()["same"]) == (1, 0)
    assert served.admin.get(f"{desk}/export", params={"format": "../x"}).status_code == 422
