"""The cache: nothing is embedded twice, nothing is lost or mixed, and nothing that happens to its file is fatal."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from askless.embed import cache_file
from askless.embed.cache import CachedEmbedder, CacheUnusable, EmbeddingCache
from askless.embed.run import embed_texts
from askless.embed.vectors import Vectors
from askless.embed.wordllama import WordLlama
from askless.errors import InvalidInput
from askless.types import Embedder

HOST_OF_TEXTS = [
    "",
    " ",
    "🦄",
    "a 🦄",
    "مرحبا بالعالم",
    "\ud800",
    "a\ud800",
    "\x00",
    "a\x00",
    "a",
    "x" * 1_000_000,
    "a",
]


class Counting:
    """Gives each text a direction of its own, blank texts none, and counts what it is asked."""

    def __init__(self, name: str = "counting/1", dim: int = 6) -> None:
        self.id, self.dim, self.calls = name, dim, []

    def embed(self, texts):
        self.calls.extend(texts)
        rows = np.full((len(texts), self.dim), np.nan, dtype=np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                seed = int.from_bytes(text.encode("utf-8", "surrogatepass")[:8].rjust(8, b"\0"), "big") + len(text)
                vector = np.random.default_rng([seed, len(self.id)]).normal(size=self.dim)
                rows[row] = vector / np.linalg.norm(vector)
        return rows


def make(folder: Path, **options) -> tuple[Counting, CachedEmbedder]:
    inner = Counting(**options)
    return inner, CachedEmbedder(inner, EmbeddingCache(folder))


def test_a_cached_embedder_is_the_embedder_it_holds(tmp_path):
    inner, cached = make(tmp_path)
    assert isinstance(cached, Embedder)
    assert (cached.id, cached.dim) == (inner.id, inner.dim)
    assert np.array_equal(cached.embed(["one", "two"]), Counting().embed(["one", "two"]))


def test_a_second_run_embeds_nothing(tmp_path):
    texts = ["one", "two", "", "one", "three", "\n"]
    first, cached = make(tmp_path)
    rows = embed_texts(cached, texts)
    assert sorted(first.calls) == sorted(set(texts))
    cached.cache.close()

    second, cached = make(tmp_path)
    again = embed_texts(cached, texts)
    assert second.calls == []  # a text of no known token is not tried again either
    assert np.array_equal(again, rows, equal_nan=True)
    assert np.isnan(again[[2, 5]]).all()
    assert np.isfinite(again[[0, 1, 3, 4]]).all()
    third, cached = make(tmp_path)
    cached.embed(["one", "four"])
    assert third.calls == ["four"]


def test_a_text_of_no_known_token_is_never_stored_as_a_vector(tmp_path):
    _, cached = make(tmp_path)
    cached.embed(["", "one"])
    with sqlite3.connect(cached.cache.path) as connection:
        stored = [row[0] for row in connection.execute("SELECT vector FROM vector")]
    connection.close()
    assert sorted(stored, key=lambda v: v is not None)[0] is None
    assert [len(v) for v in stored if v is not None] == [6 * 4]


def test_another_version_never_meets_the_vectors_of_this_one(tmp_path):
    _, old = make(tmp_path, name="model@1")
    new_inner, new = make(tmp_path, name="model@12")
    a, b = old.embed(["one"]), new.embed(["one"])
    assert new_inner.calls == ["one"]
    assert not np.allclose(a, b)
    assert np.array_equal(old.embed(["one"]), a)


def test_texts_of_every_kind_keep_their_vectors(tmp_path):
    _, cached = make(tmp_path)
    expected = Counting().embed(HOST_OF_TEXTS)
    assert np.array_equal(cached.embed(HOST_OF_TEXTS), expected, equal_nan=True)
    again, cached = make(tmp_path)
    assert np.array_equal(cached.embed(HOST_OF_TEXTS), expected, equal_nan=True)
    assert again.calls == []


def test_wordllama_through_the_cache_gives_the_same_bits(tmp_path):
    inner, texts = WordLlama(64), ["Where is my parcel?", "🦄", "hello"]
    for _ in range(2):
        with EmbeddingCache(tmp_path) as cache:
            assert np.array_equal(CachedEmbedder(inner, cache).embed(texts), inner.embed(texts), equal_nan=True)


def test_a_dimension_that_changed_under_the_same_id_is_refused(tmp_path):
    make(tmp_path)[1].embed(["one"])
    _, changed = make(tmp_path, dim=7)
    with pytest.raises(InvalidInput, match=r"7 dimensions, and the cache holds some of 6.*clear"):
        changed.embed(["one", "two"])
    changed.cache.clear("counting/1")
    assert CachedEmbedder(Counting(dim=7), changed.cache).embed(["one"]).shape == (1, 7)


def test_the_dimension_is_read_from_the_cache_where_it_can_be(tmp_path):
    make(tmp_path)[1].embed(["", "one"])

    class Remote(Counting):
        dim = property(lambda self: pytest.fail("the server was asked"), lambda self, value: None)

    cached = CachedEmbedder(Remote(), EmbeddingCache(tmp_path))
    assert embed_texts(cached, ["one", ""]).shape == (2, 6)


def test_an_embedder_that_gives_the_wrong_shape_is_refused_and_not_stored(tmp_path):
    inner, cached = make(tmp_path)
    inner.embed = lambda texts: np.ones((1, 6), dtype=np.float32)
    with pytest.raises(InvalidInput, match=r"shape \(1, 6\) for 2 texts"):
        cached.embed(["one", "two"])
    assert cached.cache.size().texts == {}


def test_vectors_that_are_in_a_file_already_are_not_copied(tmp_path):
    cached = CachedEmbedder(Vectors(["one"], [[3.0, 4.0]]), EmbeddingCache(tmp_path / "cache"))
    assert np.allclose(cached.embed(["one"]), [[0.6, 0.8]])
    assert not (tmp_path / "cache").exists()


# -- erasing, measuring, where it is ------------------------------------------------------------------------


def test_a_forgotten_text_leaves_no_trace_on_the_disk(tmp_path):
    _, first = make(tmp_path)
    _, second = make(tmp_path, name="other/1")
    secret = first.embed(["secret", "kept"])[0].tobytes()
    second.embed(["secret"])

    def on_disk() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm"))

    assert secret in on_disk()
    assert b"secret" not in on_disk()  # the text itself is never there
    assert first.cache.forget(["secret", "never seen"]) == 2  # one of each embedder
    assert secret not in on_disk()
    inner, again = make(tmp_path)
    again.embed(["secret", "kept"])
    assert inner.calls == ["secret"]


def test_an_erasure_whose_traces_are_held_by_a_reader_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_file, "_PATIENCE", 0.2)
    _, cached = make(tmp_path)
    cached.embed(["secret"])
    cached.cache._file.connection.execute("PRAGMA busy_timeout = 100")
    reader = sqlite3.connect(cached.cache.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM vector").fetchall()
    with pytest.raises(CacheUnusable, match="is erased, but traces stay in its log"):
        cached.cache.forget(["secret"])
    reader.execute("COMMIT")
    reader.close()
    assert cached.cache.forget(["secret"]) == 0


def test_size_and_clear(tmp_path):
    _, cached = make(tmp_path, dim=256)
    cached.embed([f"text {n}" for n in range(2000)])
    make(tmp_path, name="other/1")[1].embed(["one", ""])
    size = cached.cache.size()
    assert size.texts == {"counting/1": 2000, "other/1": 2}
    assert size.bytes > 2000 * 256 * 4
    assert cached.cache.clear("counting/1") == 2000
    assert cached.cache.size().texts == {"other/1": 2}
    assert cached.cache.size().bytes < 200_000
    assert cached.cache.clear() == 2


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.delenv("ASKLESS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    if sys.platform == "linux":
        assert EmbeddingCache().path == tmp_path / "home" / "askless" / "embeddings.sqlite"
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "named"))
    assert EmbeddingCache().folder == tmp_path / "named"
    assert EmbeddingCache(tmp_path / "given").folder == tmp_path / "given"
    assert list(tmp_path.iterdir()) == []  # nothing is made before it is needed
    EmbeddingCache().get("id", ["text"])
    assert (tmp_path / "named" / "embeddings.sqlite").stat().st_mode & 0o077 == 0
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="kept in a folder; found the file"):
        EmbeddingCache(tmp_path / "file")


# -- what happens to files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["not a database", "truncated", "pages", "schema"])
def test_a_damaged_file_is_moved_aside_with_a_note(tmp_path, caplog, damage):
    _, cached = make(tmp_path)
    cached.embed([f"text {n}" for n in range(3000)])
    cached.cache.close()
    path = cached.cache.path
    content = bytearray(path.read_bytes())
    if damage == "not a database":
        path.write_bytes(b"nothing of the kind" * 1000)
    elif damage == "truncated":
        path.write_bytes(content[: len(content) // 3])
    elif damage == "pages":
        path.write_bytes(content[:4096] + os.urandom(len(content) - 4096))
    else:
        path.write_bytes(content[:100] + os.urandom(3996) + content[4096:])
    inner, cached = make(tmp_path)
    texts = [f"text {n}" for n in range(0, 3000, 7)]
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(cached.embed(texts), Counting().embed(texts))
    assert inner.calls
    (aside,) = [p for p in tmp_path.iterdir() if ".damaged-" in p.name and not p.name.endswith(("-wal", "-shm"))]
    assert [record.getMessage() for record in caplog.records if "damaged" in record.getMessage()] == [
        m for m in [record.getMessage() for record in caplog.records] if str(aside) in m
    ]
    assert len(caplog.records) == 1
    after, cached = make(tmp_path)
    cached.embed(inner.calls)
    assert after.calls == []  # the new file works
    cached.cache.forget(["text 0"])
    assert not aside.exists()  # it may have held that text's vector


def test_a_cache_of_an_older_layout_is_moved_aside(tmp_path, caplog):
    _, cached = make(tmp_path)
    cached.embed(["one"])
    cached.cache.close()
    connection = sqlite3.connect(cached.cache.path)
    connection.execute("ALTER TABLE embedder DROP COLUMN width")
    connection.close()
    inner, cached = make(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(cached.embed(["one"]), Counting().embed(["one"]))
    assert inner.calls == ["one"]
    (said,) = [record.getMessage() for record in caplog.records]
    assert "its tables are those of an older askless" in said
    assert [path for path in tmp_path.iterdir() if ".damaged-" in path.name]
    after, cached = make(tmp_path)
    cached.embed(["one"])
    assert after.calls == []  # the new file works


def test_a_database_of_someone_else_is_left_alone(tmp_path, caplog):
    path = tmp_path / "embeddings.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
    connection.close()
    before = path.read_bytes()
    _, cached = make(tmp_path)
    for _ in range(2):
        assert np.isfinite(cached.embed(["one"])).all()
    assert path.read_bytes() == before
    assert ["not a cache of this version" in record.getMessage() for record in caplog.records] == [True]


def test_a_cache_and_a_ledger_tell_each_other_apart(tmp_path, caplog):
    from askless.ledger.schema import APPLICATION_ID

    inner, cached = make(tmp_path / "cache")
    cached.embed(["one"])
    cached.cache.close()
    path = cached.cache.path
    assert mark(path) != APPLICATION_ID
    # A cache of the first days, which had the ledger's mark, keeps its vectors and gets a mark of its own.
    mark(path, APPLICATION_ID)
    cached.embed(["one"])
    cached.cache.close()
    assert inner.calls == ["one"]
    assert mark(path) not in (0, APPLICATION_ID)
    assert not caplog.records
    # A ledger where the cache should be is left alone.
    connection = sqlite3.connect(path)
    connection.executescript(f"DROP TABLE vector; CREATE TABLE event (x); PRAGMA application_id = {APPLICATION_ID};")
    connection.close()
    before = path.read_bytes()
    assert np.isfinite(cached.embed(["one"])).all()
    assert path.read_bytes() == before
    assert ["not a cache of this version" in record.getMessage() for record in caplog.records] == [True]


def mark(path, new=None):
    """The application id of a database, set first where a new one is given."""
    connection = sqlite3.connect(path)
    try:
        if new is not None:
            connection.execute(f"PRAGMA application_id = {new}")
        return connection.execute("PRAGMA application_id").fetchone()[0]
    finally:
        connection.close()


@pytest.fixture
def open_folder():
    """A folder that other users may look into, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("kind", ["read-only", "file in the way"])
