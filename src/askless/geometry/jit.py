"""How the kernels are compiled: once, cached on disk, without the GIL.

The cache stands beside the package, or in the user's cache folder where that is not writable. numba looks only at the
file of the function it compiles, not at those of the functions that one calls, so the cache folder is named after a
digest of all kernel sources: after an upgrade nothing stale is ever run.

Sums may be reordered (that is what makes a dot product fast), but NaN and infinity keep their meaning.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls, on first use; cache it on disk, and run it without the GIL."""
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = cache_folder()  # read when the decorator is applied, so other users of numba keep theirs
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, **_OPTIONS)(function)
    finally:
        config.CACHE_DIR = before
    return compiled


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels call: it becomes part of them, with no way in from Python."""
    njit: Any = numba.njit  # its published types lack these two options
    compiled: Callable[..., Any] = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)
    return compiled


@cache
def cache_folder() -> str:
    """Where compiled kernels are kept: one folder for each state of the sources."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(here.glob("*.py")):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    beside = here / "__pycache__"
    if chosen:
        base = Path(chosen)
    elif os.access(beside if beside.exists() else here, os.W_OK):
        base = beside
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "askless"
    return str(base / name)


@contextmanager
def told_if_slow(seconds: float = 1.5) -> Iterator[None]:
    """Say on stderr that kernels are being compiled, where that takes longer than loading them from the cache."""

    def tell() -> None:
        sys.stderr.write("askless: compiling the geometry kernels, a minute or two (once: the result is cached) ...\n")

    timer = threading.Timer(seconds, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
