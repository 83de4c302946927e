"""Many texts at once: blocks, duplicates, progress, memory; and the rows that every embedder must give."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from askless.embed.cache import CachedEmbedder, EmbeddingCache
from askless.embed.rows import excerpt, unit_rows
from askless.embed.run import embed_texts
from askless.embed.wordllama import WordLlama
from askless.errors import InvalidInput


class Lengths:
    """A text's direction is (its length, 1), over the norm; an empty text has none."""

    id, dim = "lengths/1", 2

    def __init__(self):
        self.blocks = []

    def embed(self, texts):
        self.blocks.append(list(texts))
        return unit_rows([[len(t), 1.0] if t else [0.0, 0.0] for t in texts])


class Nameless:
    dim = 2

    def embed(self, texts):
        return np.ones((len(texts), 2))


class Wrapped:
    """An embedder that passes everything on to another."""

    def __init__(self, inside):
        self._inside = inside

    def __getattr__(self, name):
        return getattr(self._inside, name)


def test_what_is_no_embedder_is_refused(tmp_path):
    for wrong, lacks in (
        (Nameless(), "a Nameless, which lacks id"),
        ("wordllama", "a str, which lacks id, dim, embed"),
    ):
        with pytest.raises(InvalidInput, match=lacks):
            embed_texts(wrong, ["a"])
        with pytest.raises(InvalidInput, match=lacks):
            CachedEmbedder(wrong, EmbeddingCache(tmp_path))
    assert embed_texts(Wrapped(Lengths()), ["a"]).shape == (1, 2)


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 100])
def test_blocks_give_what_one_call_gives_and_each_text_goes_once(batch):
    texts = ["b", "aa", "", "b", "ccc", "aa", "dddd", "", "b", "eeeee", "ffffff"]
    embedder, shown = Lengths(), []
    rows = embed_texts(embedder, texts, progress=lambda done, total: shown.append((done, total)), batch=batch)
    assert np.array_equal(rows, Lengths().embed(texts), equal_nan=True)
    assert [text for block in embedder.blocks for text in block] == list(dict.fromkeys(texts))
    assert max(map(len, embedder.blocks)) <= batch
    assert shown[-1] == (11, 11)
    assert [total for _, total in shown] == [11] * len(embedder.blocks)
    assert sorted(set(shown)) == shown


def test_no_texts_and_any_iterable():
    assert embed_texts(Lengths(), []).shape == (0, 2)
    assert embed_texts(Lengths(), (text for text in ("a", "b"))).shape == (2, 2)


def test_real_texts_of_every_kind():
    texts = [
        "",
        " \n",
        "🦄",
        "a 🦄",
        "مرحبا بالعالم",
        "\ud800",
        "a\ud800",
        "\x00",
        "parcel " * 150_000,
        "hello",
        "hello",
    ]
    embedder = WordLlama(64)
    rows = embed_texts(embedder, texts, batch=4)
    assert np.array_equal(rows, embedder.embed(texts), equal_nan=True)
    assert np.isnan(rows).all(axis=1).tolist() == [t in ("", " \n", "🦄", "\ud800", "\x00") for t in texts]


def test_rows_that_are_not_of_norm_1_are_brought_to_it():
    class Long(Lengths):
        def embed(self, texts):
            return [[3.0 * len(t), 4.0 * len(t)] for t in texts]

    assert np.allclose(embed_texts(Long(), ["a", "", "bb"]), [[0.6, 0.8], [np.nan, np.nan], [0.6, 0.8]], equal_nan=True)


@pytest.mark.parametrize("shape", [(1, 2), (2, 3), (2,), (2, 2, 1)])
def test_an_embedder_that_gives_another_shape_is_refused(shape):
    class Wrong(Lengths):
        def embed(self, texts):
            return np.ones(shape, dtype=np.float32)

    with pytest.raises(InvalidInput, match=r"lengths/1 gave an array of shape .* expected \(2, 2\)"):
        embed_texts(Wrong(), ["a", "b"])


@pytest.mark.parametrize("texts", ["hello", ["hello", 3], [None]])
def test_what_is_no_text_is_refused(texts):
    with pytest.raises(InvalidInput, match="texts"):
        embed_texts(Lengths(), texts)


@pytest.mark.parametrize("batch", [0, -1, 2.5, None])
def test_a_batch_that_is_no_count_is_refused(batch):
    with pytest.raises(InvalidInput, match="at least 1"):
        embed_texts(Lengths(), ["a"], batch=batch)


def test_memory_beyond_the_result_does_not_grow_with_the_vectors():
    class Wide:
        id, dim = "wide/1", 500

        def embed(self, texts):
            return np.full((len(texts), 500), 500**-0.5, dtype=np.float32)

    texts = [str(n) for n in range(20_000)]
    tracemalloc.start()
    rows = embed_texts(Wide(), texts, batch=256)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.nbytes == 40_000_000
    assert peak < rows.nbytes + 12_000_000  # a second copy would be 40 MB


# -- rows ---------------------------------------------------------------------------------------------------


def test_unit_rows_keeps_unit_rows_to_the_last_bit():
    rows = np.random.default_rng(0).normal(size=(200, 50))
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    assert np.array_equal(unit_rows(unit), unit)
    assert np.allclose(unit_rows(rows), unit, atol=1e-7)


def test_unit_rows_at_the_ends_of_the_range():
    rows = unit_rows([[3e300, 4e300], [3e-310, 4e-310], [0, 0], [np.inf, 1], [1, np.nan], [3, 4]])
    good = [0.6, 0.8]
    bad = [np.nan, np.nan]
    assert np.allclose(rows, [good, good, bad, bad, bad, good], equal_nan=True)
    assert rows.dtype == np.float32
    assert unit_rows(np.empty((0, 3))).shape == (0, 3)


def test_an_excerpt_is_one_short_line():
    assert excerpt("one\n two") == "'one two'"
    assert len(excerpt("word " * 1000)) < 60
    assert excerpt("\ud800") == "''"


def test_importing_askless_and_naming_embedders_loads_nothing_heavy():
    code = """
import sys
import askless, askless.embed.named, askless.embed.cache, askless.embed.run, askless.cli.progress
heavy = {"numba", "scipy", "matplotlib", "pandas", "sklearn", "rich", "typer", "torch", "openai", "wordllama"}
heavy |= {"sentence_transformers", "transformers", "platformdirs"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
