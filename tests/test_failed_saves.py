"""A save that fails leaves the old file as it was, nothing else behind, and a clear error."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askless.errors import AsklessError, InvalidInput, UnwritableFile
from askless.persist import load, save
from askless.policies.active_perceptron import ActivePerceptron
from saved import Toy, small_file, taught, toy


def circular() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


UNSAVABLE: dict[str, Any] = {
    "an object": object(),
    "bytes": b"raw",
    "a set": {1},
    "an array of objects": np.array([1, "a"], dtype=object),
    "integer keys": {1: "a"},
    "the word for an array": {"$array": "x"},
    "itself": circular(),
    "an endless integer": 10**5000,
    "a date": np.datetime64("2026-01-01"),
}


@pytest.mark.parametrize("value", UNSAVABLE.values(), ids=UNSAVABLE.keys())
def test_a_state_that_no_file_can_hold_leaves_the_old_file(value: Any, tmp_path: Path) -> None:
    before = small_file(tmp_path)
    with pytest.raises(InvalidInput):
        save(toy(x=np.ones(2), deep=[{"value": value}]), tmp_path / "small")
    assert (tmp_path / "small").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_the_error_names_the_place_in_the_state(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"found object in 'deep\.0\.value'"):
        save(toy(deep=[{"value": object()}]), tmp_path / "toy")


def test_something_without_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"params\(\), state\(\) and restore\(state\)"):
        save(object(), tmp_path / "object")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_save_that_stops_leaves_the_old_file_and_no_other(
    step: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = small_file(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, step, failing(error))
        with pytest.raises((UnwritableFile, KeyboardInterrupt)) as caught:
            save(toy(x=np.ones(20)), tmp_path / "small")
    if isinstance(error, OSError):
        assert "No space left on device" in str(caught.value)
        assert "small" in str(caught.value)
    assert (tmp_path / "small").read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["small"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on the size of a process's files")
@pytest.mark.parametrize("limit", [0, 10, 1000, 50_000])
def test_a_full_disk_leaves_the_old_file_and_no_other(limit: int, tmp_path: Path) -> None:
    """The system refuses to write past `limit` bytes, as a full disk does; this policy needs over 80,000."""
    import resource

    before = small_file(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    big = toy(x=np.arange(10_000.0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(UnwritableFile, match="was not saved"):
            save(big, tmp_path / "small")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "small").read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["small"]
    save(big, tmp_path / "small")
    np.testing.assert_array_equal(load(tmp_path / "small", kind=Toy).held["x"], np.arange(10_000.0))


def test_folders_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "missing" / "policy", tmp_path / "file" / "policy", tmp_path / "folder"):
        with pytest.raises(UnwritableFile, match="was not saved"):
            save(taught(), path)
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["file", "folder"]


def test_an_error_is_both_askless_and_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="was not saved") as caught:
        save(taught(), tmp_path / "missing" / "policy")
    assert isinstance(caught.value, AsklessError)


def test_bytes_reach_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(handle: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        steps.append("folder synced" if is_folder else f"{os.fstat(handle).st_size} bytes synced")
        fsync(handle)

    def noted_replace(source: Path, target: Path) -> None:
        assert source.parent == target.parent
        steps.append("renamed")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    save(taught(), tmp_path / "policy")
    size = (tmp_path / "policy").stat().st_size
    assert steps == [f"{size} bytes synced", "renamed", "folder synced"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_permissions_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    save(taught(n=3), real)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~umask
    real.chmod(0o640)
    link.symlink_to(real)
    save(taught(n=9), link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert len(list(load(real, kind=ActivePerceptron).examples())) == 9


SAVES_FOR_EVER = """
import sys, numpy as np
from askless.persist import save
from askless.policies.active_perceptron import ActivePerceptron
policy = ActivePerceptron()
for x in np.eye(400):
    policy.learn(x, "a")
while True:
    save(policy, sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_process_killed_while_it_saves_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    save(taught(), path)
    before = path.stat().st_ino
    saver = subprocess.Popen([sys.executable, "-c", SAVES_FOR_EVER, str(path)])
    try:
        deadline = time.monotonic() + 15
        while path.stat().st_ino == before and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        saver.send_signal(signal.SIGKILL)
        saver.wait()
    assert path.stat().st_ino != before
    assert len(list(load(path, kind=ActivePerceptron).examples())) == 400
