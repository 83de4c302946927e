"""A real service on a free port, with keys for each role, for tests that speak HTTP."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import structlog
import uvicorn
from fastapi import FastAPI

from askless.ledger.database import Database
from askless.service.app import create_app
from askless.service.config import ServiceConfig
from askless.service.keys import Role, create_key
from askless.service.logs import make_logger

START_SECONDS = 60


@dataclass
class Served:
    """A running service. `admin`, `expert` and `client` send the key of that role with every request."""

    url: str
    app: FastAPI
    database: Database
    key: dict[str, str]
    log: io.StringIO
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    @property
    def admin(self) -> httpx.Client:
        return self.clients["admin"]

    @property
    def expert(self) -> httpx.Client:
        return self.clients["expert"]

    @property
    def client(self) -> httpx.Client:
        return self.clients["client"]

    @property
    def nobody(self) -> httpx.Client:
        """Without a key."""
        return self.clients["nobody"]

    def logged(self) -> list[dict[str, Any]]:
        """The lines of the log so far."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    def with_key(self, secret: str, **headers: str) -> httpx.Client:
        """A client with that key; closed with the service."""
        made = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {secret}", **headers}, timeout=60)
        self.clients[f"{len(self.clients)}"] = made
        return made

    def make_desk(self, name: str = "support", **settings: Any) -> str:
        """A new desk; the path of its resources."""
        made = self.admin.post("/api/v1/desks", json={"name": name, **settings})
        assert made.status_code == 201, made.text
        return f"/api/v1/desks/{name}"

    def teach(self, desk: str, examples: dict[str, str]) -> None:
        """Give the desk at that path texts with their labels."""
        given = [
            {"id": f"taught {n}", "text": text, "label": label} for n, (text, label) in enumerate(examples.items())
        ]
        made = self.expert.post(f"{desk}/examples", json={"examples": given})
        assert made.is_success, made.text


@contextmanager
def serving(database: Database, **config: Any) -> Iterator[Served]:
    """The service over a prepared database, in a thread of this process; stopped at the end, as Ctrl-C would."""
    app = create_app(database, ServiceConfig(**{"rate": None, **config}))
    log = io.StringIO()
    app.state.service.log = make_logger(structlog.PrintLogger(log))
    with running(app) as url:
        key = {role.value: create_key(database, role.value, role).secret for role in Role}
        served = Served(url, app, database, key, log)
        for role, secret in key.items():
            headers = {"Authorization": f"Bearer {secret}"}
            served.clients[role] = httpx.Client(base_url=url, headers=headers, timeout=60)
        served.clients["nobody"] = httpx.Client(base_url=url, timeout=60)
        try:
            yield served
        finally:
            for client in served.clients.values():
                client.close()


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """Any application under uvicorn on a free port: its address."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="error", access_log=False, timeout_graceful_shutdown=3, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="served", daemon=True)
    thread.start()
    end = time.monotonic() + START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > end:
            raise RuntimeError("the service did not start")
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)
