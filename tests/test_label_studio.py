"""Label Studio's protocol: the shapes that it sends, hostile ones too, and a live loop with a real service.

The payloads are cut from what Label Studio 1.23 sends (its ml/api_connector.py and webhooks/).
"""

from __future__ import annotations

import copy

import pytest

from askless.errors import InvalidInput
from askless.ledger.database import Database
from askless.service.label_studio import Annotated, example_id, read_config, read_webhook, tasks_of
from serving import serving

CONFIG = """
<View>
  <Header value="What is it about?"/>
  <Text name="mail" value="$body"/>
  <View style="padding: 1em"><Choices name="topic" toName="mail" choice="single" showInLine="true">
    <Choice value="password"/><Choice value="invoice"/><Choice value="Delivery &amp; returns" alias="delivery"/>
  </Choices></View>
</View>"""

ANNOTATION = {
    "id": 12,
    "result": [
        {
            "value": {"choices": ["password"]},
            "id": "qwErTy12",
            "from_name": "topic",
            "to_name": "mail",
            "type": "choices",
            "origin": "manual",
        }
    ],
    "was_cancelled": False,
    "ground_truth": False,
    "lead_time": 4.2,
    "task": 7,
    "completed_by": 1,
    "project": 3,
}
TASK = {"id": 7, "data": {"body": "I cannot log in, my password is wrong"}, "is_labeled": True, "project": 3}
PROJECT = {"id": 3, "title": "Mail", "label_config": CONFIG, "task_number": 1}
CREATED = {"action": "ANNOTATION_CREATED", "annotation": ANNOTATION, "task": TASK, "project": PROJECT}


def chosen(*choices, **fields):
    """The webhook's payload with another choice."""
    payload = copy.deepcopy(CREATED)
    payload["annotation"]["result"][0]["value"]["choices"] = list(choices)
    payload["annotation"].update(fields)
    return payload


def test_a_config_says_where_labels_go():
    found = read_config(CONFIG)
    assert (found.from_name, found.to_name, found.field) == ("topic", "mail", "body")
    assert found.choices == {"password", "invoice", "delivery"}  # an alias is what results hold
    assert found.text_of(TASK) == TASK["data"]["body"]


def test_the_first_choices_about_a_text_count():
    found = read_config(
        '<View><Image name="i" value="$img"/><Choices name="a" toName="i"><Choice value="x"/></Choices>'
        '<Text name="t" value="$text"/><Choices name="b" toName="t" value="$options"/></View>'
    )
    assert (found.from_name, found.to_name, found.field, found.choices) == ("b", "t", "text", frozenset())


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (None, "no labelling config"),
        ("", "no labelling config"),
        (17, "no labelling config"),
        ("<View>", "is not XML"),
        ("plain words", "is not XML"),
        ("<View/>", "no <Choices> about a <Text>"),
        ('<View><Text name="t" value="$t"/><Labels name="l" toName="t"/></View>', "no <Choices> about a <Text>"),
        ('<View><Choices name="c" toName="nowhere"/></View>', "no <Choices> about a <Text>"),
        ('<View><Text name="t" value="$t"/><Choices name="c" toName="t" choice="multiple"/></View>', "several choices"),
        ('<View><Text name="t" value="fixed"/><Choices name="c" toName="t"/></View>', "expected the field of a task"),
        ('<View><Text name="t" value="$t" valueType="url"/><Choices name="c" toName="t"/></View>', "fetches nothing"),
        ('<View><Text name="t" value="$t"/><Choices toName="t"/></View>', "has no name"),
        ("<View>" + "<View/>" * 40_000 + "</View>", "longer than 200,000"),
    ],
)
def test_a_config_that_no_desk_can_serve_is_refused_with_a_reason(config, why):
    with pytest.raises(InvalidInput, match=why):
        read_config(config)


BILLION_LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True))
    + "]><View>&j;</View>"
)


@pytest.mark.parametrize(
    "xml",
    [
        BILLION_LAUGHS,
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><View>&e;</View>',
        '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd"><View/>',
        "<!DOCTYPE View><View/>",
    ],
    ids=["billion laughs", "external entity", "external type", "a mere type"],
)
def test_hostile_xml_is_refused_unread(xml):
    with pytest.raises(InvalidInput, match="document type or entities"):
        read_config(xml)


