"""The benchmarks: every figure has its row, and what they compare with is right."""

from __future__ import annotations

import csv
import importlib
import itertools
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
Rows = dict[str, dict[str, str]]

REACH = {
    "decision-sphere-d1024": ("at most", 1.25),
    "decision-sphere-d4096": ("at most", 1.25),
    "decision-crowded-isotropic-d1024": ("at most", 1.5),
    "decision-crowded-isotropic-d4096": ("at most", 1.15),
    "decision-crowded-low-rank-d1024": ("at most", 1.5),
    "decision-crowded-low-rank-d4096": ("at most", 1.15),
    "decision-74519-labels-d768": ("at most", 1.15),
    "decision-euclidean-d1024": ("at most", 1.5),
    "nnls-speed": ("at least", 30.0),
    "nnls-equal-decisions": ("at least", 1.0),
    "run-sphere-tau0": ("at least", 80.0),
    "run-cube-tau0": ("at least", 80.0),
    "run-sphere-tau0.9": ("at least", 15.0),
    "run-cube-tau0.9": ("at least", 30.0),
    "batch-256": ("at least", 2.0),
    "learn-99785-examples": ("at most", 1.0),
    "import-modules": ("at most", 0.0),
    "import-time": ("at most", 3.0),
    "memory-steady-d4096": ("at most", 2.5),
    "memory-peak-d4096": ("at most", 2.5),
    "memory-steady-d768": ("at most", 2.5),
    "memory-peak-d768": ("at most", 2.5),
    "reproduce-cube-hull": ("at most", 20.0),
    "reproduce-sphere-hull": ("at most", 20.0),
    "reproduce-cube-center": ("at most", 20.0),
    "reproduce-sphere-center": ("at most", 20.0),
    "reproduce-cube-nearest": ("at most", 20.0),
    "reproduce-sphere-nearest": ("at most", 20.0),
    "reproduce-all-tables": ("at most", 20.0),
    "service-requests": ("at least", 0.4),
    "service-p99": ("at most", 5.0),
    "service-batch-256": ("at least", 10.0),
    "service-batch-bare": ("at least", 4.0),
    "service-start": ("at most", 3.0),
}
PAIRS = ("banking77-minilm", "banking77-wordllama", "clinc150-minilm", "clinc150-wordllama")
LONG = {
    **{f"self-tuning-{name}": ("at most", 2.0) for name in REACH if name.startswith("decision")},
    "self-tuning-memory-steady": ("at most", 3.0),
    "self-tuning-memory-peak": ("at most", 3.0),
    "self-tuning-first": ("at most", 0.85),
    "self-tuning-cold": ("at most", 0.85),
    **{f"self-tuning-{start}-{pair}": ("at most", 0.95) for start in ("first", "cold") for pair in PAIRS},
    **{f"self-tuning-calibration-{start}-{pair}": ("at most", 0.03) for start in ("first", "cold") for pair in PAIRS},
    "self-tuning-mistake-3": ("at most", 0.95),
    "self-tuning-mistake-51": ("at most", 0.95),
    "self-tuning-wrong-answers": ("at most", 0.95),
    "self-tuning-late-answers": ("at most", 0.95),
    "self-tuning-few-texts-minilm": ("at most", 0.95),
    "self-tuning-few-texts-wordllama": ("at most", 0.95),
    **{
        f"self-tuning-{space}-d{dim}-{kind}": ("at most", 0.0)
        for space in ("cube", "sphere")
        for dim in (4, 10, 50)
        for kind in ("uniform", "mixture")
    },
}
LINUX_ONLY = {name for name in REACH if name.startswith("memory") and not Path("/proc/self/status").exists()}


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the benchmarks, which are not installed, from the root of the repository."""
    monkeypatch.syspath_prepend(str(ROOT))

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"benchmarks.{name}")

    return load


def read(path: Path) -> Rows:
    with path.open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Rows]:
    out = tmp_path_factory.mktemp("bench") / "rows.csv"
    command = [sys.executable, "-m", "benchmarks.run", "--quick", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done, read(out)


# -- the rows ---------------------------------------------------------------------------------------------


def test_a_quick_run_writes_every_row(quick: tuple[subprocess.CompletedProcess[str], Rows]) -> None:
    done, rows = quick
    assert done.returncode == (2 if LINUX_ONLY else 0), done.stderr
    assert set(rows) == set(REACH) - LINUX_ONLY
    for name, row in rows.items():
        assert (row["sense"], float(row["bound"])) == REACH[name]
        assert row["reached"] == ""
        assert row["quick"] == "True"
        assert int(row["repeats"]) >= 1
        assert np.isfinite([float(row[key]) for key in ("value", "ours", "other")]).all()
        assert all(row[key] for key in ("numpy", "numba", "scipy", "python", "date"))
        assert name in done.stdout


def test_the_rows_of_the_self_tuning_policy_are_run_when_asked_for(
    tmp_path: Path, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, keep = tmp_path / "rows.csv", tmp_path / "keep"
    code = module("run").main(["--quick", "--only", "self-tuning", "--keep", str(keep), "--out", str(out)])
    rows = read(out)
    missing = {name for name in LONG if "memory" in name and LINUX_ONLY}
    assert code == (2 if missing else 0)
    assert set(rows) == set(LONG) - missing
    for name, row in rows.items():
        assert (row["sense"], float(row["bound"])) == LONG[name]
        ours, other, value = (float(row[key]) for key in ("ours", "other", "value"))
        synthetic = name.startswith(("self-tuning-cube", "self-tuning-sphere"))
        assert value == pytest.approx(ours - other if synthetic else ours / other, rel=1e-3, abs=1e-3), name
    monkeypatch.setattr(module("self_tuning_runs").TextRun, "play", None)  # every run is there already
    for row in module("self_tuning").trial("self-tuning-first", True, keep):
        assert row.as_text() == rows[row.name]


def test_the_calibration_error_of_a_known_miss(module: Any) -> None:
    error = module("self_tuning").calibration_error
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1.0, 30_000)
    true = (rng.random(30_000) < sure).astype(int)
    assert error({"sure": sure.tolist(), "right": true.tolist()}) < 0.01
    short = (rng.random(30_000) < sure - 0.1).astype(int)
    assert error({"sure": sure.tolist(), "right": short.tolist()}) == pytest.approx(0.1, abs=0.01)
    assert error({"sure": [], "right": []}) == 0.0


def test_labels_are_split_in_two_and_three_texts_of_each_drawn(module: Any) -> None:
    runs = module("self_tuning_runs")
    rng = np.random.default_rng(0)
    labels = [name for name in ("a", "b", "oos") for _ in range(20)]
    vectors = rng.standard_normal((60, 2)).astype(np.float32) * 0.1
    vectors[:, 0] += np.tile([1.0, -1.0], 30)
    data = runs.Vectored("some", "none", [str(i) for i in range(60)], labels, vectors)
    split = runs.split_in_two(data, "oos")
    assert split.classes == ["a 1", "a 2", "b 1", "b 2"]
    assert all((split.labels[i] == split.labels[0]) == (split.vectors[i, 0] > 0) for i in range(20))
    rows = runs.few_texts(split.labels, 5)
    assert sorted(split.labels[row] for row in rows) == sorted(split.classes * 3)
    assert rows.tolist() == runs.few_texts(split.labels, 5).tolist() != runs.few_texts(split.labels, 6).tolist()


def test_values_are_the_ratio_of_the_two_measurements(
    quick: tuple[subprocess.CompletedProcess[str], Rows],
) -> None:
    for name, row in quick[1].items():
        ours, other, value = (float(row[key]) for key in ("ours", "other", "value"))
        if name == "import-modules":
            assert value == ours
        elif name.startswith("reproduce"):
            assert value == pytest.approx(ours / 60.0, rel=1e-4), name  # minutes
        elif name == "service-start":
            assert value == pytest.approx(ours - other, abs=1e-4), name  # seconds more
        elif row["sense"] == "at most" or name == "nnls-equal-decisions" or name.startswith("service"):
            assert value == pytest.approx(ours / other, rel=1e-4), name
        else:
            assert value == pytest.approx(other / ours, rel=1e-4), name


def test_decisions_equal_the_references(quick: tuple[subprocess.CompletedProcess[str], Rows]) -> None:
    rows = quick[1]
    assert float(rows["nnls-equal-decisions"]["value"]) == 1.0
    for name in REACH:
        if name.startswith("run-"):
            assert "; 12 of 12 decisions equal" in rows[name]["detail"]


def test_import_askless_loads_nothing_heavy(quick: tuple[subprocess.CompletedProcess[str], Rows]) -> None:
    assert quick[1]["import-modules"]["detail"] == "loaded: none"


def test_rows_replace_those_of_their_name_and_keep_others(tmp_path: Path, module: Any) -> None:
    rows = module("rows")

    def row(name: str, value: float) -> Any:
        return rows.Row(name, "-", "-", value, "at most", 2.0, value, 1.0, "s", 3)

    path = tmp_path / "new" / "rows.csv"
    rows.save_rows(path, [row("a", 1.0), row("b", 1.5)])
    rows.save_rows(path, [row("a", 3.0), row("c", 2.0)])
    found = read(path)
    assert {name: (r["value"], r["reached"]) for name, r in found.items()} == {
        "a": ("3", "no"), "b": ("1.5", "yes"), "c": ("2", "yes"),
    }  # fmt: skip
    assert [p.name for p in path.parent.iterdir()] == ["rows.csv"]


def test_a_missed_bound_is_said_plainly(module: Any) -> None:
    rows = module("rows")
    missed = rows.Row("speed", "-", "-", 20.0, "at least", 30.0, 0.002, 0.04, "s", 3)
    assert missed.reached == "no"
    line = rows.table([missed]).splitlines()[2]
    assert " ".join(line.split()) == "speed - 20 at least 30 MISSED 2.000 ms 40.000 ms 3"


def test_a_foreign_file_is_refused_and_left_alone(
    tmp_path: Path, module: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("name,colour\nsky,blue\n")
    assert module("run").main(["--quick", "--only", "import", "--out", str(path)]) == 2
    assert "give another --out" in capsys.readouterr().err
    assert path.read_text() == "name,colour\nsky,blue\n"


def test_only_takes_names_and_beginnings(module: Any) -> None:
    choose = module("run").choose

    def names(*wanted: str) -> set[str]:
        return {name for benchmark in choose(wanted) for name in benchmark.names}

    assert names() == set(REACH)
    assert names("run-sphere-tau0") == {"run-sphere-tau0"}
    assert names("run-sphere") == {"run-sphere-tau0", "run-sphere-tau0.9"}
    assert names("import", "batch-256") == {"import-modules", "import-time", "batch-256"}
    with pytest.raises(Exception, match="No row's name begins with 'spheres'"):
        names("spheres")


# -- the data ---------------------------------------------------------------------------------------------


def test_clusters_have_the_sizes_and_cosines_they_should(module: Any) -> None:
    clusters = module("clusters")
    made = clusters.Clusters(clusters.Shape(labels=50, examples=400, dim=512))
    assert made.P.dtype == np.float32
    assert made.P.flags.c_contiguous
    assert set(made.y.tolist()) == set(range(50))
    assert np.linalg.norm(made.P, axis=1) == pytest.approx(1.0, abs=1e-5)
    cosines = made.P @ made.P.T
    same = (made.y[:, None] == made.y) & ~np.eye(400, dtype=bool)
    assert cosines[same].mean() == pytest.approx(0.8, abs=0.01)
    assert cosines[made.y[:, None] != made.y].mean() == pytest.approx(0.0, abs=0.01)


def test_half_of_the_queries_lie_between_two_clusters(module: Any) -> None:
    clusters = module("clusters")
    made = clusters.Clusters(clusters.Shape(labels=50, examples=400, dim=512))
    queries = made.queries(200)
    best = np.array([[(queries @ made.P[made.y == k].T).mean(axis=1)] for k in range(50)]).squeeze()
    runner_up = np.sort(best, axis=0)[-2]
    assert np.sum(runner_up < 0.15) == pytest.approx(100, abs=4)  # from one cluster
    assert np.sum(runner_up > 0.25) == pytest.approx(100, abs=6)  # between two (unless both are the same)


@pytest.mark.parametrize("kind", ["CROWDED", "CROWDED_LOW_RANK"])
def test_crowded_cosines_lie_between_07_and_09(kind: str, module: Any) -> None:
    clusters, decisions = module("clusters"), module("decisions")
    full = getattr(decisions, kind)
    made = clusters.Clusters(decisions.replace(full, labels=200, examples=1300))
    queries = made.queries(100)
    low, high = clusters.cosine_range(made.P, queries)
    assert 0.7 <= low < 0.75
    assert 0.85 < high <= 0.9
    both = np.concatenate([made.P, queries]).astype(np.float64)
    cosines = (made.P.astype(np.float64) @ both.T)[~np.eye(1300, 1400, dtype=bool)]
    assert (low, high) == pytest.approx((cosines.min(), cosines.max()), abs=1e-6)


# -- the other side ---------------------------------------------------------------------------------------


def brute_force(P: NDArray[Any], q: NDArray[Any], space: str) -> float:
    """The distance of q to the hull of a few rows, from the nearest point of every face."""
    least = np.inf
    for size in range(1, len(P) + 1):
        for face in itertools.combinations(range(len(P)), size):
            rows = P[list(face)]
            if space == "sphere":
                weights = np.linalg.lstsq(rows.T, q)[0]
                point = weights @ rows
                point = point / np.linalg.norm(point)
            else:
                edges = rows[1:] - rows[0]
                rest = np.linalg.lstsq(edges.T, q - rows[0])[0] if size > 1 else np.zeros(0)
                weights = np.append(1.0 - rest.sum(), rest)
                point = weights @ rows
            if (weights >= 0.0).all():
                least = min(least, float(np.linalg.norm(q - point)))
    if not np.isfinite(least):  # the projection onto the cone is zero
        least = float(np.linalg.norm(P - q, axis=1).min())
    return least


@pytest.mark.parametrize("space", ["sphere", "euclidean"])
def test_distances_by_scipy_are_exact(space: str, module: Any) -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        X = rng.standard_normal((12, 5))
        q = rng.standard_normal(5)
        if space == "sphere":
            X, q = X / np.linalg.norm(X, axis=1, keepdims=True), q / np.linalg.norm(q)
        y = np.repeat([0, 1, 2], 4)
        found = module("reference").LabelByLabel(X, y, space).distances(q)
        expected = [brute_force(X[y == k], q, space) for k in range(3)]
        assert found == pytest.approx(expected, abs=1e-9)


def test_intervals_hold_the_distance_even_for_weights_that_are_wrong(module: Any) -> None:
    reference = module("reference")
    rng = np.random.default_rng(4)
    for trial in range(60):
        P = reference.as_held(np.ones(6) + rng.standard_normal((4, 6)))
        q = reference.as_held(np.ones((1, 6)) + rng.standard_normal((1, 6)))[0]
        truth = brute_force(P, q, "sphere")
        weights = reference.nnls(P.T.copy(), q)[0] + (trial % 3) * 0.1 * rng.random(4)
        low, high = reference.interval(P.T, reference._least_norm(P), q, weights)
        assert low <= truth + 1e-12
        assert truth <= high + 1e-12
        if trial % 3 == 0:
            assert high - low < 1e-6


def test_the_reference_decides_by_exact_distances_and_says_when_it_cannot(module: Any) -> None:
    reference = module("reference")
    rng = np.random.default_rng(5)
    X = reference.as_held(rng.standard_normal((12, 20)))
    y = np.repeat([7, 8, 9], 4)
    cones = reference.CertifiedCones(X, y)
    guessed = 0
    for q in reference.as_held(rng.standard_normal((60, 20))):
        d = np.array([brute_force(X[y == k], q, "sphere") for k in (7, 8, 9)])
        nearest, second = np.sort(d)[:2]
        expected = int(d.argmin()) + 7 if nearest <= 0.9 * second else None
        assert cones.decide(q, 0.9) == reference.Verdict(expected)
        assert not cones.decide(q, nearest / second).certain
        guessed += expected is not None
    assert 10 < guessed < 50
    assert not reference.Verdict(None, certain=False).agrees(None)


def test_extrapolation_sums_a_quadratic(module: Any) -> None:
    def cost(t: Any) -> Any:
        return 1e-3 + 2e-6 * t + 3e-9 * t * t

    places = (500, 2000, 4500)
    found = module("whole_runs").extrapolated(places, [cost(t) for t in places], 5000)
    assert found == pytest.approx(sum(cost(t) for t in range(5000)), rel=1e-9)
    assert module("whole_runs").extrapolated((1, 2, 3), (-1.0, -1.0, -1.0), 10) == 0.0


def test_both_sides_are_timed_on_every_item_in_turn(module: Any) -> None:
    calls: list[tuple[str, int]] = []
    module("timing").interleaved(
        [0, 1, 2], lambda i: calls.append(("ours", i)), lambda i: calls.append(("other", i)), 1
    )
    assert calls == [("other", 0), ("ours", 0), ("ours", 1), ("other", 1), ("other", 2), ("ours", 2)]
