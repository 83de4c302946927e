"""The default embedder: unit rows, NaN rows, no network, no side effects."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from askless.embed.wordllama import WordLlama
from askless.errors import InvalidInput
from askless.types import Embedder

VERSION = version("wordllama")
TEXTS = ["Where is my parcel?", "hello", "日本語", "a 🦄 in the garden", "?!", "x" * 500, "one\ntwo\tthree"]


@pytest.fixture(scope="module")
def embedder():
    return WordLlama()


def test_it_is_an_embedder(embedder):
    assert isinstance(embedder, Embedder)
    assert embedder.id == f"wordllama/l2_supercat_256@{VERSION}"
    assert embedder.dim == 256


def test_rows_are_unit_float32(embedder):
    rows = embedder.embed(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), 256)
    assert np.allclose(np.linalg.norm(rows.astype(np.float64), axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("text", ["", " ", "\n\t  \n", "🦄", "🦄🍕", "\x00", "\ud800", "ⵣⵣ", "<s></s>"])
def test_a_text_without_a_known_token_has_no_direction(embedder, text):
    rows = embedder.embed(["hello", text])
    assert np.isnan(rows[1]).all()
    assert np.isfinite(rows[0]).all()
    assert np.isnan(embedder.embed([text])).all()


def test_rows_agree_with_the_librarys_own_pooling(embedder):
    import wordllama

    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    assert np.allclose(embedder.embed(TEXTS), model.embed(TEXTS, norm=True), atol=1e-5)


def test_a_row_does_not_depend_on_its_company(embedder):
    together = embedder.embed(TEXTS)
    alone = np.vstack([embedder.embed([text]) for text in TEXTS])
    assert np.array_equal(together, alone)
    assert np.array_equal(embedder.embed(["hello"] * 1500), np.repeat(embedder.embed(["hello"]), 1500, axis=0))


def test_short_and_long_texts_together_are_the_sums_of_their_tokens(embedder):
    words = ["refund,", "parcel;", "🦄", "garden!", "password", "card", "lost", "abroad"]
    sizes = [0, 300, 1, 63, 64, 65, 0, 2, 40000, 17, 64]
    texts = [" ".join(words[(k + n) % len(words)] for n in range(size)) for k, size in enumerate(sizes)] + ["🦄", "a"]
    for text, row in zip(texts, embedder.embed(texts), strict=True):
        tokens = embedder._tokenizer.encode(text, add_special_tokens=False).ids
        if not any(embedder._known[token] for token in tokens):
            assert np.isnan(row).all()
        elif len(tokens) < 1000:
            total = np.zeros(256)
            for token in tokens:
                total += embedder._vectors[token]
            assert np.array_equal(row, (total / np.sqrt(total @ total)).astype(np.float32))
        else:  # in blocks
            total = embedder._vectors[tokens].sum(axis=0, dtype=np.float64)
            assert np.allclose(row, total / np.sqrt(total @ total), atol=1e-7)


def test_smaller_dimensions_are_the_first_columns(embedder):
    small = WordLlama(64)
    assert (small.id, small.dim) == (f"wordllama/l2_supercat_64@{VERSION}", 64)
    cut = embedder.embed(TEXTS)[:, :64]
    assert np.allclose(small.embed(TEXTS), cut / np.linalg.norm(cut, axis=1, keepdims=True), atol=1e-5)


def test_a_paraphrase_is_nearer_than_another_matter(embedder):
    query, same, other = embedder.embed(
        ["where is my parcel", "when will my parcel arrive", "how do I change my password"]
    )
    assert query @ same > query @ other + 0.2


def test_no_texts_give_no_rows(embedder):
    assert embedder.embed([]).shape == (0, 256)
    assert embedder.embed(("hello",)).shape == (1, 256)


def test_a_very_long_text_is_pooled(embedder):
    long, short = embedder.embed(["parcel order " * 40_000, "parcel order"])
    assert long @ short > 0.99


@pytest.mark.parametrize("texts", ["hello", ["hello", 3], ["hello", None]])
def test_what_is_no_text_is_refused(embedder, texts):
    with pytest.raises(InvalidInput, match="texts"):
        embedder.embed(texts)


def test_an_unknown_dimension_is_refused():
    with pytest.raises(InvalidInput, match="dim=100"):
        WordLlama(100)


def test_loading_needs_no_network_no_home_and_leaves_the_root_logger_alone(tmp_path):
    code = """
import logging, socket, warnings
warnings.simplefilter("error")
def refuse(*args, **kwargs):
    raise AssertionError("the network was used")
socket.socket.connect = socket.getaddrinfo = refuse
from askless.embed.wordllama import WordLlama
assert "wordllama" not in __import__("sys").modules
assert WordLlama().embed(["hello"]).shape == (1, 256)
root = logging.getLogger()
assert (root.level, root.handlers) == (logging.WARNING, []), (root.level, root.handlers)
"""
    environment = {"HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
