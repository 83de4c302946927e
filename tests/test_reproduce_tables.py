"""The tables: the paper's figures, ours beside them, and the verdicts."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from askless.errors import InvalidInput
from askless.reproduce.compare import compare, summary, verdict
from askless.reproduce.jobs import Job, SyntheticStream, run_job
from askless.reproduce.paper import Figure, Setting, synthetic_cells
from askless.reproduce.run import Size, jobs_of
from askless.reproduce.tables import SUMMARY, SYNTHETIC_TABLES, cells_of, known_table

# Figures of the paper's summary table: setting, column, mean and deviation of the regret.
IN_THE_SUMMARY = [
    ("cube", 1, "uniform", "CC", 6123, 390),
    ("cube", 1, "uniform", "GHC", 110, 7),
    ("cube", 4, "mixture", "nearest-query GHC", 1366, 99),
    ("cube", 10, "mixture", "SKM", 20, 5),
    ("cube", 50, "uniform", "GHC", 9559, 36),
    ("sphere", 2, "uniform", "CHC", 132, 12),
    ("sphere", 2, "mixture", "AMP", 10000, 0),
    ("sphere", 4, "uniform", "AMP", 2799, 110),
    ("sphere", 10, "uniform", "GHC", 2550, 123),
    ("sphere", 50, "mixture", "CC", 26, 12),
]


def test_the_six_tables_have_the_papers_376_cells():
    sizes = {name: len(cells_of(name)) for name in SYNTHETIC_TABLES}
    assert sizes == {
        "cube-hull": 8 * 9,
        "sphere-hull": 8 * 9,
        "cube-center": 8 * 8,
        "sphere-center": 8 * 8,
        "cube-nearest": 8 * 7,
        "sphere-nearest": 8 * 6,
    }
    cells = cells_of(SUMMARY)
    assert len(cells) == 376 == len(synthetic_cells())
    assert {id(cell.paper) for cell in cells} == {id(cell) for cell in synthetic_cells()}
    for cell in cells:  # regret is what all calls and the mistakes cost; calls before every label was seen are few
        paper = cell.paper
        least = 2 * paper.calls.mean + 11 * paper.mistakes.mean
        assert -8 <= paper.regret.mean - least <= 300 or paper.algorithm == "AMP", cell


@pytest.fixture(scope="module")
def rows():
    """A row for each job of two draws of three data sets, with figures drawn at random."""
    rng = np.random.default_rng(5)
    found = {}
    for job in {job for cell in cells_of(SUMMARY) for job in cell.jobs(5000, 2, 3)}:
        calls, mistakes = (int(k) for k in rng.integers(0, 900, size=2))
        found[job.key()] = job.parameters() | {
            "calls": calls,
            "all_calls": calls + 10,
            "mistakes": mistakes,
            "regret": 2.0 * calls + 20.0 + 11.0 * mistakes,
            "seconds": 0.5,
        }
    return found


@pytest.fixture(scope="module")
def frame(rows):
    return pd.DataFrame(rows.values())


def runs_of(frame, cell, policy):
    setting = cell.setting
    place = (frame["space"] == setting.space) & (frame["dim"] == setting.dim)
    return frame[place & (frame["distribution"] == setting.distribution) & (frame["policy"] == policy)]


def test_a_cell_is_the_mean_and_deviation_of_its_runs(rows, frame):
    for cell in (cells_of("cube-hull")[3], cells_of("sphere-center")[-1], cells_of("cube-nearest")[9]):
        (policy,) = cell.policies
        own = runs_of(frame, cell, policy)
        assert len(own) == 6
        found = compare(cell, rows, 5000, 2, 3)
        for measure in ("calls", "mistakes", "regret"):
            beside = getattr(found, measure)
            assert beside.ours[:2] == pytest.approx((own[measure].mean(), own[measure].std(ddof=0)))
            assert beside.paper == getattr(cell.paper, measure)
            means = own.groupby("draw")[measure].mean()
            assert beside.percentile == 100.0 * (means < beside.paper.mean).mean()
        assert found.seconds == 3.0


def test_the_perceptron_is_taken_at_the_best_threshold_of_each_draw_with_all_its_calls(rows, frame):
    cell = next(cell for cell in cells_of("sphere-hull") if cell.column == "AMP")
    assert cell.policies == tuple(f"amp:{k / 20:g}" for k in range(21))
    own = pd.concat([runs_of(frame, cell, policy) for policy in cell.policies])
    best = own.groupby(["draw", "policy"])["regret"].mean().groupby("draw").idxmin()
    chosen = pd.concat([own[(own["draw"] == draw) & (own["policy"] == policy)] for draw, policy in best])
    found = compare(cell, rows, 5000, 2, 3)
    assert found.regret.ours.mean == pytest.approx(chosen["regret"].mean())
    assert found.calls.ours.mean == pytest.approx(chosen["all_calls"].mean())


def test_the_summary_has_the_papers_figures_and_our_best(rows, frame):
    cells = summary(cells_of(SUMMARY), rows, 5000, 2, 3)
    grid = {(c.setting, c.column): c for c in cells}
    assert len(cells) == len(grid) == 8 * 5 + 8 * 6
    for space, dim, distribution, column, mean, deviation in IN_THE_SUMMARY:
        assert grid[Setting(space, dim, distribution), column].regret.paper[:2] == (mean, deviation)
    setting = Setting("sphere", 10, "mixture")
    own = frame[(frame["space"] == "sphere") & (frame["dim"] == 10) & (frame["distribution"] == "mixture")]
    hulls = own[own["policy"].str.match("chc$|ghc:")]
    means = hulls.groupby(["draw", "policy"])["regret"].mean()
    assert grid[setting, "GHC"].regret.ours.mean == pytest.approx(means.groupby("draw").min().mean())
    assert grid[setting, "CHC"].regret.ours.mean == pytest.approx(own[own["policy"] == "chc"]["regret"].mean())


@pytest.mark.parametrize(
    ("paper", "ours", "said"),
    [
        ((100, 0), (110, 0), "within"),  # 10 per cent
        ((100, 0), (110.5, 0), "higher"),
        ((100, 0), (89, 0), "lower"),
        ((100, 10), (130, 0), "within"),  # three of the paper's deviations
        ((100, 10), (131, 0), "higher"),
        ((100, 10), (160, 20), "within"),  # three of ours
        ((100, 10), (39, 20), "lower"),
        ((22, 7), (22, 7), "within"),
    ],
)
def test_the_verdict(paper, ours, said):
    assert verdict(Figure(*paper), Figure(*ours)) == said


def test_other_numbers_of_rounds_have_no_verdict(rows):
    cell = cells_of("cube-hull")[0]
    other = {
        Job(job.policy, SyntheticStream(cell.setting, 400, job.stream.draw, job.stream.data_set)).key(): rows[job.key()]
        for job in cell.jobs(5000, 2, 3)
    }
    assert compare(cell, other, 400, 2, 3).verdict == "-"


@pytest.mark.parametrize("distribution", ["uniform", "mixture"])
def test_one_draw_of_seeds_serves_all_data_sets_and_both_distributions(distribution):
    def points(draw, data_set, kind=distribution):
        stream = SyntheticStream(Setting("cube", 1, kind), 2000, draw, data_set).make()
        return list(zip(stream.X[:, 0].tolist(), stream.y.tolist(), strict=True))

    def n_blocks(data):
        return len(list(itertools.groupby(label for _, label in sorted(data))))

    first, second, uniform = points(0, 0), points(0, 1), points(0, 0, "uniform")
    assert not {x for x, _ in first} & {x for x, _ in second}
    # Cells of dimension one are intervals, so on shared seeds each label is one block of the line.
    assert n_blocks(first) == n_blocks(first + second) == n_blocks(first + second + uniform) == 5
    assert n_blocks(first + points(1, 0)) > 5


def test_calls_after_every_label_was_seen_are_none_where_one_never_was():
    # Some seeds of dimension one lie so close to each other that five rounds cannot meet every cell.
    job = Job("cc:108", SyntheticStream(Setting("cube", 1, "uniform"), 5, 0, 0))
    stream = job.stream.make()
    row = run_job(job, job.key())
    assert len(set(stream.y.tolist())) < 5
    assert (row["calls"], row["all_calls"], row["regret"]) == (0, 5, 10.0)


def test_some_cells_agree_with_the_paper():
    wanted = {("cube-hull", "cube d=50 mixture", "SKM"), ("sphere-hull", "sphere d=10 uniform", "tau=0.6")} | {
        ("cube-center", "cube d=4 uniform", "C=25"),
        ("sphere-nearest", "sphere d=50 uniform", "tau=0"),
    }
    cells = [cell for cell in cells_of(SUMMARY) if (cell.table, str(cell.setting), cell.column) in wanted]
    assert len(cells) == 4
    for cell in cells:
        rows = {job.key(): run_job(job, job.key()) for job in cell.jobs(5000, 2, 2)}
        assert compare(cell, rows, 5000, 2, 2).verdict == "within"


def test_tables_share_the_runs_they_have_in_common():
    size = Size(100, 1, 1)
    everything = jobs_of([SUMMARY, *SYNTHETIC_TABLES], size)
    assert len(everything) == 376 - 8 + 8 * 21
    assert len({job.key() for job in everything}) == len(everything)


def test_mistakes_are_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"No table is named 'cube-hul'\. Did you mean 'cube-hull'"):
        known_table("cube-hul")
    with pytest.raises(InvalidInput, match="labelled file of yours"):
        jobs_of(["qqg"], Size())
    for wrong in ({"draws": 0}, {"rounds": 0}, {"data_sets": -1}):
        with pytest.raises(InvalidInput, match="is a whole number of at least 1"):
            Size(**wrong)
