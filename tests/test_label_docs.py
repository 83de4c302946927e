"""The tour of `askless label` in the documents is what the command shows."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "label.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tour() -> ModuleType:
    spec = importlib.util.spec_from_file_location("label_tour", DOCS / "label.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_sittings_go_as_they_are_written(tour: ModuleType) -> None:
    assert tour.played(PAGE) == PAGE, "run `.venv/bin/python docs/label.py` and read what changed"


def test_the_figures_of_the_second_pass_are_those_of_the_dry_runs() -> None:
    claim = re.search(r"costs (\d+)\s+questions and turns (\d+) wrong guesses into (\d+)", PAGE)
    assert claim is not None
    runs = re.findall(r"Dry run: (\d+) questions, (\d+) wrong", PAGE)[:2]
    (calls, wrong), (more_calls, fewer) = runs
    assert [int(claim[k]) for k in (1, 2, 3)] == [int(more_calls) - int(calls), int(wrong), int(fewer)]
