"""The paper's tables on a labelled file of the user's: texts or vectors, one example of each label given first."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from askless.cli.main import app
from askless.errors import InvalidInput, UnreadableFile
from askless.reproduce.file_tables import file_cells, fill
from askless.reproduce.jobs import FileStream, Job, run_job
from askless.reproduce.labelled import labelled, read_labelled

SAMPLE = str(files("askless.datasets") / "support_questions.csv")
THRESHOLDS = (0, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    centres = rng.standard_normal((6, 8))
    names = np.repeat(list("abcdef"), [40, 25, 12, 6, 2, 1])
    X = centres[["abcdef".index(name) for name in names]]
    return labelled(X + 0.4 * rng.standard_normal(X.shape), names)


def test_vectors_are_brought_to_norm_one_and_named_by_their_contents(data):
    assert np.linalg.norm(data.vectors, axis=1) == pytest.approx(1.0)
    assert (data.n_labels, data.rounds) == (6, 80)
    same = labelled(3.0 * data.vectors, data.labels)
    assert np.allclose(same.vectors, data.vectors)
    assert labelled(data.vectors[::-1], data.labels[::-1]).digest != data.digest


@pytest.mark.parametrize("rounds", [None, 30])
def test_each_run_has_an_order_of_its_own_and_all_labels(data, rounds):
    streams = [FileStream(data.digest, "sphere", run, rounds).make(data) for run in (0, 1, 0)]
    first, second, again = (stream.X.tolist() for stream in streams)
    assert first == again
    assert first != second
    for stream in streams:
        assert set(stream.y.tolist()) == set(range(6))
        assert len(stream.X) == 6 + (80 if rounds is None else 30)
        assert len(np.unique(stream.X, axis=0)) == len(stream.X)


def test_a_job_gives_one_example_of_each_label_first(data):
    job = Job("ghc-nearest:1", FileStream(data.digest, "sphere", 0))
    row = run_job(job, job.key(), data)
    assert row["rounds_played"] == 80
    assert row["all_calls"] == 0  # with every label known, a threshold of one never asks
    assert row["curve"][-1] == [80, row["regret"]] == [80, 11.0 * row["mistakes"]]
    with pytest.raises(InvalidInput, match="was not sent with it"):
        run_job(job, job.key())


def test_the_tables_have_the_papers_columns():
    qqg = file_cells("qqg")
    assert len(qqg) == 30
    assert [cell.column for cell in qqg[:10]] == [
        f"tau={tau:g}" for tau in (0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1)
    ]
    assert {(cell.line, cell.policies[0].split(":")[0], cell.space) for cell in qqg} == {
        ("nearest-query", "ghc-nearest", "sphere"),
        ("spherical hull", "ghc", "sphere"),
        ("euclidean hull", "ghc", "euclidean"),
    }
    assert qqg[7].paper == {"E5": 1062, "Nomic": 1239, "Mistral_E5": 921}
    assert [cell.policies for cell in file_cells("qqg-baselines")] == [
        *((f"cc:{c}",) for c in ("0", "0.01", "0.025", "0.05", "0.1")),
        ("skm",),
    ]
    nearest, center, kmeans, perceptron = file_cells("qqg-algorithms")
    assert nearest.policies == tuple(f"ghc-nearest:{tau:g}" for tau in THRESHOLDS)
    assert center.policies == ("cc:0",)
    assert kmeans.policies == ("skm",)
    assert sorted(float(name[4:]) for name in perceptron.policies) == sorted((*THRESHOLDS, 0.92, 0.94, 0.96, 0.98))


def test_a_cell_is_the_best_policy_over_the_runs(data):
    nearest = file_cells("qqg-algorithms")[0]
    rows = {job.key(): run_job(job, job.key(), data) for job in nearest.jobs(data, None, 2)}
    frame = pd.DataFrame(rows.values())
    means = frame.groupby("policy")["regret"].mean()
    found = fill(nearest, rows, data, None, 2)
    assert found.regret.mean == means.min()
    assert means[found.policy] == means.min()
    assert found.calls.mean == frame[frame["policy"] == found.policy]["all_calls"].mean()
    assert found.curve[-1] == (80.0, means.min())


def test_a_table_of_a_file_of_texts(tmp_path):
    where = ["--file", SAMPLE, "--text", "text", "--label", "label", "--out", str(tmp_path)]
    arguments = ["reproduce", "table", "qqg-algorithms", *where, "--seeds", "1", "--rounds", "150"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "best at" in result.output
    cells = json.loads((tmp_path / "qqg-algorithms" / "cells.json").read_text())
    regrets = {cell["column"]: cell["regret"] for cell in cells}
    assert regrets["nearest-query GHC"] < min(regrets["SKM"], 2 * 150)
    page = (tmp_path / "qqg-algorithms" / "report.html").read_text(encoding="utf-8")
    assert "863 rows, 33 labels, 1 run of 150 rounds" in page
    assert "Regret against the round" in page
    assert "E5 1,062" in page


def write(path, data):
    names = np.array(list("abcdef"))[data.labels]
    if path.suffix == ".npz":
        np.savez(path, X=data.vectors, y=names)
    else:
        np.save(path, data.vectors)
        np.save(path.with_name("labels.npy"), names)
        path.with_name("labels.txt").write_text("\n".join(names) + "\n")
    return path


def test_vectors_are_read_from_numpys_files(tmp_path, data):
    archive, array = write(tmp_path / "all.npz", data), write(tmp_path / "X.npy", data)
    found = [
        read_labelled(archive),
        read_labelled(array, label=str(tmp_path / "labels.npy")),
        read_labelled(array, label=str(tmp_path / "labels.txt")),
    ]
    assert len({one.digest for one in found}) == 1
    assert found[0].labels.tolist() == data.labels.tolist()
    assert np.allclose(found[0].vectors, data.vectors)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_texts_are_read_from_tables(tmp_path, suffix):
    frame = pd.DataFrame({"q": ["block my card", "hello, you", "card lost", "good day"], "group": [1, 2, 1, 2]})
    path = tmp_path / f"t{suffix}"
    if suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, sep="," if suffix == ".csv" else "\t", index=False)
    found = read_labelled(path, text="q", label="group")
    assert (found.labels.tolist(), found.vectors.shape) == ([0, 1, 0, 1], (4, 256))


@pytest.mark.parametrize(
    ("name", "contents", "options", "words"),
    [
        ("a.csv", b"q,g\nhello,1\n", {}, "--text and --label"),
        ("a.csv", b"q,g\nhello,1\n", {"text": "x", "label": "g"}, "no column 'x'; its columns are q, g"),
        ("a.csv", b"q,g\nhello,\n", {"text": "q", "label": "g"}, "Row 1 of a.csv has no label"),
        ("a.csv", b"q,g\nhello,1\nyou,1\n", {"text": "q", "label": "g"}, "1 labels on 2 rows"),
        ("a.csv", b"q,g\nhello,1\nyou,2\n", {"text": "q", "label": "g"}, "2 labels on 2 rows"),
        ("a.csv", b"q,g\nhello,1\n,2\nyou,1\n", {"text": "q", "label": "g"}, "Row 2 of a.csv has no text"),
        ("a.csv", b"q,g\nhello,1\n ,2\nyou,1\n", {"text": "q", "label": "g"}, "knows no word of the text ' ' in row 2"),
        (
            "a.jsonl",
            b'{"q":"hello","g":"a"}\n{"q":"you","g":null}',
            {"text": "q", "label": "g"},
            "Row 2 .* has no label",
        ),
        ("a.csv", b"", {"text": "q", "label": "g"}, "a.csv is empty"),
        ("a.jsonl", b"{", {"text": "q", "label": "g"}, "Cannot read"),
        ("a.npz", b"no archive", {}, "Cannot read"),
        ("a.npy", b"no array", {}, "Cannot read"),
        ("a.doc", b"", {}, r"Expected a \.csv"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path, name, contents, options, words):
    (tmp_path / name).write_bytes(contents)
    with pytest.raises((InvalidInput, UnreadableFile), match=words):
        read_labelled(tmp_path / name, **options)


def test_bad_arrays_are_one_sentence(tmp_path, data):
    with pytest.raises(InvalidInput, match="has no array 'Y'; it has X, y"):
        read_labelled(write(tmp_path / "a.npz", data), label="Y")
    with pytest.raises(InvalidInput, match="name the file of their labels"):
        read_labelled(write(tmp_path / "X.npy", data))
    with pytest.raises(UnreadableFile, match="Cannot read"):
        read_labelled(tmp_path / "absent.npz")
    with pytest.raises(InvalidInput, match="zero vector"):
        labelled([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [1, 2, 1])
    with pytest.raises(InvalidInput, match="give one a row"):
        labelled([[1.0, 0.0], [0.0, 1.0]], [1, 2, 1])
