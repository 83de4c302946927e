"""`askless label` when the file, the ledger or the session is not as it was: what is known, kept and said."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
from pathlib import Path

import pandas as pd
import pytest

from askless.cli.main import main
from askless.ledger.ledger import Ledger
from label_runs import Run, rows_of, write

TEXTS = ["where is my parcel", "block my card", "block my card now", "parcel where", "close my account"]
ANSWERS = "track\nblock\nclose\n"


def files() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


# -- what is known before ----------------------------------------------------------------------------------------


def test_a_label_that_was_corrected_in_the_file_is_learned(run_label: Run) -> None:
    write("t.csv", TEXTS[:4], label=["track", "blok", "", ""])
    run_label("t.csv", answers="")
    assert [row["label"] for row in rows_of("t.labelled.csv")] == ["track", "blok", "blok", "track"]
    write("t.csv", TEXTS[:4], label=["track", "block", "", ""])
    _code, out, _ = run_label("t.csv")
    assert "Another label than before in the file, which is taken: 1 text." in out
    assert [row["label"] for row in rows_of("t.labelled.csv")] == ["track", "block", "block", "track"]
    assert "Another label" not in run_label("t.csv")[1]


def test_a_label_that_was_corrected_in_the_seed_file_is_learned_and_the_file_has_the_last_word(run_label: Run) -> None:
    write("t.csv", TEXTS[:4], label=["track", "", "", ""])
    write("s.csv", [*TEXTS[:2]], label=["other", "blok"])
    out = run_label("t.csv", "--seed-file", "s.csv")[1]
    assert "Taken from the seed file: 1 example." in out
    write("s.csv", [*TEXTS[:2]], label=["other", "block"])
    out = run_label("t.csv", "--seed-file", "s.csv")[1]
    assert "Another label than before in the seed file, which is taken: 1 text." in out
    assert [row["label"] for row in rows_of("t.labelled.csv")] == ["track", "block", "block", "track"]


@pytest.mark.parametrize("name", ["label", "Label", " label", "LABEL "])
def test_a_label_column_is_filled_however_it_is_spelled(run_label: Run, name: str) -> None:
    pd.DataFrame({"text": TEXTS, name: [""] * 5}).to_csv("t.csv", index=False)
    run_label("t.csv", answers=ANSWERS)
    rows = rows_of("t.labelled.csv")
    assert list(rows[0]) == ["text", name, "source", "confidence", "support"]
    assert [row[name] for row in rows] == ["track", "block", "block", "track", "close"]


def test_two_columns_that_could_be_the_label_are_left_alone(run_label: Run) -> None:
    write("t.csv", TEXTS, Label=["x"] * 5, LABEL=["y"] * 5)
    run_label("t.csv", answers=ANSWERS)
    assert [row["label"] for row in rows_of("t.labelled.csv")] == ["track", "block", "block", "track", "close"]


def test_guesses_of_askless_are_not_taken_for_the_truth(run_label: Run) -> None:
    write("t.csv", TEXTS)
    run_label("t.csv", answers=ANSWERS)
    os.rename("t.labelled.csv", "again.csv")
    code, out, _ = run_label("again.csv")
    assert code == 0
    assert "taken as examples: 3 texts." in out
    assert "with the source expert or given are taken as known, and 2 guesses not." in out
    rows = rows_of("again.labelled.csv")
    assert [row["askless_source"] for row in rows] == ["given", "given", "guess", "guess", "given"]
    os.rename("again.labelled.csv", "third.csv")  # with both columns of sources, of which the last one counts
    assert "and 2 guesses not" in run_label("third.csv")[1]


def test_a_source_column_of_ones_own_says_nothing_of_labels(run_label: Run) -> None:
    write("t.csv", TEXTS, label=["a", "b", "c", "d", "e"], source=["guess"] * 5)
    assert "taken as examples: 5 texts." in run_label("t.csv")[1]


# -- starting over -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, MemoryError])
def test_starting_over_puts_the_old_ledger_back_after_any_error(
    run_label: Run, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    write("t.csv", TEXTS)
    run_label("t.csv", answers=ANSWERS)
    before = {name: Path(name).read_bytes() for name in files()}

    def fail(*_: object, **__: object) -> None:
        raise error("on purpose")

    with monkeypatch.context() as patched:
        patched.setattr("askless.cli.label_open.warm_up", fail)
        if error is KeyboardInterrupt:
            assert run_label("t.csv", "--fresh")[0] == 130
        else:
            with pytest.raises(error, match="on purpose"):
                main(["label", "t.csv", "--fresh"])
    assert {name: Path(name).read_bytes() for name in files()} == before


def test_starting_over_leaves_an_output_that_was_edited(run_label: Run) -> None:
    write("t.csv", TEXTS)
    run_label("t.csv", answers=ANSWERS)
    before = Path("t.csv.askless").read_bytes()
    with Path("t.labelled.csv").open("a", encoding="utf-8") as file:
        file.write("mine\n")
    code, _, err = run_label("t.csv", "--fresh")
    assert (code, "was changed since askless wrote it" in err) == (2, True)
    assert Path("t.csv.askless").read_bytes() == before
    assert files() == ["t.csv", "t.csv.askless", "t.labelled.csv"]


def test_another_order_on_going_on_is_said_to_be_for_new_texts(run_label: Run) -> None:
    write("t.csv", TEXTS)
    run_label("t.csv", "--shuffle", "1", answers="a\n")
    assert "--shuffle orders new texts only" not in run_label("t.csv", "--shuffle", "1")[1]
    assert "--shuffle orders new texts only" not in run_label("t.csv")[1]
    assert "--shuffle orders new texts only" in run_label("t.csv", "--shuffle", "2")[1]


def test_the_output_keeps_its_mode(run_label: Run) -> None:
    write("t.csv", TEXTS)
    run_label("t.csv", answers="track\n")
    Path("t.labelled.csv").chmod(0o640)
    run_label("t.csv", answers="block\n")
    assert stat.S_IMODE(Path("t.labelled.csv").stat().st_mode) == 0o640
    assert files() == ["t.csv", "t.csv.askless", "t.labelled.csv"]


# -- errors and signals in the middle ------------------------------------------------------------------------------


def test_an_error_in_the_session_still_writes_the_file(
    run_label: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("t.csv", TEXTS)
    asked = iter(["track", "block"])
    with monkeypatch.context() as patched:
        patched.setattr("askless.cli.label_prompt._line", lambda: next(asked))
        with pytest.raises(StopIteration):
            main(["label", "t.csv", "--policy", "ghc:0.8"])
    assert "Stopped by an error. Every answer is kept; the same command goes on" in capsys.readouterr().out
    assert [row["label"] for row in rows_of("t.labelled.csv")] == ["track", "block", "block", "track", ""]
    assert "5 of 5 rows have a label." in run_label("t.csv", answers="close\n")[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_is_as_ctrl_c(run_label: Run, monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    write("t.csv", TEXTS)
    lines = iter(["track"])

    def line() -> str:
        if (found := next(lines, None)) is None:
            os.kill(os.getpid(), number)
        return found or ""

    before = signal.signal(number, signal.SIG_IGN)  # so that a failure does not end the tests
    try:
        with monkeypatch.context() as patched:
            patched.setattr("askless.cli.label_prompt._line", line)
            code, out, _ = run_label("t.csv")
        assert signal.getsignal(number) is signal.SIG_IGN  # and it is put back
    finally:
        signal.signal(number, before)
    assert code == 130
    assert "Stopped. Every answer is kept" in out
    assert rows_of("t.labelled.csv")[0]["label"] == "track"


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_answers_that_are_not_utf8_are_refused(run_label: Run, monkeypatch: pytest.MonkeyPatch, errors: str) -> None:
    write("t.csv", TEXTS)
    piped = io.TextIOWrapper(io.BytesIO("café\n".encode("latin-1")), encoding="utf-8", errors=errors)
    monkeypatch.setattr("label_runs.Answers", lambda *_: piped)
    code, _out, err = run_label("t.csv")
    assert code == 2
    assert err.startswith("askless: The answers on the standard input are not UTF-8")
    assert err.count("\n") == 1
    assert {row["label"] for row in rows_of("t.labelled.csv")} == {""}


# -- what askless guessed is nobody's word -------------------------------------------------------------------------


def test_guesses_in_a_seed_file_are_not_taken_as_known(run_label: Run) -> None:
    write("a.csv", TEXTS)
    run_label("a.csv", answers=ANSWERS)
    sources = [row["source"] for row in rows_of("a.labelled.csv")]
    assert sources == ["expert", "expert", "guess", "guess", "expert"]
    write("b.csv", [TEXTS[2], TEXTS[3]])
    _code, out, _ = run_label("b.csv", "--seed-file", "a.labelled.csv", "--policy", "always-ask", answers="x\ny\n")
    assert "Taken from the seed file: 3 examples." in out
    assert "askless wrote the seed file:" in out
    assert "2 guesses not." in out
    assert [(row["label"], row["source"]) for row in rows_of("b.labelled.csv")] == [("x", "expert"), ("y", "expert")]


def test_a_seed_file_of_nothing_but_guesses_is_refused(run_label: Run) -> None:
    write("a.csv", TEXTS, label=["track"] * 5, source=["guess"] * 5, confidence=[""] * 5, support=[""] * 5)
    write("b.csv", TEXTS)
    code, _out, err = run_label("b.csv", "--seed-file", "a.csv")
    assert (code, "beside 5 guesses of askless" in err) == (2, True)


def test_forced_guesses_are_to_go_once_more_may_be_asked(run_label: Run) -> None:
    write("t.csv", [f"{text} {k}" for text in TEXTS for k in range(4)])
    run_label("t.csv", "--max-questions", "2", "--policy", "always-ask", answers="track\nblock\n")
    out = run_label("t.csv", answers="track\n:q\n")[1]
    assert "2 asked · 0 guessed · 18 to go" in out
    assert "3 asked · 0 guessed · 17 to go" in out


# -- what is said at the end ---------------------------------------------------------------------------------------


def test_a_dry_run_counts_texts_and_leaves_out_those_without_a_truth(run_label: Run) -> None:
    texts = ["block my card", "where is my parcel", "block my card now", "block my card now", "close my account"]
    write("t.csv", texts, truth=["block", "track", "freeze", "freeze", ""])
    _code, out, _ = run_label("t.csv", "--oracle", "truth", "--no-second-pass")
    assert "Dry run: 2 questions, 1 wrong guess (100.0% of the guesses). Regret 15;" in out  # 2 x 2 + 11
    assert "asking about every text costs 6. 1 text without a truth left out." in out


def test_forced_guesses_name_the_closest_example_and_no_empty_figure(run_label: Run) -> None:
    write("t.csv", TEXTS)
    run_label("t.csv", "--max-questions", "1", "--policy", "self-tuning", answers=ANSWERS)
    rows = rows_of("t.labelled.csv")
    assert [row["source"] for row in rows] == ["expert"] + ["guess-forced"] * 4
    assert {row["confidence"] for row in rows} == {""}
    assert json.loads(rows[4]["support"]) == [{"text": TEXTS[0], "weight": 1.0}]
    run_label("t.csv", "--fresh", "--policy", "self-tuning", "--max-questions", "2", answers=ANSWERS)
    rows = rows_of("t.labelled.csv")
    assert json.loads(rows[2]["support"]) == [{"text": TEXTS[1], "weight": 1.0}]
    assert {row["confidence"] for row in rows} == {""}  # it is still exploring


def test_one_label_is_worth_a_word_also_where_guesses_were_forced(run_label: Run) -> None:
    write("t.csv", TEXTS)
    assert "guessing needs two" in run_label("t.csv", "--max-questions", "5", answers="same\n" * 5)[1]
    write("u.csv", TEXTS)
    out = run_label("u.csv", "--max-questions", "2", answers="same\n" * 2)[1]
    assert "guessed, unsure 3 because of --max-questions" in out
    assert "All answers have one label so far, 'same'; guessing needs two to compare." in out


def test_audits_turned_on_later_draw_from_the_guesses_of_before(run_label: Run) -> None:
    write("t.csv", TEXTS)
    run_label("t.csv", answers=ANSWERS)
    out = run_label("t.csv", "--audit-rate", "1", answers="freeze\n")[1]
    assert "Of 1 guess that was audited 1 was wrong" in out
    with Ledger(Path("t.csv.askless")) as ledger:
        row = ledger.desk("label")
        assert row is not None
        assert len(ledger.events(row, "audited")) == 1
    out = run_label("t.csv", answers="track\n")[1]
    assert "Of 2 guesses that were audited 1 was wrong" in out
    assert "It covers the 2 guesses that audits were drawn from." in out
