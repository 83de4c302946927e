"""When a request is sent again, and after how long."""

from __future__ import annotations

import random
import ssl
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

_BUSY = 429
_LATER = frozenset({_BUSY, 502, 503, 504})
_MOST_DOUBLINGS = 60  # a power beyond what a float holds would be an error


@dataclass(frozen=True, slots=True)
class Retries:
    """Further tries for `patience` seconds after the first one that failed: long enough for a server that restarts.

    The pauses between them double from `first` to `longest` seconds. Half of each is drawn at random, so that many
    clients do not come back at once. Where the service says in Retry-After how long to wait, at least that is waited;
    where it says longer than there is patience left, the client gives up at once. `most` bounds the number of further
    tries as well: 0 for none.

    A request that may have been carried out is sent again only where that does no harm: what reads, what bears an id
    made before the first try, and what changes nothing the second time. One that was surely not carried out (429, or
    no connection) always is.
    """

    most: int | None = None
    first: float = 0.25
    longest: float = 5.0
    patience: float = 60.0
    draw: random.Random = field(default_factory=random.Random, compare=False, repr=False)


class Tries:
    """The tries of one request: how many there were, and since when they fail.

    `until`, on the clock of time.monotonic, takes the place of the patience: a caller who said how long to wait is
    neither disappointed before nor kept after.
    """

    def __init__(self, retries: Retries, *, harmless: bool, until: float | None = None) -> None:
        self.made = 0
        self._retries = retries
        self._harmless = harmless
        self._until = until
        self._end: float | None = None

    def begin(self) -> None:
        """All is well, or nothing was tried yet: what fails from here on is the first to fail."""
        self.made, self._end = 0, None

    def pause(self, outcome: httpx.Response | httpx.TransportError) -> float | None:
        """Seconds to wait before the next try, after one that ended like this; None where there is none."""
        self.made += 1
        now = time.monotonic()
        if self._end is None:
            self._end = now + self._retries.patience if self._until is None else self._until
        most, left = self._retries.most, self._end - now
        if left <= 0 or (most is not None and self.made > most) or not _worth_it(outcome, self._harmless):
            return None
        asked = _retry_after(outcome) if isinstance(outcome, httpx.Response) else None
        if asked is not None and asked > left:
            return None
        return min(left, max(asked or 0.0, self._drawn()))

    def _drawn(self) -> float:
        doublings = min(self.made - 1, _MOST_DOUBLINGS)
        whole = min(self._retries.longest, self._retries.first * 2.0**doublings)
        return whole * (0.5 + 0.5 * self._retries.draw.random())


def _worth_it(outcome: httpx.Response | httpx.TransportError, harmless: bool) -> bool:
    if isinstance(outcome, httpx.Response):
        return outcome.status_code in _LATER and (harmless or outcome.status_code == _BUSY)
    if _is_distrusted(outcome) or isinstance(outcome, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return False
    return harmless or isinstance(outcome, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))


def _is_distrusted(error: BaseException | None) -> bool:
    """Whether the server's certificate was refused, which waiting does not mend; httpx calls it a ConnectError.

    httpx keeps the cause of its error, and the pool below it only the context.
    """
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


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
