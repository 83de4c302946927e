"""When a request is sent again, and after how long."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

_BUSY = 429
_LATER = frozenset({_BUSY, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Retries:
    """At most `most` further tries, each after a pause that doubles from `first` to `longest` seconds.

    Half of each pause is drawn at random, so that many clients do not come back at once. Where the service says in
    Retry-After how long to wait, that is waited instead; beyond `patience` seconds the client gives up at once.

    A request that may have been carried out is sent again only where that does no harm: what reads, and what bears
    an id made before the first try. One that was surely not carried out (429, or no connection) always is.
    """

    most: int = 4
    first: float = 0.25
    longest: float = 8.0
    patience: float = 60.0
    draw: random.Random = field(default_factory=random.Random, compare=False, repr=False)

    def pause(self, tried: int, *, harmless: bool, outcome: httpx.Response | httpx.TransportError) -> float | None:
        """Seconds to wait before the next try, or None where there is none; `tried` counts those made so far."""
        if tried > self.most or not _worth_it(outcome, harmless):
            return None
        asked = _retry_after(outcome) if isinstance(outcome, httpx.Response) else None
        if asked is not None:
            return asked if asked <= self.patience else None
        whole = min(self.longest, self.first * 2.0 ** (tried - 1))
        return whole * (0.5 + 0.5 * self.draw.random())


def _worth_it(outcome: httpx.Response | httpx.TransportError, harmless: bool) -> bool:
    if isinstance(outcome, httpx.Response):
        return outcome.status_code in _LATER and (harmless or outcome.status_code == _BUSY)
    never_sent = isinstance(outcome, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    return never_sent or (harmless and not isinstance(outcome, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)))


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds, or the time of day of HTTP; what cannot be read counts as absent."""
    value = response.headers.get("Retry-After")
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
