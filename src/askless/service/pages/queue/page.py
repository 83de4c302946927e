"""The queue: all that waits, as a table; many can be answered together."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from fastapi import Request
from nicegui import APIRouter, ui
from nicegui.events import ValueChangeEventArguments

from askless.desk.live import labels, together
from askless.desk.live.queue import Order
from askless.desk.live.types import TicketStatus
from askless.service.pages.choose import choose_label
from askless.service.pages.frame import frame, is_blind, sit
from askless.service.pages.panel import ROWS_SCRIPT, row_keys
from askless.service.pages.parts import empty, link, words
from askless.service.pages.paths import page
from askless.service.pages.queue.batch import Batch
from askless.service.pages.queue.row import WHY, Row
from askless.service.pages.queue.selection import Selection
from askless.service.pages.queue.ticket import TicketPanel
from askless.service.pages.queue.view import COUNTED, LONGEST, PER_PAGE, Read, View, read_fitting, read_new, read_page
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

router = APIRouter()

_LOOK_AGAIN = 10.0  # seconds after which leases are looked at again: they begin and end without an event
_ORDERS = {Order.USEFUL: "Most useful first", Order.OLDEST: "Oldest first", Order.NEWEST: "Newest first"}


@router.page("/{desk}/queue")
async def queue(request: Request, desk: str) -> None:
    """What waits, with filter, order, page and an open ticket in the address."""
    seat = await sit(request, desk)
    if seat is None:
        return
    blind = await is_blind(seat)
    names = [row.name for row in await seat.read_desk(labels.rows)]
    shown = Queue(seat, View.read(request.query_params, blind=blind), blind=blind)
    first = await shown.read()
    ui.add_head_html(ROWS_SCRIPT)
    with frame(seat, "queue"):
        shown.build(names, first)
    seat.on_change(shown.renew, every=_LOOK_AGAIN)
    opened = request.query_params.get("open", "")
    if opened.isascii() and opened.isdecimal() and len(opened) < 19:
        ui.timer(0, partial(shown.panel.show, int(opened)), once=True)


class Queue:
    """The table, what is selected in it, and what is done with that.

    Rows stand as they were read until the one at the page asks for others: what is answered elsewhere goes, but not
    from under the mouse, and what is new is counted only.
    """

    def __init__(self, seat: Seat, view: View, *, blind: bool) -> None:
        self._seat, self._view, self._blind = seat, view, blind
        self._rows: dict[int, Row] = {}
        self._chosen = Selection(seat, self._fitting, self._answer_chosen)
        self._total = self._newest = 0
        self._pointed = False  # whether the mouse is over the rows

    # -- reading ---------------------------------------------------------------------------------------------------
    async def read(self) -> Read:
        """The page of the view as it is now."""
        return await self._seat.read_desk(read_page, self._view, blind=self._blind, now=datetime.now(UTC))

    async def load(self) -> None:
        """Read the page anew and show it."""
        with self._seat.telling():
            self._show(await self.read())

    async def renew(self) -> None:
        """Something has happened at the desk: rows go and are counted, none moves."""
        if await is_blind(self._seat) is not self._blind:
            self._seat.go("queue")  # what may be shown has changed
            return
        now, ids = datetime.now(UTC), list({*self._rows, *self._chosen.ids})
        stands = await self._seat.read_desk(together.standings, ids, now=now)
        fresh, total = await self._seat.read_desk(read_new, self._view, blind=self._blind, now=now, newest=self._newest)
        for id in ids:
            standing = stands.get(id)
            if standing is not None and standing.status is TicketStatus.OPEN:
                if id in self._rows:
                    self._rows[id].renew(standing, now)
                continue
            self._chosen.drop(id)
            if id in self._rows:
                self._rows[id].fade(standing)
        if not self._pointed:
            self._sweep()
        self._total = total
        if total and not self._rows:
            await self.load()
            return
        self._tell_new(fresh)
        self._tell_counts()

    def _sweep(self) -> None:
        """Take away the rows that wait no more."""
        for id in [id for id, row in self._rows.items() if "gone" in row.element.classes]:
            self._rows.pop(id).element.delete()

    # -- building --------------------------------------------------------------------------------------------------
    def build(self, names: list[str], first: Read) -> None:
        """All of the page."""
        seat = self._seat
        self._filters(names)
        with ui.element("div").classes("queue-bar"):
            self._count = words("h2", "").props('data-testid="fitting"')
            self._fresh = ui.button("", on_click=self._show_new).props("unelevated no-caps dense rounded")
            self._fresh_said = words("span", "").classes("unseen").props("role=status aria-live=polite")
        self._chosen.build()
        self._none = ui.element("div")
        with ui.element("table").classes("rows") as self._table:
            words("caption", "Questions that wait").classes("unseen")
            with ui.element("thead"), ui.element("tr"):
                known = ("Asker suggests",) if self._blind else ("Suggested", "Why")
                for head in ("Select", "Question", *known, "Asked"):
                    words("th", head).props("scope=col")
            self._body = ui.element("tbody")
            self._body.on("mouseenter", lambda: self._point(True), args=[])
            self._body.on("mouseleave", lambda: self._point(False), args=[])
        self._pager()
        said = Said(seat)
        self._batch = Batch(seat, said, self.load)
        self.panel = TicketPanel(seat, self._batch)
        row_keys(("x", "select"), ("a", "answer selected"))
        self._show(first)

    def _filters(self, names: list[str]) -> None:
        view = self._view
        with ui.element("div").classes("filters").props("role=search"):
            field = ui.input("Text or id", value=view.search, on_change=partial(self._filter, "search"))
            field.props(f"outlined dense debounce=300 clearable maxlength={LONGEST} data-search type=search")
            label = "Asker suggests" if self._blind else "Suggested label"
            choices: dict[Any, str] = {None: "Any"} | {name: name for name in names}
            if view.label is not None:
                choices |= {view.label: view.label}
            self._choice(label, choices, view.label, "label", search=True)
            if not self._blind:
                self._choice("Why", {None: "Any", **WHY}, view.why, "why")
            self._choice("Order", dict(_ORDERS), view.order, "order")

    def _choice(self, label: str, given: dict[Any, str], value: Any, field: str, *, search: bool = False) -> None:
        chosen = ui.select(given, label=label, value=value, with_input=search, on_change=partial(self._filter, field))
        chosen.props("outlined dense options-dense behavior=menu")

    def _pager(self) -> None:
        with ui.element("nav").classes("pager").props('aria-label="Pages of the queue"') as self._pages:
            self._before = ui.button("Before", icon="chevron_left", on_click=lambda: self._turn(-1))
            self._place = words("span", "").classes("soft")
            self._after = ui.button("Next", icon="chevron_right", on_click=lambda: self._turn(1))
            for button in (self._before, self._after):
                button.props("flat no-caps dense")

    # -- showing ---------------------------------------------------------------------------------------------------
    def _show(self, found: Read) -> None:
        self._view = replace(self._view, page=found.page)
        self._total, self._newest = found.total, found.newest
        self._body.clear()
        self._rows = {}
        now = datetime.now(UTC)
        with self._body:
            for line in found.lines:
                self._rows[line.id] = Row(
                    line,
                    self._seat.who,
                    now,
                    blind=self._blind,
                    chosen=line.id in self._chosen,
                    choose=self._chosen.choose,
                    show=self._open,
                )
        self._tell_new(0)
        self._tell_counts()

    async def _open(self, id: int) -> None:
        await self.panel.show(id)

    def _tell_counts(self) -> None:
        total, view = self._total, self._view
        fits = "fits" if total == 1 else "fit"
        waits = "question waits" if total == 1 else "questions wait"
        self._count.set_text(f"{total:,} {fits}" if view.filters else f"{total:,} {waits}")
        for part in (self._table, self._count):
            part.set_visibility(bool(self._rows))
        self._pages.set_visibility(total > PER_PAGE)
        self._place.set_text(self._places(view.page, total))
        self._before.set_enabled(view.page > 1)
        self._after.set_enabled(view.page * PER_PAGE < total)
        self._chosen.show(self._rows, total)
        self._none.clear()
        if not self._rows:
            with self._none:
                self._nothing()

    @staticmethod
    def _places(number: int, total: int) -> str:
        return f"{(number - 1) * PER_PAGE + 1:,} to {min(total, number * PER_PAGE):,} of {total:,}"

    def _nothing(self) -> None:
        if self._view.filters:
            with empty("Nothing that waits fits", "Search for less, or look at all that waits."):
                link("Show all", page(self._seat.desk, "queue"))
            return
        with empty("Nothing waits", "Questions that the desk is not sure of come in here by themselves."):
            link("See what was decided", page(self._seat.desk, "history"))

    def _tell_new(self, fresh: int) -> None:
        said = f"{fresh:,} new" if fresh < COUNTED else f"{COUNTED:,} or more new"
        self._fresh.set_visibility(fresh > 0)
        self._fresh.set_text(f"{said}: show")
        self._fresh_said.set_text(said if fresh else "")

    # -- what one does ---------------------------------------------------------------------------------------------
    async def _filter(self, field: str, event: ValueChangeEventArguments[Any]) -> None:
        self._view = self._view.changed(field, event.value)
        if field != "order":
            self._chosen.clear()  # what is not seen any more is not answered by mistake
        await self._go()

    async def _turn(self, step: int) -> None:
        self._view = replace(self._view, page=max(1, self._view.page + step))
        await self._go()
        ui.run_javascript("window.scrollTo(0, 0)")

    async def _show_new(self) -> None:
        if self._view.order is not Order.OLDEST:
            self._view = replace(self._view, page=1)
        await self._go()

    async def _go(self) -> None:
        await self.load()
        ui.navigate.history.replace(self._view.address(self._seat.desk))

    def _point(self, over: bool) -> None:
        self._pointed = over
        if not over:
            self._sweep()
            self._tell_counts()

    async def _fitting(self) -> list[int]:
        seat, now = self._seat, datetime.now(UTC)
        return await seat.read_desk(
            read_fitting, self._view, blind=self._blind, now=now, who=seat.who, most=together.MOST
        )

    async def _answer_chosen(self, ids: list[int]) -> None:
        what = f"{len(ids):,} question{'s' if len(ids) > 1 else ''}"
        with self._seat.telling():
            label = await choose_label(self._seat, f"Label for {what}")
            if label is not None and await self._batch.confirmed(len(ids), label):
                self._chosen.clear()
                await self._batch.answer(ids, label)
