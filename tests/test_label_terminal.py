"""`askless label` as a person meets it, through a pseudo-terminal: answers, slips, stops, and a kill."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd
import pytest

from label_terminal import Terminal

TEXTS = [
    "where is my parcel",
    "i want to block my card",
    "block card please",
    "how do i close my account",
    "what are your opening hours",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["body"], *([text] for text in TEXTS)])
    return tmp_path


def labels_in(path: Path) -> list[str]:
    return pd.read_csv(path, dtype=str, keep_default_na=False)["label"].tolist()


def test_a_first_sitting(folder: Path) -> None:
    terminal = Terminal(folder, "t.csv", "--policy", "ghc:0.8")
    shown = terminal.answer("track order")
    assert "t.csv: 5 rows, 5 distinct texts in the column 'body'." in shown
    assert "0 asked · 0 guessed · 5 to go" in shown
    assert "where is my parcel" in shown
    assert "new label: track order" in terminal.answer("block card")
    shown = terminal.answer("?")
    assert "2 asked · 1 guessed · 2 to go" in shown
    assert re.search(r"1 +\S.*“.*”", shown)  # a suggestion and its closest example
    assert "skip: the text is asked once more" in terminal.answer(":u")
    shown = terminal.answer(":s")
    assert "Took back: i want to block my card -> block card" in shown
    assert "1 asked · 0 guessed · 4 to go" in shown
    terminal.answer("track ordr")
    terminal.wait("Did you mean 'track order'")
    terminal.wait("back>")
    terminal.type("n")
    terminal.answer(":u")
    assert "-> track ordr" in terminal.answer("1")
    terminal.prompt()
    terminal.child.sendeof()
    shown, code = terminal.end()
    assert code == 0
    assert "Stopped. Every answer is kept; the same command goes on from here." in shown
    assert "Labelled file: t.labelled.csv" in shown
    assert labels_in(folder / "t.labelled.csv")[0] == "track order"


def test_tab_completes_fuzzily_and_the_end_can_be_undone(folder: Path) -> None:
    terminal = Terminal(folder, "t.csv", "--policy", "always-ask", "--no-second-pass")
    for label in ("track order", "block card"):
        terminal.answer(label)
    terminal.prompt()
    terminal.child.send("blcrd")
    terminal.wait_shown("block card")  # in the menu
    terminal.type("\t")
    assert "label: block card" in terminal.answer("close account")
    terminal.answer("opening")
    terminal.wait("undo the last answer>")
    terminal.type(":u")
    terminal.answer("hours")
    terminal.wait("undo the last answer>")
    terminal.child.send("\r")
    shown, code = terminal.end()
    assert code == 0
    assert "5 of 5 rows have a label." in shown
    assert labels_in(folder / "t.labelled.csv") == ["track order", "block card", "block card", "close account", "hours"]


@pytest.mark.parametrize("typed", ["tr\t", "tr\t\t"])
def test_a_tab_typed_at_once_completes_and_the_only_label_stays(folder: Path, typed: str) -> None:
    terminal = Terminal(folder, "t.csv", "--policy", "always-ask", "--no-second-pass")
    for label in ("Track Order", "block card"):
        terminal.answer(label)
    terminal.prompt()
    terminal.child.send(typed)
    terminal.wait_shown("Track Order")
    terminal.type("")
    assert "label: Track Order" in terminal.answer(":q")
    terminal.end()
    assert labels_in(folder / "t.labelled.csv")[:3] == ["Track Order", "block card", "Track Order"]


def test_a_pasted_line_break_is_a_space_of_the_label(folder: Path) -> None:
    terminal = Terminal(folder, "t.csv", "--policy", "always-ask", "--no-second-pass")
    terminal.answer("track order")
    terminal.prompt()
    terminal.child.send("\x1b[200~track\norder\x1b[201~")
    terminal.type("")
    terminal.prompt()
    terminal.child.send("\x1b[200~close  my\naccount\x1b[201~")
    terminal.type("")
    terminal.answer(":q")
    terminal.end()
    assert labels_in(folder / "t.labelled.csv")[:3] == ["track order", "track order", "close my account"]


def test_ctrl_c_stops_cleanly_and_the_next_run_goes_on(folder: Path) -> None:
    terminal = Terminal(folder, "t.csv")
    terminal.answer("track order")
    terminal.prompt()
    terminal.child.sendintr()
    shown, code = terminal.end()
    assert code == 130
    assert "the same command goes on from here" in shown
    assert "Traceback" not in terminal.raw
    terminal = Terminal(folder, "t.csv")
    shown = terminal.answer(":u")
    assert "Going on: 1 question and 0 guessed so far." in shown
    assert "Took back: where is my parcel -> track order" in terminal.answer(":q")  # across the restart
    assert terminal.end()[1] == 0


def test_hostile_text_reaches_no_terminal(folder: Path) -> None:
    with (folder / "t.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [
            ["body", "label"],
            ["\x1b[5mevil\x1b]0;owned\x07 [blink]x[/blink]", ""],
            ["block my card", "\x1b[5mlabel"],
        ]
        csv.writer(file).writerows(rows)
    terminal = Terminal(folder, "t.csv", "--text", "body")
    assert r"\x1b[5mevil\x1b]0;owned\x07 [blink]x[/blink]" in terminal.prompt()
    terminal.child.send("lab")
    terminal.wait(r"\^\[")  # the hostile label in the menu, its escape spelled out
    terminal.child.sendcontrol("u")
    terminal.type(":q")
    terminal.end()
    assert "\x1b[5m" not in terminal.raw
    assert "\x1b]0;owned" not in terminal.raw