def test_a_folder_that_cannot_be_used_is_said_once_and_done_without(open_folder, kind):
    """In a process of its own, which gives up the rights of root where it has them."""
    if kind == "read-only":
        folder = open_folder / "cache"
        folder.mkdir(mode=0o555)
    else:
        open_folder.joinpath("way").touch()
        folder = open_folder / "way" / "cache"
    code = f"""
import os, sys
import numpy as np
from askless.embed.cache import CachedEmbedder, CacheUnusable, EmbeddingCache
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
class Inner:
    id, dim = "inner", 2
    def embed(self, texts):
        return np.tile(np.array([0.6, 0.8], dtype=np.float32), (len(texts), 1))
cached = CachedEmbedder(Inner(), EmbeddingCache({str(folder)!r}))
for n in range(3):
    assert np.allclose(cached.embed([str(n)]), [0.6, 0.8])
try:
    cached.cache.forget(["1"])
except CacheUnusable:
    print("not erased")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "not erased\n"), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be used" in done.stderr
    assert "ASKLESS_CACHE" in done.stderr


def test_a_full_disk_is_said_once_and_done_without(tmp_path, caplog):
    _, cached = make(tmp_path, dim=512)
    cached.embed(["one"])
    cached.cache._file.connection.execute("PRAGMA max_page_count = 1")
    texts = [f"text {n}" for n in range(2000)]
    for start in (0, 1000):
        block = texts[start : start + 1000]
        assert np.array_equal(cached.embed(block), Counting(dim=512).embed(block))
    assert ["disk is full" in record.getMessage() for record in caplog.records] == [True]


def test_an_erasure_that_cannot_be_done_is_an_error(tmp_path):
    (tmp_path / "embeddings.sqlite").mkdir()
    with pytest.raises(CacheUnusable, match="cannot be used"):
        EmbeddingCache(tmp_path).forget(["one"])


# -- several at once ----------------------------------------------------------------------------------------


def write_for_ever(folder: str, seed: int, count: int, ready) -> None:
    cached = CachedEmbedder(Counting(dim=64), EmbeddingCache(folder))
    order = np.random.default_rng(seed).permutation(count)
    for start in range(0, count, 25):
        cached.embed([f"text {n}" for n in order[start : start + 25]])
        ready.set()


def test_four_processes_at_once_one_of_them_killed(tmp_path):
    context = multiprocessing.get_context("spawn")
    count = 2000
    ready = [context.Event() for _ in range(4)]
    jobs = [context.Process(target=write_for_ever, args=(str(tmp_path), n, count, ready[n])) for n in range(4)]
    for job in jobs:
        job.start()
    assert ready[0].wait(60)
    os.kill(jobs[0].pid, signal.SIGKILL)
    for job in jobs:
        job.join(60)
    assert [job.exitcode for job in jobs] == [-signal.SIGKILL, 0, 0, 0]
    inner, cached = make(tmp_path, dim=64)
    texts = [f"text {n}" for n in range(count)]
    assert np.array_equal(cached.embed(texts), Counting(dim=64).embed(texts))
    assert inner.calls == []
    connection = sqlite3.connect(cached.cache.path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert [path.name for path in tmp_path.iterdir() if "damaged" in path.name] == []


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_cache_that_is_open_goes_through_a_fork(tmp_path):
    _, cached = make(tmp_path)
    cached.embed(["before"])

    def child() -> None:
        cached.embed(["in the child"])

    job = multiprocessing.get_context("fork").Process(target=child)
    job.start()
    job.join(30)
    assert job.exitcode == 0
    cached.embed(["after"])
    inner, again = make(tmp_path)
    again.embed(["before", "in the child", "after"])
    assert inner.calls == []


def test_threads_share_a_cache(tmp_path):
    _, cached = make(tmp_path)
    wrong: list[str] = []

    def work(seed: int) -> None:
        for n in np.random.default_rng(seed).permutation(200):
            if not np.array_equal(cached.embed([f"text {n}"]), Counting().embed([f"text {n}"])):
                wrong.append(f"text {n}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert cached.cache.size().texts == {"counting/1": 200}


def test_what_was_done_when_a_run_stopped_is_not_done_again(tmp_path):
    inner, cached = make(tmp_path)

    def stop(done: int, total: int) -> None:
        if done >= 60:
            raise KeyboardInterrupt

    texts = [f"text {n}" for n in range(100)]
    with pytest.raises(KeyboardInterrupt):
        embed_texts(cached, texts, progress=stop, batch=20)
    assert len(inner.calls) == 60
    later, cached = make(tmp_path)
    assert np.array_equal(embed_texts(cached, texts, batch=20), Counting().embed(texts))
    assert later.calls == texts[60:]


def test_a_second_run_over_many_texts_embeds_nothing(tmp_path):
    texts = [f"text {n}" for n in range(20_000)]
    embed_texts(make(tmp_path, dim=64)[1], texts)
    counting, cached = make(tmp_path, dim=64)
    embed_texts(cached, texts)
    assert not counting.calls
