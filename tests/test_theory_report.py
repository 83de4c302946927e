"""All bounds on one setting, and `askless bounds`: which apply, which are vacuous, and the runs beside them."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pexpect
import pytest
from typer.testing import CliRunner

from askless.cli.bounds_plot import draw_bounds
from askless.cli.main import app, main
from askless.errors import InvalidInput
from askless.simulate import Job, simulate_many
from askless.streams.synthetic import synthetic, uniform
from askless.theory.dimension_one import exact_regret
from askless.theory.hull_regret import leading_term
from askless.theory.report import Bound, Setting, bounds_of
from askless.types import Costs

ASKLESS = [sys.executable, "-c", "from askless.cli.main import main; main()"]
SMALL = ["--horizon", "200", "--runs", "2"]


def setting(space="sphere", dim=4, labels=5, horizon=5000, **more):
    return Setting(uniform(space, dim, labels, np.random.default_rng(0)), space, horizon, **more)


def named(found, about, name):
    return next(bound for bound in found if (bound.about, bound.name) == (about, name))


@pytest.mark.parametrize(
    ("about", "name", "where", "why_not"),
    [
        ("CHC", "leading term", {}, ""),
        ("CHC", "leading term", {"dim": 5}, "needs 6 labels or more"),
        ("CHC", "lower bound", {"dim": 2}, "needs dimension 3 or more"),
        ("CHC", "lower bound", {"dim": 3, "labels": 100, "horizon": 50}, "T is small: it exceeds asking every time"),
        ("CHC", "leading term", {"dim": 3, "labels": 100, "horizon": 50}, ""),
        ("CHC", "leading term", {"space": "euclidean", "dim": 20}, "too many vertices to list"),
        ("CHC", "leading term, Voronoi", {"space": "euclidean", "dim": 20}, "T is below e^19"),
        ("CHC", "leading term, Voronoi", {"space": "euclidean", "dim": 8}, ""),
        ("CHC", "leading term, Voronoi", {"space": "euclidean", "dim": 8, "horizon": 1096}, "T is below e^7"),
        ("CHC", "leading term, Voronoi", {"space": "euclidean", "dim": 8, "horizon": 1097}, ""),
        ("CHC", "wet part", {"space": "euclidean", "dim": 3}, "needs one label"),
        ("CHC", "wet part", {"space": "euclidean", "dim": 3, "labels": 1}, ""),
        ("CHC", "upper bound", {"space": "euclidean", "dim": 1}, ""),
        ("CHC", "upper bound", {"space": "euclidean", "dim": 1, "labels": 1}, "needs two labels from T = 6 on"),
        ("CHC", "minimax lower bound", {"space": "euclidean", "dim": 1}, ""),
        (
            "CHC",
            "minimax lower bound",
            {"space": "euclidean", "dim": 1, "labels": 1000, "horizon": 3},
            "with 1000 labels proved for longer horizons only",
        ),
        ("CC", "general", {}, ""),
        ("CC", "general", {"labels": 1}, "needs two labels"),
        ("CC", "short horizon", {}, "T exceeds e^4"),
        ("CC", "short horizon", {"horizon": 54}, ""),
        ("CC", "short horizon", {"horizon": 54, "separation": 79.0}, "the separation is 79"),
        ("CC", "longer horizon", {"horizon": 154}, ""),
        ("CC", "longer horizon", {"horizon": 155}, "T exceeds e^4 sqrt(5 log 5)"),
    ],
)
def test_each_bound_knows_where_it_applies(about, name, where, why_not):
    assert named(bounds_of(setting(**where)), about, name).why_not == why_not


def test_vacuous_is_as_dear_as_asking_every_time_or_nothing_at_all():
    def bound(sense, value):
        return Bound("b", "CHC", sense, "", "", None if value is None else lambda t: value)

    costs = Costs(call=-2, right=1, wrong=-10)
    assert bound("upper", 300.0).is_vacuous(100, costs)
    assert not bound("upper", 299.0).is_vacuous(100, costs)
    assert bound("lower", 0.0).is_vacuous(100)
    assert not bound("lower", 0.1).is_vacuous(100)
    assert not bound("exact", 1e9).is_vacuous(100)
    assert not bound("upper", None).is_vacuous(100)


def test_values_are_those_of_the_functions():
    here = setting()
    found = bounds_of(here)
    assert here.flags == 5 * 24  # five simplicial cones in four dimensions
    value = leading_term("sphere", 4, 5000, 120, stretch=here.stretch)
    assert named(found, "CHC", "leading term").value(5000) == value
    line = setting("euclidean", 1)
    assert line.shares.sum() == pytest.approx(1.0)
    assert named(bounds_of(line), "CHC", "exact regret").value(77) == exact_regret(line.shares, 77)


def test_a_setting_is_checked():
    with pytest.raises(InvalidInput, match="horizon"):
        setting(horizon=1)
    with pytest.raises(InvalidInput, match="norm 1"):
        Setting(np.array([[2.0, 0.0]]), "sphere", 10)
    with pytest.raises(InvalidInput, match="interval"):
        _ = setting().shares


def test_the_runs_lie_between_the_bounds_that_hold_at_every_horizon(tmp_path):
    for arguments in (["--dim", "1", "--space", "euclidean"], ["--dim", "3", "--labels", "8"]):
        result = CliRunner().invoke(app, ["bounds", *arguments, "--horizon", "400", "--out", str(tmp_path)])
        assert result.exit_code == 0, result.output
        rows = pd.read_csv(tmp_path / "bounds.csv", keep_default_na=False)
        sure = rows[rows["applies"] & ~rows["leading_term"]]
        assert {"CHC", "CC"} >= set(sure["policy"])
        assert len(sure) >= 1
        for row in sure.to_dict("records"):
            mean, spread = float(row["simulated_mean"]), float(row["simulated_deviation"])
            value = float(row["value"])
            if row["sense"] == "upper":
                assert mean <= value
            if row["sense"] == "lower":
                assert mean >= value
            if row["sense"] == "exact":
                assert abs(mean - value) <= 4.0 * spread / math.sqrt(5)


# -- the command --------------------------------------------------------------------------------------------


def test_the_table_of_the_issue_says_what_applies_and_what_is_vacuous(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(
        app, ["bounds", "--space", "sphere", "--dim", "4", "--labels", "5", "--horizon", "5000", "--runs", "1"]
    )
    assert result.exit_code == 0, result.output
    printed = " ".join(result.output.split())
    assert "unit sphere, dimension 4, 5 labels, T = 5,000" in printed
    assert re.search(r"CHC: leading term convex cells in open \S+ as T grows yes", printed)
    assert re.search(r"CHC: lower bound convex cells in open 229 as T grows no", printed)
    assert re.search(r"CC: general mixture with gap² ≥ 80 d 1,428 yes no", printed)
    assert "no: T exceeds e^4" in printed
    assert "120 flags, K = " in printed
    assert sorted(path.name for path in (tmp_path / "askless-bounds").iterdir()) == [
        "bounds.csv",
        "plot.png",
        "plot.svg",
    ]
    assert (tmp_path / "askless-bounds" / "plot.png").read_bytes()[:4] == b"\x89PNG"
    assert ElementTree.parse(tmp_path / "askless-bounds" / "plot.svg").getroot().tag.endswith("svg")


def test_the_same_seed_gives_the_same_files_and_another_one_others(tmp_path):
    for name, seed in (("one", "3"), ("two", "3"), ("three", "4")):
        arguments = ["bounds", "--dim", "3", *SMALL, "--seed", seed, "--out", str(tmp_path / name)]
        assert CliRunner().invoke(app, arguments).exit_code == 0
    contents = [(tmp_path / name / "bounds.csv").read_bytes() for name in ("one", "two", "three")]
    assert contents[0] == contents[1] != contents[2]


def test_it_fits_80_columns_and_shows_progress_on_a_terminal(tmp_path):
    child = pexpect.spawn(
        ASKLESS[0],
        [*ASKLESS[1:], "bounds", *SMALL, "--out", str(tmp_path)],
        dimensions=(60, 80),
        encoding="utf-8",
        timeout=60,
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "runs" in child.before.split("Bounds on the regret")[0]
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", child.before.split("Bounds on the regret")[1])
    lines = [line.rstrip() for line in plain.replace("\r", "").split("\n")]
    assert max(len(line) for line in lines if "Saved" not in line and str(tmp_path) not in line) <= 80
    assert "…" not in plain


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--space", "torus"], "torus"),
        (["--dim", "1"], "dim in the sphere space"),
        (["--dim", "0", "--space", "euclidean"], "dim in the euclidean space"),
        (["--labels", "0"], "--labels"),
        (["--horizon", "1"], "--horizon"),
        (["--separation", "31"], "--separation"),
        (["--separation", "nan"], "--separation"),
        (["--runs", "0"], "--runs"),
        (["--seed", "-1"], "--seed"),
        (["--jobs", "0"], "n_jobs"),
        (["--costs", "1,2"], "call,right,wrong"),
        (["--costs", "0,0,0"], "no regret to bound"),
        (["--out", "a-file"], "--out"),
        (["--out", "a-file/inside"], "--out"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["bounds", *SMALL, *arguments])
    said = capsys.readouterr().err
    assert left.value.code == 2
    assert said.startswith("askless: ")
    assert said.count("\n") == 1
    assert words in said
    assert not list(tmp_path.rglob("plot*"))
    assert (tmp_path / "a-file").read_text(encoding="utf-8") == "mine"


def test_a_file_that_cannot_be_written_is_one_line_and_leaves_no_half(tmp_path, capsys):
    (tmp_path / "plot.svg").mkdir()  # nothing can be put in the place of a folder
    (tmp_path / "bounds.csv").write_text("policy,bound,place,sense,of an earlier run", encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["bounds", *SMALL, "--out", str(tmp_path)])
    said = capsys.readouterr().err
    assert left.value.code == 2
    assert "plot.svg" in said
    assert said.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bounds.csv", "plot.png", "plot.svg"]


@pytest.mark.parametrize("name", ["plot.png", "plot.svg", "bounds.csv"])
def test_the_files_of_others_are_left_alone_and_its_own_are_replaced(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(b"policy,mine\n")
    with pytest.raises(SystemExit) as left:
        main(["bounds", *SMALL, "--out", str(tmp_path)])
    said = capsys.readouterr().err
    assert (left.value.code, said.count("\n")) == (2, 1)
    assert f"has {name}, which no table of bounds wrote; choose another with --out" in said
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, b"policy,mine\n")]
    (tmp_path / name).unlink()
    for seed in ("0", "1"):
        assert CliRunner().invoke(app, ["bounds", *SMALL, "--seed", seed, "--out", str(tmp_path)]).exit_code == 0


def test_one_label_has_no_runs_of_cc(tmp_path):
    arguments = ["bounds", "--space", "euclidean", "--dim", "2", "--labels", "1", *SMALL, "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    rows = pd.read_csv(tmp_path / "bounds.csv").set_index(["policy", "bound"])
    assert rows.loc[("CC", "general"), "runs"] == 0
    assert rows.loc[("CHC", "wet part"), "applies"]


def test_import_stays_light():
    heavy = ["numba", "scipy", "matplotlib", "pandas", "rich"]
    code = (
        "import sys, askless.theory.report, askless.theory.separated\n"
        f"loaded = [name for name in {heavy} if name in sys.modules]\n"
        "sys.exit(' '.join(loaded) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# -- the plot -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def line():
    here = setting("euclidean", 1, horizon=300)

    def stream(*, rng):
        return synthetic("euclidean", 1, 5, 300, rng=rng, seeds=here.seeds)

    traces = simulate_many([Job("chc", stream, seed, "CHC") for seed in range(3)])
    return here, bounds_of(here), traces


def test_the_plot_ends_at_the_figures_and_names_them(line):
    here, found, traces = line
    axes = draw_bounds(here, found, {"CHC": traces}).axes[0]
    ends = {round(float(drawn.get_ydata()[-1]), 6) for drawn in axes.lines}
    mean = float(np.mean([trace.regret[-1] for trace in traces]))
    for value in (600.0, mean, *(b.value(300) for b in found if b.about == "CHC" and b.at)):
        assert round(value, 6) in ends
    texts = " ".join(text.get_text() for text in axes.texts)
    for name in ("asking every time", "simulated", "exact regret", "upper bound", "minimax lower bound"):
        assert name in texts
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_bounds_far_above_the_trivial_one_are_named_and_not_drawn(line):
    here, _, traces = line
    huge = Bound("huge", "CHC", "upper", "", "", lambda t: 1e9 * t)
    out = Bound("out", "CHC", "upper", "", "", lambda t: 5.0 * t, "not here")
    axes = draw_bounds(here, [huge, out], {"CHC": traces}).axes[0]
    assert len(axes.lines) == 2
    texts = " ".join(text.get_text() for text in axes.texts)
    assert "above the frame:\nhuge  3e11" in texts
    assert "out " not in texts


def test_labels_at_the_ends_keep_apart(line):
    here, _, traces = line
    same = [Bound(f"bound {k}", "CHC", "upper", "", "", lambda t: 3.0 * t) for k in range(4)]
    figure = draw_bounds(here, same, {"CHC": traces})
    axes = figure.axes[0]
    heights = sorted(text.xy[1] for text in axes.texts)
    points = np.diff(heights) * axes.get_position().height * figure.get_figheight() * 72
    assert points.min() >= 8.5
    assert heights[-1] <= 1.0 + 1e-9
