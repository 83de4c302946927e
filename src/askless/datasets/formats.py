"""The data sets' own files, each format read into texts, labels and splits."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from askless.datasets.groups import connected
from askless.datasets.open_text import open_text, origin_of
from askless.datasets.tables import read_table
from askless.errors import InvalidInput, UnreadableFile

Rows: TypeAlias = Iterable[tuple[str, str, str]]  # text, label, split
WHOLE = "all"  # the split of a data set that has none

# What Liu et al. annotated has 68 intents; the benchmark that is called HWU64 leaves these four small ones out.
_NOT_IN_HWU64 = {"audio_volume_other", "cooking_query", "general_greet", "music_dislikeness"}
_ENTITY = re.compile(r"\[[^\[\]:]*:\s*([^\[\]]*?)\s*\]")  # "wake me at [time : five am]"


def prepared(path: Path) -> Rows:
    """A table with the columns text, label and split, the last of which may be missing."""
    table = read_table(path, text="text", label="label")
    splits = table.frame["split"].astype(str) if "split" in table.frame else [WHOLE] * len(table)
    for row, (text, label, split) in enumerate(zip(table.texts, table.labels or (), splits, strict=True), start=1):
        if label is None:
            raise InvalidInput(f"Row {row} of {path} has no label; every text of a data set has one.")
        yield text, label, split


def banking77(paths: Sequence[Path]) -> Rows:
    """PolyAI's train.csv and test.csv: the columns text and category."""
    for path in paths:
        table = read_table(path, text="text", label="category")
        for text, label in zip(table.texts, table.labels or (), strict=True):
            if label is not None:
                yield text, label, path.stem


def clinc150(paths: Sequence[Path]) -> Rows:
    """Clinc's data_full.json: lists of [text, label] under train, val, test and the same with oos_ before it."""
    (path,) = paths
    found = _json(path)
    for split in ("train", "val", "test", "oos_train", "oos_val", "oos_test"):
        try:
            for text, label in found[split]:
                yield text, label, split
        except (KeyError, TypeError, ValueError):
            raise _foreign(path, f"a list of [text, label] under {split!r}") from None


def hwu64(paths: Sequence[Path]) -> Rows:
    """The annotated file of Liu et al.: a label is scenario_intent, a text is the annotation without its entities."""
    (path,) = paths
    for row in _records(path, ";", ("scenario", "intent", "answer_annotation")):
        label, text = f"{row['scenario']}_{row['intent']}", _ENTITY.sub(r"\1", row["answer_annotation"])
        if label not in _NOT_IN_HWU64 and text.strip() not in ("", "null"):
            yield text, label, WHOLE


def quora(paths: Sequence[Path], largest: int | None = None) -> Rows:
    """Quora's pairs as groups: questions that a chain of duplicates joins, two or more to a group, larger ones first.

    That is the graph step of the paper's Quora Question Groups, whose groups were then picked and mended by hand.
    """
    (path,) = paths
    texts: dict[str, str] = {}
    pairs: list[tuple[str, str]] = []
    for row in _records(path, "\t", ("qid1", "qid2", "question1", "question2", "is_duplicate")):
        texts.setdefault(row["qid1"], row["question1"])
        texts.setdefault(row["qid2"], row["question2"])
        if row["is_duplicate"] == "1":
            pairs.append((row["qid1"], row["qid2"]))
    groups = [group for group in connected([node for node in texts if texts[node].strip()], pairs) if len(group) > 1]
    for group in sorted(groups, key=len, reverse=True)[:largest]:
        for node in group:
            yield texts[node], f"group-{group[0]}", WHOLE


def comqa(paths: Sequence[Path]) -> Rows:
    """ComQA's three files: clusters of questions in two of them, and in comqa_test.json single questions.

    A cluster is told by its number and its answers: the same number with other answers, in another file, is another
    cluster. A question of the test file goes to the cluster that its id begins with, and else stands alone.
    """
    for path in paths:
        split = path.stem.removeprefix("comqa_")
        for found in _json(path):
            try:
                name = str(found["cluster_id"] if "cluster_id" in found else found["id"])
                questions = found["questions"] if "questions" in found else [found["question"]]
                answers = "|".join(sorted(str(answer).lower() for answer in found.get("answers") or ()))
            except (KeyError, TypeError, AttributeError):
                raise _foreign(path, "objects with cluster_id, questions and answers") from None
            number = re.match(r"cluster-\d+", name)
            label = f"{number[0] if number else f'{split}-{name}'} {answers}".strip()
            for question in questions:
                yield question, label, split


def cqadupstack(paths: Sequence[Path]) -> Rows:
    """Forums in BEIR's layout, three files each: corpus.jsonl, queries.jsonl and the duplicates in test.tsv.

    A text is a question's title. A group is what duplicate links join, and a question without any is its own group.
    """
    for corpus, queries, links in zip(paths[0::3], paths[1::3], paths[2::3], strict=True):
        forum = corpus.parent.name
        titles = {("d", row["_id"]): row["title"] for row in _objects(corpus, ("_id", "title"))}
        titles |= {("q", row["_id"]): row["text"] for row in _objects(queries, ("_id", "text"))}
        pairs = [
            (("q", row["query-id"]), ("d", row["corpus-id"]))
            for row in _records(links, "\t", ("query-id", "corpus-id", "score"))
            if row["score"] != "0"
        ]
        for group in connected(list(titles), [pair for pair in pairs if pair[0] in titles and pair[1] in titles]):
            for node in group:
                yield titles[node], f"{forum}-{group[0][1]}", forum


def _records(path: Path, separator: str, needed: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows of a table whose quotes may be careless, as these files' are."""
    with open_text(origin_of(path)) as (text, _):
        reader = csv.DictReader(text, delimiter=separator, skipinitialspace=separator == ";")
        if not set(needed) <= set(reader.fieldnames or ()):
            raise _foreign(path, f"a first line with the columns {', '.join(needed)}")
        for row in reader:
            if None in row.values():
                raise UnreadableFile(f"Line {reader.line_num} of {path} is cut short; fetch the file again.")
            yield row


def _objects(path: Path, needed: Sequence[str]) -> Iterator[dict[str, Any]]:
    with open_text(origin_of(path)) as (text, _):
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
                yield {name: found[name] for name in needed}
            except (json.JSONDecodeError, KeyError, TypeError):
                expected = " and ".join(needed)
                raise UnreadableFile(
                    f"Line {number} of {path} is no JSON object with {expected}; fetch the file again."
                ) from None


def _json(path: Path) -> Any:
    with open_text(origin_of(path)) as (text, _):
        try:
            return json.load(text)
        except json.JSONDecodeError as error:
            raise UnreadableFile(
                f"Line {error.lineno} of {path} is not JSON ({error.msg}); the file is damaged: fetch it again."
            ) from None


def _foreign(path: Path, expected: str) -> UnreadableFile:
    return UnreadableFile(f"{path} is not the file that was expected: it should have {expected}. Fetch it again.")
