"""`askless label`, killed at a prompt and started again: as if nothing had happened."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from askless.datasets.sample import support_questions
from label_terminal import ANSI, DRAWN, Terminal

KINDS = ("track order", "opening hours", "close account", "change pin", "request invoice")


def some_questions(path: Path) -> dict[str, str]:
    """A file with 45 questions of the sample in a mixed order, and the right answers."""
    pairs = [(text, label) for text, label in zip(*support_questions(), strict=True) if label in KINDS]
    pairs = [pairs[(k * 37) % len(pairs)] for k in range(45)]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text, _ in pairs)])
    return dict(pairs)


def question_in(shown: str) -> str:
    """The text that was asked about: it stands below the line with the counts."""
    return re.findall(r"to go[^\n]*\n([^\n]+)\n", shown)[-1].strip()


def test_kill_at_any_prompt_and_the_next_run_asks_what_it_would_have(tmp_path: Path) -> None:
    truth = some_questions(tmp_path / "killed.csv")
    some_questions(tmp_path / "whole.csv")
    asked: dict[str, list[str]] = {"killed": [], "whole": []}
    for name, kills in (("killed", {4, 9}), ("whole", set())):
        terminal, answered = Terminal(tmp_path, f"{name}.csv"), 0
        while True:
            at = terminal.child.expect(["label>", "undo the last answer>"])
            shown = ANSI.sub("", terminal.child.before).replace("\r", "")
            if at == 1:
                terminal.child.send("\r")
                break
            if answered in kills:
                kills.remove(answered)
                terminal.child.kill(9)
                terminal.child.close()
                terminal = Terminal(tmp_path, f"{name}.csv")
                continue
            text = question_in(shown)
            asked[name].append(text)
            terminal.wait(DRAWN)
            terminal.type(f"={truth[text]}")
            answered += 1
        assert terminal.end()[1] == 0
    assert len(asked["whole"]) > 12
    assert asked["killed"] == asked["whole"]
    outputs = [(tmp_path / f"{name}.labelled.csv").read_bytes() for name in asked]
    assert outputs[0] == outputs[1]
