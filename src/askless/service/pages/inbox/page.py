"""The inbox: one question at a time."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from nicegui import APIRouter, ui

from askless.desk.live import labels
from askless.errors import AsklessError
from askless.service.pages.choose import choose_label
from askless.service.pages.frame import frame, sit
from askless.service.pages.inbox.card import NUMBERED
from askless.service.pages.inbox.forms import kept_name, show_keys
from askless.service.pages.inbox.idle import Idle
from askless.service.pages.inbox.play import Player, can_play
from askless.service.pages.inbox.work import Inbox, Taken, taking
from askless.service.pages.parts import one_line, words
from askless.service.pages.seat import Seat

router = APIRouter()

_KEYS = [*(str(number) for number in range(1, NUMBERED + 1)), "/", "n", "g", "s", "u", "?", "Escape"]
_OPENERS = ["/", "n"]  # which open a field to type in
_PRESENT = 15  # seconds after which a page says again that someone is there
_LOOKS = 5.0  # seconds between two looks at least, for what happens without an event: leases end


@router.page("/{desk}/inbox", response_timeout=30.0)
async def inbox(request: Request, desk: str, ticket: int | None = None) -> None:
    """The question that is most useful to answer, or the ticket that the address names."""
    seat = await sit(request, desk)
    if seat is None:
        return
    first, wrong = await _first(seat, ticket)
    plays = seat.is_admin and await seat.read_desk(can_play)
    figures = await Idle.figures(seat) if first.ticket is None else None
    with frame(seat, "inbox"):
        page = _Page(seat, plays, f"{request.url.scheme}://{request.url.netloc}")
        page.inbox.begin(first, figures)
        if wrong:
            page.inbox.said(wrong)
        ui.run_javascript(f"askless.listen({_KEYS}, {_OPENERS}); askless.watchPresence({_PRESENT})")
        ui.on("askless-key", page.key)
        ui.on("askless-present", page.inbox.present)
        ui.timer(0, page.restore, once=True)
    seat.on_change(page.inbox.look, every=min(_LOOKS, first.lease_seconds / 4))


async def _first(seat: Seat, ticket: int | None) -> tuple[Taken, str | None]:
    """What the expert gets first, and why it is not the ticket that they wanted, where it is not."""
    if ticket is None:
        return await seat.change(taking(seat.who)), None
    try:
        return await seat.change(taking(seat.who, ticket)), None
    except AsklessError as error:
        return await seat.change(taking(seat.who)), str(error)


class _Page:
    """The parts of the page, and which key does what."""

    def __init__(self, seat: Seat, plays: bool, address: str) -> None:
        self._seat = seat
        with ui.element("div").classes("inbox"):
            self.player = Player(seat)
            self.inbox = Inbox(seat, lambda: Idle(seat, self.player, plays, address))
            self._actions(plays)
        self.player.on_change(self.inbox.look)
        self.inbox.holds_back = lambda: self.player.answers
        self.inbox.form.on_leave(self._leave)

    def _actions(self, plays: bool) -> None:
        does = (
            ("/", "Search labels", self._search),
            ("n", "New label", self._new),
            ("g", "Guess", self.inbox.guess),
            ("s", "Skip", self._skip),
            ("u", "Undo", self.inbox.take_back),
            ("?", "Keys", lambda: show_keys(self._seat)),
        )
        with ui.element("div").classes("actions").props('role=toolbar aria-label="Actions"'):
            for key, name, act in does:
                with ui.button(on_click=act).props("flat no-caps dense").classes("action") as button:
                    button.props["aria-keyshortcuts"] = key
                    words("span", name)
                    words("kbd", key).props("aria-hidden=true")
                if key == "?":
                    button.classes("for-keyboards")
                if key in "/ngs":
                    self.inbox.needs_question(button, tells=key == "g")
            if plays:
                with ui.button(icon="more_vert").props('flat round dense aria-label="More"') as more, ui.menu():
                    ui.menu_item("Play sample questions in", self.player.ask)
                self.player.begins_with(more)

    async def key(self, event: Any) -> None:
        """A key was pressed while the ticket of that number was on the screen."""
        key, number = str(event.args["key"]), event.args["ticket"]
        shown = self.inbox.ticket
        if key == "Escape":
            await self._leave()
        elif key == "?":
            await show_keys(self._seat)
        elif key == "u":
            await self.inbox.take_back()
        elif shown is not None and shown.id == number:
            await self._at_question(key)

    async def _at_question(self, key: str) -> None:
        if key == "/":
            await self._search()
        elif key == "n":
            await self._new()
        elif key == "g":
            await self.inbox.guess()
        elif key == "s":
            await self._skip()
        elif (shown := self.inbox.ticket) is not None:
            offers = shown.offers[:NUMBERED]
            if int(key) <= len(offers):
                await self.inbox.answer(shown.id, offers[int(key) - 1].label)
            else:
                self.inbox.said(f"There is no suggestion {key}. Search the labels with / or make a new one with n.")

    async def _search(self) -> None:
        if (shown := self.inbox.ticket) is None:
            return
        with self._seat.telling():
            chosen = await choose_label(self._seat, f"Label for “{one_line(shown.text, shown.key, 100)}”")
            if chosen is None:
                return
            known = await self._seat.read_desk(labels.rows)
            if chosen in {row.name for row in known}:
                await self.inbox.answer(shown.id, chosen)
            else:
                self.inbox.open_form(known, chosen, ticket=shown.id)

    async def _new(self) -> None:
        with self._seat.telling():
            self.inbox.open_form(await self._seat.read_desk(labels.rows))

    async def _skip(self) -> None:
        if (shown := self.inbox.ticket) is not None:
            await self.inbox.skip(shown.id)

    async def _leave(self) -> None:
        self.inbox.close_form()

    async def restore(self) -> None:
        """Bring back what the browser has kept: the form as it stood, and what can be undone."""
        start = kept_name(self._seat.desk, "").rstrip()
        kept = await ui.run_javascript(f"askless.keptUnder({start!r})", timeout=10)
        if kept:
            with self._seat.telling():
                self.inbox.restore(kept, await self._seat.read_desk(labels.rows))
