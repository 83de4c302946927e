"""Measure every figure, write the rows and print them: `python -m benchmarks.run`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import CalledProcessError

from askless.errors import AsklessError
from benchmarks import reproduction, service
from benchmarks.decisions import DECISIONS, against_nnls, batch, decision, learn
from benchmarks.imports import imports
from benchmarks.memory import SIZES, memory
from benchmarks.rows import Row, read_rows, save_rows, table
from benchmarks.self_tuning import FEW, SETTINGS, TRIALS, few_texts, names_of, synthetic, synthetic_name, trial
from benchmarks.self_tuning_cost import COSTS, MEMORY, decision_cost, memory_cost
from benchmarks.whole_runs import RUNS, whole_run

OUT = Path(__file__).with_name("rows.csv")


@dataclass(frozen=True)
class Benchmark:
    """The rows it gives, by name, and what measures them; the argument says whether at small sizes.

    A `long` one is run only when it is asked for; one that `keeps` its runs is also given the folder for them.
    """

    names: tuple[str, ...]
    measure: Callable[..., Iterable[Row]]
    long: bool = False
    keeps: bool = False


BENCHMARKS = (
    *(Benchmark((name,), partial(decision, name)) for name in DECISIONS),
    Benchmark(("nnls-speed", "nnls-equal-decisions"), against_nnls),
    *(Benchmark((name,), partial(whole_run, name)) for name in RUNS),
    Benchmark(("batch-256",), batch),
    Benchmark(("learn-99785-examples",), learn),
    Benchmark(("import-modules", "import-time"), imports),
    *(Benchmark((f"memory-steady-{s}", f"memory-peak-{s}"), partial(memory, s)) for s in SIZES),
    Benchmark(reproduction.NAMES, reproduction.tables),
    Benchmark(service.HTTP, service.http),
    Benchmark(service.START, service.start),
    *(Benchmark((name,), partial(decision_cost, name), long=True) for name in COSTS),
    Benchmark(MEMORY, memory_cost, long=True),
    *(Benchmark(names_of(name), partial(trial, name), long=True, keeps=True) for name in TRIALS),
    *(Benchmark((name,), partial(few_texts, name), long=True, keeps=True) for name in FEW),
    *(Benchmark((synthetic_name(s),), partial(synthetic, s), long=True, keeps=True) for s in SETTINGS),
)
NAMES = tuple(name for benchmark in BENCHMARKS for name in benchmark.names)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that were asked for. A missed bound is shown, and is no failure; 2 is one."""
    options = _parser().parse_args(arguments)
    try:
        chosen = choose(options.only)
        out = options.out or (None if options.quick else OUT)
        if out is not None:
            read_rows(out)  # a file that cannot take the rows is refused before the work, not after it
        _warn_if_busy()
        rows, failed = _measure(chosen, options.quick, out, options.keep)
    except AsklessError as problem:
        print(f"benchmarks: {problem}", file=sys.stderr)
        return 2
    print(table(rows))
    if options.quick:
        print("Small sizes: these show that everything runs; the figures to reach are for the full sizes.")
    if out is not None:
        print(f"Written to {out}.")
    return 2 if failed else 0


def choose(wanted: Sequence[str]) -> list[Benchmark]:
    """The benchmarks with a row of one of those names, or one that begins so; without any, all but the long ones."""
    if not wanted:
        return [b for b in BENCHMARKS if not b.long]
    for beginning in wanted:
        if not any(name.startswith(beginning) for name in NAMES):
            raise AsklessError(f"No row's name begins with {beginning!r}. The rows are: {', '.join(NAMES)}.")
    exact = [beginning for beginning in wanted if beginning in NAMES]
    open_ended = tuple(set(wanted).difference(exact))
    names = {name for name in NAMES if name in exact or name.startswith(open_ended)}
    return [b for b in BENCHMARKS if names.intersection(b.names)]


def _measure(chosen: Iterable[Benchmark], quick: bool, out: Path | None, keep: Path | None) -> tuple[list[Row], bool]:
    """The rows, saved as they come so that a run that is stopped keeps what it has, and if any is missing."""
    rows: list[Row] = []
    failed = False
    for benchmark in chosen:
        print(f"{', '.join(benchmark.names)} ...", end=" ", file=sys.stderr, flush=True)
        start = time.perf_counter()
        try:
            found = list(benchmark.measure(quick, keep) if benchmark.keeps else benchmark.measure(quick))
        except (AsklessError, CalledProcessError) as problem:
            print(f"not measured: {problem}", file=sys.stderr)
            failed = True
            continue
        if out is not None:
            save_rows(out, found)
        rows += found
        values = ", ".join(f"{row.value:.3g}" for row in found)
        print(f"{values} ({time.perf_counter() - start:.0f} s)", file=sys.stderr)
        gc.collect()
    return rows, failed


def _warn_if_busy() -> None:
    """Say so where other processes are likely to disturb the timings."""
    load, cpus = os.getloadavg()[0], os.cpu_count() or 1
    if load > 0.5 * cpus:
        print(
            f"benchmarks: this machine is busy (load {load:.1f} on {cpus} cores). Other work slows a product with all "
            "examples down more than it does a decision; wait until it is idle for figures to trust.",
            file=sys.stderr,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="this row, or those whose names begin so; may be repeated",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes; writes nothing unless --out is given")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="keep the finished runs of the self-tuning rows here, and go on from those that it holds",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="a CSV file (default: benchmarks/rows.csv)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
