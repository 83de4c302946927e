"""The streams that `askless simulate` offers."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

from askless.cli.main import app, main

QUICK = ["--rounds", "80", "--runs", "2", "--dim", "3", "--labels", "3", "--policy", "skm"]
BISECTION = ["--distribution", "bisection", "--space", "euclidean", "--dim", "1", "--labels", "2"]


def run(*arguments):
    result = CliRunner().invoke(app, ["simulate", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_each_distribution_and_the_weights_make_another_stream():
    said = [
        run(*QUICK, "--distribution", *extra).split("│ skm")[1].splitlines()[0]
        for extra in (["uniform"], ["mixture"], ["drift"], ["mixture", "--weights", "20,1,1"])
    ]
    assert len(set(said)) == 4


def test_weights_reach_the_stream(tmp_path):
    run(*QUICK, "--distribution", "mixture", "--variance", "1e-6", "--weights", "2,5,93", "--out", str(tmp_path))
    labels = pd.read_csv(tmp_path / "traces.csv")["truth"]
    assert (labels == 2).mean() > 0.8  # far from an equal share, by more than ten standard errors


def test_a_bisection_costs_always_ask_its_full_price():
    said = run(*BISECTION, "--rounds", "25", "--runs", "3", "--policy", "always-ask")
    assert "3 x 25 rounds: euclidean, dimension 1, 2 labels, bisection" in said
    assert "asking every time has regret 50" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--distribution", "normal"], "uniform, mixture, drift or bisection; found 'normal'"),
        (["--weights", "1,1,1"], "a uniform stream has none"),
        (["--distribution", "mixture", "--weights", "1,1"], "one for each of the 3"),
        (["--distribution", "mixture", "--weights", "1,,1"], "--weights are numbers"),
        (["--distribution", "drift", "--weights", "1,-1,1"], "not negative"),
        (["--distribution", "bisection"], "--space euclidean --dim 1 --labels 2"),
        ([*BISECTION, "--weights", "1,2"], "no --weights"),
        (BISECTION, "at most 53 rounds"),
    ],
)
def test_a_mistake_is_one_line_and_makes_no_folder(tmp_path, capsys, arguments, words):
    with pytest.raises(SystemExit) as left:
        main(["simulate", *QUICK, *arguments, "--out", str(tmp_path / "new")])
    said = capsys.readouterr().err
    assert left.value.code == 2
    assert said.startswith("askless: ")
    assert said.count("\n") == 1
    assert words in said
    assert not (tmp_path / "new").exists()
