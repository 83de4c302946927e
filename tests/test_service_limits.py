"""Limits on bodies, batches, texts and rates; hostile text is stored and shown as text."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from askless.ledger.database import Database
from serving import Served, serving

PROBLEM = "application/problem+json"
DESK = "/api/v1/desks/support"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Database(tmp_path_factory.mktemp("served") / "askless.db") as database:
        database.prepare()
        with serving(database) as found:
            found.make_desk("support")
            yield found


def test_a_body_over_the_limit_is_refused_whether_its_length_is_told_or_not(served: Served) -> None:
    large = b'{"text": "' + b"a" * (4 << 20) + b'"}'
    told = served.client.post(f"{DESK}/queries", content=large, headers={"Content-Type": "application/json"})
    pieces = (large[start : start + 65536] for start in range(0, len(large), 65536))
    untold = served.client.post(f"{DESK}/queries", content=pieces, headers={"Content-Type": "application/json"})
    for found in (told, untold):
        assert found.status_code == 413
        assert found.headers["content-type"] == PROBLEM
        assert str(4 << 20) in found.json()["detail"]
    assert served.client.get(f"{DESK}").status_code == 200


def test_an_endless_body_is_cut_off_while_it_is_read(served: Served) -> None:
    where = urlsplit(served.url)
    head = (
        f"POST {DESK}/queries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.key['client']}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    sent = 0
    with socket.create_connection((where.hostname, where.port), timeout=30) as wire:
        wire.sendall(head.encode())
        try:
            while sent < 64 << 20:
                wire.sendall(piece)
                sent += 65536
        except OSError:
            pass
        else:
            pytest.fail("the service took 64 MiB")
    assert sent < 16 << 20, "what the sockets on the way hold is all that may be lost"


def test_nothing_is_read_of_a_stranger_s_body(served: Served) -> None:
    where = urlsplit(served.url)
    head = f"POST {DESK}/queries HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection((where.hostname, where.port), timeout=30) as wire:
        wire.sendall(head.encode())  # and no body
        assert wire.recv(100).startswith(b"HTTP/1.1 401")


def test_batches_and_imports_may_be_larger_but_not_without_end(served: Served) -> None:
    queries = [{"id": f"big {n}", "text": f"{n} " + "word " * 2000} for n in range(300)]
    assert len(json.dumps(queries)) > 2 << 20
    found = served.client.post(f"{DESK}/queries/batch", json={"queries": queries})
    assert found.status_code == 200
    assert [one["id"] for one in found.json()["results"]] == [query["id"] for query in queries]
    over = served.client.post(f"{DESK}/queries/batch", content=b" " * ((32 << 20) + 1))
    assert over.status_code == 413


def test_a_batch_has_at_most_a_thousand_queries_and_at_least_one(served: Served) -> None:
    for count, said in ((0, "queries: Send at least 1 entry."), (1001, "queries: Send at most 1,000 entries.")):
        queries = [{"id": f"many {n}", "text": "x"} for n in range(count)]
        found = served.client.post(f"{DESK}/queries/batch", json={"queries": queries})
        assert (found.status_code, found.json()["detail"]) == (422, said)
    assert served.client.get(f"{DESK}/queries/many 0").status_code == 404


def test_a_batch_is_taken_whole_or_not_at_all(served: Served) -> None:
    served.client.post(f"{DESK}/queries", json={"id": "taken", "text": "first"})
    queries = [{"id": "fresh", "text": "one"}, {"id": "taken", "text": "another"}]
    assert served.client.post(f"{DESK}/queries/batch", json={"queries": queries}).status_code == 409
    assert served.client.get(f"{DESK}/queries/fresh").status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"text": ""}, "text"),
        ({"text": "   \n\t "}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"text": 3}, "text"),
        ({"text": "x" * 300_001}, "text"),
        ({"text": "🙂" * 300_001}, "text"),
        ({"text": "x", "more": 1}, "more"),
        ({"text": "x", "id": ""}, "id"),
        ({"text": "x", "id": "a/b"}, "id"),
        ({"text": "x", "id": ".."}, "id"),
        ({"text": "x", "id": "a\tb"}, "id"),
        ({"text": "x", "id": "n" * 201}, "id"),
        ({"text": "x", "id": 5}, "id"),
        ({"vector": []}, "vector"),
        ({"vector": ["1"]}, "vector.0"),
        ([], "body"),
        ("text", "body"),
        (None, "body"),
    ],
)
def test_a_value_that_cannot_be_used_gets_one_sentence_for_its_field(served: Served, body: object, field: str) -> None:
    found = served.client.post(f"{DESK}/queries", json=body)
    assert found.status_code == 422
    assert found.headers["content-type"] == PROBLEM
    problem = found.json()
    assert [error["field"] for error in problem["errors"]] == [field]
    assert problem["errors"][0]["detail"].endswith(".")
    assert "^" not in problem["detail"], "a pattern is no sentence"


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"",
        b'{"text": "\xff"}',
        b'{"vector": [NaN]}',
        b'{"vector": [1e999]}',
        b'{"text": "\\ud800"}',
        b'{"\\ud800": 1, "text": "x"}',
        b'{"id": "\\udfff", "text": "x"}',
        b'{"vector": [' + b"1" * 5000 + b"]}",
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_json_of_ours_is_refused_as_a_problem(served: Served, raw: bytes) -> None:
    found = served.client.post(f"{DESK}/queries", content=raw, headers={"Content-Type": "application/json"})
    assert found.status_code in (400, 422), found.text
    assert found.headers["content-type"] == PROBLEM


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "text/plain", None])
def test_what_is_not_sent_as_json_is_told_how_to_be(served: Served, media: str | None) -> None:
    headers = {} if media is None else {"Content-Type": media}
    found = served.client.post(f"{DESK}/queries", content=b'{"text": "hello"}', headers=headers)
    assert (found.status_code, found.headers["content-type"]) == (422, PROBLEM)
    assert found.json()["detail"] == "body: Send JSON with Content-Type: application/json."
    empty = served.client.post(f"{DESK}/queries", headers=headers)
    assert empty.json()["detail"] == "body: The body is missing. Send JSON with Content-Type: application/json."
    listed = served.client.post(f"{DESK}/queries", json=[])
    assert listed.json()["detail"] == "body: Send a JSON object: {...}."


def test_a_vector_must_be_of_the_desk(served: Served) -> None:
    found = served.client.post(f"{DESK}/queries", json={"id": "v3", "vector": [1.0, 0.0, 0.0]})
    assert found.status_code == 409
    assert "256" in found.json()["detail"]
    right = served.client.post(f"{DESK}/queries", json={"id": "v256", "vector": [1.0] + [0.0] * 255})
    assert right.status_code == 202


HOSTILE = [
    "<script>alert('x')</script><img src=x onerror=alert(1)>",
    "'; DROP TABLE queries; --",
    "1' OR '1'='1",
    "%s %(x)s {0} {{7*7}} ${jndi:ldap://x}",
    "a\x01b\x02c\x1bd\x7fe\u0085f",
    "line\r\nX-Injected: yes\r\n\r\nbody",
    "مرحبا \u202eabc\u202c שלום",
    "zero\u200bwidth\u200djoiner\ufeff.",
    "🙂🏳️‍🌈👩‍👩‍👧‍👦" * 500,
    "🙂" * 262_144,  # a megabyte
    "=cmd|' /C calc'!A0",
    "\U0010ffff\ufffe",
    "\\u0000 \\ud800 as typed",
]


def test_hostile_text_is_stored_and_returned_as_the_same_text(database: Database) -> None:
    with serving(database) as served:
        desk = served.make_desk("support")
        for number, text in enumerate(HOSTILE):
            name = f"h{number} '\"<b>%"
            sent = served.client.post(f"{desk}/queries", json={"id": name, "text": text})
            assert sent.status_code == 202, sent.text
            assert sent.json()["id"] == name
            ticket = served.expert.get(f"{desk}/tickets/{sent.json()['ticket']}").json()
            assert ticket["text"] == text
            assert ticket["query"] == name
            label = " ".join(f"l{number} {text[:150]}".split())
            label = "".join(sign for sign in label if sign.isprintable()).strip()
            said = text[:10_000]
            answer = {"label": label, "answer": said}
            answered = served.expert.post(f"{desk}/tickets/{ticket['id']}/answer", json=answer)
            assert answered.status_code == 200, answered.text
            got = served.client.get(f"{desk}/queries/{quote(name, safe='')}").json()
            assert (got["label"], got["answer"]) == (label, said)
        listed = served.expert.get(f"{desk}/queries", params={"limit": 500}).json()["items"]
        assert {one["text"] for one in listed} == set(HOSTILE)
        found = served.expert.get(f"{desk}/queries", params={"search": "' OR '1'='1"}).json()["items"]
        assert [one["text"] for one in found] == ["1' OR '1'='1"]
        assert served.expert.get(f"{desk}/queries", params={"search": "%"}).json()["items"]
        assert "x-injected" not in served.expert.get(f"{desk}/queries").headers


def test_more_than_a_megabyte_of_emoji_is_refused(served: Served) -> None:
    head = {"Content-Type": "application/json"}
    escaped = json.dumps({"text": "🙂" * 300_000}).encode()
    assert served.client.post(f"{DESK}/queries", content=escaped, headers=head).status_code == 202
    found = served.client.post(f"{DESK}/queries", json={"text": "🙂" * 300_001})
    assert found.status_code == 422
    assert "300000 characters" in found.json()["detail"].replace(",", "")
    plain = json.dumps({"text": "🙂" * 1_200_000}, ensure_ascii=False).encode()
    assert served.client.post(f"{DESK}/queries", content=plain, headers=head).status_code == 413


def test_unknown_paths_and_methods_are_problems_too(served: Served) -> None:
    unknown = served.client.get("/api/v1/nothing")
    assert (unknown.status_code, unknown.headers["content-type"]) == (404, PROBLEM)
    for method, path, allowed in (
        ("PUT", f"{DESK}", {"DELETE", "GET", "PATCH"}),
        ("DELETE", f"{DESK}/queries", {"GET", "POST"}),
        ("GET", f"{DESK}/tickets/next", {"POST"}),
        ("TRACE", "/healthz", {"GET"}),
    ):
        found = served.client.request(method, path)
        assert (found.status_code, found.headers["content-type"]) == (405, PROBLEM), path
        assert set(found.headers["allow"].split(", ")) == allowed


def test_a_key_has_a_rate_and_is_told_when_to_come_again(tmp_path: Path) -> None:
    with Database(tmp_path / "askless.db") as database:
        database.prepare()
        with serving(database, rate=2.0, burst_seconds=5) as served:
            found = [served.client.get("/api/v1/desks") for _ in range(30)]
            allowed = sum(one.status_code == 200 for one in found)
            assert 10 <= allowed <= 22, "ten in five seconds, and what a slow machine lets in on top"
            refused = next(one for one in found if one.status_code == 429)
            assert refused.headers["content-type"] == PROBLEM
            assert 1 <= int(refused.headers["retry-after"]) <= 6
            assert served.expert.get("/api/v1/desks").status_code == 200, "each key has its own"
            assert served.nobody.get("/healthz").status_code == 200
            strangers = [served.nobody.get("/api/v1/desks").status_code for _ in range(30)]
            assert set(strangers) == {401, 429}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (f"fine,{'x' * 300_001},a", "300,001 characters, the most is 300,000"),
        ("batch,where is it,a", "'batch' cannot stand in an address"),
        ("a/b,where is it,a", "'a/b' cannot stand in an address"),
        (".x,where is it,a", "'.x' cannot stand in an address"),
    ],
)
def test_a_file_brings_in_nothing_that_other_calls_would_refuse(served: Served, row: str, said: str) -> None:
    desk = served.make_desk(f"brought-{abs(hash(row))}")
    found = served.admin.post(f"{desk}/import", files={"file": ("x.csv", f"id,text,label\n{row}\n", "text/csv")})
    assert found.status_code == 422
    assert said in found.json()["detail"]
    assert served.client.get(desk).json()["examples"] == 0


def test_a_small_file_that_unpacks_to_millions_of_rows_is_refused(served: Served, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "bomb.parquet"
    column = pa.array(["x"]).take(pa.array([0] * 600_000))
    parquet.write_table(pa.table({"text": column, "label": column}), path)
    desk = served.make_desk("packed")
    found = served.admin.post(
        f"{desk}/import", params={"format": "parquet"}, files={"file": ("x", path.read_bytes(), "text/plain")}
    )
    assert (found.status_code, "600,000 rows" in found.json()["detail"]) == (422, True)
