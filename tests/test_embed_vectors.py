"""Vectors as they are: from arrays and from files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from askless.embed.named import make_embedder
from askless.embed.vectors import Vectors
from askless.errors import InvalidInput, UnreadableFile
from askless.types import Embedder

TEXTS = ["one", "two 🦄", "", "zero", "nan"]
ROWS = [[3.0, 4.0], [0.0, -2.0], [1.0, 0.0], [0.0, 0.0], [np.nan, 1.0]]
UNIT = np.array([[0.6, 0.8], [0.0, -1.0], [1.0, 0.0], [np.nan] * 2, [np.nan] * 2], dtype=np.float32)


def write(folder, ending, texts="text", vectors="vector"):
    path = folder / f"questions{ending}"
    if ending == ".jsonl":
        lines = (json.dumps({texts: t, vectors: v, "other": 1}) for t, v in zip(TEXTS, ROWS, strict=True))
        path.write_text("\n".join(lines).replace("NaN", "null"), encoding="utf-8")
    elif ending == ".parquet":
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
        pandas.DataFrame({texts: TEXTS, vectors: ROWS}).to_parquet(path)
    elif ending == ".npz":
        np.savez(path, **{texts: np.array(TEXTS), vectors: np.array(ROWS)})
    else:
        np.save(path, np.array(ROWS))
    return path


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".npz", ".npy"])
def test_every_kind_of_file_gives_the_vectors_over_their_norm(tmp_path, ending):
    path = write(tmp_path, ending)
    embedder = make_embedder(f"vectors:{path}", texts=TEXTS if ending == ".npy" else None)
    assert isinstance(embedder, Embedder)
    rows = embedder.embed(["zero", *reversed(TEXTS)])
    assert rows.dtype == np.float32
    assert np.allclose(rows, UNIT[[3, 4, 3, 2, 1, 0]], equal_nan=True)
    assert embedder.dim == 2
    assert embedder.id.startswith(f"vectors/questions{ending}@")


@pytest.mark.parametrize(("texts", "vectors"), [("text", "embedding"), ("texts", "vectors"), ("text", "embeddings")])
def test_columns_by_their_usual_names(tmp_path, texts, vectors):
    for ending in (".jsonl", ".npz"):
        assert np.allclose(Vectors.read(write(tmp_path, ending, texts, vectors)).embed(["one"]), UNIT[:1])


def test_a_row_of_null_has_no_direction(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"text": "a", "vector": null}\n{"text": "b", "vector": [0, 2]}\n', encoding="utf-8")
    assert np.allclose(Vectors.read(path).embed(["a", "b"]), [[np.nan] * 2, [0, 1]], equal_nan=True)


def test_texts_that_look_like_numbers_or_dates_stay_texts(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"text": "007", "vector": [1]}\n{"text": "2024-01-01", "vector": [-1]}\n', encoding="utf-8")
    assert Vectors.read(path).embed(["2024-01-01", "007"]).tolist() == [[-1.0], [1.0]]
    path.write_text('{"text": 7, "vector": [1]}\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"Expected texts; found 7"):
        Vectors.read(path)
    path.write_text("[1, 2]\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="one object a line"):
        Vectors.read(path)


def test_the_id_follows_the_content():
    ids = [
        Vectors(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "f").id,
        Vectors(["a", "b"], [[1.0, 0.0], [1.0, 1.0]], "f").id,
        Vectors(["a", "c"], [[1.0, 0.0], [0.0, 1.0]], "f").id,
        Vectors(["a", "b"], [[2.0, 0.0], [0.0, 1.0]], "f").id,
    ]
    assert ids[0] == ids[3]  # the same directions
    assert len(set(ids)) == 3


def test_equal_texts_need_equal_vectors():
    assert Vectors(["a", "a"], [[3.0, 4.0], [3.0001, 4.0]]).embed(["a"]).shape == (1, 2)
    with pytest.raises(InvalidInput, match=r"'a' two different vectors, in rows 0 and 2"):
        Vectors(["a", "b", "a"], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def test_a_text_without_a_vector_is_an_error_that_names_it():
    with pytest.raises(InvalidInput, match=r"no vector for 2 of 3 texts, such as 'new'"):
        Vectors(["a"], [[1.0]]).embed(["a", "new", "newer"])


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        ([[1.0], [1.0, 2.0]], "all of one length"),
        ([["x"], ["y"]], "list of numbers"),
        ([1.0, 2.0], "shape"),
        ([[], []], "shape"),
        ([[1.0]], "1 vectors for 2 texts"),
    ],
)
def test_what_is_no_matrix_is_refused(vectors, says):
    with pytest.raises(InvalidInput, match=says):
        Vectors(["a", "b"], vectors)


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(InvalidInput, match=r"read from \.jsonl, .* found 'q\.csv'"):
        make_embedder(f"vectors:{tmp_path}/q.csv")
    with pytest.raises(UnreadableFile, match=r"Cannot read .*q\.npz"):
        make_embedder(f"vectors:{tmp_path}/q.npz")
    for ending in (".npz", ".npy", ".jsonl", ".parquet"):
        broken = tmp_path / f"broken{ending}"
        broken.write_bytes(b"\x93 nothing of the kind {")
        with pytest.raises(UnreadableFile, match=f"broken{ending}"):
            Vectors.read(broken, ["a"])
    np.savez(tmp_path / "half.npz", vectors=np.ones((2, 2)))
    with pytest.raises(InvalidInput, match="named text or texts; found none"):
        Vectors.read(tmp_path / "half.npz")
    with pytest.raises(InvalidInput, match=r"without their texts.*numpy\.savez"):
        make_embedder(f"vectors:{write(tmp_path, '.npy')}")
    with pytest.raises(InvalidInput, match="5 vectors for 2 texts"):
        make_embedder(f"vectors:{tmp_path / 'questions.npy'}", texts=["a", "b"])


def test_a_pickle_is_never_opened(tmp_path):
    np.savez(tmp_path / "p.npz", texts=np.array(["a"], dtype=object), vectors=np.ones((1, 2)))
    with pytest.raises(UnreadableFile, match=r"p\.npz"):
        Vectors.read(tmp_path / "p.npz")
