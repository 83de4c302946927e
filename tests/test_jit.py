"""Where compiled kernels are kept, and how often a part is compiled."""

from __future__ import annotations

import copy
import os

import numba
import numpy as np
import pytest

from askless.geometry import jit
from askless.geometry.labels import LabelIndex
from askless.geometry.store import ExampleStore


@pytest.fixture
def fresh_folder(monkeypatch):
    """The folder is chosen anew, and forgotten afterwards."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    jit.cache_folder.cache_clear()
    yield
    jit.cache_folder.cache_clear()


def test_kernels_go_to_the_users_cache_where_the_package_cannot_be_written(tmp_path, monkeypatch, fresh_folder):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)  # as in a system-wide installation; root may write anywhere

    @jit.kernel
    def twice(x):
        return 2.0 * x

    assert twice(2.0) == 4.0
    kept = list((tmp_path / "askless").rglob("*.nbi"))
    assert len(kept) == 1
    assert kept[0].is_relative_to(jit.cache_folder())


def test_compiling_is_told_once_and_loading_is_not(tmp_path, monkeypatch, fresh_folder, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)
    jit._teller.cache_clear()  # another test of this process may have had something compiled

    def called():
        def twice(x):
            return 2.0 * x

        kernel = jit.kernel(twice)
        with jit.told_of_compiling():
            assert (kernel(2.0), kernel(1.0 + 2.0j)) == (4.0, 2.0 + 4.0j)
        return capsys.readouterr().err

    first = called()
    assert "compiling" in first
    assert first.count("\n") == 1
    assert called() == ""  # the same function again, from the cache


def test_a_changed_source_of_any_kernel_has_a_folder_of_its_own(tmp_path, monkeypatch, fresh_folder):
    sources = [tmp_path / "geometry" / "jit.py", tmp_path / "policies" / "some_kernels.py"]
    for source in sources:
        source.parent.mkdir()
        source.write_text("one")
    monkeypatch.setattr(jit, "__file__", str(sources[0]))
    folders = [jit.cache_folder()]
    for source in sources:
        source.write_text("two")
        jit.cache_folder.cache_clear()
        folders.append(jit.cache_folder())
    assert len(set(folders)) == 3


def test_kernels_stay_beside_a_package_that_can_be_written(fresh_folder):
    assert "__pycache__" in jit.cache_folder()


def test_a_part_is_compiled_once_for_all_integers_and_constants():
    @jit.part(allocates=True)
    def shifted(x, k):
        return x + k

    @jit.kernel
    def caller(x, small, flag):
        return shifted(x, 0) + shifted(x, -1) + shifted(x, small) + shifted(x, x.shape[0])

    assert caller(np.ones(2), np.int32(3), True).tolist() == [8.0, 8.0]
    assert len(shifted.signatures) == 1


def test_borrowed_arrays_are_the_callers_own():
    @jit.kernel
    def fill(held):
        borrowed = jit_borrow(held)
        borrowed[0][1] = 7.0
        own = np.full(3, 5.0)
        mine = jit_borrow((own, own))
        total = mine[0].sum() + mine[1].sum()
        jit_hold(own)
        return total

    arrays = (np.zeros(3), np.zeros((2, 2), np.float32))
    assert fill(arrays) == 30.0
    assert arrays[0].tolist() == [0.0, 7.0, 0.0]


jit_borrow, jit_hold = jit.borrow, jit.hold


def test_a_copy_of_an_index_has_arrays_of_its_own() -> None:
    """The kernels find the arrays by their addresses, which a copy must not share."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    index = LabelIndex("euclidean", 6, np.dtype(np.float64))
    for k, x in enumerate(X[:40]):
        index.append(x, k % 2)
    found = index.settle(X[70], index.scan(X[70]), 0.9, 1e-9, True, True)
    twin = copy.deepcopy(index)
    for k, x in enumerate(X[40:70]):
        twin.append(x, k % 2)
    assert index.settle(X[70], index.scan(X[70]), 0.9, 1e-9, True, True) == found
    for k, x in enumerate(X[40:70]):
        index.append(x, k % 2)
    assert twin.settle(X[71], twin.scan(X[71]), 0.9, 1e-9, True, True) == index.settle(
        X[71], index.scan(X[71]), 0.9, 1e-9, True, True
    )


@jit.part(allocates=True)
def first_of(x):
    return x[:1]


@jit.part(allocates=True)
def some_or_none(x):
    return x[:1] if len(x) > 3 else None


@jit.part(allocates=True)
def median(x):
    return np.median(x)


def lends(x):
    return x


def lends_two(x):
    return x, (1, x)


def may_lend(x):
    return x if len(x) > 3 else None


def takes(x):
    return first_of(x)[0]


def may_take(x):
    found = some_or_none(x)
    return 0.0 if found is None else found[0]


def asks_a_library(x):
    return np.median(x)


@pytest.mark.parametrize("lost", [lends, lends_two, may_lend, takes, may_take, asks_a_library])
def test_a_part_that_would_lose_an_array_does_not_compile(lost):
    uncounted = jit.part(lost)

    @numba.njit
    def caller(x):
        return median(x), uncounted(x)  # the library's function is compiled before, with counts

    with pytest.raises((TypeError, numba.NumbaError), match=f"{lost.__name__} returns an array, calls"):
        caller(np.zeros(3))


def test_a_part_that_makes_an_array_does_not_compile():
    @jit.part
    def make(n):
        return np.zeros(n)[0]

    @numba.njit
    def caller(n):
        return make(n)

    with pytest.raises(numba.NumbaError, match=r"returning of array|NRT"):
        caller(3)


@pytest.mark.parametrize("space", ["sphere", "euclidean"])
@pytest.mark.parametrize("exact", [False, True])
def test_what_the_kernels_allocate_is_freed(space: str, exact: bool) -> None:
    """A part that does not count references must not be handed an array of its own: it would stay for ever."""
    from numba.core.runtime import _nrt_python, rtsys

    rng = np.random.default_rng(0)
    store = ExampleStore(space)
    before_stats = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for k, x in enumerate(rng.standard_normal((200, 5))):  # large labels, small ones, one of a single example
            store.append(x, "large" if k < 90 else "single" if k == 90 else k % 20)
        found = [store.nearest_two(x, tau, exact=exact) for tau in (0.0, 0.9) for x in rng.standard_normal((50, 5))]
        store.nearest_two_many(store.vectors("large"), 0.9)
        store.distances(rng.standard_normal((20, 5)))
        for id in range(0, 90, 3):
            store.forget(id)
        after = rtsys.get_allocation_stats()
    finally:
        if not before_stats:
            _nrt_python.memsys_disable_stats()
    assert any(two.guessable for two in found)
    assert after.mi_alloc > before.mi_alloc  # it does count
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
    assert after.alloc - before.alloc == after.free - before.free
