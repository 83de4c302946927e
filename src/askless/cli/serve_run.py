"""Run the service with uvicorn: a socket of our own, one process or several, and a clean stop."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from askless.errors import InvalidInput, MissingExtra, Unavailable

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from askless.ledger.database import Database
    from askless.service.config import ServiceConfig

_HANDED_OVER = "ASKLESS_SERVE"  # the variable through which a worker process learns what to serve
_STOPS = (signal.SIGINT, signal.SIGTERM)
_OBJECTS = 50_000  # that may be made before those are looked for that nobody can reach any more
_GRACE_SECONDS = 5  # for requests that run when the server is stopped; those who wait for an answer are let go at once


def need_service() -> None:
    """Refuse early, and by the extra's name, where the libraries of the service are not installed."""
    for library in ("fastapi", "uvicorn", "nicegui"):
        if find_spec(library) is None:  # quicker than importing them: the first line should come at once
            raise MissingExtra(
                f"askless serve needs {library}, which is not installed. Install it with: pip install 'askless[serve]'"
            )


@contextmanager
def starting() -> Iterator[None]:
    """A database that cannot be used at the start is said as such: nobody has sent anything that could be lost."""
    try:
        yield
    except Unavailable as error:
        cause = (
            str(error).partition(" What was not acknowledged")[0].replace(" cannot be used now ", " cannot be used ")
        )
        raise InvalidInput(
            f"{cause} Mend that, or name another with --database; an SQLite file needs a folder that can be written to."
        ) from error


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket at that address; taken before anything is written, so that a port in use costs nothing."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InvalidInput(
            f"--host {host!r} is no address of this machine. Use 127.0.0.1, or 0.0.0.0 for all its addresses."
        ) from None
    taken = socket.socket(family, kind, protocol)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(address)
        taken.listen()  # here already: two servers could bind at the same time, but not listen
    except OSError as error:
        taken.close()
        raise InvalidInput(_cannot_listen(host, port, error)) from None
    taken.set_inheritable(True)
    return taken


def _cannot_listen(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} of {host} is in use, perhaps by another askless. Stop that one, choose another with --port, "
            "or take any free one with --port 0."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} is for the system's own services. Choose one from 1024 on with --port."
    return f"Cannot listen on {host}, port {port}: {error.strerror}. Choose others with --host and --port."


def address_of(taken: socket.socket) -> str:
    """The URL to call; for a socket on all addresses, that of this machine's loopback."""
    host, port = taken.getsockname()[:2]
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def run_one(where: str, config: ServiceConfig, taken: socket.socket, ready: Callable[[], None]) -> None:
    """Serve in this process until Ctrl-C or SIGTERM; `ready` is called once requests are answered."""
    import uvicorn

    from askless.ledger.database import Database

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            _first_at_a_stop(_say_stopping)
            await super().startup(sockets)
            if self.started:
                ready()

    with Database(where) as database, _signals_end_quietly():
        server = Server(_uvicorn_config(lambda: _app(database, config)))
        server.run(sockets=[taken])
    if not server.started:
        raise InvalidInput("The service did not start; the lines above say why.")


def run_several(
    where: str, config: ServiceConfig, workers: int, taken: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve in worker processes, which are started again where one dies, until Ctrl-C or SIGTERM."""
    from uvicorn.supervisors import Multiprocess

    handed = {"database": where, "config": asdict(config)}
    with tempfile.TemporaryDirectory(prefix="askless-metrics-") as metrics, _signals_end_quietly():
        os.environ |= {_HANDED_OVER: json.dumps(handed), "PROMETHEUS_MULTIPROC_DIR": metrics}
        supervisor = Multiprocess(_uvicorn_config("askless.cli.serve_run:worker_app", workers=workers), sockets=[taken])
        _first_at_a_stop(_say_stopping)
        ready()  # the socket listens already: a request waits until the first worker takes it
        supervisor.run()


def worker_app() -> FastAPI:
    """The app of one worker process, which stops by itself once the process that started it is gone."""
    from askless.ledger.database import Database
    from askless.service.config import ServiceConfig

    handed = json.loads(os.environ[_HANDED_OVER])
    app = _app(Database(handed["database"]), ServiceConfig(**handed["config"]))
    threading.Thread(target=_stop_after_parent, name="the parent is watched", daemon=True).start()
    return app


def _stop_after_parent() -> None:
    """Stop as at SIGTERM when the parent has ended without a word: a worker would hold the port, and nobody it.

    What is waited for is a pipe that the system closes with the parent, so one that died before this began is seen too.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        signal.raise_signal(signal.SIGTERM)


def _app(database: Database, config: ServiceConfig) -> FastAPI:
    """The app; a signal to stop first lets those go who wait for an answer, since uvicorn waits for all requests.

    uvicorn makes it after it has set its own signal handlers, and puts back the ones from before when it ends.
    """
    from threadpoolctl import threadpool_limits

    from askless.service.app import create_app

    if not os.environ.get("OPENBLAS_NUM_THREADS"):
        # A desk's worker is a thread of its own: threads of BLAS beside it would wait for each other under load.
        threadpool_limits(1, "blas")
    app, loop = create_app(database, config), asyncio.get_running_loop()
    # A batch makes tens of thousands of small objects at once, none of them in a circle, and Python would go through
    # them all every 700 of them; what has been imported by now stays for good, and need not be gone through at all.
    gc.freeze()
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    _first_at_a_stop(lambda: loop.call_soon_threadsafe(app.state.service.wakes.close))
    return app


def _first_at_a_stop(action: Callable[[], object]) -> None:
    """At a signal to stop do this, and then what would have been done."""
    for number in _STOPS:
        before: Any = signal.getsignal(number)

        def stop(number: int, frame: Any, before: Any = before) -> None:
            action()
            before(number, frame)

        signal.signal(number, stop)


def _say_stopping() -> None:
    with suppress(OSError):
        os.write(sys.stderr.fileno(), b"askless: stopping ...\n")  # a signal may come amid a print, which cannot nest


def _uvicorn_config(app: Callable[[], FastAPI] | str, **more: Any) -> uvicorn.Config:
    import uvicorn

    return uvicorn.Config(
        app,
        factory=True,
        access_log=False,  # the service writes its own, without paths that may hold personal ids
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        **more,
    )


@contextmanager
def _signals_end_quietly() -> Iterator[None]:
    """Let uvicorn stop at a signal, and nothing else happen: it raises the signal again once it has stopped."""
    before = {number: signal.signal(number, _stay) for number in _STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stay(number: int, frame: object) -> None:
    pass
