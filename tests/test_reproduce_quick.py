"""`askless reproduce all --quick`: every synthetic table and every figure, in one command.

With 500 rounds and two data sets it takes a minute, on one table here; everything is made with fewer.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from askless.cli.main import main
from askless.reproduce.figures.catalogue import FIGURES
from askless.reproduce.tables import SUMMARY, SYNTHETIC_TABLES

ASKLESS = [sys.executable, "-c", "from askless.cli.main import main; main()"]


def test_a_quick_table_has_two_data_sets_of_500_rounds(tmp_path):
    with pytest.raises(SystemExit) as left:
        main(["reproduce", "table", "cube-center", "--quick", "--jobs", "1", "--out", str(tmp_path)])
    assert left.value.code == 0
    rows = json.loads(next(tmp_path.rglob("rows.json")).read_text(encoding="utf-8"))
    assert len(rows) == 64 * 2
    assert "500 rounds" in next(tmp_path.rglob("report.html")).read_text(encoding="utf-8")


def test_a_quick_run_makes_everything(tmp_path):
    size = ["--rounds", "100", "--seeds", "1"]
    command = [*ASKLESS, "reproduce", "all", "--quick", *size, "--jobs", "2", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    for name in (*SYNTHETIC_TABLES, SUMMARY):
        assert f"{name}: " in done.stdout
    cells = json.loads((tmp_path / "cells.json").read_text(encoding="utf-8"))
    assert len([cell for cell in cells if cell["table"] != SUMMARY]) == 376
    assert len([cell for cell in cells if cell["table"] == SUMMARY]) == 88
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert len(rows) == 376 - 8 + 8 * 21
    assert all(row["regret"] == 2 * row["all_calls"] + 11 * row["mistakes"] for row in rows)
    asking = [row for row in rows if row["policy"] == "ghc-nearest:0"]
    assert {row["regret"] for row in asking} == {200.0}  # no query comes twice, so it asks in every round
    committed = [row for row in rows if row["policy"] in ("skm", "ghc:1", "ghc-nearest:1")]
    assert {row["calls"] for row in committed} == {0}  # none of them asks once every label has an example
    assert all(row["mistakes"] == 0 for row in rows if row["policy"] == "chc")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<table>") == 7
    assert "100 rounds" in page
    for name, title in FIGURES.items():
        assert list((tmp_path / "figures").glob(f"{name}*.svg"))
        assert f'alt="{title}' in page.replace("&#39;", "'")
    assert (
        page.count("GHC&#39;s decision regions after 250 queries for nine thresholds, uniform and mixture: mixture")
        == 2
    )
    assert "There are no verdicts" in page
