"""The data sets' own formats, on small files of each, and the two that tests may have for real."""

from __future__ import annotations

import csv
import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from askless.datasets.catalogue import DATASETS, known_dataset, load_dataset
from askless.datasets.folder import data_folder
from askless.datasets.groups import connected
from askless.datasets.source import read_source
from askless.errors import InvalidInput, UnreadableFile


def put(folder: Path, name: str, contents: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents.encode())
    return path


def groups_of(found: object) -> set[frozenset[str]]:
    by_label: dict[str, set[str]] = {}
    for text, label in zip(found.texts, found.labels, strict=True):  # type: ignore[attr-defined]
        by_label.setdefault(label, set()).add(text)
    return {frozenset(texts) for texts in by_label.values()}


def test_banking77(tmp_path: Path) -> None:
    put(
        tmp_path,
        "banking77/train.csv",
        'text,category\r\n"Where is my card, please?",card_arrival\r\n"\nlost it",lost\r\n',
    )
    put(tmp_path, "banking77/test.csv", "text,category\r\nNA,card_arrival\r\n")
    found = load_dataset("banking77", tmp_path)
    assert found.texts == ["Where is my card, please?", "lost it", "NA"]
    assert found.labels == ["card_arrival", "lost", "card_arrival"]
    assert found.split == ["train", "train", "test"]
    assert found.name == "banking77"


def test_clinc150(tmp_path: Path) -> None:
    parts = ["oos_val", "val", "train", "oos_test", "test", "oos_train"]
    put(tmp_path, "clinc150/data_full.json", json.dumps({part: [[f"a {part}", "oos"]] for part in parts}))
    found = load_dataset("clinc150", tmp_path)
    assert found.split == ["train", "val", "test", "oos_train", "oos_val", "oos_test"]
    assert found.texts == [f"a {split}" for split in found.split]


HWU = """userid;answerid;scenario;intent;status;answer_annotation;notes;suggested_entities;answer_normalised;answer;\
question
1;1;alarm;set;;wake me up at [time : five am] [date : this week];;;wake me up at five am;Wake me up at 5am;Write
1;2;audio;volume_down;;"please ""lower"" the volume";;;lower;Lower.;Write
1;3;general;greet;;good morning;;;good morning;Good morning;Write
1;4;cooking;query;;what is [food_type : couscous];;;x;X;Write
2;5;lists;query;null;null;;;null;null;Write
2;6;calendar;set;IRR_XR;meet [person : doctor's clerk] on [ date : the ninth ];;;x;X;Write
"""


def test_hwu64(tmp_path: Path) -> None:
    put(tmp_path, "hwu64/NLU-Data-Home-Domain-Annotated-All.csv", HWU)
    found = load_dataset("hwu64", tmp_path)
    assert dict(zip(found.texts, found.labels, strict=True)) == {
        "wake me up at five am this week": "alarm_set",
        'please "lower" the volume': "audio_volume_down",
        "meet doctor's clerk on the ninth": "calendar_set",
    }


QUORA = [
    (0, 1, 2, "how old is it", "what is its age", 1),
    (1, 2, 3, "what is its age", "how many\nyears has it", 1),
    (2, 4, 5, "is it red", "is it blue", 0),
    (3, 6, 7, 'what is "it"', "define it", 1),
    (4, 8, 9, "", "an empty one", 1),
    (5, 3, 10, "how many\nyears has it", "tell me its age", 1),
]


def quora_file(folder: Path) -> None:
    path = put(folder, "quora/quora_duplicate_questions.tsv", "")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["id", "qid1", "qid2", "question1", "question2", "is_duplicate"])
        writer.writerows(QUORA)


def test_quora_pairs_become_groups(tmp_path: Path) -> None:
    quora_file(tmp_path)
    found = load_dataset("quora", tmp_path)
    ages = {"how old is it", "what is its age", "how many\nyears has it", "tell me its age"}
    assert groups_of(found) == {frozenset(ages), frozenset({'what is "it"', "define it"})}
    assert found.labels == ["group-1"] * 4 + ["group-6"] * 2  # larger ones first


def test_the_largest_groups_of_quora(tmp_path: Path) -> None:
    path = put(tmp_path, "quora/quora_duplicate_questions.tsv", "")
    sizes = [2 + k % 7 for k in range(1_300)]
    with path.open("w", encoding="utf-8") as file:
        print("id", "qid1", "qid2", "question1", "question2", "is_duplicate", sep="\t", file=file)
        for group, size in enumerate(sizes):
            for k in range(1, size):
                print(0, f"{group}a0", f"{group}a{k}", f"q {group} 0", f"q {group} {k}", 1, sep="\t", file=file)
    found = load_dataset("quora-1200", tmp_path)
    kept = sorted(Counter(found.labels).values(), reverse=True)
    assert kept == sorted(sizes, reverse=True)[:1_200]


