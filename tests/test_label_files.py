"""`askless label` and the user's files: nothing of theirs is lost, every mistake is one sentence."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from askless.cli.label_output import default_output
from askless.cli.main import main
from askless.ledger.ledger import Ledger

TEXTS = ["where is my parcel", "block my card", "block my card now", "parcel where", "close my account"]
ANSWERS = "track\nblock\nclose\n"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command with these lines on the standard input: exit code, output, errors.

    Unless a test says otherwise a new ledger begins with a policy that guesses after two answers.
    """

    def call(*arguments: str, answers: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(answers))
        monkeypatch.setattr("askless.cli.label_open.DEFAULT_POLICY", "ghc:0.8")
        with pytest.raises(SystemExit) as left:
            main(["label", *arguments])
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return call


def write_csv(path: Path, texts: list[str], **columns: list[str]) -> None:
    pd.DataFrame({"text": texts, **columns}).to_csv(path, index=False)


def rows_of(path: Path) -> list[dict[str, str]]:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame.to_dict("records")


def test_answers_guesses_and_what_supports_them_are_in_the_output(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS, id=["007", "1e5", "NA", "x", ""])
    before = (folder / "t.csv").read_bytes()
    code, out, err = run("t.csv", answers=ANSWERS)
    assert (code, err) == (0, "")
    assert "5 of 5 rows have a label." in out
    rows = rows_of(folder / "t.labelled.csv")
    assert list(rows[0]) == ["text", "id", "label", "source", "confidence", "support"]
    assert [row["id"] for row in rows] == ["007", "1e5", "NA", "x", ""]
    assert [row["label"] for row in rows] == ["track", "block", "block", "track", "close"]
    assert [row["source"] for row in rows] == ["expert", "expert", "guess", "guess", "expert"]
    assert json.loads(rows[2]["support"]) == [{"text": "block my card", "weight": 1.0}]
    assert (folder / "t.csv").read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["t.csv", "t.csv.askless", "t.labelled.csv"]


@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl", "parquet", "xlsx", "csv.gz"])
def test_the_output_has_the_files_own_format(folder: Path, run: Run, end: str) -> None:
    from askless.datasets.tables import read_table, write_table

    path = folder / f"t.{end}"
    write_table(pd.DataFrame({"message": TEXTS, "n": ["1", "02", "", "4", "5"]}), path)
    assert run(path.name, answers=ANSWERS)[0] == 0
    table = read_table(folder / f"t.labelled.{end}", text="message", label="label")
    assert table.texts == TEXTS
    assert table.labels == ["track", "block", "block", "track", "close"]


def test_the_default_output_stands_beside_the_file() -> None:
    assert default_output(Path("a/b.c.csv")) == Path("a/b.c.labelled.csv")
    assert default_output(Path("b.csv.gz")) == Path("b.labelled.csv.gz")


