"""The life of queries over HTTP: asked, answered, guessed; labels, examples, feedback, jobs, logs and metrics."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from askless.desk.live import erase
from askless.ledger.database import Database
from serving import Served, serving

DESK = "/api/v1/desks/support"
TEXTS = {
    "How do I change my password?": "password",
    "I forgot my password": "password",
    "Where can I pay my bill?": "pay",
    "How do I pay an invoice?": "pay",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Database(tmp_path_factory.mktemp("served") / "askless.db") as database:
        database.prepare()
        with serving(database) as found:
            yield found


def test_known_questions_are_answered_at_once_and_each_answer_changes_the_next_decision(database: Database) -> None:
    with serving(database) as served:
        desk = served.make_desk("support", policy="similarity-threshold:0.95")
        first = served.client.post(f"{desk}/queries", json={"id": "q1", "text": "How do I change my password?"})
        assert first.status_code == 202
        assert first.json() == served.client.get(f"{desk}/queries/q1").json()
        ticket = served.expert.post(f"{desk}/tickets/next").json()
        assert (ticket["query"], ticket["lease_by"]) == ("q1", "expert")
        held = served.admin.post(f"{desk}/tickets/{ticket['id']}/answer", json={"label": "other"})
        assert held.status_code == 409
        assert "expert" in held.json()["detail"]
        answer = {"label": "password", "answer": "Under Settings."}
        answered = served.expert.post(f"{desk}/tickets/{ticket['id']}/answer", json=answer)
        assert answered.json()["outcome"]["label"] == "password"
        same = served.expert.post(f"{desk}/tickets/{ticket['id']}/answer", json=answer)
        assert same.json()["outcome"] == answered.json()["outcome"], "the same answer again is the same"
        assert served.expert.post(f"{desk}/tickets/next").status_code == 204
        served.teach(desk, {"Where can I pay my bill?": "pay"})  # with one label alone nothing is guessed
        known = served.client.post(f"{desk}/queries", json={"id": "q2", "text": "How do I change my password?"})
        assert known.status_code == 200
        guess = known.json()
        assert (guess["status"], guess["label"], guess["answer"]) == ("guessed", "password", "Under Settings.")
        assert [(one["id"], one["text"], one["label"]) for one in guess["evidence"]] == [(None, None, "password")]
        seen = served.expert.get(f"{desk}/queries/q2").json()["evidence"]
        assert [(one["id"], one["text"]) for one in seen] == [("q1", "How do I change my password?")]
        repeated = served.client.post(f"{desk}/queries", json={"id": "q2", "text": "How do I change my password?"})
        assert (repeated.status_code, repeated.json()) == (200, guess)
        other = served.client.post(f"{desk}/queries", json={"id": "q2", "text": "Another text."})
        assert other.status_code == 409
        batch = {"queries": [{"text": "I forgot my umbrella"}, {"id": "q3", "text": "How do I change my password?"}]}
        results = served.client.post(f"{desk}/queries/batch", json=batch).json()["results"]
        assert [one["status"] for one in results] == ["asked", "guessed"]
        assert len(results[0]["id"]) == 32, "an id is made where none is given"


def test_an_expert_sees_no_guess_before_answering_its_audit(served: Served) -> None:
    desk = served.make_desk("audited", policy="similarity-threshold:0.9", audit_rate=1.0)
    served.teach(desk, TEXTS)
    assert served.client.post(f"{desk}/queries", json={"id": "a", "text": "I forgot my password"}).json()["label"]
    asked = served.client.post(f"{desk}/queries", json={"id": "b", "text": "zebra quartz violin"}).json()
    seen = {id: served.expert.get(f"{desk}/queries/{id}").json() for id in ("a", "b")}
    same = ("status", "label", "answer", "probability", "evidence", "reason", "disputed")
    assert [seen["a"][name] for name in same] == [seen["b"][name] for name in same]
    assert (seen["a"]["status"], seen["a"]["label"], seen["a"]["evidence"]) == ("asked", None, [])
    assert seen["b"]["ticket"] == asked["ticket"]
    listed = served.expert.get(f"{desk}/queries", params={"label": "password"}).json()["items"]
    assert {"a", "b"}.isdisjoint(one["id"] for one in listed)
    assert served.client.get(f"{desk}/queries/a").json()["label"] == "password"
    assert served.admin.get(f"{desk}/queries/a").json()["label"] == "password"
    served.expert.post(f"{desk}/tickets/{seen['a']['ticket']}/answer", json={"label": "password"})
    assert served.expert.get(f"{desk}/queries/a").json()["label"] == "password"


def test_feedback_becomes_a_ticket_and_only_an_expert_corrects(served: Served) -> None:
    desk = served.make_desk("feedback", policy="similarity-threshold:0.9")
    served.teach(desk, TEXTS)
    guess = served.client.post(f"{desk}/queries", json={"id": "f", "text": "I forgot my password"})
    assert guess.json()["label"] == "password"
    said = served.client.post(f"{desk}/queries/f/feedback", json={"right": "account"})
    assert (said.status_code, said.json()["label"]) == (200, "password")
    ticket = served.expert.post(f"{desk}/tickets/next").json()
    assert (ticket["query"], ticket["why"], ticket["suggested"]) == ("f", "feedback", "account")
    served.expert.post(f"{desk}/tickets/{ticket['id']}/answer", json={"label": "account"})
    assert served.client.get(f"{desk}/queries/f").json()["label"] == "account"
    undone = served.expert.post(f"{desk}/tickets/{ticket['id']}/undo")
    assert (undone.status_code, undone.json()["status"]) == (200, "open")
    assert served.client.get(f"{desk}/queries/f").json()["label"] == "password"
    for act in ("release", "claim", "skip"):
        assert served.expert.post(f"{desk}/tickets/{ticket['id']}/{act}").status_code == 200
    assert served.expert.post(f"{desk}/tickets/999/claim").status_code == 404


def test_labels_and_examples_are_listed_changed_merged_and_forgotten(served: Served) -> None:
    desk = served.make_desk("words", policy="similarity-threshold:0.9")
    served.teach(desk, TEXTS)
    assert served.expert.post(f"{desk}/labels", json={"name": "empty", "answer": "None yet."}).status_code == 201
    labels = {one["name"]: one for one in served.expert.get(f"{desk}/labels").json()["items"]}
    assert {name: one["examples"] for name, one in labels.items()} == {"empty": 0, "password": 2, "pay": 2}
    number = labels["pay"]["id"]
    changed = served.expert.patch(f"{desk}/labels/{number}", json={"name": "billing", "answer": "By card."}).json()
    assert (changed["name"], changed["answer"]) == ("billing", "By card.")
    taken = served.expert.patch(f"{desk}/labels/{number}", json={"name": "password"})
    assert (taken.status_code, "merge" in taken.json()["detail"]) == (409, True)
    merged = served.expert.post(f"{desk}/labels/{labels['empty']['id']}/merge", json={"into": number})
    assert (merged.json()["name"], merged.json()["answer"]) == ("billing", "By card.")
    page = served.expert.get(f"{desk}/examples", params={"limit": 3}).json()
    rest = served.expert.get(f"{desk}/examples", params={"limit": 3, "cursor": page["next"]}).json()
    assert [one["text"] for one in page["items"] + rest["items"]] == list(TEXTS)
    assert rest["next"] is None
    relabelled = served.expert.patch(f"{desk}/examples/taught 1", json={"label": "forgotten password"})
    assert relabelled.json()["label"] == "forgotten password"
    assert served.expert.delete(f"{desk}/examples/taught 1").status_code == 204
    left = served.expert.get(f"{desk}/examples", params={"label": "forgotten password"}).json()
    assert left["items"] == []
    assert served.expert.delete(f"{desk}/labels/{number}").status_code == 204
    assert served.expert.get(f"{desk}/examples").json()["items"][0]["id"] == "taught 0"
    again = served.expert.post(f"{desk}/examples", json={"examples": [{"id": "taught 0", "text": "x", "label": "y"}]})
    assert again.status_code == 409


def test_a_desk_is_configured_paused_exported_imported_erased_and_deleted(served: Served) -> None:
    desk = served.make_desk("life", audit_rate=0.5, costs={"call": -2.0, "right": 1.0, "wrong": -20.0})
    shown = served.client.get(desk).json()
    assert shown["settings"]["costs"] == {"call": -2.0, "right": 1.0, "wrong": -20.0}
    changed = served.admin.patch(desk, json={"mode": "shadow", "retention_days": 30, "policy": "ghc:0.9"}).json()
    assert (changed["settings"]["mode"], changed["settings"]["retention_days"]) == ("shadow", 30)
    kept = served.admin.patch(desk, json={"retention_days": None}).json()["settings"]
    assert (kept["retention_days"], kept["mode"], kept["policy"]) == (None, "shadow", "ghc:0.9")
    bad = served.admin.patch(desk, json={"costs": {"call": 5.0, "right": 1.0, "wrong": -1.0}})
    assert (bad.status_code, "wrong <= call <= right" in bad.json()["detail"]) == (409, True)
    assert served.admin.post(f"{desk}/pause").json()["settings"]["paused"] is True
    assert served.client.post(f"{desk}/queries", json={"text": "Hello?"}).status_code == 409
    served.admin.post(f"{desk}/resume")
    served.teach(desk, TEXTS)
    for format, start in (("csv", b"id,text,label"), ("jsonl", b'{"id"'), ("parquet", b"PAR1")):
        file = served.admin.get(f"{desk}/export", params={"format": format})
        assert file.content.startswith(start)
        other = served.make_desk(f"copy.{format}")
        sent = served.admin.post(
            f"{other}/import", params={"format": format}, files={"file": ("any", file.content, "text/plain")}
        )
        counts = {"added": 4, "same": 0, "answers": 0, "answers_kept": 0, "left_out": 0, "blank": 0}
        assert sent.json() == counts, format
        assert served.client.get(other).json()["examples"] == 4
    broken = served.admin.post(f"{desk}/import", files={"file": ("x.csv", b"\x00\x01", "text/csv")})
    assert (broken.status_code, "/" in broken.json()["detail"]) == (422, False)
    assert served.admin.delete(f"{desk}/queries/taught 0").status_code == 204
    listed = served.expert.get(f"{desk}/queries", params={"search": "taught 0"}).json()["items"]
    assert [(one["text"], one["erased"]) for one in listed] == [(None, True)]
    assert served.admin.delete(f"{desk}/queries/taught 9").status_code == 404
    assert served.admin.delete(desk).status_code == 204
    assert served.client.get(desk).status_code == 404
    assert served.client.post(f"{desk}/queries", json={"text": "Hello?"}).status_code == 404


def test_a_request_that_goes_astray_is_told_the_way(served: Served) -> None:
    desk = served.make_desk("astray")
    latin = b'{"text": "caf\xe9"}'
    found = served.client.post(f"{desk}/queries", content=latin, headers={"Content-Type": "application/json"})
    assert (found.status_code, found.json()["detail"]) == (
        400,
        f"The body is not UTF-8 (see byte {latin.index(0xE9) + 1}), as JSON is. Send it as UTF-8.",
    )
    found = served.admin.patch(desk, json={"embedder": "minilm"})
    assert (found.status_code, "/embedder" in found.json()["detail"]) == (422, True)
    found = served.admin.patch(desk, json={"colour": "red"})
    assert "colour: There is no such field here" in found.json()["detail"]
    for sent in ({"json": {}}, {"files": {"other": b"text,label"}}):
        found = served.admin.post(f"{desk}/import", **sent)
        assert (found.status_code, "-F file=@examples.csv" in found.json()["detail"]) == (422, True)


def test_another_embedder_is_a_job_that_can_be_watched(served: Served) -> None:
    desk = served.make_desk("switch")
    served.teach(desk, TEXTS)
    assert served.admin.post(f"{desk}/embedder", json={"embedder": "wordllama"}).status_code == 409
    job = served.admin.post(f"{desk}/embedder", json={"embedder": "wordllama:64"})
    assert job.status_code == 202
    path, end = f"{desk}/jobs/{job.json()['id']}", time.monotonic() + 60
    while served.admin.get(path).json()["status"] == "running" and time.monotonic() < end:
        time.sleep(0.05)
    found = served.admin.get(path).json()
    assert (found["status"], found["done"], found["total"], found["error"]) == ("done", 4, 4, None)
    assert served.client.get(desk).json()["settings"]["embedder"] == "wordllama:64"
    assert served.admin.delete(path).json()["status"] == "done"
    assert served.admin.get(f"{desk}/jobs/999").status_code == 404


def test_statistics_and_conflicts(served: Served) -> None:
    desk = served.make_desk("figures", policy="similarity-threshold:0.9")
    served.teach(desk, TEXTS)
    for number, text in enumerate([*TEXTS, "Do you sell umbrellas?"]):
        served.client.post(f"{desk}/queries", json={"id": f"s{number}", "text": text})
    found = served.expert.get(f"{desk}/statistics", params={"call_price": 2, "mistake_price": 10}).json()
    assert (found["received"], found["guesses"], found["waiting"], found["given"]) == (5, 4, 1, 4)
    assert found["automated"] == 0.8
    assert sum(bucket["received"] for bucket in found["buckets"]) == 5
    none = served.expert.get(f"{desk}/statistics", params={"until": "2020-01-01T00:00:00+01:00"}).json()
    assert none["received"] == 0
    assert none["until"] == "2019-12-31T23:00:00+00:00"
    for wrong in ("yesterday", "0", "2020-01-01", "0001-01-01T00:00:00+14:00"):
        assert served.expert.get(f"{desk}/statistics", params={"since": wrong}).status_code == 422, wrong
    for alone in ("call_price", "mistake_price"):
        refused = served.expert.get(f"{desk}/statistics", params={alone: 4})
        assert refused.status_code == 409
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["detail"] == "The money saved needs both prices: call_price and mistake_price."
    twice = [{"id": f"t{n}", "text": "One and the same", "label": label} for n, label in enumerate("ab")]
    served.expert.post(f"{desk}/examples", json={"examples": twice})
    groups = served.expert.get(f"{desk}/conflicts").json()["contradictions"]
    assert [[(one["id"], one["label"]) for one in group] for group in groups] == [[("t0", "a"), ("t1", "b")]]


def test_labels_that_differ_in_capitals_alone_are_refused_by_name(served: Served) -> None:
    desk = served.make_desk("capitals")
    made = served.expert.post(f"{desk}/labels", json={"name": "Straße", "answer": "yes"}).json()
    other = served.expert.post(f"{desk}/labels", json={"name": "other"}).json()
    ticket = served.client.post(f"{desk}/queries", json={"text": "Where?"}).json()["ticket"]
    for found in (
        served.expert.post(f"{desk}/labels", json={"name": "STRASSE"}),
        served.expert.patch(f"{desk}/labels/{other['id']}", json={"name": "strasse"}),
        served.expert.post(f"{desk}/tickets/{ticket}/answer", json={"label": "strasse"}),
        served.expert.post(f"{desk}/examples", json={"examples": [{"text": "a road", "label": "straße"}]}),
    ):
        assert found.status_code == 409
        assert "differs from the label 'Straße' only in capital and small letters" in found.json()["detail"]
    renamed = served.expert.patch(f"{desk}/labels/{made['id']}", json={"name": "straße"})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "straße"), "the label itself may change its capitals"
    again = served.expert.post(f"{desk}/labels", json={"name": "straße", "answer": "no"}).json()["detail"]
    assert f"PATCH .../labels/{made['id']}" in again
    assert "set_answer" not in again
    assert [one["name"] for one in served.expert.get(f"{desk}/labels").json()["items"]] == ["other", "straße"]


def test_every_route_has_a_summary_of_words_and_no_two_the_same(served: Served) -> None:
    paths = served.admin.get("/openapi.json").json()["paths"]
    summaries = [operation["summary"] for methods in paths.values() for operation in methods.values()]
    assert len(set(summaries)) == len(summaries)
    for name in ("List queries", "Submit a query", "List labels", "List webhooks"):
        assert name in summaries
    assert not {"List All", "List Some", "Create", "Show", "Delete", "Take", "Write"} & set(summaries)


def test_the_log_has_the_request_and_no_text(served: Served) -> None:
    desk = served.make_desk("quiet")
    sent = {"id": "ann@example.com", "text": "My pin is secret-pin"}
    found = served.client.post(f"{desk}/queries", json=sent, headers={"X-Request-ID": "abc-1"})
    assert found.headers["x-request-id"] == "abc-1"
    served.client.get(f"{desk}/queries/ann@example.com")
    served.client.get(f"{desk}/nothing/secret-pin")
    odd = served.client.get(desk, headers={"X-Request-ID": "a b\t" + "c" * 100})
    assert re.fullmatch("[0-9a-f]{16}", odd.headers["x-request-id"])
    line = next(line for line in served.logged() if line.get("request_id") == "abc-1")
    assert (line["method"], line["status"], line["key"]) == ("POST", 202, "client")
    assert line["route"] == "/api/v1/desks/{desk}/queries"
    served.client.get("/openapi.json", headers={"X-Request-ID": "abc-2"})
    assert next(line for line in served.logged() if line.get("request_id") == "abc-2")["route"] == "/openapi.json"
    assert line["ms"] > 0
    log = served.log.getvalue()
    assert "secret-pin" not in log
    assert "ann@example.com" not in log
    assert not any(secret in log for secret in served.key.values())
    assert served.client.get(f"{desk}/queries/unknown").json()["request_id"]


def test_texts_are_logged_where_that_is_asked_for(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Database(tmp_path_factory.mktemp("loud") / "askless.db") as database:
        database.prepare()
        with serving(database, log_texts=True) as served:
            served.client.post(f"{served.make_desk('loud')}/queries", json={"text": "Say it aloud"})
            assert any(line.get("texts") == ["Say it aloud"] for line in served.logged())


def test_an_unforeseen_error_is_a_problem_and_its_message_stays_out_of_the_log(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("with a secret text")

    monkeypatch.setattr(served.app.state.service.desks, "rows", broken)
    found = served.client.get("/api/v1/desks")
    assert (found.status_code, found.headers["content-type"]) == (500, "application/problem+json")
    assert "secret" not in found.text
    assert "secret" not in served.log.getvalue()
    line = next(line for line in served.logged() if line["event"] == "failure")
    assert (line["error"], line["request_id"]) == ("RuntimeError", found.json()["request_id"])
    assert any("broken" in frame for frame in line["where"])


def test_a_database_that_is_away_gives_503_and_names_no_file(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from askless.errors import Unavailable

    def away() -> None:
        raise Unavailable("The database /srv/askless.db cannot be used now (disk I/O error).")

    monkeypatch.setattr(served.app.state.service.desks, "rows", away)
    found = served.client.get("/api/v1/desks")
    assert (found.status_code, found.headers["retry-after"]) == (503, "1")
    assert "/srv" not in found.text
    assert "/srv/askless.db" in served.log.getvalue()
    said = found.json()["request_id"]
    assert next(line for line in served.logged() if line.get("request_id") == said)["level"] == "warning"


def test_an_erasure_that_leaves_traces_says_so_and_is_not_called_undone(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = served.make_desk("traces")
    served.client.post(f"{desk}/queries", json={"id": "q", "text": "My name is Ann"})

    def busy(database: Database) -> None:
        raise erase.NotErased(erase._TRACES)

    monkeypatch.setattr(erase, "scrub", busy)
    found = served.admin.delete(f"{desk}/queries/q")
    assert (found.status_code, found.headers["retry-after"]) == (503, "1")
    assert "are erased, but traces stay" in found.json()["detail"]
    assert served.client.get(f"{desk}/queries/q").json()["erased"]
    monkeypatch.undo()
    assert served.admin.delete(f"{desk}/queries/q").status_code == 204


def test_metrics_count_what_was_done(served: Served) -> None:
    desk = served.make_desk("counted", policy="similarity-threshold:0.9")
    served.teach(desk, TEXTS)
    served.client.post(f"{desk}/queries", json={"text": "I forgot my password"})
    ticket = served.client.post(f"{desk}/queries", json={"text": "Do you sell umbrellas?"}).json()["ticket"]
    served.client.post(f"{desk}/queries", json={"text": "Do you sell trousers?"})
    served.expert.post(f"{desk}/tickets/{ticket}/answer", json={"label": "shop"})
    found = served.admin.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain")
    lines = dict(line.rsplit(" ", 1) for line in found.text.splitlines() if not line.startswith("#"))
    assert float(lines['askless_decisions_total{action="guessed",desk="counted"}']) == 1
    assert float(lines['askless_decisions_total{action="asked",desk="counted"}']) == 2
    assert float(lines['askless_answers_total{desk="counted"}']) == 1
    assert float(lines['askless_waiting_tickets{desk="counted"}']) == 1
    assert float(lines['askless_event_lag{desk="counted"}']) == 0
    assert any(line.startswith("askless_requests_total{") and 'status="202"' in line for line in lines)
    assert any(line.startswith("askless_request_seconds_bucket{") for line in lines)
    assert any('route="/api/v1/desks/{desk}/queries",status="202"' in line for line in lines)
    assert served.nobody.get("/metrics").status_code == 200, "from this machine"
    assert served.nobody.get("/metrics", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 401
    served.expert.post(f"{desk}/tickets/{ticket}/undo")
    served.expert.post(f"{desk}/tickets/{ticket}/answer", json={"label": "shop"})
    again = served.admin.get("/metrics").text
    assert 'askless_answers_total{desk="counted"} 2.0' in again, "counted on from the last look"


def test_health(served: Served) -> None:
    assert served.nobody.get("/healthz").json() == {"status": "ok"}
    assert served.nobody.get("/readyz").json() == {"status": "ready"}
    served.app.state.service.ready = False
    try:
        assert served.nobody.get("/readyz").status_code == 503
    finally:
        served.app.state.service.ready = True
