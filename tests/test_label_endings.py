"""`askless label` when its end goes wrong: the answers are kept, and the person is told so before the error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from label_runs import Run, labels_in, write
from label_terminal import ASKLESS

TEXTS = ["where is my parcel", "block my card", "close my account"]
ANSWERS = ["track\n", "block\n", "close\n"]


# -- a file that cannot be written ---------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", [ANSWERS, ANSWERS[:2]])
def test_a_folder_that_is_gone_costs_no_answer_and_the_person_is_told(run_label: Run, answers: list[str]) -> None:
    write("t.csv", TEXTS)
    Path("out").mkdir()
    code, out, err = run_label("t.csv", "--out", "out/o.csv", answers=answers, then=lambda: shutil.rmtree("out"))
    assert code == 2
    assert f"{len(answers)} of 3 rows have a label." in out
    assert "Ledger: t.csv.askless" in out
    assert "Labelled file:" not in out
    assert "Every answer is kept; the same command goes on from here." in out
    assert err.startswith("askless: Cannot write out/o.csv: No such file or directory.")
    assert ".tmp" not in err
    Path("out").mkdir()
    assert run_label("t.csv", "--out", "out/o.csv", answers=ANSWERS[len(answers) :])[0] == 0
    assert labels_in("out/o.csv") == ["track", "block", "close"]


def test_an_output_that_changes_meanwhile_is_left_and_the_rest_is_said(run_label: Run) -> None:
    write("t.csv", TEXTS)
    code, out, err = run_label("t.csv", answers=ANSWERS, then=lambda: Path("t.labelled.csv").write_text("mine"))
    assert code == 2
    assert "3 of 3 rows have a label." in out
    assert "The labelled file was not written. Every answer is kept" in out
    assert "t.labelled.csv exists, and this ledger did not write it" in err
    assert Path("t.labelled.csv").read_text() == "mine"


def test_a_long_name_is_labelled_or_refused_before_the_first_question(run_label: Run) -> None:
    name = "a" * 232
    write(f"{name}.csv", TEXTS)
    assert run_label(f"{name}.csv", answers=ANSWERS)[0] == 0
    assert labels_in(f"{name}.labelled.csv") == ["track", "block", "close"]
    longer = f"{'a' * 247}.csv"
    write(longer, TEXTS)
    for options, words in (([], "--ledger"), (["--ledger", "l", "--out", f"{'b' * 260}.csv"], "--out")):
        code, out, err = run_label(longer, *options, answers=ANSWERS)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"is too long for this file system; choose a shorter one with {words}." in err
    assert not Path("l").exists()


@pytest.mark.parametrize(
    ("options", "folder"),
    [
        (["--out", "secret/o.csv"], "'secret'"),
        (["--out", "secret/deep/o.csv"], "'secret/deep'"),
        (["--ledger", "secret/l"], "'secret'"),
        (["--ledger", "secret/deep/l"], "'secret/deep'"),
    ],
)
def test_a_folder_that_may_not_be_entered_is_refused_in_a_sentence(
    run_label: Run, monkeypatch: pytest.MonkeyPatch, options: list[str], folder: str
) -> None:
    found, may = os.stat, os.access

    def found_outside(path: object, **how: bool) -> os.stat_result:
        if str(path).startswith("secret/"):  # the superuser, who may run the tests, would be let in
            raise PermissionError(13, "Permission denied", str(path))
        return found(path, **how)

    write("t.csv", TEXTS)
    Path("secret/deep").mkdir(parents=True)
    monkeypatch.setattr(os, "stat", found_outside)
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).startswith("secret") and may(path, mode))
    code, out, err = run_label("t.csv", *options, answers=ANSWERS)
    assert (code, out) == (2, "")
    assert err == f"askless: Cannot write to the folder {folder}. Choose another place with {options[0]}.\n"


@pytest.mark.parametrize(
    ("options", "folder"),
    [
        ([], "t.labelled.csv"),
        (["--force"], "t.labelled.csv"),
        (["--out", "kept"], "kept"),
        (["--ledger", "kept", "--fresh"], "kept"),
        (["--out", "."], "."),
        (["--ledger", "/"], "/"),
    ],
)
def test_a_folder_in_place_of_a_file_is_refused_before_the_first_question(
    run_label: Run, options: list[str], folder: str
) -> None:
    write("t.csv", TEXTS)
    Path(folder).mkdir(exist_ok=True)
    before = {path.name for path in Path(folder).iterdir()}
    code, out, err = run_label("t.csv", *options, answers=ANSWERS)
    assert (code, out, f"{folder} is a folder" in err) == (2, "", True)
    assert {path.name for path in Path(folder).iterdir()} == before
    assert not Path("t.csv.askless").exists()


def test_a_ledger_in_a_folder_that_is_not_there_is_refused(run_label: Run) -> None:
    write("t.csv", TEXTS)
    code, out, err = run_label("t.csv", "--ledger", "absent/l", answers=ANSWERS)
    assert (code, out) == (2, "")
    assert err == "askless: There is no folder 'absent' for l; make it, or change --ledger.\n"


# -- nobody reads the output any more ------------------------------------------------------------------------------


def left_unread(folder: Path, answered: int, out: str, then: Callable[[], object] = lambda: None) -> tuple[int, str]:
    """Label 2,000 texts, and close the pipe after so many answers and `then`: exit code and errors."""
    write(str(folder / "t.csv"), [f"text {k} of many" for k in range(2000)])
    # More than a pipe holds unread, so that the command cannot end before it is closed.
    (folder / "answers").write_text("".join(f"label {k}\n" for k in range(2000)))
    with (
        (folder / "answers").open("rb") as answers,
        subprocess.Popen(
            [sys.executable, *ASKLESS, "t.csv", "--policy", "always-ask", "--out", out],
            cwd=folder,
            env=os.environ | {"ASKLESS_CACHE": str(folder / "cache")},
            stdin=answers,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child,
    ):
        assert child.stdout is not None
        assert child.stderr is not None
        while answered and f"{answered} asked".encode() not in child.stdout.readline():
            pass
        then()
        child.stdout.close()
        said = child.stderr.read().decode()
    return child.returncode, said


@pytest.mark.parametrize("answered", [0, 3])
def test_a_pipe_that_is_closed_leaves_the_labelled_file(tmp_path: Path, answered: int) -> None:
    assert left_unread(tmp_path, answered, "o.csv") == (1, "")
    labels = labels_in(str(tmp_path / "o.csv"))
    assert labels[:answered] == [f"label {k}" for k in range(answered)]
    assert len(labels) == 2000


def test_a_file_that_is_not_written_is_told_where_the_pipe_is_closed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    code, said = left_unread(tmp_path, 3, "out/o.csv", then=lambda: shutil.rmtree(tmp_path / "out"))
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("askless: the labelled file was not written: Cannot write out/o.csv: No such file")


def test_a_file_that_is_not_written_is_told_where_the_pipe_is_closed_at_the_end(
    run_label: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*_: object) -> None:
        raise SystemExit(1)  # as Rich does at the first word that nobody reads

    write("t.csv", TEXTS)
    Path("out").mkdir()
    monkeypatch.setattr("askless.cli.label_summary.print_summary", leave)
    code, _, err = run_label("t.csv", "--out", "out/o.csv", answers=ANSWERS, then=lambda: shutil.rmtree("out"))
    assert (code, err.startswith("askless: Cannot write out/o.csv: No such file")) == (2, True)
    Path("out").mkdir()
    assert run_label("t.csv", "--out", "out/o.csv")[0] == 1
    assert labels_in("out/o.csv") == ["track", "block", "close"]


# -- what is said at the end ---------------------------------------------------------------------------------------


def test_one_row_and_one_text_are_not_several(run_label: Run) -> None:
    write("t.csv", [TEXTS[0]] * 2)
    assert "2 of 2 rows (1 distinct text) have a label." in run_label("t.csv", answers=ANSWERS[:1])[1]
    write("u.csv", TEXTS[:1])
    assert "1 of 1 row has a label." in run_label("u.csv", answers=ANSWERS[:1])[1]
    write("v.csv", TEXTS)
    assert "1 of 3 rows has a label." in run_label("v.csv", answers=ANSWERS[:1])[1]
