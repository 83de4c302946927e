"""`askless label` and labels that are known before: taken away again, against an answer, in doubt, in any encoding."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from askless.cli.main import main
from askless.ledger.ledger import Ledger

TEXTS = ["where is my parcel", "block my card", "block my card now", "parcel where", "close my account"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in an empty folder with these lines on the standard input: exit code, output, errors."""
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def call(*arguments: str, answers: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(answers))
        monkeypatch.setattr("askless.cli.label_open.DEFAULT_POLICY", "ghc:0.8")
        with pytest.raises(SystemExit) as left:
            main(["label", *arguments])
        said = capsys.readouterr()
        return int(left.value.code or 0), " ".join(said.out.split()), said.err

    return call


def write(path: str, texts: list[str], **columns: list[str]) -> None:
    pd.DataFrame({"text": texts, **columns}).to_csv(path, index=False)


def labels_in(path: str = "t.labelled.csv", name: str = "label") -> list[tuple[str, str]]:
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    return [(row[name], row["source"]) for row in rows]


# -- taken away again --------------------------------------------------------------------------------------------


def test_a_label_that_the_file_gives_no_more_is_forgotten(run: Run) -> None:
    write("t.csv", TEXTS, label=["track", "block", "", "", "close"])
    run("t.csv")
    assert [source for _, source in labels_in()] == ["given", "given", "guess", "guess", "given"]
    write("t.csv", TEXTS, label=["track", "block", "", "", ""])
    _code, out, _ = run("t.csv", answers="shut\n")
    assert "No label in the file any more, so that the one it gave is forgotten: 1 text." in out
    assert "close account" not in out
    assert labels_in()[-1] == ("shut", "expert")
    assert "is forgotten" not in run("t.csv")[1]  # nor does the ledger bring it back
    assert labels_in()[-1] == ("shut", "expert")


@pytest.mark.parametrize("options", [["--ignore-labels"], ["--label-column", "right"]])
def test_labels_of_the_wrong_column_can_be_taken_back(run: Run, options: list[str]) -> None:
    write("t.csv", TEXTS, topic=["mail", "bank", "bank", "", "bank"])
    run("t.csv", "--label-column", "topic")
    assert labels_in(name="topic")[3] == ("mail", "guess")
    _code, out, _ = run("t.csv", *options, answers="track\nblock\nclose\n")
    assert "so that the one it gave is forgotten: 4 texts; 1 guess of such a label will be made again." in out
    assert "given before" not in out
    found = labels_in(name=options[-1] if len(options) > 1 else "label")
    assert found == [
        ("track", "expert"),
        ("block", "expert"),
        ("block", "guess"),
        ("track", "guess"),
        ("close", "expert"),
    ]
    assert "is forgotten" not in run("t.csv", *options)[1]


def test_forgetting_outlives_an_undo(run: Run) -> None:
    write("t.csv", TEXTS[:2], label=["", "bank"])
    run("t.csv", answers="track\n")
    write("t.csv", TEXTS[:2], label=["", ""])
    _code, out, _ = run("t.csv", answers=":u\nparcel\nblock\n")
    assert "Took back: where is my parcel -> track" in out
    assert labels_in() == [("parcel", "expert"), ("block", "expert")]
    assert "is forgotten" not in run("t.csv")[1]
    assert labels_in() == [("parcel", "expert"), ("block", "expert")]


def test_what_the_seed_file_or_a_row_that_is_gone_gave_is_kept(run: Run) -> None:
    write("t.csv", TEXTS[:3], label=["track", "", ""])
    write("s.csv", TEXTS[1:2], label=["block"])
    run("t.csv", "--seed-file", "s.csv")
    write("t.csv", TEXTS[1:3], label=["", ""])
    _code, out, _ = run("t.csv")
    assert "is forgotten" not in out
    assert labels_in() == [("block", "given"), ("block", "guess")]


def test_a_label_that_moves_to_the_seed_file_is_its_own_from_then_on(run: Run) -> None:
    write("t.csv", TEXTS[:2], label=["track", "block"])
    run("t.csv")
    write("t.csv", TEXTS[:2], label=["", "block"])
    write("s.csv", TEXTS[:1], label=["track"])
    assert "Taken from the seed file: 1 example." in run("t.csv", "--seed-file", "s.csv")[1]
    assert "is forgotten" not in run("t.csv")[1]
    assert labels_in() == [("track", "given"), ("block", "given")]


def test_forgetting_is_an_event(run: Run) -> None:
    write("t.csv", TEXTS[:2], label=["track", "block"])
    run("t.csv")
    write("t.csv", TEXTS[:2], label=["track", ""])
    run("t.csv")
    with Ledger(Path("t.csv.askless")) as ledger:
        row = ledger.desk("label")
        assert row is not None
        assert [event.query for event in ledger.events(row, "forgotten")] == [2]
        assert len(ledger.events(row, "given")) == 2  # nothing is ever deleted


# -- against an answer -------------------------------------------------------------------------------------------


def test_an_answer_stands_against_the_file_in_the_output_too(run: Run) -> None:
    write("t.csv", TEXTS[:2])
    run("t.csv", answers="track\nblock\n")
    write("t.csv", TEXTS[:2], label=["mail", "block"])
    _code, out, _ = run("t.csv")
    assert "Another label in the file than you answered, which stands until :u takes it back: 1 text." in out
    assert "given before" not in out
    assert labels_in() == [("track", "expert"), ("block", "expert")]
    run("t.csv", answers=":u\n:u\n:q\n")
    run("t.csv")
    assert labels_in() == [("mail", "given"), ("block", "given")]  # taken back, and so the file counts


# -- in doubt, and in another encoding ---------------------------------------------------------------------------


def test_equal_texts_with_different_labels_are_named(run: Run) -> None:
    texts = ["b", "block my card", "block my card", " block my card ", "b", "c", "c"]
    write("t.csv", texts, label=["x", "freeze", "block", "block", "y", "z", "z"])
    out = run("t.csv")[1]
    assert "Different labels for one text in the file: 2 texts, such as 'b' ('x', 'y')." in out
    write("t.csv", texts, label=["x", "block", "block", "block", "x", "z", "z"])
    assert "Different labels" not in run("t.csv", "--fresh")[1]


def test_a_seed_file_has_an_encoding_of_its_own(run: Run) -> None:
    write("t.csv", ["café", "block my card"])
    Path("s.csv").write_bytes("frage,label\nmenü für café,träck\n".encode("cp1252"))
    code, _, err = run("t.csv", "--seed-file", "s.csv", "--seed-text", "frage")
    assert code == 2
    assert "say --seed-encoding cp1252" in err
    options = ["--seed-file", "s.csv", "--seed-text", "frage", "--seed-encoding", "cp1252"]
    code, out, err = run("t.csv", *options, answers="block\nblock\n")
    assert (code, err, "Taken from the seed file: 1 example." in out) == (0, "", True)
    code, _, err = run("t.csv", "--seed-encoding", "cp1252")
    assert (code, "name it with --seed-file" in err) == (2, True)


def test_advice_on_the_columns_of_a_seed_file_names_its_own_option(run: Run) -> None:
    write("t.csv", TEXTS)
    pd.DataFrame({"a": TEXTS, "b": TEXTS, "label": TEXTS}).to_csv("s.csv", index=False)
    code, _, err = run("t.csv", "--seed-file", "s.csv")
    assert (code, "Name it with --seed-text" in err) == (2, True)
