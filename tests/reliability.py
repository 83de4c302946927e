"""Real servers in processes of their own, and callers that never give up."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from askless.datasets.sample import support_questions
from askless.desk.live.desks import Desks
from askless.desk.live.settings import LiveSettings
from askless.ledger.database import Database
from askless.service.keys import Role, create_key
from postgres import wait_until

SOAK = os.environ.get("ASKLESS_SOAK") == "1"  # the sizes that the project states; `make soak` sets it
PATIENCE = 180.0  # seconds after which something that should have happened has failed
ASKLESS = [sys.executable, "-c", "from askless.cli.main import main; main()"]
DESK = "support"
EXPERT = "expert"  # the name of the key that the tests answer with: it stands in the ledger

_LISTENS = re.compile(r"askless listens on (http://\S+)")


# -- servers -------------------------------------------------------------------------------------------------------
class Server:
    """`askless serve` on a free port; `url` is where it listens now, since each start takes another port."""

    def __init__(self, address: str, folder: Path, key: str, *arguments: str) -> None:
        self._address, self._folder, self._arguments = address, folder, arguments
        self._headers = {"Authorization": f"Bearer {key}"}
        self.key, self.desk = key, DESK
        self.starts = 0
        self._ended = True  # on purpose, or not begun
        self._parent_killed = False
        self.url = ""
        self.process: subprocess.Popen[bytes]
        self.log = folder / f"log {id(self)}"

    def start(self) -> None:
        """Start it; returns once every desk is loaded."""
        self.starts += 1
        self._ended = False
        out = self._folder / f"out {id(self)} {self.starts}"
        command = [*ASKLESS, "serve", "--port", "0", "--rate", "0", "--database", self._address, *self._arguments]
        with out.open("wb") as said, self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self._folder, stdout=said, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )

        def listens() -> re.Match[str] | None:
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
            return _LISTENS.search(out.read_text(encoding="utf-8"))

        wait_until(listens, PATIENCE)
        found = listens()
        assert found is not None
        self.url = found[1]
        wait_until(self.is_ready, PATIENCE)

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=10).is_success
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """kill -9, for the process and what it has started: nothing is finished, closed or flushed."""
        if self._ended:
            return
        by_itself = None if self._parent_killed else self.process.poll()
        self._ended = True
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert by_itself is None, (by_itself, self.log.read_text(encoding="utf-8")[-2000:])

    def kill_parent(self) -> None:
        """kill -9 for the process alone; those it has started are left to themselves."""
        os.kill(self.process.pid, signal.SIGKILL)  # and not waited for: its group keeps its number until `kill`
        self._parent_killed = True

    def stop(self) -> None:
        """End it as an operator would."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.log.read_text(encoding="utf-8")
        self._ended = True

    def workers(self) -> list[int]:
        """The processes that it has started."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        return [int(child) for child in children if b"resource_tracker" not in _command(int(child))]

    def make_desk(self, **settings: Any) -> None:
        """Make the desk that it is asked about from now on."""
        body = {"name": self.desk, **settings}
        made = httpx.post(f"{self.url}/api/v1/desks", json=body, headers=self._headers, timeout=60)
        assert made.status_code == 201, made.text

    def path(self, path: str) -> str:
        return f"{self.url}/api/v1/desks/{self.desk}/{path}"

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.path(path), headers=self._headers, timeout=60)

    def post(self, path: str, body: Any = None) -> httpx.Response:
        return httpx.post(self.path(path), json=body, headers=self._headers, timeout=60)

    @contextmanager
    def watching(self, path: str) -> Iterator[Iterator[str]]:
        """The lines of an event stream as they come."""
        with httpx.stream("GET", self.path(path), headers=self._headers, timeout=60) as response:
            yield response.iter_lines()


def is_running(pid: int) -> bool:
    """Whether that process is there and has not ended; one that ended may stay in the list until it is reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


@contextmanager
def served(address: str, folder: Path, *arguments: str, processes: int = 1, **settings: Any) -> Iterator[list[Server]]:
    """A desk and a key in a new ledger, and servers for it; they are killed at the end, whatever happened."""
    with Database(address) as database, Desks(database, listen=False) as desks:
        database.prepare()
        desks.create(DESK, LiveSettings().changed(**settings), "tests")
        key = create_key(database, EXPERT, Role.ADMIN).secret
    servers = [Server(address, folder, key, *arguments) for _ in range(processes)]
    with ExitStack() as ends:
        for server in servers:
            ends.callback(server.kill)
            server.start()
        yield servers


