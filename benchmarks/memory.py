"""The memory of a process that fills a store, against the float32 vectors themselves.

Run as `python -m benchmarks.memory LABELS EXAMPLES DIM POLICY`, it is that process, and prints what it found as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from askless.errors import AsklessError
from askless.policies.named import make_policy
from askless.types import Policy
from benchmarks.clusters import TAU, Clusters, Floats, Shape, label_sizes
from benchmarks.decisions import MANY, MOST, sized
from benchmarks.rows import AT_MOST, Row

QUERIES = 256
STATUS = Path("/proc/self/status")
BOUND = 2.5
SIZES = {"d4096": Shape(MANY.labels, MANY.examples, 4096), "d768": MOST}


def memory(
    size: str,
    quick: bool,
    policy: str = f"ghc:{TAU:g}",
    names: tuple[str, str] | None = None,
    bound: float = BOUND,
) -> Iterator[Row]:
    """Steady and peak growth of a process that learns all examples and then decides, over their raw bytes."""
    if not STATUS.exists():
        raise AsklessError(f"Memory is read from {STATUS}, which this system lacks; run this one on Linux.")
    shape = sized(SIZES[size], quick)
    raw = 4.0 * shape.examples * shape.dim
    numbers = (str(number) for number in (shape.labels, shape.examples, shape.dim))
    command = [sys.executable, "-m", "benchmarks.memory", *numbers, policy]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    for name, kind in zip(names or [f"memory-{kind}-{size}" for kind in found], found, strict=True):
        grown = found[kind]
        yield Row(
            name, str(shape), f"{kind} growth of the process over the raw float32 vectors",
            grown / raw, AT_MOST, bound, grown, raw, "bytes", 1, "", quick,
        )  # fmt: skip


def fill(shape: Shape, name: str) -> dict[str, int]:
    """Learn examples that are made one at a time, decide on some queries, and say by how much memory grew.

    What comes before the first reading is not the store's: libraries, compiled kernels, the labels' order.
    """
    rng = np.random.default_rng(0)
    y = label_sizes(shape, rng).tolist()
    small = Clusters(Shape(labels=4, examples=40, dim=shape.dim))
    _taught_and_asked(name, small)
    queries = np.array([_example(label, shape, rng) for label in y[:QUERIES]])
    _forget_peak()
    before = _resident("VmRSS")
    policy = make_policy(name)
    for label in y:
        policy.learn(_example(label, shape, rng), label)
    _decide(policy, queries)
    return {"steady": _resident("VmRSS") - before, "peak": _resident("VmHWM") - before}


def _taught_and_asked(name: str, small: Clusters) -> None:
    policy = make_policy(name)
    for x, label in zip(small.P, small.y.tolist(), strict=True):
        policy.learn(x, label)
    _decide(policy, small.queries(8))


def _decide(policy: Policy, queries: Floats) -> None:
    """One by one, and all at once where the policy has a way to do that."""
    many = getattr(policy, "decide_many", None)
    for q in queries[:8] if many is not None else queries:
        policy.decide(q)
    if many is not None:
        many(queries)


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
    print(json.dumps(fill(Shape(labels, examples, dim), sys.argv[4])))
