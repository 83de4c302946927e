"""Runs in processes of their own, which leave Ctrl-C to the process that started them."""

from __future__ import annotations

import signal
from typing import Any


def parallel(jobs: int, *, in_order: bool = True) -> Any:
    """joblib's `Parallel`, which gives results as they come, or in the order of the calls.

    A terminal sends Ctrl-C to every process. The first one ends the others and says what was kept; a worker that heard
    it too would write its own traceback between.
    """
    from joblib import Parallel

    order = "generator" if in_order else "generator_unordered"
    return Parallel(n_jobs=jobs, backend="loky", return_as=order, initializer=_leave_ctrl_c)


def _leave_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
