"""What `import askless` loads, and how long it takes against `import numpy`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.rows import AT_MOST, Row

HEAVY = ("numba", "scipy", "matplotlib")
SCRIPT = """
import json, sys, time
start = time.perf_counter()
import {module}
print(json.dumps([time.perf_counter() - start, [m for m in {heavy!r} if m in sys.modules]]))
"""


def imports(quick: bool) -> Iterator[Row]:
    """Each import in a fresh process, the two modules in turn."""
    repeats = 1 if quick else 15
    seconds = np.zeros((repeats, 2))
    loaded: set[str] = set()
    _import("askless"), _import("numpy")  # byte code is written, files are in memory
    for i in range(repeats):
        seconds[i, 0], found = _import("askless")
        seconds[i, 1], _ = _import("numpy")
        loaded.update(found)
    ours, other = np.median(seconds, axis=0).tolist()
    names = ", ".join(sorted(loaded)) or "none"
    yield Row(
        "import-modules", "-", "how many of numba, scipy and matplotlib are loaded by import askless",
        float(len(loaded)), AT_MOST, 0.0, float(len(loaded)), 0.0, "modules", repeats, f"loaded: {names}", quick,
    )  # fmt: skip
    yield Row(
        "import-time", "-", "import askless over import numpy, each in a fresh process", ours / other, AT_MOST,
        3.0, ours, other, "s", repeats, "", quick,
    )  # fmt: skip


def _import(module: str) -> tuple[float, list[str]]:
    """Seconds that importing a module takes in a fresh process, and the heavy modules that come with it."""
    script = SCRIPT.format(module=module, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    answer: Any = json.loads(done.stdout)
    return float(answer[0]), list(answer[1])