def test_comqa(tmp_path: Path) -> None:
    train = [
        {"cluster_id": "cluster-1", "questions": ["which sea?", "what sea?"], "answers": ["North_Sea"]},
        {"cluster_id": "cluster-2", "questions": ["who?"], "answers": []},
    ]
    dev = [
        {"cluster_id": "cluster-1", "questions": ["name the sea"], "answers": ["north_sea"]},
        {"cluster_id": "cluster-2", "questions": ["where?"], "answers": ["here"]},
    ]
    test = [
        {"id": "cluster-2-1", "question": "at what place?", "answers": ["here"]},
        {"id": 2, "question": "when?", "answers": ["here"]},
    ]
    for name, contents in (("train", train), ("dev", dev), ("test", test)):
        put(tmp_path, f"comqa/comqa_{name}.json", json.dumps(contents))
    found = load_dataset("comqa", tmp_path)
    assert groups_of(found) == {
        frozenset({"which sea?", "what sea?", "name the sea"}),
        frozenset({"who?"}),
        frozenset({"where?", "at what place?"}),
        frozenset({"when?"}),
    }
    assert Counter(found.split) == {"train": 3, "dev": 2, "test": 2}


def forum(folder: Path, name: str) -> None:
    corpus = [("1", "one"), ("2", "two"), ("3", "three"), ("4", "four")]
    lines = [json.dumps({"_id": i, "title": f"{name} {t}", "text": "a long body", "metadata": {}}) for i, t in corpus]
    put(folder, f"cqadupstack/{name}/corpus.jsonl", "\n".join(lines) + "\n")
    queries = [json.dumps({"_id": i, "text": f"{name} query {i}"}) for i in ("1", "9")]  # "1" is no question of above
    put(folder, f"cqadupstack/{name}/queries.jsonl", "\n".join(queries) + "\n")
    links = "query-id\tcorpus-id\tscore\n1\t2\t1\n1\t3\t1\n9\t3\t1\n9\t4\t0\n9\t77\t1\n"
    put(folder, f"cqadupstack/{name}/qrels/test.tsv", links)


def test_cqadupstack(tmp_path: Path) -> None:
    for name in ("mathematica", "physics", "stats"):
        forum(tmp_path, name)
    expected = {
        frozenset(f"physics {t}" for t in ts) for ts in (["query 1", "query 9", "two", "three"], ["one"], ["four"])
    }
    assert groups_of(load_dataset("cqadupstack-physics", tmp_path)) == expected
    together = load_dataset("cqadupstack", tmp_path)
    assert Counter(together.split) == {"mathematica": 6, "physics": 6, "stats": 6}
    assert len(groups_of(together)) == 9
    assert expected < groups_of(together)


def test_components_are_those_of_a_plain_search() -> None:
    rng = random.Random(4)
    nodes = [f"n{k}" for k in range(60)]
    for edges in (0, 10, 30, 60):
        pairs = [(rng.choice(nodes), rng.choice([*nodes, "unknown"])) for _ in range(edges)]
        beside: dict[str, set[str]] = {node: set() for node in nodes}
        for a, b in pairs:
            if b != "unknown":
                beside[a].add(b)
                beside[b].add(a)
        seen: set[str] = set()
        expected = []
        for node in nodes:
            reach, todo = set(), [node] if node not in seen else []
            while todo:
                one = todo.pop()
                if one not in reach:
                    reach.add(one)
                    todo += beside[one]
            seen |= reach
            if reach:
                expected.append([other for other in nodes if other in reach])
        assert connected(nodes, pairs) == expected


# -- where they lie -------------------------------------------------------------------------------------------------


def test_a_prepared_table_is_read_in_place_of_the_files(tmp_path: Path) -> None:
    put(tmp_path, "comqa.csv", "text,label,split\nwho?,a,train\n what? ,b,dev\n")
    put(tmp_path, "hwu64.csv", "label,text\na,x\nb,y\n")
    found = load_dataset("ComQA", tmp_path)
    assert (found.texts, found.labels, found.split) == (["who?", "what?"], ["a", "b"], ["train", "dev"])
    assert load_dataset("hwu64", tmp_path).split == ["all", "all"]
    put(tmp_path, "comqa.csv", "text,label,split\nwho?,,train\n")
    with pytest.raises(InvalidInput, match=r"Row 1 .* has no label"):
        load_dataset("comqa", tmp_path)


