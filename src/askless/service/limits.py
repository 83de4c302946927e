"""What one caller may send: the size of a body, counted as it comes in, and the number of requests a second."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askless.service.config import ServiceConfig
from askless.service.errors import Problem, problem

if TYPE_CHECKING:
    from askless.service.state import Service

MOST_QUERIES = 1000  # of one batch
LONGEST_TEXT = 300_000  # characters: a megabyte of emoji and some
LONGEST_ID = 200
LONGEST_VECTOR = 16_384

_BULK = ("/queries/batch", "/examples", "/import", "/predict", "/webhook")  # ends of paths with the larger limit


class RateLimit:
    """At most `rate` requests a second for each name, counted over a window of `burst_seconds`."""

    def __init__(self, config: ServiceConfig) -> None:
        self._item = None
        if config.rate is not None:
            amount = max(1, round(config.rate * config.burst_seconds))
            self._item = RateLimitItemPerSecond(amount, config.burst_seconds)
            self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def wait(self, name: str) -> int:
        """Count one request: 0 where it may go on, else the seconds after which to come again."""
        if self._item is None or self._limiter.hit(self._item, name):
            return 0
        return max(1, math.ceil(self._limiter.get_window_stats(self._item, name).reset_time - time.time()))


class BodyLimit:
    """Middleware: a body beyond the limit ends with 413, before it is read whole and before it is parsed."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.config = service.config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        bulk = scope["path"].endswith(_BULK)
        most = self.config.max_bulk_body if bulk else self.config.max_body
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared[:20]) > most:
            refused = problem(413, _too_large(most), scope["state"]["request_id"], headers={"Connection": "close"})
            await refused(scope, receive, send)
            return
        taken = 0

        async def counting() -> Message:
            nonlocal taken
            message = await receive()
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                if taken > most:
                    raise Problem(413, _too_large(most), {"Connection": "close"})
            return message

        await self.app(scope, counting, send)


def _too_large(most: int) -> str:
    return f"The body is larger than {most} bytes, the most that this path takes. Send it in parts."
