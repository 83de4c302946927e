"""`askless label` and labels that are known before: taken away again, against an answer, in doubt, in any encoding."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from askless.ledger.ledger import Ledger
from label_runs import Run, sourced, write

TEXTS = ["where is my parcel", "block my card", "block my card now", "parcel where", "close my account"]


# -- taken away again --------------------------------------------------------------------------------------------


def test_a_label_that_the_file_gives_no_more_is_forgotten(run_label: Run) -> None:
    write("t.csv", TEXTS, label=["track", "block", "", "", "close"])
    run_label("t.csv")
    assert [source for _, source in sourced()] == ["given", "given", "guess", "guess", "given"]
    write("t.csv", TEXTS, label=["track", "block", "", "", ""])
    _code, out, _ = run_label("t.csv", answers="shut\n")
    assert "No label in the file any more, so that the one it gave is forgotten: 1 text." in out
    assert "close account" not in out
    assert sourced()[-1] == ("shut", "expert")
    assert "is forgotten" not in run_label("t.csv")[1]  # nor does the ledger bring it back
    assert sourced()[-1] == ("shut", "expert")


@pytest.mark.parametrize("options", [["--ignore-labels"], ["--label-column", "right"]])
def test_labels_of_the_wrong_column_can_be_taken_back(run_label: Run, options: list[str]) -> None:
    write("t.csv", TEXTS, topic=["mail", "bank", "bank", "", "bank"])
    run_label("t.csv", "--label-column", "topic")
    assert sourced(column="topic")[3] == ("mail", "guess")
    _code, out, _ = run_label("t.csv", *options, answers="track\nblock\nclose\n")
    assert "so that the one it gave is forgotten: 4 texts; 1 guess of such a label will be made again." in out
    assert "given before" not in out
    found = sourced(column=options[-1] if len(options) > 1 else "label")
    assert found == [
        ("track", "expert"),
        ("block", "expert"),
        ("block", "guess"),
        ("track", "guess"),
        ("close", "expert"),
    ]
    assert "is forgotten" not in run_label("t.csv", *options)[1]


def test_forgetting_outlives_an_undo(run_label: Run) -> None:
    write("t.csv", TEXTS[:2], label=["", "bank"])
    run_label("t.csv", answers="track\n")
    write("t.csv", TEXTS[:2], label=["", ""])
    _code, out, _ = run_label("t.csv", answers=":u\nparcel\nblock\n")
    assert "Took back: where is my parcel -> track" in out
    assert sourced() == [("parcel", "expert"), ("block", "expert")]
    assert "is forgotten" not in run_label("t.csv")[1]
    assert sourced() == [("parcel", "expert"), ("block", "expert")]


def test_what_the_seed_file_or_a_row_that_is_gone_gave_is_kept(run_label: Run) -> None:
    write("t.csv", TEXTS[:3], label=["track", "", ""])
    write("s.csv", TEXTS[1:2], label=["block"])
    run_label("t.csv", "--seed-file", "s.csv")
    write("t.csv", TEXTS[1:3], label=["", ""])
    _code, out, _ = run_label("t.csv")
    assert "is forgotten" not in out
    assert sourced() == [("block", "given"), ("block", "guess")]


def test_what_the_seed_file_gave_counts_again_once_the_file_says_nothing_else(run_label: Run) -> None:
    write("s.csv", TEXTS[4:], label=["shut"])
    write("t.csv", [TEXTS[4], TEXTS[1], "close the account"], label=["", "block", ""])
    run_label("t.csv", "--seed-file", "s.csv")
    assert sourced() == [("shut", "given"), ("block", "given"), ("shut", "guess")]
    write("t.csv", [TEXTS[4], TEXTS[1], "close the account"], label=["close", "block", ""])
    run_label("t.csv")
    assert sourced() == [("close", "given"), ("block", "given"), ("close", "guess")]
    write("t.csv", [TEXTS[4], TEXTS[1], "close the account"], label=["", "block", ""])
    assert "the one it gave is forgotten: 1 text; 1 guess of such a label will" in run_label("t.csv")[1]
    for _ in range(2):
        assert sourced() == [("shut", "given"), ("block", "given"), ("shut", "guess")]
        assert "is forgotten" not in run_label("t.csv")[1]


def test_a_label_that_moves_to_the_seed_file_is_its_own_from_then_on(run_label: Run) -> None:
    write("t.csv", TEXTS[:2], label=["track", "block"])
    run_label("t.csv")
    write("t.csv", TEXTS[:2], label=["", "block"])
    write("s.csv", TEXTS[:1], label=["track"])
    assert "Taken from the seed file: 1 example." in run_label("t.csv", "--seed-file", "s.csv")[1]
    assert "is forgotten" not in run_label("t.csv")[1]
    assert sourced() == [("track", "given"), ("block", "given")]


def test_forgetting_is_an_event(run_label: Run) -> None:
    write("t.csv", TEXTS[:2], label=["track", "block"])
    run_label("t.csv")
    write("t.csv", TEXTS[:2], label=["track", ""])
    run_label("t.csv")
    with Ledger(Path("t.csv.askless")) as ledger:
        row = ledger.desk("label")
        assert row is not None
        assert [event.query for event in ledger.events(row, "forgotten")] == [2]
        assert len(ledger.events(row, "given")) == 2  # nothing is ever deleted


# -- against an answer -------------------------------------------------------------------------------------------


def test_an_answer_stands_against_the_file_in_the_output_too(run_label: Run) -> None:
    write("t.csv", TEXTS[:2])
    run_label("t.csv", answers="track\nblock\n")
    write("t.csv", TEXTS[:2], label=["mail", "block"])
    _code, out, _ = run_label("t.csv")
    assert "Another label in the file than you answered, which stands until :u takes it back: 1 text." in out
    assert "given before" not in out
    assert sourced() == [("track", "expert"), ("block", "expert")]
    run_label("t.csv", answers=":u\n:u\n:q\n")
    run_label("t.csv")
    assert sourced() == [("mail", "given"), ("block", "given")]  # taken back, and so the file counts


# -- in doubt, and in another encoding ---------------------------------------------------------------------------


def test_equal_texts_with_different_labels_are_named(run_label: Run) -> None:
    texts = ["b", "block my card", "block my card", " block my card ", "b", "c", "c"]
    write("t.csv", texts, label=["x", "freeze", "block", "block", "y", "z", "z"])
    out = run_label("t.csv")[1]
    assert "Different labels for one text in the file: 2 texts, such as 'b' ('x', 'y')." in out
    write("t.csv", texts, label=["x", "block", "block", "block", "x", "z", "z"])
    assert "Different labels" not in run_label("t.csv", "--fresh")[1]


def test_a_seed_file_has_an_encoding_of_its_own(run_label: Run) -> None:
    write("t.csv", ["café", "block my card"])
    Path("s.csv").write_bytes("frage,label\nmenü für café,träck\n".encode("cp1252"))
    code, _, err = run_label("t.csv", "--seed-file", "s.csv", "--seed-text", "frage")
    assert code == 2
    assert "say --seed-encoding cp1252" in err
    options = ["--seed-file", "s.csv", "--seed-text", "frage", "--seed-encoding", "cp1252"]
    code, out, err = run_label("t.csv", *options, answers="block\nblock\n")
    assert (code, err, "Taken from the seed file: 1 example." in out) == (0, "", True)
    code, _, err = run_label("t.csv", "--seed-encoding", "cp1252")
    assert (code, "name it with --seed-file" in err) == (2, True)


def test_advice_on_the_columns_of_a_seed_file_names_its_own_option(run_label: Run) -> None:
    write("t.csv", TEXTS)
    pd.DataFrame({"a": TEXTS, "b": TEXTS, "label": TEXTS}).to_csv("s.csv", index=False)
    code, _, err = run_label("t.csv", "--seed-file", "s.csv")
    assert (code, "Name it with --seed-text" in err) == (2, True)


def test_advice_on_the_rows_of_a_seed_file_can_be_followed(run_label: Run) -> None:
    write("t.csv", TEXTS)
    for rows in ("text,label\na,b,c\n", "text:label\na, b, block my card:block\n"):
        Path("s.csv").write_text(rows)
        code, _, err = run_label("t.csv", "--seed-file", "s.csv")
        assert (code, "--" in err) == (2, False)
        assert "name another separator in a first line such as sep=:" in err
        assert err.endswith(", or take the row out.\n")
    Path("s.csv").write_text(f"sep=:\n{rows}")
    assert "Taken from the seed file: 1 example." in run_label("t.csv", "--seed-file", "s.csv")[1]
    Path("s.jsonl").write_text('{"text": "a", "label": "b"}\n7\n')
    assert run_label("t.csv", "--seed-file", "s.jsonl")[2].endswith("mend it, or take the row out.\n")


def test_advice_on_the_sheets_of_a_seed_file_can_be_followed(run_label: Run) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl comes with the extra askless[files]")
    write("t.csv", TEXTS)
    openpyxl.Workbook().save("s.xlsx")
    assert (
        "has no cells; move the sheet with the examples to the front." in run_label("t.csv", "--seed-file", "s.xlsx")[2]
    )
