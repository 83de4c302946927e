"""The outermost layer: a request id, one line of log and the metrics of each request, headers that browsers heed."""

from __future__ import annotations

import itertools
import logging
import queue
import re
import secrets
import sys
import time
import traceback
from logging.handlers import QueueHandler, QueueListener
from typing import TYPE_CHECKING, Any

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askless.errors import AsklessError
from askless.service.errors import problem, problem_of
from askless.service.pages.paths import is_asset, is_page

if TYPE_CHECKING:
    from askless.service.state import Service

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PREFIX, _DOCUMENT = "/api/v1", "/openapi.json"
_PROBES = ("/healthz", "/readyz", "/metrics")  # which come every few seconds and would fill the log
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
_NOTHING = "default-src 'none'; frame-ancestors 'none'"
_OWN = (  # for pages: Vue compiles its templates in the browser, and nothing comes from another site
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)


def make_logger(lines: Any) -> Any:
    """A logger that gives one line of JSON for each event to `lines`, which has the methods info, warning and error."""
    return structlog.wrap_logger(
        lines,
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
    )


class LogThread:
    """Writes lines to the standard error from a thread of its own.

    The event loop only puts them into a queue: a write of its own would give up Python's lock for each request, and
    wait for its turn behind the threads that decide.
    """

    def __init__(self) -> None:
        for library in ("httpx", "httpcore"):  # at INFO they write the URL of each webhook, which may hold a secret
            logging.getLogger(library).setLevel(logging.WARNING)
        waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.lines = logging.Logger("askless.service", logging.INFO)
        self.lines.addHandler(QueueHandler(waiting))
        self._listener = QueueListener(waiting, logging.StreamHandler(sys.stderr))
        self._listener.start()

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._listener.stop()


class Record:
    """Middleware around everything else.

    The log names the template of the route (`/api/v1/desks/{desk}/queries/{id}`), never the path itself: ids may be
    personal.
    An error that nobody foresaw is logged by its type and its place in the code, without its message, which may
    hold a text; the caller gets a 500 with the request id.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service
        # A new id needs no randomness of its own: asking the system for some would give up Python's lock each time.
        self._prefix, self._count = secrets.token_hex(4), itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        state = scope.setdefault("state", {})
        request_id = state["request_id"] = self._request_id(Headers(scope=scope).get("x-request-id"))
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message["headers"])
                headers["X-Request-ID"] = request_id
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                shown = is_page(scope["path"]) or is_asset(scope["path"])
                headers.setdefault("Content-Security-Policy", _OWN if shown else _NOTHING)
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except AsklessError as error:  # of the layers around the routes: the database is away when a key is looked up
            if status:
                raise
            await problem_of(error, state)(scope, receive, noting)
        except Exception as error:
            self._log_failure(request_id, error)
            if status:
                raise
            detail = "The service made a mistake. Its log has more under this request id."
            await problem(500, detail, request_id)(scope, receive, noting)
        finally:
            self._note(scope, state, status, time.perf_counter() - began)

    def _request_id(self, given: str | None) -> str:
        """The caller's request id where it is a short plain word, a new one elsewhere."""
        if given is not None and _REQUEST_ID.fullmatch(given):
            return given
        return f"{self._prefix}{next(self._count):08x}"

    def _note(self, scope: Scope, state: dict[str, Any], status: int, seconds: float) -> None:
        route = template(scope)
        self.service.metrics.request(scope["method"], route, status, seconds)
        if self.service.config.log_requests and route not in _PROBES and not is_asset(scope["path"]):
            caller = state.get("caller")
            log = self.service.log
            write = log.info if status < 500 else log.warning if status == 503 else log.error
            write(
                "request",
                request_id=state["request_id"],
                method=scope["method"],
                route=route,
                status=status,
                ms=round(1000 * seconds, 2),
                key=caller.name if caller is not None else None,
                **state.get("logged", {}),
            )

    def _log_failure(self, request_id: str, error: Exception) -> None:
        frames = [
            f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
        ]
        said = {"message": str(error)} if self.service.config.log_texts else {}
        self.service.log.error("failure", request_id=request_id, error=type(error).__name__, where=frames[-8:], **said)


def template(scope: Scope) -> str:
    """The path of the route as it was declared, with the API's prefix; "unmatched" for a path that is none's."""
    if scope["path"] == _DOCUMENT:  # a route of FastAPI's own, which leaves no trace of itself in the scope
        return _DOCUMENT
    if is_asset(scope["path"]):
        return "assets"
    route = scope.get("route")
    found = str(getattr(route, "path_format", None) or getattr(route, "path", None) or "unmatched")
    if found.startswith("/") and scope["path"].startswith(f"{_PREFIX}/") and not found.startswith(f"{_PREFIX}/"):
        return _PREFIX + found  # a route knows the part of its path that its own router has
    return found
