"""The loop that sends deliveries to webhooks: signed, at least once each, again after a while where they fail."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
from sqlalchemy import Connection

from askless.client.signature import DELIVERY_HEADER, SIGNATURE_HEADER, sign
from askless.desk.live.types import Happening
from askless.errors import Unavailable, Unknown
from askless.ledger.database import Database
from askless.service import outbox
from askless.service.outbox import Due

if TYPE_CHECKING:
    from askless.service.state import Service


@dataclass(frozen=True, slots=True)
class CourierSettings:
    """How patient the courier is. `delays` are the seconds before each further try; after the last one it is dead."""

    delays: Sequence[float] = (1.0, 5.0, 30.0, 120.0, 600.0, 3600.0)
    jitter: float = 0.25  # the share of a delay that is drawn at random and added
    timeout: float = 10.0  # seconds for one try, from the search for its host to the last byte read
    poll: float = 1.0  # seconds after which it looks for something due, where nothing wakes it
    pace: float = 0.05  # seconds between two looks at least, which take together all that came meanwhile
    per_webhook: int = 8  # under way at once to one webhook, so that one that hangs holds up no other
    longest_reply: int = 64 * 1024  # bytes of a response that are read
    grace: float = 2.0  # seconds that those under way have to finish when the service stops
    keep: timedelta = timedelta(days=7)  # how long those that were sent stay listed
    keep_dead: timedelta = timedelta(days=30)  # and dead ones: to be sent again after a receiver's longest holiday


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a receiver does not have a delivery; `final` where trying again cannot help."""

    why: str
    final: bool = False


async def deliver_forever(service: Service) -> None:
    """Send what the service's desks have to tell, until cancelled."""
    from askless.desk.live import read
    from askless.desk.live.configure import settings_of
    from askless.service.shown import outcome_shown

    def outcome(connection: Connection, due: Due) -> dict[str, Any]:
        found = read.outcome(connection, due.desk, due.key)
        # Nobody knows who reads it in the end, so it says no more than a client's key may see.
        shared = bool(found.evidence) and settings_of(service.desks, due.desk_name).share_examples
        return outcome_shown(found, examples=shared)

    await Courier(service.database, outcome, log=service.log).run(service.desks.bus.subscribe)