# -- callers -------------------------------------------------------------------------------------------------------
@dataclass
class Acknowledged:
    """What callers were told in full: nothing of it may be lost, differ or be there twice."""

    queries: dict[str, dict[str, Any]] = field(default_factory=dict)  # outcomes, by the caller's id
    answers: dict[int, str] = field(default_factory=dict)  # labels, by the ticket


class Load:
    """Threads that submit queries and answer the tickets, through whichever server is there.

    What fails for want of a connection or with 503 is sent again under the same id until it succeeds, which is what the
    API promises to be safe. Any other failure ends the thread and is reported by `finish`.
    """

    def __init__(self, servers: Sequence[Server], *, threads: int = 4, seed: int = 0) -> None:
        self.servers = list(servers)
        self.told = Acknowledged()
        self.statuses: Counter[int] = Counter()
        self.lost = 0  # requests whose connection broke
        self._over = threading.Event()
        self._failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(n, seed), daemon=True) for n in range(threads)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def until(self, answers: int) -> None:
        """Wait until so many answers are acknowledged."""

        def reached() -> bool:
            assert not self._failures, self._failures
            return len(self.told.answers) >= answers

        wait_until(reached, PATIENCE * (20 if SOAK else 1))

    def finish(self) -> Acknowledged:
        """Let each thread bring what it is at to its end; all that was acknowledged."""
        self.__exit__()
        assert not self._failures, self._failures
        assert not any(thread.is_alive() for thread in self._threads)
        return self.told

    def _run(self, number: int, seed: int) -> None:
        texts = Texts(seed * 1000 + number)
        try:
            with httpx.Client(timeout=60) as http:
                for count in range(1 << 30):
                    if self._over.is_set():
                        return
                    self._one(http, f"{number}-{count}", *texts.next(), number + count)
        except BaseException as error:  # noqa: BLE001  (told by `until` and `finish`)
            self._failures.append(error)

    def _one(self, http: httpx.Client, id: str, text: str, label: str, turn: int) -> None:
        outcome = self._send(http, "queries", {"id": id, "text": text}, turn).json()
        self.told.queries[id] = outcome
        if outcome["status"] != "asked":
            return
        self._send(http, f"tickets/{outcome['ticket']}/answer", {"label": label}, turn)
        self.told.answers[outcome["ticket"]] = label

    def _send(self, http: httpx.Client, path: str, body: dict[str, str], turn: int) -> httpx.Response:
        end = time.monotonic() + PATIENCE
        while True:
            server = self.servers[turn % len(self.servers)]
            turn += 1  # another server where there is one
            try:
                response = http.post(server.path(path), json=body, headers={"Authorization": f"Bearer {server.key}"})
            except httpx.TransportError:
                self.lost += 1
            else:
                self.statuses[response.status_code] += 1
                if response.is_success:
                    return response
                assert is_try_again(response), (response.status_code, response.text)
            assert time.monotonic() < end, f"{path} did not succeed within {PATIENCE} s"
            time.sleep(0.02)


class Texts:
    """Questions with their labels: known ones, which a desk soon guesses, and two at once, which it has to ask."""

    def __init__(self, seed: int) -> None:
        self._texts, self._labels = support_questions()
        self._random = random.Random(seed)

    def next(self) -> tuple[str, str]:
        first, second = (self._random.randrange(len(self._texts)) for _ in range(2))
        known = self._random.random() < 0.3
        text = self._texts[first // 20 * 20] if known else f"{self._texts[first]} {self._texts[second]}"
        return text, self._labels[first // 20 * 20 if known else first]


def is_try_again(response: httpx.Response) -> bool:
    """Whether it is what a caller gets while the database cannot be used: 503, a problem, and when to come again."""
    kind = response.headers["Content-Type"]
    return response.status_code == 503 and kind == "application/problem+json" and "Retry-After" in response.headers


def waits(server: Server, text: str, id: str) -> int:
    """Submit a text that the desk has to ask; its ticket."""
    response = server.post("queries", {"id": id, "text": text})
    assert response.status_code == 202, response.text
    return int(response.json()["ticket"])


def poll(found: Callable[[], Any], wanted: Any, seconds: float = PATIENCE) -> None:
    """Return once the function gives what is wanted; fail after so many seconds with what it gave last."""
    end = time.monotonic() + seconds
    while (last := found()) != wanted:
        assert time.monotonic() < end, last
        time.sleep(0.05)
