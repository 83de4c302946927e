"""The memory of a process that fills a store, against the float32 vectors themselves.

Run as `python -m benchmarks.memory LABELS EXAMPLES DIM`, it is that process, and prints what it found as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from askless.errors import AsklessError
from askless.policies.generalized_hull import GeneralizedHull
from benchmarks.clusters import TAU, Clusters, Floats, Shape, label_sizes
from benchmarks.decisions import MANY, MOST, sized
from benchmarks.rows import AT_MOST, Row

QUERIES = 256
STATUS = Path("/proc/self/status")
BOUND = 2.5
SIZES = {"d4096": Shape(MANY.labels, MANY.examples, 4096), "d768": MOST}


def memory(size: str, quick: bool) -> Iterator[Row]:
    """Steady and peak growth of a process that learns all examples and then decides, over their raw bytes."""
    if not STATUS.exists():
        raise AsklessError(f"Memory is read from {STATUS}, which this system lacks; run this one on Linux.")
    shape = sized(SIZES[size], quick)
    raw = 4.0 * shape.examples * shape.dim
    command = [sys.executable, "-m", "benchmarks.memory", str(shape.labels), str(shape.examples), str(shape.dim)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    for kind, grown in json.loads(done.stdout).items():
        yield Row(
            f"memory-{kind}-{size}", str(shape), f"{kind} growth of the process over the raw float32 vectors",
            grown / raw, AT_MOST, BOUND, grown, raw, "bytes", 1, "", quick,
        )  # fmt: skip


def fill(shape: Shape) -> dict[str, int]:
    """Learn examples that are made one at a time, decide on some queries, and say by how much memory grew.

    What comes before the first reading is not the store's: libraries, compiled kernels, the labels' order.
    """
    rng = np.random.default_rng(0)
    y = label_sizes(shape, rng).tolist()
    small = Clusters(Shape(labels=4, examples=40, dim=shape.dim))
    _decide(small.taught(), small.queries(8))
    queries = np.array([_example(label, shape, rng) for label in y[:QUERIES]])
    _forget_peak()
    before = _resident("VmRSS")
    policy = GeneralizedHull(TAU)
    for label in y:
        policy.learn(_example(label, shape, rng), label)
    _decide(policy, queries)
    return {"steady": _resident("VmRSS") - before, "peak": _resident("VmHWM") - before}


def _decide(policy: GeneralizedHull, queries: Floats) -> None:
    """One by one, and all at once."""
    for q in queries[:8]:
        policy.decide(q)
    policy.decide_many(queries)


def _example(label: int, shape: Shape, rng: np.random.Generator) -> Floats:
    """An example as in `Clusters`; its label's centre is made anew each time, as keeping all takes memory."""
    centre, noise = _unit(np.random.default_rng([1, label]), shape.dim), _unit(rng, shape.dim)
    return np.asarray(np.sqrt(shape.own) * centre + np.sqrt(1.0 - shape.own) * noise, np.float32)


def _unit(rng: np.random.Generator, dim: int) -> Floats:
    x = rng.standard_normal(dim, dtype=np.float32)
    return np.asarray(x / np.linalg.norm(x), np.float32)


def _resident(line: str) -> int:
    """The bytes in memory now (VmRSS) or at most so far (VmHWM)."""
    found = next(entry for entry in STATUS.read_text().splitlines() if entry.startswith(line + ":"))
    return int(found.split()[1]) * 1024


def _forget_peak() -> None:
    """Let the peak start anew; where that is not allowed it includes the peak of compiling, and is too high."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as problem:
        print(f"benchmarks: the peak of memory cannot be reset ({problem}).", file=sys.stderr)


if __name__ == "__main__":
    labels, examples, dim = (int(argument) for argument in sys.argv[1:4])
    print(json.dumps(fill(Shape(labels, examples, dim))))
