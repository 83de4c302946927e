"""A steady load of HTTP requests from a process of its own: so many connections, each with one request at a time.

Run as `python -m benchmarks.load`, it reads what to do as JSON from standard input and prints what it found as JSON.
HTTP is written and read by hand, so that the load takes little of the machine that it shares with the server.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Load:
    """What to send: POST requests to one path; `bodies` are JSON objects, sent in turn, each with an id of its own."""

    host: str
    port: int
    path: str
    headers: dict[str, str]
    bodies: Sequence[dict[str, object]]
    prefix: str  # of the ids
    connections: int = 16
    warm_up: float = 5.0
    seconds: float = 30.0
    batch: int = 0  # send so many of the bodies together, as {"queries": [...]}


@dataclass(frozen=True)
class Measured:
    """Requests answered within the window, their latencies, and how many did not succeed, the warm-up included."""

    requests: int
    seconds: float
    median: float
    p99: float
    failed: int
    first_failure: str = ""

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


def measure(load: Load) -> Measured:
    """The load from a process of its own."""
    command, root = [sys.executable, "-m", "benchmarks.load"], Path(__file__).parents[1]
    done = subprocess.run(
        command, cwd=root, input=json.dumps(asdict(load)), stdout=subprocess.PIPE, text=True, check=True
    )
    return Measured(**json.loads(done.stdout))


async def _run(load: Load) -> Measured:
    start = time.perf_counter() + load.warm_up
    latencies: list[float] = []
    failures: list[str] = []
    requests = _requests(load)
    await asyncio.gather(*(_connection(load, requests, start, latencies, failures) for _ in range(load.connections)))
    latencies.sort()
    middle, last = (latencies[math.ceil(q * len(latencies)) - 1] if latencies else math.nan for q in (0.5, 0.99))
    first = failures[0] if failures else ""
    return Measured(len(latencies), load.seconds, middle, last, len(failures), first)


def _requests(load: Load) -> Iterator[bytes]:
    lines = [f"POST {load.path} HTTP/1.1", f"Host: {load.host}", "Content-Type: application/json"]
    head = "\r\n".join(lines + [f"{name}: {value}" for name, value in load.headers.items()])
    bodies = ({"id": f"{load.prefix}-{n}"} | dict(load.bodies[n % len(load.bodies)]) for n in itertools.count())
    while True:
        content: object = {"queries": list(itertools.islice(bodies, load.batch))} if load.batch else next(bodies)
        body = json.dumps(content).encode()
        yield f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def _connection(
    load: Load, requests: Iterator[bytes], start: float, latencies: list[float], failures: list[str]
) -> None:
    reader, writer = await asyncio.open_connection(load.host, load.port)
    end = start + load.seconds
    while (sent := time.perf_counter()) < end:
        writer.write(next(requests))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        body = await reader.readexactly(length)
        now = time.perf_counter()
        if not head.startswith(b"http/1.1 20"):
            failures.append((head.split(b"\r\n", 1)[0] + b" " + body[:200]).decode(errors="replace"))
        elif start <= now <= end:
            latencies.append(now - sent)
    writer.close()


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(_run(Load(**json.load(sys.stdin)))))))
