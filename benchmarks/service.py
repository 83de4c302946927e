"""The service over HTTP: its decisions against the least that a durable route can do, and its start with many examples.

Both servers run one worker on an SQLite file with the same settings, and get the same load from a third process.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from askless.datasets.catalogue import load_dataset
from askless.datasets.sample import support_questions
from askless.desk.live.desks import Desks
from askless.desk.live.exchange import GivenExample
from askless.desk.live.give import give
from askless.desk.live.settings import LiveSettings
from askless.errors import AsklessError
from askless.ledger.database import Database
from askless.service.keys import Role, create_key
from benchmarks.load import Load, Measured, measure
from benchmarks.rows import AT_LEAST, AT_MOST, Row

DESK = "bench"
HTTP = ("service-requests", "service-p99", "service-batch-256", "service-batch-bare")
START = ("service-start",)
_ASKLESS = "from askless.cli.main import main; main()"
_LISTENING = 60.0


@dataclass(frozen=True)
class Size:
    """How many examples the desk has, and how long each window is."""

    examples: int = 10_000
    warm_up: float = 5.0
    seconds: float = 30.0
    windows: int = 3
    batch: int = 256
    many: int = 100_000
    starts: int = 3


FULL = Size()
QUICK = Size(200, 0.2, 1.0, 1, 16, 500, 1)


def http(quick: bool) -> Iterator[Row]:
    """Single decisions against the bare route, windows in turn; and batches against singles."""
    size = QUICK if quick else FULL
    texts, labels = _texts()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        key = _filled(home / "askless.db", texts[: size.examples], labels[: size.examples])
        unseen = [{"text": text} for text in texts[size.examples :] or texts]
        with _askless(home / "askless.db") as port, _bare(home / "bare.db") as bare_port:
            headers = {"Authorization": f"Bearer {key}"}
            path = f"/api/v1/desks/{DESK}/queries"
            _decided(port, key)  # the first decision alone may take a second
            ours, bare, batches = [], [], []
            for window in range(size.windows):
                common = {"warm_up": size.warm_up, "seconds": size.seconds, "bodies": unseen}
                ours.append(_good(Load("127.0.0.1", port, path, headers, prefix=f"one-{window}", **common)))
                bare.append(_good(Load("127.0.0.1", bare_port, "/rows", {}, prefix=f"bare-{window}", **common)))
                many = Load(
                    "127.0.0.1", port, f"{path}/batch", headers, prefix=f"many-{window}", batch=size.batch,
                    connections=2, **common,
                )  # fmt: skip
                batches.append(_good(many))
    what = f"{size.examples:,} examples, 16 connections, {size.windows} windows of {size.seconds:g} s"
    rate, bare_rate = (statistics.median(m.rate for m in found) for found in (ours, bare))
    late, bare_late = (statistics.median(m.p99 for m in found) for found in (ours, bare))
    batch_rate = size.batch * statistics.median(m.rate for m in batches)
    yield Row(
        HTTP[0], what, "requests a second over those of a bare route that inserts one row", rate / bare_rate,
        AT_LEAST, 0.4, rate, bare_rate, "requests/s", size.windows, "", quick,
    )  # fmt: skip
    yield Row(
        HTTP[1], what, "99th percentile of the latency over the bare route's", late / bare_late,
        AT_MOST, 5.0, late, bare_late, "s", size.windows, "", quick,
    )  # fmt: skip
    yield Row(
        HTTP[2], what, f"queries a second in batches of {size.batch} over singles", batch_rate / rate,
        AT_LEAST, 10.0, batch_rate, rate, "queries/s", size.windows, "2 connections", quick,
    )  # fmt: skip
    yield Row(
        HTTP[3], what, f"queries a second in batches of {size.batch} over requests of the bare route",
        batch_rate / bare_rate, AT_LEAST, 4.0, batch_rate, bare_rate, "1/s", size.windows,
        "the bound is that of singles over the bare route times that of batches over singles", quick,
    )  # fmt: skip


def start(quick: bool) -> Iterator[Row]:
    """Seconds from the command to the first decision, with many examples and with an empty desk."""
    size = QUICK if quick else FULL
    texts, labels = _texts()
    with tempfile.TemporaryDirectory() as folder:
        full, empty = Path(folder) / "full.db", Path(folder) / "empty.db"
        known = [k % len(texts) for k in range(size.many)]
        many = [f"{texts[k]} {n // len(texts)}" for n, k in enumerate(known)]  # the same text again, with a number
        keys = [_filled(full, many, [labels[k] for k in known]), _filled(empty, [], [])]
        times: list[list[float]] = [[], []]
        for _ in range(size.starts):
            for place, (path, key) in enumerate(zip((full, empty), keys, strict=True)):
                begun = time.perf_counter()
                with _askless(path) as port:
                    _decided(port, key)
                    times[place].append(time.perf_counter() - begun)
    ours, other = (statistics.median(found) for found in times)
    yield Row(
        START[0], f"{size.many:,} examples, d=256", "seconds to the first decision beyond those of an empty desk",
        ours - other, AT_MOST, 3.0, ours, other, "s", size.starts, "", quick,
    )  # fmt: skip


def _texts() -> tuple[list[str], list[str]]:
    """The texts of CLINC150 in an order of their own, with their labels; without ASKLESS_DATA, the sample's."""
    if os.environ.get("ASKLESS_DATA"):
        data = load_dataset("clinc150")
        texts, labels = list(data.texts), [str(label) for label in data.labels]
    else:
        sample, answers = support_questions()
        texts = [f"{text} {n}" for n in range(26) for text in sample]
        labels = [str(answer) for _ in range(26) for answer in answers]
    order = np.random.default_rng(0).permutation(len(texts))
    return [texts[i] for i in order], [labels[i] for i in order]


