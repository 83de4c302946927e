"""One request to the service as plain data: what to send, how to read the answer, whether it may be sent twice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from askless.client.errors import ServiceError, error_for

T = TypeVar("T")

LONGEST_POLL = 50.0  # seconds that one request waits; the service allows 60


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request and how to read its answer, without sending it.

    `harmless`: sending it twice is the same as sending it once, so it may be tried again when nobody knows whether
    it arrived. `longer` is added to the time limit of the answer. `until`, on the clock of time.monotonic, is for a
    request that waits for a change: the service is asked to wait for what is left of it, at each try anew.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    body: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    harmless: bool = False
    longer: float = 0.0
    until: float | None = None

    def request(self, client: httpx.Client | httpx.AsyncClient, timeout: float) -> httpx.Request:
        """The request as httpx sends it."""
        params, longer = {name: value for name, value in self.params.items() if value is not None}, self.longer
        if self.until is not None:
            longer = max(0.0, min(LONGEST_POLL, self.until - time.monotonic()))
            params["wait"] = round(longer, 3)
        # A connection comes about at once or not at all: only the answer may take longer.
        limits = httpx.Timeout(timeout, read=timeout + longer)
        return client.build_request(self.method, self.path, json=self.body, params=params, timeout=limits)

    def result(self, response: httpx.Response) -> T:
        """What the answer says; an error of askless.client.errors where it is not a success."""
        if not response.is_success:
            raise failure(response, f"{self.method} {response.request.url}")
        return self.read(response)


def path(*parts: str | int) -> str:
    """A path of the API; each part is quoted, so that an id may hold any character."""
    return "/api/v1/" + "/".join(quote(str(part), safe="") for part in parts)


def json_of(response: httpx.Response) -> Any:
    """The body as JSON; one clear sentence where something else answered, such as a proxy's page."""
    try:
        return json.loads(response.content)
    except ValueError:
        kind = response.headers.get("Content-Type", "no content type")
        raise ServiceError(
            f"{response.request.url} answered with {kind}, not JSON; is that the address of an askless service?",
            status=response.status_code,
        ) from None


def failure(response: httpx.Response, request: str) -> ServiceError:
    """The error of a response that is not a success."""
    try:
        problem = json.loads(response.content)
    except ValueError:
        problem = {}
    return error_for(response.status_code, problem if isinstance(problem, dict) else {}, request)
