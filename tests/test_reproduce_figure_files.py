"""The files of the figures: what is drawn, their bytes, the command, and what it says about bad input."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import typer
from matplotlib.text import Text
from typer.testing import CliRunner

from askless.cli.main import app, main
from askless.errors import InvalidInput, UnwritableFile
from askless.policies.named import make_policy
from askless.reproduce.figures import regret
from askless.reproduce.figures.catalogue import FIGURES, Request, make_figure
from askless.reproduce.figures.group_sizes import draw_group_sizes, sample_groups
from askless.reproduce.figures.hulls import draw_hulls, hulls
from askless.reproduce.figures.lower_bound import construction, draw_construction
from askless.reproduce.figures.regions import COLOURS, draw_regions, regions
from askless.reproduce.figures.regret import Size, rounds_on_file, rounds_on_setting, taus_on_file, taus_on_setting
from askless.reproduce.figures.regret_plot import draw_rounds, draw_taus
from askless.reproduce.figures.style import FORMATS, look
from askless.reproduce.figures.voronoi_sphere import draw_tessellation, tessellation
from askless.reproduce.jobs import Labelled, SyntheticStream
from askless.reproduce.labelled import labelled
from askless.reproduce.paper import ROUNDS
from askless.reproduce.store import RowStore
from askless.simulate import simulate

DOCS = (Path(__file__).parent.parent / "docs" / "figures.md").read_text(encoding="utf-8")
CHEAP = ("voronoi-sphere", "hulls", "group-sizes", "lower-bound")
TINY = Size(rounds=80, data_sets=2, file_runs=2, file_rounds=40)


@pytest.fixture(scope="module")
def data() -> Labelled:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((4, 6))
    names = np.arange(60) % 4
    return labelled(centres[names] + 0.4 * rng.standard_normal((60, 6)), names)


@pytest.fixture(scope="module")
def curves(data, tmp_path_factory):
    """The data of both regret figures, small."""
    with RowStore(tmp_path_factory.mktemp("rows") / "rows.sqlite") as store:
        return {
            "rounds": (rounds_on_setting(0, TINY, 1), rounds_on_file(data, 0, TINY, 1, store, None)),
            "taus": (taus_on_setting(0, TINY, 1, store, None), taus_on_file(data, 0, TINY, 1, store, None)),
        }


# -- regret -------------------------------------------------------------------------------------------------


def test_regret_against_the_round_is_that_of_the_runs(curves):
    for curve, spec in zip(curves["rounds"][0], ("ghc:0.6", "amp:0.95", "chc", "cc:108", "skm"), strict=True):
        assert curve.at[-1] == TINY.rounds
        for k in range(TINY.data_sets):
            stream = SyntheticStream(regret.SETTING, TINY.rounds, 0, k).make()
            policy = make_policy(spec, space="sphere", n_labels=5, horizon=TINY.rounds)
            trace = simulate(policy, stream.X, stream.y)
            assert np.array_equal(curve.runs[k], trace.regret[curve.at.astype(int) - 1])


def test_regret_against_the_threshold_is_that_of_the_runs(curves):
    for curve, kind in zip(curves["taus"][0], ("ghc", "ghc-nearest", "amp"), strict=True):
        assert curve.runs.shape == (TINY.data_sets, len(curve.at))
        for column in (0, len(curve.at) // 2, -1):
            stream = SyntheticStream(regret.SETTING, TINY.rounds, 0, 1).make()
            policy = make_policy(f"{kind}:{curve.at[column]:g}", space="sphere", n_labels=5)
            assert curve.runs[1, column] == simulate(policy, stream.X, stream.y).regret[-1]


def test_on_a_file_every_policy_has_its_best_threshold(curves, data):
    best = {curve.name.partition(",")[0]: curve for curve in curves["rounds"][1]}
    for curve in curves["taus"][1]:
        chosen = best[curve.name]
        assert chosen.mean[-1] == curve.mean.min()
        assert chosen.name.endswith(f"={curve.at[curve.mean.argmin()]:g}")
        assert chosen.at[-1] == TINY.file_rounds
    assert set(best) == {"GHC", "nearest-query GHC", "AMP", "CC", "SKM"}


def test_rows_are_kept_and_used_again(data, tmp_path):
    seen: list[tuple[int, int]] = []
    with RowStore(tmp_path / "rows.sqlite") as store:
        first = taus_on_file(data, 0, TINY, 1, store, lambda done, todo: seen.append((done, todo)))
        assert seen[-1] == (80, 80)  # two runs at 12, 12 and 16 thresholds
        seen.clear()
        again = taus_on_file(data, 0, TINY, 1, store, lambda done, todo: seen.append((done, todo)))
        other = taus_on_file(data, 1, TINY, 1, store, None)
    assert seen == [(0, 0)]
    assert all(np.array_equal(a.runs, b.runs) for a, b in zip(first, again, strict=True))
    assert any(not np.array_equal(a.runs, b.runs) for a, b in zip(first, other, strict=True))


def test_the_papers_figures_stand_beside_its_own_number_of_rounds_only():
    assert regret._paper("GHC", TINY) == {}
    found = regret._paper("GHC", Size())
    assert found[0.6][:2] == (2550.0, 123.0)
    assert regret._paper("CHC", Size())[0.0][:2] == (4878.0, 150.0)
    assert Size().rounds == ROUNDS == 5000
    assert {parameter for _, _, parameter in regret.POLICIES.values()} == {0.6, "best of 0.05k", 0.0, 108.0, None}
    for algorithm, parameter in (("GHC", 0.6), ("CC", 108.0)):
        figures = regret._paper(algorithm, Size())
        assert figures[parameter].mean == min(figure.mean for figure in figures.values())


# -- drawings -----------------------------------------------------------------------------------------------


def drawn(curves, data, name):
    if name.startswith("regret"):
        draw, (setting, file) = (
            (draw_rounds, curves["rounds"]) if name == "regret-rounds" else (draw_taus, curves["taus"])
        )
        return draw(setting, file, data, "a-labelled-file-with-a-long-name-that-goes-on-and-on.csv", TINY)
    return {
        "voronoi-sphere": lambda: draw_tessellation(tessellation(0)),
        "hulls": lambda: draw_hulls(*hulls(0)),
        "regions": lambda: draw_regions("mixture", regions("mixture", 0, cells=8)),
        "group-sizes": lambda: draw_group_sizes(sample_groups()),
        "lower-bound": lambda: draw_construction(construction(0)),
    }[name]()


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_is_cut_off_or_too_small(curves, data, name):
    with look():
        figure = drawn(curves, data, name)
        figure.draw_without_rendering()
        assert figure.get_figwidth() in (3.35, 6.9)  # a column or two of a paper
        ticks = {text for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for text in axis.findobj(Text)}
        texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
        assert all(text.get_fontsize() >= 7.0 for text in texts)
        boxes = {text.get_text(): text.get_window_extent() for text in texts if text not in ticks}
        boxes |= {f"panel {k}": axes.get_tightbbox() for k, axes in enumerate(figure.axes)}  # with the ticks shown
        for what, box in boxes.items():
            assert min(box.x0, box.y0) >= -1, what
            assert box.x1 <= figure.bbox.x1 + 1, what
            assert box.y1 <= figure.bbox.y1 + 1, what


def test_the_regions_are_drawn_in_their_colours():
    panels = regions("uniform", 0, taus=(0.8, 0.9), cells=20)
    with look():
        figure = draw_regions("uniform", panels)
    for panel, axes in zip(panels, figure.axes, strict=False):
        image = axes.images[0]
        assert np.array_equal(image.get_array(), panel.outcome)
        assert image.origin == "lower"
        shown = [matplotlib.colors.to_hex(image.cmap(image.norm(kind))).upper() for kind in range(3)]
        assert shown == list(COLOURS)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> dict[str, Path]:
    """The files of the figures that take no time."""
    folder = tmp_path_factory.mktemp("figures")
    return {path.name: path for name in CHEAP for path in make_figure(name, Request(folder), folder)}


def test_the_same_request_gives_the_same_bytes_whatever_the_users_settings(written, tmp_path):
    with matplotlib.rc_context({"font.size": 17.0, "axes.facecolor": "red", "svg.hashsalt": None}):
        again = [path for name in CHEAP for path in make_figure(name, Request(tmp_path), tmp_path)]
    assert {path.name for path in again} == set(written) == {f"{name}.{kind}" for name in CHEAP for kind in FORMATS}
    for path in again:
        assert path.read_bytes() == written[path.name].read_bytes(), path.name
        assert b"<dc:date>" not in path.read_bytes()


def test_another_process_gives_the_same_bytes_and_another_seed_others(written, tmp_path):
    code = (
        "import sys; from pathlib import Path; from askless.reproduce.figures.catalogue import Request, make_figure; "
        "folder = Path(sys.argv[1]); make_figure('hulls', Request(folder), folder)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=os.environ | {"PYTHONHASHSEED": "7"})
    for name in ("hulls.svg", "hulls.png"):
        assert (tmp_path / name).read_bytes() == written[name].read_bytes()
    make_figure("hulls", Request(tmp_path, seed=1), tmp_path)
    assert (tmp_path / "hulls.svg").read_bytes() != written["hulls.svg"].read_bytes()


def test_files_are_whole_svg_and_png(written):
    from matplotlib.image import imread

    for name in CHEAP:
        svg, png = (written[f"{name}.{kind}"] for kind in FORMATS)
        root = ElementTree.parse(svg).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert not re.search(rb'(?:href|src)="http', svg.read_bytes())  # nothing that must be fetched
        image = imread(png)
        wide = float(root.get("width", "").removesuffix("pt")) / 72
        assert image.shape[1] == pytest.approx(300 * wide, abs=1)
        assert image[..., :3].std() > 0.05
    assert {path.name for path in svg.parent.iterdir()} == set(written)


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    (tmp_path / "hulls.svg").write_text("before", encoding="utf-8")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(UnwritableFile, match="No space left"):
        make_figure("hulls", Request(tmp_path), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["hulls.svg"]
    assert (tmp_path / "hulls.svg").read_text(encoding="utf-8") == "before"


# -- the command --------------------------------------------------------------------------------------------


def test_list_and_help():
    listed = CliRunner().invoke(app, ["reproduce", "figure", "list"])
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.output.splitlines()] == list(FIGURES)
    helped = CliRunner().invoke(app, ["reproduce", "figure", "--help"])
    assert "askless reproduce figure regions" in helped.output


def test_the_command_writes_both_formats_and_says_where(tmp_path):
    done = CliRunner().invoke(
        app, ["reproduce", "figure", "lower-bound", "--out", str(tmp_path / "new"), "--seed", "3"]
    )
    assert done.exit_code == 0
    files = [tmp_path / "new" / "figures" / f"lower-bound.{kind}" for kind in FORMATS]
    assert done.output.split() == [str(file) for file in files]
    assert all(file.stat().st_size > 1000 for file in files)


def test_group_sizes_of_a_file(tmp_path):
    file = tmp_path / "questions.csv"
    file.write_text("text,group\n" + "".join(f"t{k},{k % 7}\n" for k in range(50)), encoding="utf-8")
    arguments = ["reproduce", "figure", "group-sizes", "--file", str(file), "--label", "group", "--out", str(tmp_path)]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0
    svg = tmp_path / "figures" / "group-sizes.svg"
    before = svg.read_bytes()
    assert CliRunner().invoke(app, [*arguments[:3], "--out", str(tmp_path)]).exit_code == 0
    assert svg.read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["hull"], "Did you mean 'hulls'"),
        (["nothing"], "The figures are voronoi-sphere"),
        (["hulls", "--seed", "-1"], "--seed is a whole number"),
        (["regions", "--jobs", "0"], "--jobs is the number of runs"),
        (["hulls", "--file", "a.csv"], "not made from a file"),
        (["group-sizes", "--label", "group"], "name it with --file"),
        (["regret-tau", "--file", "there.csv", "--label", "group"], "--text and --label"),
        (["regret-tau", "--file", "absent.csv", "--label", "group"], "No such file"),
        (["group-sizes", "--file", "absent.csv", "--label", "group"], "No such file"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("text,group\na,b\n", encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["reproduce", "figure", *arguments])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.startswith("askless: ")
    assert said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]


def test_a_folder_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["reproduce", "figure", "hulls", "--out", str(tmp_path / "out")])
    assert "Choose another with --out" in capsys.readouterr().err
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_an_interrupt_says_what_is_kept(tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("askless.reproduce.figures.hulls.hulls", interrupted)
    with pytest.raises(SystemExit) as left:
        main(["reproduce", "figure", "hulls", "--out", str(tmp_path)])
    assert left.value.code == 130
    assert f"interrupted at hulls; what is finished is kept in {tmp_path}" in capsys.readouterr().err


def test_a_request_is_checked():
    with pytest.raises(InvalidInput, match="--seed"):
        Request(Path("."), seed=-3)
    with pytest.raises(InvalidInput, match="--jobs"):
        Request(Path("."), jobs=0)


def test_every_figure_and_option_is_in_the_documents():
    for name in FIGURES:
        assert f"\n## {name}\n" in DOCS
    command = typer.main.get_command(app).commands["reproduce"].commands["figure"]
    options = {opt for parameter in command.params for opt in parameter.opts if opt.startswith("--")}
    assert set(re.findall(r"^\| `(--[a-z-]+)`", DOCS, re.MULTILINE)) == options


def test_importing_the_catalogue_loads_nothing_heavy():
    code = (
        "import sys, askless.reproduce.figures.catalogue; "
        "print([n for n in ('matplotlib', 'scipy', 'numba', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