def _filled(path: Path, texts: Sequence[str], labels: Sequence[str]) -> str:
    """A database with one desk that has these examples, and a key for it."""
    examples = [GivenExample(text, label, f"e{n}") for n, (text, label) in enumerate(zip(texts, labels, strict=True))]
    with Database(path) as database:
        database.prepare()
        with Desks(database, listen=False) as desks:
            desks.create(DESK, LiveSettings(), "bench")
            give(desks, DESK, examples, "bench")
        return create_key(database, "bench", Role.ADMIN).secret


@contextmanager
def _askless(path: Path) -> Iterator[int]:
    arguments = ["-c", _ASKLESS, "serve", "--database", str(path), "--rate", "1000000", "--port"]
    with _server(arguments) as port:
        yield port


@contextmanager
def _bare(path: Path) -> Iterator[int]:
    with _server(["-m", "benchmarks.bare_service", str(path)]) as port:
        yield port


@contextmanager
def _server(arguments: list[str]) -> Iterator[int]:
    """A server in a process of its own, on a free port, once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, *arguments, str(port)]
    log = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
    process = subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.DEVNULL, stderr=log)
    try:
        until = time.monotonic() + _LISTENING
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
                break
            except urllib.error.HTTPError as answer:
                if answer.code == 404:  # the bare one has no such route
                    break
            except OSError:
                pass
            if process.poll() is not None or time.monotonic() > until:
                log.seek(0)
                said = log.read().decode(errors="replace").strip().rpartition("\n")[2]
                raise AsklessError(f"The server did not start ({' '.join(command)}): {said}")
            time.sleep(0.01)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def _decided(port: int, key: str) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/desks/{DESK}/queries",
        data=b'{"text": "where is my card"}',
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=60).close()


def _good(load: Load) -> Measured:
    found = measure(load)
    if found.failed:
        raise AsklessError(f"{found.failed} requests to {load.path} failed, the first with {found.first_failure}.")
    return found
