"""Out to a file and in from one: what was exported comes back, bad rows are named, formulas do nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select
from typer.testing import CliRunner

from askless.cli.desk import app
from askless.desk.live import exchange, give, labels
from askless.desk.live.desks import Desks
from askless.desk.live.exchange import COLUMNS, GivenExample, export, read_examples
from askless.desk.live.give import Given
from askless.desk.live.verify import verify
from askless.errors import Conflicting, InvalidInput
from askless.ledger import schema
from askless.ledger.database import Database
from live_admin import ADMIN, NAME, answer_all, ask, decisions, query_row, toy
from serving import serving
from toy_desk import Letters, some_texts

TEXTS = some_texts(50, seed=9)
HOSTILE = [
    '=HYPERLINK("x")',
    "+1",
    "-2",
    "@SUM(A1)",
    "'=1",
    "''+a",
    'a\nb, "c"',
    "<script>",
    "x\u202eabc",
    "emoji \U0001f600",
]
PROBES = Letters().embed([f"{letter}probe{k}" for letter in "abcd" for k in range(6)])


@pytest.fixture
def desks(database: Database) -> Iterator[Desks]:
    with toy(database) as desks:
        yield desks


def exported(desks: Desks, format: str) -> bytes:
    file = io.BytesIO()
    steps: list[tuple[int, int]] = []
    count = export(desks.database, desks.row(NAME).id, format, file, progress=lambda *step: steps.append(step))
    assert steps[-1] == (count, count)
    return file.getvalue()


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_what_is_exported_comes_back_as_the_same_examples(
    desks: Desks, database: Database, tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(give, "_CHUNK", 5)
    ask(desks, [*TEXTS, *HOSTILE])
    answer_all(desks)
    path = tmp_path / f"desk.{format}"
    path.write_bytes(exported(desks, format))
    taught = read_examples(path).examples
    with database.read() as connection:
        columns = select(schema.queries.c.text, schema.queries.c.label, schema.queries.c.key)
        stored = connection.execute(columns.where(schema.queries.c.example).order_by(schema.queries.c.id)).all()
    assert [(e.text, e.label, e.key) for e in taught] == [tuple(row) for row in stored]
    assert {e.text for e in taught} > {text for text in HOSTILE if text[0] not in "abcde"}
    desks.create("copy", desks.run(NAME, lambda desk: desk.settings).result(), ADMIN)
    assert give.give(desks, "copy", taught, ADMIN) == Given(len(taught), 0)
    assert give.give(desks, "copy", taught, ADMIN) == Given(0, len(taught))
    assert decisions(desks, PROBES, "copy") == decisions(desks, PROBES)  # to which the order is nothing
    assert verify(database, "copy").sound


def test_a_spreadsheet_finds_no_formula(desks: Desks) -> None:
    ask(desks, [text for text in HOSTILE if text[0] in "=+-@'"])
    rows = list(csv.reader(io.StringIO(exported(desks, "csv").decode())))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 7
    assert all(cell[:1] not in ("=", "+", "-", "@") for row in rows for cell in row)
    lines = [json.loads(line) for line in exported(desks, "jsonl").decode().splitlines()]
    assert lines[0]["text"] == HOSTILE[0]
    assert set(lines[0]) == set(COLUMNS)


def test_an_unknown_format_is_refused(desks: Desks) -> None:
    with pytest.raises(InvalidInput, match="csv, jsonl, parquet"):
        exported(desks, "xlsx")


def test_guesses_are_nobodys_word(desks: Desks, tmp_path: Path, database: Database) -> None:
    ask(desks, TEXTS)
    answer_all(desks)
    path = tmp_path / "desk.csv"
    path.write_bytes(exported(desks, "csv"))
    with database.read() as connection:
        counts = dict(
            tuple(row)
            for row in connection.execute(
                select(schema.queries.c.status, func.count()).group_by(schema.queries.c.status)
            )
        )
    assert counts["guessed"] > 0
    read = read_examples(path)
    assert len(read.examples) == counts["answered"]
    assert read.left_out == len(TEXTS) - counts["answered"]


LABELLED = (
    "text,label,source,confidence,support\n"
    "my parcel is late,track,expert,,\n"
    "where is my parcel,track,guess,0.9,\n"
    "block my card,block,given,,\n"
    "card please,track,guess-forced,,\n"
    "what,,skipped,,\n"
    ",,blank,,\n"
    "not reached,,,,\n"
)


def test_guesses_of_askless_label_are_nobodys_word(tmp_path: Path) -> None:
    path, database = tmp_path / "file.csv", ["--database", str(tmp_path / "askless.db")]
    path.write_text(LABELLED, encoding="utf-8")
    read = read_examples(path)
    assert [(e.text, e.label, e.row) for e in read.examples] == [
        ("my parcel is late", "track", 1),
        ("block my card", "block", 3),
    ]
    assert (read.left_out, read.lines) == (5, [2, 4])
    assert CliRunner().invoke(app, ["create", "shop", *database]).exit_code == 0
    said = CliRunner().invoke(app, ["import", "shop", str(path), *database]).stdout
    assert "Gave 2 examples to the desk shop" in said
    assert "askless wrote this file: of its labels those with the source expert or given" in said
    assert "2 guesses not." in said


def test_sources_speak_of_the_labels_that_askless_gave_and_of_no_others(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("text,truth,label,source,confidence,support\na1,x,y,guess,,\na2,z,z,expert,,\n", encoding="utf-8")
    assert [e.label for e in read_examples(path, label="truth").examples] == ["x", "z"]
    assert [e.label for e in read_examples(path).examples] == ["z"]
    path.write_text("text,topic,n,source,confidence,support\na1,y,1,guess,,\na2,z,2,expert,,\n", encoding="utf-8")
    assert [e.label for e in read_examples(path, label="topic").examples] == ["z"]  # a column that askless filled
    path.write_text("text,label,source\na1,y,guess\na2,z,web\n", encoding="utf-8")
    assert [e.label for e in read_examples(path).examples] == ["y", "z"]  # a column of the user's own
    path.write_text("text,label,source,confidence,support\na1,y,guess,,\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="neither expert nor given"):
        read_examples(path)


def test_guesses_of_askless_label_are_left_out_over_http(database: Database) -> None:
    with serving(database) as served:
        desk = served.make_desk("shop")
        sent = served.admin.post(f"{desk}/import", files={"file": ("x.csv", LABELLED.encode(), "text/csv")})
        assert (sent.status_code, sent.json()["added"], sent.json()["left_out"]) == (201, 2, 5)


ANSWERS = {"a": "=Answer, with a comma", "b": "two\nlines and 'quotes'", "c": None, "d": "- a list"}


def answers(desks: Desks, name: str) -> dict[str, str | None]:
    with desks.database.read() as connection:
        return {row.name: row.answer for row in labels.rows(connection, desks.row(name).id)}


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_answer_texts_come_along(desks: Desks, database: Database, tmp_path: Path, format: str) -> None:
    for name, answer in ANSWERS.items():
        desks.run(NAME, lambda desk: labels.create(desk, name, answer, ADMIN)).result()  # noqa: B023
    ask(desks, TEXTS)
    answer_all(desks)
    path = tmp_path / f"desk.{format}"
    path.write_bytes(exported(desks, format))
    read = read_examples(path)
    desks.create("copy", desks.run(NAME, lambda desk: desk.settings).result(), ADMIN)
    given = give.give(desks, "copy", read.examples, ADMIN)
    assert (given.answers, given.answers_kept) == (3, 0)
    assert answers(desks, "copy") == answers(desks, NAME)
    assert {name: answers(desks, "copy")[name] for name in ANSWERS} == ANSWERS
    assert give.give(desks, "copy", read.examples, ADMIN) == Given(0, len(read.examples))
    assert verify(database, "copy").sound


def test_an_answer_text_of_the_desk_stays_and_a_missing_one_comes(desks: Desks, database: Database) -> None:
    desks.run(NAME, lambda desk: labels.create(desk, "a", "ours", ADMIN)).result()
    without = [GivenExample("a1", "a"), GivenExample("b1", "b"), GivenExample("d1", "d")]
    give.give(desks, NAME, without, ADMIN)
    file = [
        GivenExample("a1", "a", answer="theirs"),
        GivenExample("b1", "b", answer=" late "),  # the examples are all there, and the text still comes
        GivenExample("b2", "b"),
        GivenExample("c1", "c", answer="new"),
    ]
    assert give.give(desks, NAME, file, ADMIN) == Given(2, 2, answers=2, answers_kept=1)
    assert answers(desks, NAME) == {"a": "ours", "b": "late", "c": "new", "d": None}
    assert verify(database, NAME).sound


def test_two_answer_texts_of_one_label_are_refused_by_their_row(desks: Desks) -> None:
    file = [GivenExample("a1", "a", answer="one"), GivenExample("a2", "a"), GivenExample("a3", "a", answer="two")]
    with pytest.raises(InvalidInput, match="Row 3: the label 'a' has another answer text in row 1"):
        give.give(desks, NAME, file, ADMIN)
    with pytest.raises(InvalidInput, match=r"Row 1: An answer text has at most 10,000"):
        give.give(desks, NAME, [GivenExample("a1", "a", answer="x" * 10_001)], ADMIN)
    assert count(desks) == 0
    assert answers(desks, NAME) == {}


def test_a_deleted_label_does_not_come_back_with_its_answer_text(desks: Desks) -> None:
    file = [GivenExample("a1", "a", answer="one")]
    give.give(desks, NAME, file, ADMIN)
    desks.run(NAME, lambda desk: labels.delete_label(desk, "a", ADMIN)).result()
    assert give.give(desks, NAME, file, ADMIN) == Given(0, 1)
    assert answers(desks, NAME) == {}


@pytest.mark.parametrize("answer", [None, "one"])
def test_labels_that_differ_in_capitals_are_refused_by_their_row(
    desks: Desks, monkeypatch: pytest.MonkeyPatch, answer: str | None
) -> None:
    monkeypatch.setattr(give, "_CHUNK", 1)
    with pytest.raises(Conflicting, match="Row 2: the label 'A' differs from the label 'a' only in capital"):
        give.give(desks, NAME, [GivenExample("a1", "a"), GivenExample("a2", "A", answer=answer)], ADMIN)
    assert count(desks) == 0
    desks.run(NAME, lambda desk: labels.create(desk, "B", None, ADMIN)).result()
    with pytest.raises(Conflicting, match="Row 2: the label 'b' differs from the label 'B'"):
        give.give(desks, NAME, [GivenExample("a1", "a"), GivenExample("b1", "b", answer=answer)], ADMIN)
    assert count(desks) == 0
    assert answers(desks, NAME) == {"B": None}


def test_the_column_of_answers_can_be_named_and_is_never_that_of_the_texts(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("text,label,reply\na1,a,hello\n", encoding="utf-8")
    assert [e.answer for e in read_examples(path, answer="reply").examples] == ["hello"]
    assert [e.answer for e in read_examples(path).examples] == [None]
    with pytest.raises(InvalidInput, match="no one column 'nothing'"):
        read_examples(path, answer="nothing")
    path.write_text("answer,label\na1,a\n", encoding="utf-8")
    assert [(e.text, e.answer) for e in read_examples(path).examples] == [("a1", None)]


def test_the_command_says_what_came_in_and_what_did_not(tmp_path: Path) -> None:
    path, database = tmp_path / "file.csv", ["--database", str(tmp_path / "askless.db")]
    rows = ["text,label,reply,example", "my parcel is late,track,Soon.,true", "block my card,,,false"]
    path.write_text("\n".join(rows), encoding="utf-8")
    assert CliRunner().invoke(app, ["create", "shop", *database]).exit_code == 0
    said = CliRunner().invoke(app, ["import", "shop", str(path), "--answer", "reply", *database]).stdout
    assert "Gave 1 example to the desk shop" in said
    assert "Left out 1 row without an example: guesses, open questions" in said
    assert "1 label got an answer text from the file." in said
    path.write_text(rows[0] + "\n" + rows[1].replace("Soon", "Late"), encoding="utf-8")
    said = CliRunner().invoke(app, ["import", "shop", str(path), "--answer", "reply", *database]).stdout
    assert "1 label had another answer text at the desk, which stays." in said


def test_the_answer_texts_go_over_http_too(database: Database) -> None:
    rows = b"text,label,answer,example\nmy parcel is late,track,Soon.,true\nblock my card,block,,false\n"
    with serving(database) as served:
        desk = served.make_desk("shop")
        for added, answers in ((1, 1), (0, 0)):
            sent = served.admin.post(f"{desk}/import", files={"file": ("x.csv", rows, "text/csv")})
            found = {
                "added": added,
                "same": 1 - added,
                "answers": answers,
                "answers_kept": 0,
                "left_out": 1,
                "blank": 0,
            }
            assert (sent.status_code, sent.json()) == (201, found)
        file = served.admin.get(f"{desk}/export", params={"format": "csv"}).text
        (row,) = csv.DictReader(io.StringIO(file))
        assert (row["label"], row["answer"]) == ("track", "Soon.")


def test_blank_rows_are_left_out_over_http_where_that_is_asked_for(database: Database) -> None:
    rows = b"text,label\nmy parcel is late,track\n \xc2\xa0,track\nblock my card, \n,\n"
    with serving(database) as served:
        desk = served.make_desk("shop")
        send = partial(served.admin.post, f"{desk}/import", files={"file": ("x.csv", rows, "text/csv")})
        refused = send()
        assert (refused.status_code, "Row 2" in refused.json()["detail"]) == (422, True)
        assert served.expert.get(f"{desk}/examples").json()["items"] == []
        taken = send(params={"skip_blank": True}).json()
        assert (taken["added"], taken["blank"], taken["left_out"]) == (1, 3, 0)
        assert [row["text"] for row in served.expert.get(f"{desk}/examples").json()["items"]] == ["my parcel is late"]


def test_columns_are_named_over_http_as_on_the_command_line(database: Database) -> None:
    rows = "Frage;Thema\nWo ist mein Päckchen?;Lieferung\n".encode("cp1252")
    with serving(database) as served:
        desk = served.make_desk("shop")
        send = partial(served.admin.post, f"{desk}/import", files={"file": ("x.csv", rows, "text/csv")})
        named = {"text": "Frage", "label": "Thema", "delimiter": ";", "encoding": "cp1252"}
        for missing, said in {"label": "with ?label=;", "encoding": "say ?encoding=cp1252"}.items():
            refused = send(params={name: value for name, value in named.items() if name != missing})
            assert refused.status_code == 422
            assert said in refused.json()["detail"]
        for wrong in {"encoding": "klingon"}, {"delimiter": ";;"}, {"text": "Antwort"}, {"id": "Nummer"}:
            refused = send(params=named | wrong)
            assert (refused.status_code, "--" in refused.json()["detail"]) == (422, False), refused.text
        commas = {"file": ("x.csv", b"text\nplease, block my card\n", "text/csv")}
        said = served.admin.post(f"{desk}/import", files=commas).json()["detail"]
        assert "name what separates the columns with ?delimiter=, say ?delimiter=tab if the file has but one" in said
        assert send(params=named).json()["added"] == 1
        (row,) = served.expert.get(f"{desk}/examples").json()["items"]
        assert (row["text"], row["label"]) == ("Wo ist mein Päckchen?", "Lieferung")


def count(desks: Desks) -> int:
    with desks.database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(schema.queries)).scalar_one())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GivenExample("  ", "a"), "Row 3: .*blank"),
        (GivenExample("a9", " "), "Row 3: A label"),
        (GivenExample("a9", "x" * 201), "Row 3: .*200"),
        (GivenExample("a9", "a", "k" * 201), "Row 3: "),
        (GivenExample("a1", "b"), "Row 3: its text is in row 1 as well, with another label"),
        (GivenExample("a9", "b", "k"), "Row 3: the id 'k' is in row 2 as well, with another text"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_written(desks: Desks, bad: GivenExample, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        give.give(desks, NAME, [GivenExample("a1", "a"), GivenExample("b1", "b", "k"), bad], ADMIN)
    assert count(desks) == 0


def test_what_contradicts_the_desk_is_named_and_nothing_is_written(desks: Desks) -> None:
    give.give(desks, NAME, [GivenExample("a1", "a", "one")], ADMIN)
    ask(desks, ["a2"])
    for bad, message in (
        (GivenExample("a1", "b", "one"), "Row 2: .*the label 'a'"),
        (GivenExample("a3", "a", "one"), "Row 2: .*another text"),
        (GivenExample("a2", "a", "a2"), "Row 2: .*already"),
    ):
        with pytest.raises(Conflicting, match=message):
            give.give(desks, NAME, [GivenExample("b1", "b"), bad], ADMIN)
    assert count(desks) == 2


def test_given_examples_count_and_a_text_that_nobody_knows_is_kept(desks: Desks, database: Database) -> None:
    examples = [GivenExample(text, text[0]) for text in TEXTS]
    steps: list[tuple[int, int]] = []
    given = give.give(desks, NAME, examples, ADMIN, progress=lambda *step: steps.append(step))
    assert given == Given(len(TEXTS), 0)
    assert steps == [(len(TEXTS), len(TEXTS))]
    (outcome,) = ask(desks, ["a-new-one"])
    assert outcome.label == "a"
    unknown = next(text for text in TEXTS if text[0] == "?")
    with database.read() as connection:
        row = connection.execute(select(schema.queries).where(schema.queries.c.text == unknown)).one()
    assert (row.vector, row.label, row.status) == (None, "?", "given")
    assert query_row(database, "a-new-one").status == "guessed"
    assert verify(database, NAME).sound