def test_what_webhooks_say():
    text = TASK["data"]["body"]
    assert read_webhook(CREATED) == [Annotated("label-studio:12", text, "password")]
    assert read_webhook(CREATED | {"action": "ANNOTATION_UPDATED"}) == [Annotated("label-studio:12", text, "password")]
    several = {"action": "ANNOTATIONS_CREATED", "annotation": [ANNOTATION, ANNOTATION | {"id": 13}]}
    found = read_webhook(several | {"task": [TASK, TASK], "project": PROJECT})
    assert [one.id for one in found] == ["label-studio:12", "label-studio:13"]
    deleted = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 12}, {"id": 14}], "project": PROJECT}
    assert read_webhook(deleted) == [Annotated("label-studio:12", None, None), Annotated("label-studio:14", None, None)]
    for action in ("TASKS_CREATED", "PROJECT_UPDATED", "START_TRAINING", None):
        assert read_webhook({"action": action, "tasks": [TASK], "project": PROJECT}) == []


def test_a_skipped_or_empty_annotation_takes_its_label_back():
    assert read_webhook(chosen("password", was_cancelled=True))[0].label is None
    assert read_webhook(chosen())[0].label is None
    assert read_webhook(chosen("x", result=[]))[0].label is None


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (chosen("a", "b"), "2 choices"),
        (chosen(["a", "b"]), "1 choices"),
        (CREATED | {"annotation": ANNOTATION | {"id": "../12"}}, "whole number"),
        (CREATED | {"annotation": ANNOTATION | {"id": True}}, "whole number"),
        (CREATED | {"annotation": ANNOTATION | {"id": 1 << 70}}, "whole number"),
        (CREATED | {"task": None}, "1 annotations and 0 tasks"),
        (CREATED | {"task": "7"}, "an object or a list"),
        (CREATED | {"project": None}, "no labelling config"),
        ({"action": "ANNOTATIONS_DELETED", "annotations": [7]}, "an object or a list"),
    ],
)
def test_a_payload_that_is_none_of_label_studios_is_refused(payload, why):
    with pytest.raises(InvalidInput, match=why):
        read_webhook(payload)


def test_a_prediction_names_the_choice_or_nothing():
    labelling = read_config(CONFIG)
    assert labelling.prediction("invoice", 0.9, "v") == {
        "result": [{"from_name": "topic", "to_name": "mail", "type": "choices", "value": {"choices": ["invoice"]}}],
        "score": 0.9,
        "model_version": "v",
    }
    assert labelling.prediction("of another project", 0.9, "v")["result"] == []
    assert labelling.prediction(None, 0.1, "v") == {"result": [], "score": 0.1, "model_version": "v"}


def test_tasks_are_a_list_of_at_most_so_many():
    assert tasks_of({"tasks": [TASK]}, 1) == [TASK]
    for tasks in (None, {}, [1], "x"):
        with pytest.raises(InvalidInput, match="a list of objects"):
            tasks_of({"tasks": tasks}, 1)
    with pytest.raises(InvalidInput, match="at most 1"):
        tasks_of({"tasks": [TASK, TASK]}, 1)
    assert example_id({"id": 5}) == "label-studio:5"


