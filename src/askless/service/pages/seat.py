"""Who sits at a page, and what the page does for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, tzinfo
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import Request
from nicegui import Client, background_tasks, ui
from sqlalchemy import Connection

from askless.desk.live.desk import LiveDesk
from askless.desk.live.types import NewQuery, Outcome
from askless.errors import AsklessError
from askless.service.errors import Problem, told
from askless.service.keys import Caller, Role
from askless.service.pages.paths import LOGIN, PAGES
from askless.service.state import Service
from askless.service.streams import Place

T = TypeVar("T")
P = ParamSpec("P")

ZONE_COOKIE = "askless_zone"
MOST_PAGES = 100  # of one key; each takes a megabyte or two
_LOOK = 10.0  # seconds after which a page looks at the latest, and learns that its session has ended
_REST = 0.25  # seconds between two renewals of a page at least, however much happens at the desk


class LoggedOut(Exception):
    """The session has ended, or its key was revoked, while the page was open."""


class Seat:
    """Someone at a page of one desk: reads and changes on their behalf, each as far as they may by then.

    A page stays open for hours. So every read and change first looks whether the session is still in force, and a
    page whose session has ended leads to the login.
    """

    def __init__(self, request: Request, desk: str | None = None) -> None:
        self.service: Service = request.state.service
        self.caller: Caller = request.state.caller
        self._given: tuple[str, bool] | None = request.state.credentials
        self.desk = desk or ""
        self.client: Client = ui.context.client
        self.client.askless_seat = self  # type: ignore[attr-defined]  # so that the page is found by its client

    @property
    def who(self) -> str:
        """The name that events are recorded under."""
        return self.caller.name

    @property
    def is_admin(self) -> bool:
        """Whether they may change settings."""
        return self.caller.may(Role.ADMIN)

    @property
    def zone(self) -> tzinfo:
        """The time zone of their clock, as the browser says; UTC where it does not."""
        try:
            return ZoneInfo(unquote(self.client.request.cookies.get(ZONE_COOKIE, "UTC")))
        except (ValueError, OSError, ZoneInfoNotFoundError):  # not a name, not a file, not there
            return UTC

    # -- what the page does ----------------------------------------------------------------------------------------
    async def read(self, function: Callable[Concatenate[Connection, P], T], *arguments: P.args, **named: P.kwargs) -> T:
        """What the function returns, given an open read of the database."""
        await self._check()
        return await self.service.read(function, *arguments, **named)

    async def read_desk(
        self, function: Callable[Concatenate[Connection, int, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        """As `read`, with the number of the desk after the connection."""
        await self._check()
        return await self.service.read_desk(self.desk, function, *arguments, **named)

    async def work(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the function returns, run in a thread."""
        await self._check()
        return await self.service.work(function, *arguments)

    async def change(self, operation: Callable[[LiveDesk], T]) -> T:
        """What the operation of the desk's worker returns, once it is durable."""
        await self._check()
        return await self.service.change(self.desk, operation)

    async def submit(self, queries: Sequence[NewQuery]) -> list[Outcome]:
        """What stands about new queries, once they are decided."""
        await self._check()
        return await self.service.submit(self.desk, queries, self.who)

    async def _check(self) -> None:
        if self._given is None:  # let in from this machine, while there are no keys
            found = None if await self.service.work(self.service.keys.any_keys) else self.caller
        else:
            secret, session = self._given
            found = self.service.keys.remembered(secret, session=session)
            if found is None:
                found = await self.service.work(lambda: self.service.keys.find(secret, session=session))
        if found != self.caller:
            raise LoggedOut

    # -- what the page says ----------------------------------------------------------------------------------------
    @contextmanager
    def telling(self) -> Iterator[None]:
        """What goes wrong inside is said on the page, as a caller over HTTP would be told it."""
        try:
            yield
        except LoggedOut:
            self._go(LOGIN)
        except AsklessError as error:
            self.say(told(error), wrong=True)

    def say(self, text: str, *, wrong: bool = False) -> None:
        """A line that goes away by itself; it is read out to who cannot see it."""
        with self.client:
            kind, button = ("warning", "Close") if wrong else ("info", False)
            ui.notify(text, type=kind, position="bottom", close_button=button)  # type: ignore[arg-type]

    def go(self, page: str) -> None:
        """Open another page of this desk."""
        self._go(f"{PAGES}/{self.desk}/{page}")

    def _go(self, address: str) -> None:
        """Not by NiceGUI's own way, which puts the place of the pages before every address."""
        self.client.run_javascript(f"location.assign({json.dumps(address)})")

    # -- live ------------------------------------------------------------------------------------------------------
    def on_change(self, renew: Callable[[], Awaitable[None]], *, every: float | None = None) -> None:
        """Call `renew` after each change at the desk while the page is open, and every ten seconds besides.

        Changes that come together are taken together. For what the time alone changes sooner, as leases, give `every`.
        """
        task = background_tasks.create(self._watch(renew, every), name=f"page of {self.desk}")
        self.client.on_delete(task.cancel)

    async def _watch(self, renew: Callable[[], Awaitable[None]], every: float | None) -> None:
        """Where there is no place left for one more who waits, the page looks by itself every few seconds."""
        place, every = await self._place(), every or _LOOK
        try:
            while not self.service.wakes.closing:
                try:
                    async with asyncio.timeout(_LOOK if place is None else every):
                        await (asyncio.Event() if place is None else place.changed).wait()
                except TimeoutError:
                    pass
                if place is not None:
                    place.changed.clear()
                await self._renewed(renew)
                await asyncio.sleep(_REST)
        finally:
            if place is not None:
                self.service.wakes.release(place)

    async def _place(self) -> Place | None:
        try:
            number = (await self.service.work(self.service.desks.row, self.desk)).id
            return self.service.wakes.take(number, f"pages of {self.who}")
        except (Problem, AsklessError):
            return None

    async def _renewed(self, renew: Callable[[], Awaitable[None]]) -> None:
        """A page that cannot be renewed once is renewed the next time: it must learn that its session has ended."""
        try:
            with self.client, self.telling():
                await renew()
        except Exception as error:  # noqa: BLE001  (whatever it was)
            self.service.log.error("a page could not be renewed", desk=self.desk, error=type(error).__name__)

    @property
    def crowded(self) -> bool:
        """Whether this key has more pages open than people have."""
        seats: list[Seat | None] = [getattr(client, "askless_seat", None) for client in Client.instances.values()]
        return sum(1 for seat in seats if seat is not None and seat.who == self.who) > MOST_PAGES


def is_owner(client: str, given: tuple[str, bool] | None) -> bool:
    """Whether the page of that client was opened with these credentials; True where there is no such page (any more).

    A page is for who opened it: NiceGUI itself lets everyone connect who knows the client's number.
    """
    seat: Seat | None = getattr(Client.instances.get(client), "askless_seat", None)
    return seat is None or seat._given == given
