"""A webhook's receiver on this machine that accepts, fails, hangs, redirects or talks without end, as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver(ThreadingHTTPServer):
    """`acts` are what it does with the next requests, one each; after the last one it accepts. `got` is what came."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.acts: list[Callable[[_Handler], None]] = []
        self.always: Callable[[_Handler], None] | None = None
        self.got: list[Got] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"

    def next_act(self) -> Callable[[_Handler], None]:
        with self._lock:
            return self.acts.pop(0) if self.acts else self.always or status(200)


class Got:
    """One request."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.path, self.headers, self.body, self.at = path, headers, body, time.monotonic()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append(Got(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        try:
            self.server.next_act()(self)
        except OSError:  # the courier had heard enough
            self.close_connection = True

    do_GET = do_POST

    def log_message(self, *arguments: object) -> None:
        pass


def status(code: int, **headers: str) -> Callable[[_Handler], None]:
    """Answers with that status."""

    def act(handler: _Handler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return act


def hang(handler: _Handler) -> None:
    """Answers nothing."""
    handler.server.stopping.wait(30)
    handler.close_connection = True


def drip(handler: _Handler) -> None:
    """Answers one byte after the other, so that no single read ever takes long."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not handler.server.stopping.wait(0.05):
        handler.wfile.write(b".")


def talk(handler: _Handler) -> None:
    """Accepts, and then sends without end."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 40))
    handler.end_headers()
    while not handler.server.stopping.is_set():
        handler.wfile.write(b"x" * 65536)


def hang_up(handler: _Handler) -> None:
    """Closes the connection without a word."""
    handler.close_connection = True
    handler.connection.close()


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver, stopped at the end."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.stopping.set()
            server.shutdown()
            thread.join(10)
