"""The paper's synthetic tables, each from nothing, on two processes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from askless.reproduce.run import Size, reproduce
from askless.reproduce.tables import SYNTHETIC_TABLES
from benchmarks.rows import AT_MOST, Row
from benchmarks.timing import timed

WORKERS = 2
FULL, QUICK = Size(draws=1), Size(40, 1, 1)
MINUTES = 20.0  # for all of them
ALL = "reproduce-all-tables"
NAMES = (*(f"reproduce-{name}" for name in SYNTHETIC_TABLES), ALL)


def tables(quick: bool) -> Iterator[Row]:
    """Minutes for one draw of the label seeds with the paper's five data sets, by table and in all."""
    size = QUICK if quick else FULL
    rounds, _, data_sets = size.synthetic
    text = f"T={rounds:,}, {data_sets} data sets"
    wall, computing, runs = 0.0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for table in SYNTHETIC_TABLES:
            outcome, seconds = timed(lambda name=table: reproduce([name], Path(folder), size=size, workers=WORKERS))
            busy = sum(row["seconds"] for row in outcome.rows)
            yield _row(f"reproduce-{table}", text, seconds, busy, len(outcome.rows), quick)
            wall, computing, runs = wall + seconds, computing + busy, runs + len(outcome.rows)
    yield _row(ALL, text, wall, computing, runs, quick)


def _row(name: str, size: str, seconds: float, busy: float, runs: int, quick: bool) -> Row:
    return Row(
        name, size, "minutes on two cores, by the clock (beside it the computing time of the runs)", seconds / 60,
        AT_MOST, MINUTES, seconds, busy, "s", 1, f"{runs:,} runs", quick,
    )  # fmt: skip
