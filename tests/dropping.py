"""A proxy on this machine that forwards requests and hangs up on every second answer: done, and nobody was told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx


class Proxy(ThreadingHTTPServer):
    """`dropped` counts the answers that it kept to itself."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.count, self.dropped = target, 0, 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Proxy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name: self.headers[name] for name in ("Authorization", "Content-Type")}
        answer = httpx.post(self.server.target + self.path, content=body, headers=headers, timeout=60)
        self.server.count += 1
        if self.server.count % 2:
            self.server.dropped += 1
            self.connection.close()
            return
        self.send_response(answer.status_code)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def dropping(target: str) -> Iterator[Proxy]:
    """The proxy, stopped at the end."""
    with Proxy(target) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)
