"""Who sees the examples behind a guess: experts always; callers with a client's key where the desk shares them.

Every way out to a client is taken once at a desk that shares its examples and once at one that does not. The text of
the example stands nowhere else in what a client is sent, so that its bytes are looked for in the whole response.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from askless.desk.live.desks import Desks
from askless.desk.live.settings import LiveSettings
from askless.ledger import schema
from askless.ledger.database import Database
from receiver import receiving
from serving import Served, serving

ID, TEXT = "mail of Rumpelstilzchen", "Where is my parcel with the golden straw?"
SAME = "where is my parcel with the golden straw"  # for the embedder
PATIENCE = 30.0  # seconds for what takes much less


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Database(tmp_path_factory.mktemp("sharing") / "askless.db") as database:
        database.prepare()
        with serving(database) as found:
            for name, shared in (("private", False), ("shared", True)):
                desk = found.make_desk(name, policy="similarity-threshold:0.9", share_examples=shared)
                given = [{"id": ID, "text": TEXT, "label": "track"}, {"text": "Please block my card", "label": "block"}]
                assert found.expert.post(f"{desk}/examples", json={"examples": given}).status_code == 201
                first = found.client.post(f"{desk}/queries", json={"id": "known", "text": SAME})
                assert first.json()["status"] == "guessed"
            yield found


def evidence(served: Served, who: httpx.Client, desk: str) -> Any:
    return who.get(f"{desk}/queries/known").json()["evidence"]


# -- the ways out to a client ----------------------------------------------------------------------------------------
def single(served: Served, desk: str) -> str:
    return served.client.post(f"{desk}/queries", json={"text": SAME}).text


def single_again(served: Served, desk: str) -> str:
    return served.client.post(f"{desk}/queries", json={"id": "known", "text": SAME}).text


def batch(served: Served, desk: str) -> str:
    queries = [{"text": "An umbrella, perhaps"}, {"text": SAME}]
    return served.client.post(f"{desk}/queries/batch", json={"queries": queries}).text


def fetch(served: Served, desk: str) -> str:
    return served.client.get(f"{desk}/queries/known").text


def feedback(served: Served, desk: str) -> str:
    return served.client.post(f"{desk}/queries/known/feedback", json={}).text


def waiting(served: Served, desk: str) -> str:
    """A query that waits until an example settles it, with that example as its evidence; its id."""
    name = desk.rsplit("/", 1)[1]
    served.admin.delete(f"{desk}-wait")
    shared = name == "shared"
    served.make_desk(f"{name}-wait", policy="similarity-threshold:0.9", share_examples=shared)
    given = [{"text": "Please block my card", "label": "block"}]
    served.expert.post(f"{desk}-wait/examples", json={"examples": given})
    assert served.client.post(f"{desk}-wait/queries", json={"id": "w", "text": SAME}).status_code == 202
    return f"{desk}-wait"


def settle(served: Served, desk: str) -> None:
    given = [{"id": ID, "text": TEXT, "label": "track"}]
    served.expert.post(f"{desk}/examples", json={"examples": given})


def long_poll(served: Served, desk: str) -> str:
    desk = waiting(served, desk)
    settling = threading.Timer(0.2, settle, (served, desk))
    settling.start()
    found = served.client.get(f"{desk}/queries/w", params={"wait": PATIENCE}).text
    settling.join()
    return found


def stream(served: Served, desk: str) -> str:
    desk = waiting(served, desk)
    with served.client.stream("GET", f"{desk}/queries/w/events") as response:
        lines = response.iter_lines()
        first = next(line for line in lines if line.startswith("data:"))
        assert json.loads(first[5:])["status"] == "asked"
        settle(served, desk)
        return "\n".join(lines)


def webhook(served: Served, desk: str) -> str:
    desk = waiting(served, desk)
    with receiving() as receiver:
        made = {"url": receiver.url, "kinds": ["query.answered"]}
        assert served.admin.post(f"{desk}/webhooks", json=made).status_code == 201
        settle(served, desk)
        end = time.monotonic() + PATIENCE
        while not receiver.got and time.monotonic() < end:
            time.sleep(0.02)
        return str(receiver.got[0].body.decode())


WAYS = [single, single_again, batch, fetch, feedback, long_poll, stream, webhook]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_client_sees_no_example_of_a_desk_that_does_not_share_them(
    served: Served, way: Callable[[Served, str], str]
) -> None:
    found = way(served, "/api/v1/desks/private").replace(" ", "")
    assert '"status":"guessed"' in found
    assert '"evidence":[{"id":null,"text":null,"label":"track","weight":' in found
    assert ID.replace(" ", "") not in found
    assert TEXT.replace(" ", "") not in found


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_client_sees_the_examples_of_a_desk_that_shares_them(
    served: Served, way: Callable[[Served, str], str]
) -> None:
    found = way(served, "/api/v1/desks/shared")
    assert ID in found
    assert TEXT in found


def test_experts_and_admins_see_all_of_them(served: Served) -> None:
    desk = "/api/v1/desks/private"
    for who in (served.expert, served.admin):
        (one,) = evidence(served, who, desk)
        assert (one["id"], one["text"], one["label"]) == (ID, TEXT, "track")
        listed = who.get(f"{desk}/queries", params={"status": "guessed"}).json()["items"]
        assert {e["text"] for row in listed for e in row["evidence"]} == {TEXT}


def test_label_studio_is_told_no_example_and_is_no_way_in_for_a_client(served: Served) -> None:
    config = '<View><Text name="t" value="$t"/><Choices name="c" toName="t"><Choice value="track"/></Choices></View>'
    body = {"tasks": [{"id": 1, "data": {"t": SAME}}], "label_config": config}
    for desk in ("private", "shared"):
        assert served.client.post(f"/label-studio/{desk}/predict", json=body).status_code == 403
        predicted = served.expert.post(f"/label-studio/{desk}/predict", json=body)
        assert predicted.json()["results"][0]["result"][0]["value"] == {"choices": ["track"]}
        assert TEXT not in predicted.text
        assert ID not in predicted.text


def test_a_change_of_the_setting_is_heeded_soon(served: Served) -> None:
    """Within a second, as the documents say; here it only has to come."""
    desk = served.make_desk("changing", policy="similarity-threshold:0.9")
    assert served.client.get(desk).json()["settings"]["share_examples"] is False
    served.teach(desk, {TEXT: "track", "Please block my card": "block"})
    served.client.post(f"{desk}/queries", json={"id": "known", "text": SAME})
    for shared, expected in ((False, None), (True, TEXT), (False, None)):
        changed = served.admin.patch(desk, json={"share_examples": shared})
        assert changed.json()["settings"]["share_examples"] is shared
        end = time.monotonic() + PATIENCE
        while evidence(served, served.client, desk)[0]["text"] != expected:
            assert time.monotonic() < end, "the change is not heeded"
            time.sleep(0.05)


def test_a_desk_made_before_there_was_the_setting_keeps_its_examples_to_itself(database: Database) -> None:
    settings = LiveSettings(policy="similarity-threshold:0.9")
    old = {name: value for name, value in settings.written().items() if name != "share_examples"}
    with Desks(database, listen=False) as desks:
        desks.create("old", settings, "admin")
        with database.write() as connection:
            connection.execute(update(schema.events).values(payload=old))
        assert desks.run("old", lambda desk: desk.settings).result() == settings
        assert settings.share_examples is False
