"""Waiting for a change: a long poll, or a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from fastapi import Header
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from askless.desk.live.bus import Bus
from askless.service.errors import Problem

if TYPE_CHECKING:
    from askless.service.state import Service

EVENT_STREAM = {  # each event of a stream, as OpenAPI documents describe them
    "text/event-stream": {
        "schema": {
            "type": "object",
            "required": ["id", "event", "data"],
            "properties": {
                "id": {"type": "string", "description": "The number of the ledger's event; send it as Last-Event-ID."},
                "event": {"type": "string"},
                "data": {"type": "string", "contentMediaType": "application/json"},
            },
        }
    }
}
LastEvent = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=20, description="The number of the last event that was seen."),
]

LONGEST_WAIT = 60.0  # seconds, of a long poll
_LOOK_AGAIN = 1.0  # seconds between looks at the database where nothing was heard
_REST = 0.05  # seconds between two looks at least, however much happens


@dataclass(eq=False, slots=True)
class Place:
    """One of the places of those who wait; `changed` is set after each change at the desk."""

    desk: int
    who: str
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Wakes:
    """Wakes those who wait for a change at a desk. The bus calls from any thread; the waiting is on the event loop.

    There are `most` places, of which one key has a quarter at most.
    """

    def __init__(self, bus: Bus, most: int) -> None:
        self._bus = bus
        self._most = most
        self._most_each = max(1, most // 4)
        self._each: Counter[str] = Counter()  # the places that each key has
        self.heard: dict[int, int] = {}  # the newest event of each desk that this process knows of
        self._waiting: defaultdict[int, set[Place]] = defaultdict(set)
        self.count = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._closing = False

    def open(self) -> None:
        """Listen from now on, for waiters on the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._unsubscribe = self._bus.subscribe(self._heard)

    def close(self) -> None:
        """Let all who wait go."""
        self._closing = True
        if self._unsubscribe is not None:
            self._unsubscribe()
        for desk in list(self._waiting):
            self._wake(desk)

    @property
    def closing(self) -> bool:
        """Whether the service is about to stop."""
        return self._closing

    @contextmanager
    def waiter(self, desk: int, who: str) -> Iterator[asyncio.Event]:
        """An event that is set after each change at the desk, in a place of the key of that name."""
        place = self.take(desk, who)
        try:
            yield place.changed
        finally:
            self.release(place)

    def take(self, desk: int, who: str) -> Place:
        """A place for a caller, of the key of that name, until it is released. Too many at a time are refused."""
        if self.count >= self._most:
            raise _too_many(f"{self._most} callers wait already, the most at a time.")
        if self._each[who] >= self._most_each:
            raise _too_many(f"{self._most_each} callers wait with the key {who!r} already, the most for one key.")
        place = Place(desk, who)
        self.count += 1
        self._waiting[desk].add(place)
        self._each[who] += 1
        return place

    def release(self, place: Place) -> None:
        """Give the place to others; to do so again does nothing."""
        if place not in self._waiting.get(place.desk, ()):
            return
        self.count -= 1
        self._waiting[place.desk].discard(place)
        if not self._waiting[place.desk]:
            del self._waiting[place.desk]
        self._each[place.who] -= 1
        if not self._each[place.who]:
            del self._each[place.who]

    def _heard(self, desk: int, event: int) -> None:
        self.heard[desk] = max(event, self.heard.get(desk, 0))
        loop = self._loop
        if loop is not None and desk in self._waiting and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake, desk)

    def _wake(self, desk: int) -> None:
        for place in self._waiting.get(desk, ()):
            place.changed.set()


def _too_many(found: str) -> Problem:
    return Problem(429, f"{found} Come again.", {"Retry-After": "1"})


async def next_change(event: asyncio.Event, seconds: float = _LOOK_AGAIN) -> None:
    """Wait until the event is set, or for `seconds` at most: the database is looked at again in any case.

    On a busy desk changes are taken together: whoever waits costs at most one read in each twentieth of a second.
    """
    try:
        async with asyncio.timeout(min(seconds, _LOOK_AGAIN)):
            await event.wait()
            await asyncio.sleep(_REST)
    except TimeoutError:
        pass
    event.clear()


class _Stream(EventSourceResponse):
    """Releases its place at its end, also where the caller went before the first event was asked for."""

    def __init__(self, service: Service, place: Place, events: AsyncIterator[ServerSentEvent]) -> None:
        super().__init__(events, ping=service.config.heartbeat_seconds, send_timeout=30)
        self._wakes, self._place = service.wakes, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._wakes.release(self._place)


def event_stream(service: Service, place: Place, events: AsyncIterator[ServerSentEvent]) -> EventSourceResponse:
    """The events as a response that holds the place, with a comment now and then that keeps the connection open.

    The place is taken before, so that a caller for whom there is none is told so by the status of the answer.
    """
    return _Stream(service, place, events)


def number_of(last_event_id: str | None) -> int:
    """The event that a caller has seen; 0 where what it sent is no number of ours."""
    given = last_event_id or ""
    return int(given) if given.isascii() and given.isdigit() else 0