class Courier:
    """Sends what is due. One for each process: leases keep two processes from sending the same delivery.

    `outcome(connection, due)` gives what stands about a query, as the API gives it to a client: it is read when the
    delivery is sent, so what was erased meanwhile is not in it. A new ticket is told of by its number and its query
    alone.
    """

    def __init__(
        self,
        database: Database,
        outcome: Callable[[Connection, Due], dict[str, Any]],
        settings: CourierSettings | None = None,
        *,
        log: Any = None,
        draw: random.Random | None = None,
    ) -> None:
        self._database, self._outcome, self._log = database, outcome, log
        self._settings = CourierSettings() if settings is None else settings
        self._draw = random.Random() if draw is None else draw
        self._under_way: dict[asyncio.Task[Refusal | None], Due] = {}
        self._results: list[tuple[Due, Refusal | None]] = []
        self._wake = asyncio.Event()
        self._swept = 0.0

    async def run(self, subscribe: Callable[[Callable[[int, int], None]], Callable[[], None]] | None = None) -> None:
        """Send until cancelled. `subscribe` is the bus's: after each commit the courier looks at once."""
        loop = asyncio.get_running_loop()

        def look(desk: int, event: int) -> None:
            loop.call_soon_threadsafe(self._wake.set)

        leave = subscribe(look) if subscribe else lambda: None
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=16)
        try:
            async with httpx.AsyncClient(timeout=self._settings.timeout, limits=limits, follow_redirects=False) as http:
                try:
                    while True:
                        await self._turn(http)
                        await asyncio.sleep(self._settings.pace)
                        with suppress(TimeoutError):
                            async with asyncio.timeout(self._settings.poll):  # wait_for of 3.11 may lose a cancellation
                                await self._wake.wait()
                        self._wake.clear()
                finally:
                    await self._stop()
        finally:
            leave()

    async def _turn(self, http: httpx.AsyncClient) -> None:
        """Record what came of earlier deliveries, take what is due, and begin to send it."""
        busy = Counter(due.webhook for due in self._under_way.values())
        results = list(self._results)
        try:
            taken = await asyncio.to_thread(self._take, results, busy)
        except Exception as error:  # noqa: BLE001  (most likely the database is away; the loop outlives it)
            self._note("webhooks have to wait", error=type(error).__name__)
            return  # the results stay for the next turn; to record one twice changes nothing
        del self._results[: len(results)]
        for due, body in taken:
            if isinstance(body, Refusal):
                self._results.append((due, body))
                self._wake.set()
                continue
            task = asyncio.create_task(self._send(http, due, body))
            self._under_way[task] = due
            task.add_done_callback(self._arrived)

    def _take(
        self, results: Sequence[tuple[Due, Refusal | None]], busy: Counter[int]
    ) -> list[tuple[Due, bytes | Refusal]]:
        """In a thread: the writes of one turn in one transaction, and the bodies of what was taken."""
        now = datetime.now(UTC)
        with self._database.read() as connection:
            waiting = outbox.due_webhooks(connection, now)
        places = {hook: self._settings.per_webhook - busy[hook] for hook in waiting}
        places = {hook: most for hook, most in places.items() if most > 0}
        sweep = time.monotonic() - self._swept > 3600 or not self._swept
        if not (places or results or sweep):
            return []
        lease = timedelta(seconds=self._settings.timeout + 20.0)
        with self._database.write() as connection:
            for due, refusal in results:
                self._record(connection, due, refusal, now)
            if sweep:
                settings = self._settings
                outbox.sweep(connection, sent_before=now - settings.keep, dead_before=now - settings.keep_dead)
                self._swept = time.monotonic()
            taken = outbox.take_due(connection, places, now, lease)
        with self._database.read() as connection:
            return [(due, self._body(connection, due)) for due in taken]

    def _record(self, connection: Connection, due: Due, refusal: Refusal | None, now: datetime) -> None:
        if refusal is None:
            outbox.accepted(connection, due, now)
            return
        again_at = None
        if not refusal.final and due.attempts < len(self._settings.delays):
            spread = 1.0 + self._settings.jitter * self._draw.random()
            again_at = now + timedelta(seconds=self._settings.delays[due.attempts] * spread)
        outbox.failed(connection, due, refusal.why, again_at)
        if again_at is None:
            self._note("delivery given up", delivery=due.id, webhook=due.webhook, error=refusal.why)

    def _body(self, connection: Connection, due: Due) -> bytes | Refusal:
        try:
            if due.kind == Happening.TICKET_CREATED:
                what = outbox.asked(connection, due)
            else:
                what = {"query": self._outcome(connection, due)}
        except Unknown:
            return Refusal("Its query is gone.", final=True)
        except Exception as error:  # noqa: BLE001  (one that cannot be written holds up no other)
            return Refusal(f"What stands about its query could not be read ({type(error).__name__}).")
        said = {
            "id": due.id,
            "kind": due.kind,
            "desk": due.desk_name,
            "event": due.event,
            "at": due.at.isoformat(),
            **what,
        }
        return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    async def _send(self, http: httpx.AsyncClient, due: Due, body: bytes) -> Refusal | None:
        """None once the receiver has accepted it with a status of 200 to 299."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "askless",
            SIGNATURE_HEADER: sign(due.secret, body, int(time.time())),
            DELIVERY_HEADER: str(due.id),
        }
        try:
            async with asyncio.timeout(self._settings.timeout):
                if await _leads_to_the_link(due.url):
                    return Refusal("Its host has a link-local address, to which nothing is sent.", final=True)
                async with http.stream("POST", due.url, content=body, headers=headers) as response:
                    await self._read(response)
        except TimeoutError:
            return Refusal(f"No complete answer within {self._settings.timeout:g} s.")
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            return Refusal(f"It could not be sent ({type(error).__name__}).")
        if response.is_success:
            return None
        more = "; redirects are not followed" if response.is_redirect else ""
        return Refusal(f"It was answered with status {response.status_code}{more}.")

    async def _read(self, response: httpx.Response) -> None:
        """Read a short answer to its end, so that the connection can be used again; leave a long one."""
        length = 0
        async for piece in response.aiter_raw():
            length += len(piece)
            if length > self._settings.longest_reply:
                return

    def _arrived(self, task: asyncio.Task[Refusal | None]) -> None:
        due = self._under_way.pop(task)
        if task.cancelled():
            return
        error = task.exception()
        why = task.result() if error is None else Refusal(f"It could not be sent ({type(error).__name__}).")
        self._results.append((due, why))
        self._wake.set()

    async def _stop(self) -> None:
        """Let those under way finish for a moment, record them, and give back the leases of the others."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=self._settings.grace)
        late = list(self._under_way.values())
        for task in list(self._under_way):
            task.cancel()
        with suppress(Unavailable):
            await asyncio.to_thread(self._put_away, late)

    def _put_away(self, late: Sequence[Due]) -> None:
        now = datetime.now(UTC)
        with self._database.write() as connection:
            for due, refusal in self._results:
                self._record(connection, due, refusal, now)
            outbox.let_go(connection, late, now)

    def _note(self, what: str, **fields: Any) -> None:
        if self._log is not None:
            self._log.warning(what, **fields)


async def _leads_to_the_link(url: str) -> bool:
    """Whether the host of the URL has a link-local address by now; one that cannot be found has none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(outbox.host_of(url), None)
    except OSError:
        return False
    return any(outbox.is_link_local(str(place[0])) for *_, place in found)
