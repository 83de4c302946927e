"""Figures from traces: that they show what the traces hold, and leave matplotlib's state alone."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.plots import draw_run, plot_run
from askless.trace import Trace
from askless.types import Costs


def trace(policy="ghc:0.9", seed=0, rounds=300, ask=0.4, costs=Costs()):  # noqa: B008
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=rounds)
    guess = np.where(rng.random(rounds) < ask, -1, rng.integers(3, size=rounds))
    return Trace(policy, costs, ("a", "b", "c"), np.arange(rounds), truth, guess, None)


def panel(figure, word):
    return next(axes for axes in figure.axes if word in axes.get_title(loc="left"))


@pytest.mark.parametrize(("word", "what"), [("Regret", "regret"), ("Questions", "calls"), ("Wrong", "mistakes")])
def test_lines_end_where_the_traces_end_and_are_named_there(word, what):
    runs = [trace("one", 1), trace("two", 2, ask=0.8)]
    axes = panel(draw_run(runs), word)
    ends = [line.get_ydata()[-1] for line in axes.lines]
    assert ends[:2] == [getattr(run, what)[-1] for run in runs]
    texts = [text.get_text() for text in axes.texts]
    for run in runs:
        assert f"{run.policy}  {getattr(run, what)[-1]:,.0f}" in texts


def test_asking_every_time_is_drawn_for_comparison():
    figure = draw_run([trace(costs=Costs(call=-3, right=2, wrong=-10))])
    ends = {word: panel(figure, word).lines[-1].get_ydata()[-1] for word in ("Regret", "Questions", "Wrong")}
    assert ends == {"Regret": 5 * 300, "Questions": 300, "Wrong": 0}
    assert any("always ask" in text.get_text() for text in panel(figure, "Regret").texts)


def test_several_runs_of_a_policy_become_their_mean():
    runs = [trace(seed=seed) for seed in range(4)]
    axes = panel(draw_run(runs), "Regret")
    assert len(axes.lines) == 2
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(np.mean([run.regret[-1] for run in runs]))
    assert len(axes.collections) == 1


def test_labels_at_the_ends_keep_apart():
    runs = [trace(f"policy {k}", seed=0) for k in range(8)]
    for axes in draw_run(runs).axes:
        heights = sorted(text.xy[1] for text in axes.texts)
        low, high = axes.get_ylim()
        gaps = np.diff(heights) / (high - low) * axes.get_position().height * axes.figure.get_figheight() * 72
        assert gaps.min() > 8.5  # points, the size of the letters
        assert heights[-1] <= high


def test_long_runs_are_thinned_but_keep_their_last_round():
    run = trace(rounds=20_000)
    line = panel(draw_run([run]), "Regret").lines[0]
    assert len(line.get_xdata()) <= 1000
    assert (line.get_xdata()[-1], line.get_ydata()[-1]) == (20_000, run.regret[-1])


def test_the_suffix_is_the_format(tmp_path):
    png = plot_run(trace(), tmp_path / "run.png")
    assert png.read_bytes().startswith(b"\x89PNG")
    svg = plot_run([trace()], str(tmp_path / "run.SVG"))
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"run\.gif"):
        plot_run(trace(), tmp_path / "run.gif")
    with pytest.raises(InvalidInput, match="No folder"):
        plot_run(trace(), tmp_path / "absent" / "run.png")
    with pytest.raises(InvalidInput, match="nothing to draw"):
        plot_run([], tmp_path / "run.png")
    with pytest.raises(InvalidInput, match="different costs"):
        plot_run([trace(), trace(costs=Costs(wrong=-20))], tmp_path / "run.png")
    assert list(tmp_path.iterdir()) == []


def test_importing_it_loads_no_matplotlib_and_drawing_loads_no_pyplot():
    code = """
import sys, numpy as np
from askless.plots import draw_run
from askless.trace import Trace
from askless.types import Costs
assert "matplotlib" not in sys.modules and "pandas" not in sys.modules
draw_run([Trace("p", Costs(), ("a",), np.arange(2), np.zeros(2, int), np.zeros(2, int), None)])
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
