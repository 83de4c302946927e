"""`askless label` run in an empty folder of a test's own, and what it wrote there."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import pandas as pd
import pytest

from askless.cli.main import main

Run: TypeAlias = Callable[..., tuple[int, str, str]]


class Answers(io.StringIO):
    """A standard input of these lines; `then` is done where a line is wanted after the last."""

    def __init__(self, lines: Iterable[str], then: Callable[[], object]) -> None:
        super().__init__("".join(lines))
        self._then = then

    def readline(self, size: int | None = -1, /) -> str:
        line = super().readline(-1 if size is None else size)
        if not line:
            self._then()
        return line


def runner(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """What runs the command there: a new ledger begins with a policy that guesses after two answers."""
    monkeypatch.setenv("ASKLESS_CACHE", str(folder / "cache"))
    (folder / "work").mkdir()
    monkeypatch.chdir(folder / "work")

    def run(
        *arguments: str, answers: Iterable[str] = "", then: Callable[[], object] = lambda: None
    ) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", Answers(answers, then))
        monkeypatch.setattr("askless.cli.label_open.DEFAULT_POLICY", "ghc:0.8")
        with pytest.raises(SystemExit) as left:
            main(["label", *arguments])
        said = capsys.readouterr()
        return int(left.value.code or 0), " ".join(said.out.split()), said.err

    return run


def write(path: str, texts: list[str], **columns: list[str]) -> None:
    """A CSV file of texts."""
    pd.DataFrame({"text": texts, **columns}).to_csv(path, index=False)


def rows_of(path: str) -> list[dict[str, str]]:
    """The rows of a CSV file, as they were typed."""
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


def labels_in(path: str, column: str = "label") -> list[str]:
    """The labels in a CSV file."""
    return [row[column] for row in rows_of(path)]


def sourced(path: str = "t.labelled.csv", column: str = "label") -> list[tuple[str, str]]:
    """The labels in a labelled file, and where they are from."""
    return [(row[column], row["source"]) for row in rows_of(path)]
