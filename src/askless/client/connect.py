"""What both clients need to reach the service: headers, limits, the way through a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx

from askless.client.asking import watched
from askless.client.call import failure
from askless.client.errors import Unreachable
from askless.client.results import Desk, Outcome, read
from askless.client.retries import Retries, Tries
from askless.client.sse import EventReader
from askless.errors import InvalidInput

DEFAULT_URL = "http://127.0.0.1:8400"
TIMEOUT = 10.0  # seconds
_MOST_NAMED = 10  # desks in a sentence
SILENCE = 60.0  # seconds without even a heartbeat after which a stream counts as broken


def address(url: str) -> httpx.URL:
    """The service's address; refused in a sentence where it is none."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL:
        found = httpx.URL("")
    if found.scheme not in ("http", "https") or not found.host:
        raise InvalidInput(f"The address of a service is like {DEFAULT_URL}, with http:// or https://; found {url!r}.")
    return found


def headers(key: str | None) -> dict[str, str]:
    """The headers of every request."""
    if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key != ""):
        raise InvalidInput(
            "A key has plain characters alone, without spaces or line breaks at its ends; this one has not."
        )
    return {"Accept": "application/json"} | ({} if key is None else {"Authorization": f"Bearer {key}"})


def only(desks: Sequence[Desk]) -> str:
    """The desk of a client that was given none: the only one there is."""
    names = [desk.name for desk in desks]
    if len(names) == 1:
        return names[0]
    if not names:
        raise InvalidInput("There is no desk yet, or none for this key; `create_desk` makes one.")
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    raise InvalidInput(
        f"There are {len(names)} desks here: {', '.join(names[:_MOST_NAMED])}{more}. Say which one is meant: "
        f"Client(url, key, desk={names[0]!r})."
    )


def gone(error: httpx.TransportError, url: httpx.URL, tried: int) -> Unreachable:
    """The error where no answer came."""
    times = "once" if tried == 1 else f"{tried} times"
    why = str(error) or type(error).__name__
    return Unreachable(
        f"No answer from {url} (tried {times}): {why}. Is the service running there? `askless serve` starts one."
    )


class Watching:
    """One query's stream of events, taken up again where it broke off.

    Any sign of the service, a heartbeat too, begins the tries anew: a stream lasts through one restart after another.
    """

    def __init__(self, desk: str, id: str, retries: Retries) -> None:
        self.done = False
        self._path = watched(desk, id)
        self._tries = Tries(retries, harmless=True)
        self._last: str | None = None
        self._reader = EventReader()

    def request(self, http: httpx.Client | httpx.AsyncClient, timeout: float) -> httpx.Request:
        """The request that opens the stream, after the last event that arrived."""
        self._reader = EventReader()
        extra = {"Accept": "text/event-stream"} | ({} if self._last is None else {"Last-Event-ID": self._last})
        limits = httpx.Timeout(timeout, read=max(timeout, SILENCE))
        return http.build_request("GET", self._path, headers=extra, timeout=limits)

    def feed(self, piece: str) -> Iterator[Outcome]:
        """The outcomes that this piece of the stream completes."""
        self._tries.begin()
        for event in self._reader.feed(piece):
            self._last = event.id
            data: Any = json.loads(event.data)
            if not isinstance(data, dict) or "status" not in data:
                continue
            outcome = read(Outcome, data)
            self.done = not outcome.waits
            yield outcome

    def pause(self, broken: httpx.Response | httpx.TransportError, url: httpx.URL) -> float:
        """Seconds until the stream is opened again; raises where it is not worth it."""
        ended_early = isinstance(broken, httpx.Response) and broken.is_success
        why = httpx.RemoteProtocolError("the stream ended early") if ended_early else broken
        pause = self._tries.pause(why)
        if pause is not None:
            return pause
        if isinstance(why, httpx.Response):
            raise failure(why, f"GET {why.request.url}")
        raise gone(why, url, self._tries.made) from why
