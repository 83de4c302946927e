"""The page about the self-tuning policy shows the rows that were measured, and nothing else."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "selftuning.md").read_text(encoding="utf-8")
_NUMBERS = {8: "eight"}


def test_the_tables_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    page, rows = importlib.import_module("docs.selftuning"), importlib.import_module("benchmarks.rows")
    written = PAGE.partition(page.BEGIN)[2].partition(page.END)[0]
    assert written == "\n" + page.section(rows.read_rows(page.ROWS))


def test_missed_bounds_and_missing_rows_are_shown_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    section = importlib.import_module("docs.selftuning").section
    row = {"value": "0.97", "bound": "0.95", "reached": "no", "detail": "banking77-minilm 0.970", "size": "-"}
    text = section({"self-tuning-late-answers": row})
    assert "| answers come 50 rounds late | 0.970 (missed) | 0.970 |  |  |  | 0.95 |" in text
    assert "wrong" not in text


def test_the_constants_on_the_page_are_those_of_the_code() -> None:
    from askless.policies import answer_value, history, hull_rule, neighbourhoods

    said = re.sub(r"\s+", " ", PAGE)
    assert f"The {neighbourhoods.NEIGHBOURS} examples nearest" in said
    assert f"(t + {answer_value._HORIZON}) L / (C a), at most {answer_value._MOST:g} questions" in said
    assert f"the last {answer_value._RECENT} rounds" in said
    assert f"{history.FIRST_FIT} answers, {history._ROWS_BEFORE} of them with a label that was known before" in said
    assert f"the {_NUMBERS[hull_rule._OTHERS]} examples of other labels nearest" in said
    assert f"{hull_rule.HULL_DIM} dimensions or fewer" in said
    assert f"tau = 1 - {hull_rule._RATIO} / sqrt(d)" in said
    assert f"{hull_rule._LARGEST_RATIO} at most" in said
    assert f"GHC with tau {hull_rule._CLEAR_RATIO} would guess another label" in said
    assert f"on the sphere and up to {history._WHOLE:,} examples" in said
    assert neighbourhoods.CANDIDATES == 6
    assert history._EVIDENCE == 8