def test_the_folder_is_the_option_the_variable_or_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKLESS_DATA", str(tmp_path))
    assert data_folder(Path("x")) == Path("x")
    assert data_folder() == tmp_path
    monkeypatch.setenv("ASKLESS_DATA", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    assert data_folder().parts[-2:] == ("askless", "datasets")


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.files])
def test_what_is_not_here_is_said_with_every_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        load_dataset(name, tmp_path)
    message = str(caught.value)
    for path in DATASETS[name].paths(tmp_path):
        assert str(path) in message
    assert str(tmp_path / f"{name}.csv") in message
    assert f"askless datasets fetch {name}" in message


@pytest.mark.parametrize(
    ("path", "contents", "words"),
    [
        ("clinc150/data_full.json", "{", "not JSON"),
        ("clinc150/data_full.json", '{"train": []}', "'val'"),
        ("clinc150/data_full.json", '{"train": ["abc"]}', "'train'"),
        ("hwu64/NLU-Data-Home-Domain-Annotated-All.csv", "a;b\n1;2\n", "scenario"),
        ("hwu64/NLU-Data-Home-Domain-Annotated-All.csv", HWU[:200], "Line 2"),
        ("quora/quora_duplicate_questions.tsv", "id\tqid1\n", "is_duplicate"),
        ("quora/quora_duplicate_questions.tsv", "qid1\tqid2\tquestion1\tquestion2\tis_duplicate\n", "has no texts"),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, path: str, contents: str, words: str) -> None:
    put(tmp_path, path, contents)
    with pytest.raises(UnreadableFile) as caught:
        load_dataset(path.split("/")[0], tmp_path)
    assert words in str(caught.value)
    assert "etch" in str(caught.value)


def test_a_damaged_comqa_or_forum_is_one_sentence(tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        put(tmp_path, f"comqa/comqa_{name}.json", '[{"questions": ["a"]}]')
    with pytest.raises(UnreadableFile, match="cluster_id"):
        load_dataset("comqa", tmp_path)
    forum(tmp_path, "stats")
    put(tmp_path, "cqadupstack/stats/queries.jsonl", '{"_id": "1"}\n')
    with pytest.raises(UnreadableFile, match=r"Line 1 .*_id and text"):
        load_dataset("cqadupstack-stats", tmp_path)


def test_names_are_known_and_close_ones_are_suggested() -> None:
    assert known_dataset("BANKING77") is DATASETS["banking77"]
    with pytest.raises(InvalidInput, match="did you mean 'clinc150'"):
        known_dataset("clinc-150")


def test_the_catalogue_is_whole() -> None:
    for name, dataset in DATASETS.items():
        assert name == dataset.name == name.lower()
        assert dataset.licence
        assert dataset.citation
        assert all(file.url.startswith("http") for file in dataset.files)
        assert all(file.sha256 is None or len(file.sha256) == 64 for file in dataset.files)
        pinned = [file for file in dataset.files if file.sha256 or "/resolve/" in file.url]
        assert len(pinned) == len(dataset.files), name  # by its checksum, or by the commit in its address


def test_the_questions_of_askless_are_a_data_set_too(tmp_path: Path) -> None:
    found = read_source("support-questions", data_dir=tmp_path)
    assert (len(found), len(set(found.labels))) == (863, 33)


# -- for real -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "splits"),
    [
        ("banking77", {"train": 10_003, "test": 3_080}),
        (
            "clinc150",
            {"train": 15_000, "val": 3_000, "test": 4_500, "oos_train": 100, "oos_val": 100, "oos_test": 1_000},
        ),
    ],
)
def test_real_data(name: str, splits: dict[str, int]) -> None:
    folder = os.environ.get("ASKLESS_DATA")
    if not folder or DATASETS[name].missing(Path(folder)):
        pytest.skip(f"{name} is in no folder that ASKLESS_DATA names")
    found = load_dataset(name)
    assert (len(found), len(set(found.labels))) == (DATASETS[name].rows, DATASETS[name].labels)
    assert Counter(found.split) == splits
    assert all(text and text == text.strip() for text in found.texts)
    if name == "clinc150":
        assert Counter(found.labels)["oos"] == 1_200
        assert {count for label, count in Counter(found.labels).items() if label != "oos"} == {150}