def test_a_stop_keeps_everything_and_the_same_command_goes_on(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    code, out, _ = run("t.csv", answers="track\n:q\n")
    assert code == 0
    assert "Stopped. Every answer is kept; the same command goes on from here." in out
    assert [row["source"] for row in rows_of(folder / "t.labelled.csv")] == ["expert", "", "", "", ""]
    code, out, _ = run("t.csv", answers="block\n")  # and the input ends
    assert "Going on: 1 question and 0 guessed so far." in out
    code, out, _ = run("t.csv", answers="close\n")
    assert "5 of 5 rows have a label." in out
    code, out, _ = run("t.csv")
    assert "5 of 5 rows have a label." in out


def test_the_last_answer_can_be_undone_after_the_end_and_after_a_restart(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    run("t.csv", answers=ANSWERS)
    code, out, _ = run("t.csv", answers=":u\n:u\n=block card\nclosing\n")
    assert (code, out.count("Took back:")) == (0, 2)
    assert [row["label"] for row in rows_of(folder / "t.labelled.csv")] == [
        "track",
        "block card",
        "block card",
        "track",
        "closing",
    ]


def test_equal_texts_are_asked_once_and_blank_ones_never(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", ["cafe\u0301 order", " café order ", "", "  ", "block my card"], n=[*"12345"])
    _code, out, _ = run("t.csv", answers="order\nblock\n")
    rows = rows_of(folder / "t.labelled.csv")
    assert [row["label"] for row in rows] == ["order", "order", "", "", "block"]
    assert [row["source"] for row in rows] == ["expert", "expert", "blank", "blank", "expert"]
    assert "Left alone: 2 rows without a text." in out


def test_labels_in_the_file_are_known_examples(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS, label=["track", "", "", "", " "], source=["web"] * 5)
    _code, out, _ = run("t.csv", answers="block\nclose\n")
    assert "Labelled in the file already, and taken as examples: 1 text." in out
    rows = rows_of(folder / "t.labelled.csv")
    assert list(rows[0]) == ["text", "label", "source", "askless_source", "confidence", "support"]
    assert [row["label"] for row in rows] == ["track", "block", "block", "track", "close"]
    assert [row["askless_source"] for row in rows] == ["given", "expert", "guess", "guess", "expert"]
    assert {row["source"] for row in rows} == {"web"}


def test_labels_in_the_file_can_be_ignored_and_are_kept(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS, label=["old"] * 5)
    run("t.csv", "--ignore-labels", answers=ANSWERS)
    rows = rows_of(folder / "t.labelled.csv")
    assert {row["label"] for row in rows} == {"old"}
    assert [row["askless_label"] for row in rows] == ["track", "block", "block", "track", "close"]


def test_a_seed_file_is_known_before(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    seeds = pd.DataFrame({"q": ["where is my parcel", "please block my card", ""], "a": ["track", "block", "x"]})
    seeds.to_csv(folder / "s.csv", index=False)
    options = ["--seed-file", "s.csv", "--seed-text", "q", "--seed-label", "a"]
    code, out, _ = run("t.csv", *options, answers="close\n")
    assert code == 0
    assert "Taken from the seed file: 2 examples." in out
    rows = rows_of(folder / "t.labelled.csv")
    assert [row["source"] for row in rows] == ["given", "guess", "guess", "guess", "expert"]
    _code, out, _ = run("t.csv", *options)  # again: nothing new
    assert "Taken from the seed file" not in out
    assert "The file has changed" not in out


def test_a_changed_file_keeps_what_is_known(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    run("t.csv", answers=ANSWERS)
    write_csv(folder / "t.csv", ["new pin please", *TEXTS[1:]])
    _code, out, _ = run("t.csv", answers="pin\n")
    assert "The file has changed: 1 new text; 1 gone from it" in out
    assert [row["label"] for row in rows_of(folder / "t.labelled.csv")] == ["pin", "block", "block", "track", "close"]


def test_settings_go_on_and_changes_are_said(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    run("t.csv", "--policy", "always-ask", "--costs=-1,1,-5", answers="track\n")
    code, out, _ = run("t.csv", answers="block\n")
    assert "Changed" not in out
    assert "this policy always asks" in out
    code, out, _ = run("t.csv", "--policy", "ghc:0.8", answers="close\n")
    assert "Changed: policy always-ask -> ghc:0.8. What was decided before stays." in out
    code, _, err = run("t.csv", "--embedder", "wordllama:64")
    assert code == 2
    assert "--embedder wordllama; found wordllama:64" in err


def test_starting_over_moves_the_old_ledger_aside(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    run("t.csv", answers=ANSWERS)
    old = (folder / "t.csv.askless").read_bytes()
    assert run("t.csv", "--fresh", "--policy", "ghx")[0] == 2
    assert sorted(p.name for p in folder.iterdir()) == ["t.csv", "t.csv.askless", "t.labelled.csv"]
    assert (folder / "t.csv.askless").read_bytes() == old  # nothing was moved for a run that did not begin
    code, out, _ = run("t.csv", "--fresh", answers="track\n")  # the output of the old ledger is as it wrote it
    assert code == 0
    assert (folder / "t.csv.askless.1").read_bytes() == old
    assert "the same command without --fresh goes on" in out


def test_questions_come_to_an_end_and_the_rest_is_marked(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    _code, out, _ = run("t.csv", "--max-questions", "2", answers=ANSWERS)
    rows = rows_of(folder / "t.labelled.csv")
    assert [row["source"] for row in rows] == ["expert", "expert", "guess", "guess", "guess-forced"]
    assert rows[4]["label"] in ("track", "block")
    assert "because of --max-questions" in out


# -- an output that is there -----------------------------------------------------------------------------------


def test_an_output_of_somebody_else_is_never_replaced_unasked(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    (folder / "t.labelled.csv").write_text("precious", encoding="utf-8")
    code, out, err = run("t.csv", answers=ANSWERS)
    assert code == 2
    assert "exists, and this ledger did not write it" in err
    assert "label>" not in out
    assert (folder / "t.labelled.csv").read_text(encoding="utf-8") == "precious"
    assert not (folder / "t.csv.askless").exists()  # nothing was begun
    assert run("t.csv", "--force", answers=ANSWERS)[0] == 0
    assert run("t.csv")[0] == 0  # now it is this ledger's own


def test_an_output_that_was_edited_is_not_replaced_unasked(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    run("t.csv", answers="track\n")
    output = folder / "t.labelled.csv"
    output.write_text(output.read_text(encoding="utf-8") + "mine\n", encoding="utf-8")
    code, _, err = run("t.csv", answers=ANSWERS)
    assert code == 2
    assert "was changed since askless wrote it" in err
    assert "mine" in output.read_text(encoding="utf-8")
    assert run("t.csv", "--out", "other.csv", answers=ANSWERS)[0] == 0


def test_an_output_that_cannot_be_written_loses_no_answer(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(folder / "t.csv", TEXTS)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("askless.datasets.whole.os.replace", full)
        code, _, err = run("t.csv", answers=ANSWERS)
    assert code == 2
    assert "No space left on device" in err
    assert sorted(p.name for p in folder.iterdir()) == ["t.csv", "t.csv.askless"]
    code, out, _ = run("t.csv")
    assert "5 of 5 rows have a label." in out


# -- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent.csv"], "absent.csv"),
        (["-"], "standard input"),
        (["t.csv", "--text", "txt"], "did you mean 'text'"),
        (["t.csv", "--text", "text", "--label-column", "text"], "name another"),
        (["t.csv", "--oracle", "truth"], "no column 'truth'"),
        (["t.csv", "--policy", "ghx"], "ghx"),
        (["t.csv", "--policy", "cc:5"], "n_labels"),
        (["t.csv", "--embedder", "wordlama"], "wordllama"),
        (["t.csv", "--costs", "1,2"], "call,right,wrong"),
        (["t.csv", "--audit-rate", "1.5"], "[0, 1]"),
        (["t.csv", "--max-questions", "-1"], "--max-questions"),
        (["t.csv", "--shuffle", "-1"], "--shuffle"),
        (["t.csv", "--out", "t.csv"], "the file that is read"),
        (["t.csv", "--out", "absent/o.csv"], "no folder"),
        (["t.csv", "--out", "o.pickle"], "o.pickle"),
        (["t.csv", "--ledger", "t.csv"], "ledger"),
        (["t.csv", "--seed-text", "q"], "--seed-file"),
        (["t.csv", "--seed-file", "t.csv"], "'label'"),
        (["empty.csv"], "empty"),
        (["header.csv"], "no rows"),
        (["blank.csv"], "blank"),
        (["twice.csv", "--text", "text"], "2 columns"),
        (["broken.csv"], "Line 3"),
        (["latin.csv"], "--encoding"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing_behind(
    folder: Path, run: Run, arguments: list[str], words: str
) -> None:
    write_csv(folder / "t.csv", TEXTS)
    (folder / "empty.csv").write_bytes(b"")
    (folder / "header.csv").write_text("text,label\n", encoding="utf-8")
    (folder / "blank.csv").write_text('text,n\n"",1\n" ",2\n', encoding="utf-8")
    (folder / "twice.csv").write_text("text,text\na,b\n", encoding="utf-8")
    (folder / "broken.csv").write_text("text,n\na,1\nb,2,3\nc,4\n", encoding="utf-8")
    (folder / "latin.csv").write_bytes("text\ncafé\n".encode("latin-1"))
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    code, _out, err = run(*arguments, answers=ANSWERS)
    assert code == 2
    assert err.startswith("askless: ")
    assert err.count("\n") == 1
    assert words in err
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_broken_rows_and_other_encodings_can_be_read(folder: Path, run: Run) -> None:
    (folder / "b.csv").write_bytes("text,n\ncafé,1\nb,2,3\nblock,4\n".encode("latin-1"))
    code, out, _ = run("b.csv", "--encoding", "latin-1", "--skip-bad-rows", answers="x\ny\n")
    assert code == 0
    assert "1 broken row (line 3)" in out
    written = (folder / "b.labelled.csv").read_text(encoding="latin-1").splitlines()
    assert [row.split(",")[0] for row in written] == ["text", "café", "block"]


def test_a_label_that_the_files_encoding_has_not_makes_the_output_utf8(folder: Path, run: Run) -> None:
    (folder / "b.csv").write_bytes("text,n\ncafé,1\nblock,4\n".encode("cp1252"))
    assert run("b.csv", "--encoding", "cp1252", answers="\u6ce8\u6587\nx\n")[0] == 0
    assert (folder / "b.labelled.csv").read_bytes().startswith(b"\xef\xbb\xbftext,")
    assert rows_of(folder / "b.labelled.csv")[0]["label"] == "\u6ce8\u6587"


def test_a_seed_file_may_be_in_the_files_encoding_or_in_utf8(folder: Path, run: Run) -> None:
    (folder / "b.csv").write_bytes("text,n\ncafé,1\nblock,4\n".encode("cp1252"))
    for encoding in ("cp1252", "utf-8"):
        (folder / "s.csv").write_bytes(f"text,label\nmenü {encoding},x\nthe é,y\n".encode(encoding))
        code, out, err = run("b.csv", "--encoding", "cp1252", "--seed-file", "s.csv", "--fresh", answers="a\nb\n")
        assert (code, err, "Taken from the seed file: 2 examples." in out) == (0, "", True)
        assert ("café", "a") in {(row[0], row[2]) for row in cells_of(folder / "b.labelled.csv", "cp1252")}


def cells_of(path: Path, encoding: str) -> list[list[str]]:
    return [line.split(",") for line in path.read_text(encoding=encoding).splitlines()]


def test_a_first_row_that_looks_like_a_text_is_named_and_can_be_one(folder: Path, run: Run) -> None:
    (folder / "t.csv").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    _code, out, _ = run("t.csv", answers="block\n:q\n")
    assert "4 rows, 4 distinct texts in the column 'where is my parcel'." in out
    assert "The first row is taken for the columns' names, though it looks like a text." in out
    _code, out, _ = run("t.csv", "--no-header", answers="track\nclose\n" * 2)
    assert "5 rows, 5 distinct texts in the column 'text'." in out
    assert "looks like a text" not in out
    rows = rows_of(folder / "t.labelled.csv")
    assert [row["text"] for row in rows] == TEXTS
    assert [row["source"] for row in rows][1] == "expert"  # what was answered before stands


@pytest.mark.parametrize("heading", ["text", "Customer message", "body"])
def test_a_usual_heading_is_not_doubted(folder: Path, run: Run, heading: str) -> None:
    (folder / "t.csv").write_text(f"{heading}\nmy parcel\n", encoding="utf-8")
    assert "looks like a text" not in run("t.csv", answers=":q\n")[1]


def test_a_separator_that_cannot_be_told_can_be_named(folder: Path, run: Run) -> None:
    (folder / "t.csv").write_text("text:n\na, b, my parcel:1\nblock, c, my card:2\n", encoding="utf-8")
    code, _out, err = run("t.csv")
    assert (code, "--delimiter" in err) == (2, True)
    assert run("t.csv", "--delimiter", ":", "--text", "text", answers="track\nblock\n")[0] == 0
    written = (folder / "t.labelled.csv").read_text(encoding="utf-8").splitlines()
    assert written[:2] == ["text:n:label:source:confidence:support", "a, b, my parcel:1:track:expert::"]


def test_a_workbook_says_which_sheet_is_read_and_keeps_its_name(folder: Path, run: Run) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl comes with the extra askless[files]")
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    book.active.append(["text"])
    book.active.append(["not this one"])
    sheet = book.create_sheet("Tickets")
    for text in ("text", *TEXTS):
        sheet.append([text])
    book.save(folder / "t.xlsx")
    code, out, err = run("t.xlsx", "--sheet", "Tickets", answers=ANSWERS)
    assert (code, err) == (0, "")
    assert "Of t.xlsx the sheet 'Tickets' is read, and not 'Notes'; --sheet names another." in out
    written = openpyxl.load_workbook(folder / "t.labelled.xlsx")
    assert written.sheetnames == ["Tickets"]
    assert [row[0].value for row in written["Tickets"].iter_rows(min_row=2)] == TEXTS


def test_a_ledger_in_use_is_refused_politely(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    run("t.csv", answers="track\n")
    with Ledger(folder / "t.csv.askless"):
        for options in ([], ["--fresh"]):
            code, _, err = run("t.csv", *options)
            assert code == 2
            assert "Another askless is at work on t.csv.askless" in err


def test_hostile_texts_and_labels_are_shown_as_text(folder: Path, run: Run) -> None:
    evil = "[red]x[/red] \x1b]0;owned\x07 \x1b[2J :smile: block my card"
    write_csv(folder / "t.csv", ["block my card", evil, "close"], label=["\x1b[5mblink\x07", "", ""])
    _code, out, _ = run("t.csv", answers="[bold]new[/bold]\nclose\n")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[red]x[/red]" in out
    assert r"\x1b]0;owned\x07" in out
    assert "label: [bold]new[/bold]" in out
    rows = rows_of(folder / "t.labelled.csv")
    assert rows[1]["text"] == evil  # the file's own text is as it was
    assert rows[1]["label"] == "[bold]new[/bold]"


def test_one_label_only_is_said(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", TEXTS)
    _code, out, _ = run("t.csv", answers="same\n" * 5)
    assert "All answers have one label so far, 'same'; guessing needs two to compare." in out


def test_texts_without_a_known_word_are_asked(folder: Path, run: Run) -> None:
    write_csv(folder / "t.csv", ["block my card", "\U00013000\U00013001", "close my account"])
    _code, out, _ = run("t.csv", answers="block\nodd\nclose\n")
    assert "the embedder knows no word of this text" in out
    assert [row["label"] for row in rows_of(folder / "t.labelled.csv")] == ["block", "odd", "close"]


SURE = """
from askless.types import Ask, Guess, Suggestion, TooUncertain

class Sure:
    '''Asks about the first three texts, then guesses what it learned last, and gives probabilities.'''

    def __init__(self):
        self.labels, self.ids = [], []
    def decide(self, x):
        if len(self.labels) < 3:
            near = tuple(Suggestion(label, 0.5, None, 0.123) for label in self.labels)
            return Ask(TooUncertain(0.123, 0.9), near)
        return Guess(self.labels[-1], 0.1, None, 0.0, ((self.ids[-1], 1.0),), 0.98765)
    def observe(self, x, decision):
        pass
    def learn(self, x, label, id=None):
        self.labels.append(label)
        self.ids.append(id)
        return id
    def forget(self, id):
        pass
    def relabel(self, id, label):
        pass
"""


def test_a_policy_of_ones_own_and_its_probabilities(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (folder / "sure.py").write_text(SURE, encoding="utf-8")
    write_csv(folder / "t.csv", TEXTS)
    code, out, _ = run("t.csv", "--policy", "sure:Sure", answers="a\nb\nc\n")
    sys.modules.pop("sure", None)
    assert code == 0
    assert "the best label has probability 0.123, below 0.900" in out
    assert re.search(r"1 +a +12% +“where is my parcel”", out)
    rows = rows_of(folder / "t.labelled.csv")
    assert [row["confidence"] for row in rows] == ["", "", "", "0.9877", "0.9877"]
    assert json.loads(rows[4]["support"]) == [{"text": "block my card now", "weight": 1.0}]