# -- with a real service ------------------------------------------------------------------------------------------
TEXTS = {
    "password": ["I cannot log in, my password is wrong", "How do I reset my password?", "I forgot my password"],
    "invoice": ["Where is the invoice for my order?", "Please send the invoice again", "The invoice is too high"],
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Database(tmp_path_factory.mktemp("label-studio") / "askless.db") as database:
        database.prepare()
        with serving(database) as running:
            yield running


@pytest.fixture
def studio(served, request):
    """A client that calls a new desk as Label Studio does: HTTP Basic, the key as the password."""
    name = f"desk-{abs(hash(request.node.name)) % 10**8}"
    served.make_desk(name, policy="ghc:0.9")
    with served.with_key("unused") as client:
        client.headers.pop("Authorization")
        client.auth = ("label studio", served.key["expert"])
        client.base_url = f"{served.url}/label-studio/{name}/"
        client.desk = name
        yield client


def annotate(studio, number, text, label, action="ANNOTATION_CREATED"):
    payload = chosen(label, id=number) | {"action": action}
    payload["task"] = TASK | {"id": number, "data": {"body": text}}
    return studio.post("webhook", json=payload)


def predict(studio, *texts):
    tasks = [{"id": n, "data": {"body": text}, "annotations": [], "predictions": []} for n, text in enumerate(texts)]
    request = {"tasks": tasks, "project": "3.1700000000", "label_config": CONFIG, "params": {"context": None}}
    found = studio.post("predict", json=request)
    assert found.status_code == 200, found.text
    assert len(found.json()["results"]) == len(texts)
    return found.json()["results"]


def test_a_live_loop(served, studio):
    assert studio.get("health").json()["status"] == "UP"
    setup = studio.post("setup", json={"project": "3.17", "schema": CONFIG, "hostname": "", "access_token": "x"})
    first = setup.json()["model_version"]
    asked = "How do I reset my password?"
    assert predict(studio, asked)[0]["result"] == []  # nothing is known yet
    number = 0
    for label, texts in TEXTS.items():
        for text in texts:
            number += 1
            assert annotate(studio, number, text, label).status_code == 201
    one, other, empty = predict(studio, asked, "Please send the invoice again", " ")
    assert one["result"][0]["value"] == {"choices": ["password"]}
    assert other["result"][0]["value"] == {"choices": ["invoice"]}
    assert empty["result"] == []
    assert 0.0 <= one["score"] <= 1.0
    assert one["model_version"] != first
    path = f"/api/v1/desks/{studio.desk}"
    assert served.expert.get(f"{path}/queries", params={"limit": 500}).json()["next"] is None
    queries = served.expert.get(f"{path}/queries").json()["items"]
    assert len(queries) == number  # a prediction leaves no trace
    assert served.expert.get(path).json()["waiting"] == 0


def test_an_annotation_changed_deleted_and_repeated(served, studio):
    path = f"/api/v1/desks/{studio.desk}/examples"

    def examples():
        return {row["id"]: row["label"] for row in served.expert.get(path).json()["items"]}

    annotate(studio, 5, "The invoice is too high", "password")
    annotate(studio, 5, "The invoice is too high", "password")
    assert examples() == {"label-studio:5": "password"}
    annotate(studio, 5, "The invoice is too high", "invoice", "ANNOTATION_UPDATED")
    assert examples() == {"label-studio:5": "invoice"}
    annotate(studio, 6, "I forgot my password", "password", "ANNOTATION_UPDATED")  # made before the desk was connected
    assert examples() == {"label-studio:5": "invoice", "label-studio:6": "password"}
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 5}, {"id": 99}], "project": PROJECT}
    assert studio.post("webhook", json=gone).status_code == 201
    assert studio.post("webhook", json=gone).status_code == 201
    assert examples() == {"label-studio:6": "password"}
    annotate(studio, 5, "The invoice is too high", "invoice", "ANNOTATION_UPDATED")
    assert examples() == {"label-studio:5": "invoice", "label-studio:6": "password"}
    assert studio.post("webhook", json={"action": "PROJECT_UPDATED", "project": PROJECT}).status_code == 201


def test_a_desk_in_shadow_mode_tells_annotators_nothing(served, studio):
    for number, (label, texts) in enumerate(TEXTS.items()):
        annotate(studio, number, texts[0], label)
    assert predict(studio, TEXTS["password"][0])[0]["result"] != []
    served.admin.patch(f"/api/v1/desks/{studio.desk}", json={"mode": "shadow"})
    assert predict(studio, TEXTS["password"][0])[0] | {"model_version": ""} == {
        "result": [],
        "score": 0.0,
        "model_version": "",
    }


def test_mistakes_are_problems_with_a_sentence(served, studio):
    for path, body, status, why in [
        ("setup", {"schema": "<View/>"}, 422, "no <Choices>"),
        ("setup", {"schema": BILLION_LAUGHS}, 422, "refused"),
        ("predict", {"tasks": [], "label_config": None}, 422, "no labelling config"),
        ("predict", {"tasks": 3, "label_config": CONFIG}, 422, "a list of objects"),
        ("webhook", chosen("a", "b"), 422, "one label"),
        ("webhook", chosen("a") | {"task": {"id": 1, "data": {}}}, 422, "no text"),
        ("webhook", [1], 422, "not an object"),
    ]:
        found = studio.post(path, json=body)
        assert (found.status_code, found.headers["content-type"]) == (status, "application/problem+json"), found.text
        assert why in found.json()["detail"]
    assert studio.post("predict", content=b"{").status_code == 400
    assert studio.post("predict", content=b"[" * 100_000).status_code == 400


def test_only_an_expert_of_the_desk_is_let_in(served, studio):
    for auth, status in [(("x", "wrong"), 401), (("x", served.key["client"]), 403)]:
        assert studio.get("health", auth=auth).status_code == status
        assert studio.post("predict", json={}, auth=auth).status_code == status
    assert served.expert.get("/label-studio/nowhere/health").status_code == 404
