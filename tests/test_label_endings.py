"""`askless label` when its end goes wrong: the answers are kept, and the person is told so before the error."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from askless.cli.main import main
from label_terminal import ASKLESS

TEXTS = ["where is my parcel", "block my card", "close my account"]
ANSWERS = ["track\n", "block\n", "close\n"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in an empty folder; `then` is done after the last answer. Exit code, output, errors."""
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def call(*arguments: str, answers: list[str], then: Callable[[], object] = lambda: None) -> tuple[int, str, str]:
        lines = iter(answers)

        def line() -> str:
            if (found := next(lines, None)) is None:
                then()
            return found or ""

        monkeypatch.setattr("askless.cli.label_prompt._line", line)
        monkeypatch.setattr("sys.stdin", io.StringIO())
        with pytest.raises(SystemExit) as left:
            main(["label", *arguments, "--policy", "always-ask", "--no-second-pass"])
        said = capsys.readouterr()
        return int(left.value.code or 0), " ".join(said.out.split()), said.err

    return call


def write(path: str, texts: list[str], **columns: list[str]) -> None:
    pd.DataFrame({"text": texts, **columns}).to_csv(path, index=False)


def labels_in(path: str) -> list[str]:
    return pd.read_csv(path, dtype=str, keep_default_na=False)["label"].tolist()


# -- a file that cannot be written ---------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", [ANSWERS, ANSWERS[:2]])
def test_a_folder_that_is_gone_costs_no_answer_and_the_person_is_told(run: Run, answers: list[str]) -> None:
    write("t.csv", TEXTS)
    Path("out").mkdir()
    code, out, err = run("t.csv", "--out", "out/o.csv", answers=answers, then=lambda: shutil.rmtree("out"))
    assert code == 2
    assert f"{len(answers)} of 3 rows have a label." in out
    assert "Ledger: t.csv.askless" in out
    assert "Labelled file:" not in out
    assert "Every answer is kept; the same command goes on from here." in out
    assert err.startswith("askless: Cannot write out/o.csv: No such file or directory.")
    assert ".tmp" not in err
    Path("out").mkdir()
    assert run("t.csv", "--out", "out/o.csv", answers=ANSWERS[len(answers) :])[0] == 0
    assert labels_in("out/o.csv") == ["track", "block", "close"]


def test_an_output_that_changes_meanwhile_is_left_and_the_rest_is_said(run: Run) -> None:
    write("t.csv", TEXTS)
    code, out, err = run("t.csv", answers=ANSWERS, then=lambda: Path("t.labelled.csv").write_text("mine"))
    assert code == 2
    assert "3 of 3 rows have a label." in out
    assert "The labelled file was not written. Every answer is kept" in out
    assert "t.labelled.csv exists, and this ledger did not write it" in err
    assert Path("t.labelled.csv").read_text() == "mine"


def test_a_long_name_is_labelled_or_refused_before_the_first_question(run: Run) -> None:
    name = "a" * 232
    write(f"{name}.csv", TEXTS)
    assert run(f"{name}.csv", answers=ANSWERS)[0] == 0
    assert labels_in(f"{name}.labelled.csv") == ["track", "block", "close"]
    longer = f"{'a' * 247}.csv"
    write(longer, TEXTS)
    for options, words in (([], "--ledger"), (["--ledger", "l", "--out", f"{'b' * 260}.csv"], "--out")):
        code, out, err = run(longer, *options, answers=ANSWERS)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"is too long for this file system; choose a shorter one with {words}." in err
    assert not Path("l").exists()


# -- nobody reads the output any more ------------------------------------------------------------------------------


@pytest.mark.parametrize("answered", [0, 3])
def test_a_pipe_that_is_closed_leaves_the_labelled_file(tmp_path: Path, answered: int) -> None:
    write(str(tmp_path / "t.csv"), [f"text {k} of many" for k in range(2000)])
    # More than a pipe holds unread, so that the command cannot end before it is closed.
    (tmp_path / "answers").write_text("".join(f"label {k}\n" for k in range(2000)))
    with (
        (tmp_path / "answers").open("rb") as answers,
        subprocess.Popen(
            [sys.executable, *ASKLESS, "t.csv", "--policy", "always-ask"],
            cwd=tmp_path,
            env=os.environ | {"ASKLESS_CACHE": str(tmp_path / "cache")},
            stdin=answers,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child,
    ):
        assert child.stdout is not None
        assert child.stderr is not None
        while answered and f"{answered} asked".encode() not in child.stdout.readline():
            pass
        child.stdout.close()
        said = child.stderr.read()
    assert (child.returncode, said) == (1, b"")
    labels = labels_in(str(tmp_path / "t.labelled.csv"))
    assert labels[:answered] == [f"label {k}" for k in range(answered)]
    assert len(labels) == 2000


# -- what is said at the end ---------------------------------------------------------------------------------------


def test_one_row_and_one_text_are_not_several(run: Run) -> None:
    write("t.csv", [TEXTS[0]] * 2)
    assert "2 of 2 rows (1 distinct text) have a label." in run("t.csv", answers=ANSWERS[:1])[1]
    write("u.csv", TEXTS[:1])
    assert "1 of 1 row has a label." in run("u.csv", answers=ANSWERS[:1])[1]
    write("v.csv", TEXTS)
    assert "1 of 3 rows has a label." in run("v.csv", answers=ANSWERS[:1])[1]
