"""The history: past queries with what was decided and why, to be searched and corrected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from fastapi import Request
from nicegui import APIRouter, ui
from nicegui.events import ValueChangeEventArguments

from askless.desk.live import labels
from askless.desk.live.history import Past
from askless.desk.live.read import MOST, Page
from askless.service.pages.correct import Corrections
from askless.service.pages.frame import frame, is_blind, sit
from askless.service.pages.history.panel import PastPanel, decided
from askless.service.pages.history.view import HOW, LONGEST, PER_PAGE, View, read_past
from askless.service.pages.panel import ROWS_SCRIPT, row_keys
from askless.service.pages.parts import ago, empty, link, moment, one_line, percent, words
from askless.service.pages.paths import page
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

router = APIRouter()

_LOOK_AGAIN = 30.0  # seconds after which "3 minutes ago" is looked at again


@router.page("/{desk}/history")
async def history(request: Request, desk: str) -> None:
    """What was decided, newest first; the search and an open query are in the address."""
    seat = await sit(request, desk)
    if seat is None:
        return
    blind = await is_blind(seat)
    names = [row.name for row in await seat.read_desk(labels.rows)]
    shown = History(seat, View.read(request.query_params), blind=blind)
    first = await shown.read()
    ui.add_head_html(ROWS_SCRIPT)
    with frame(seat, "history"):
        shown.build(names, first)
    seat.on_change(shown.renew, every=_LOOK_AGAIN)
    opened = request.query_params.get("open")
    if opened:
        ui.timer(0, partial(shown.panel.show, opened), once=True)


class History:
    """The rows that were read so far, as they stand by now; what is new is counted until it is asked for."""

    def __init__(self, seat: Seat, view: View, *, blind: bool) -> None:
        self._seat, self._view, self._blind = seat, view, blind
        self._rows: dict[str, Row] = {}
        self._cursor: str | None = None

    async def read(self, cursor: str | None = None, limit: int = PER_PAGE) -> Page[Past]:
        """A page of what fits, from the newest on or from where the last one ended."""
        return await self._seat.read_desk(read_past, self._view, blind=self._blind, cursor=cursor, limit=limit)

    async def load(self) -> None:
        """Read the newest page and show it in place of what is there."""
        with self._seat.telling():
            found = await self.read()
            self._body.clear()
            self._rows = {}
            self._add(found)

    async def renew(self) -> None:
        """Something has happened at the desk: rows are changed in place, new ones counted."""
        if await is_blind(self._seat) is not self._blind:
            self._seat.go("history")  # what may be shown has changed
            return
        shown = min(max(PER_PAGE, len(self._rows)), MOST)
        found, now = (await self.read(limit=shown)).rows, datetime.now(UTC)
        if found and not self._rows:
            await self.load()
            return
        for row in self._rows.values():
            row.renew_time(now)
        for line in found:
            if line.key in self._rows:
                self._rows[line.key].renew(line)
        fresh = next((place for place, line in enumerate(found) if line.key in self._rows), len(found))
        self._tell_new(fresh)

    # -- building --------------------------------------------------------------------------------------------------
    def build(self, names: list[str], first: Page[Past]) -> None:
        """All of the page."""
        self._filters(names)
        self._fresh = ui.button("", on_click=self.load).props("unelevated no-caps dense rounded").classes("fresh")
        self._fresh_said = words("span", "").classes("unseen").props("role=status aria-live=polite")
        self._none = ui.element("div")
        with ui.element("table").classes("rows past") as self._table:
            words("caption", "Past questions").classes("unseen")
            with ui.element("thead"), ui.element("tr"):
                for head in ("Question", "Decided", "Why", "Asked"):
                    words("th", head).props("scope=col")
            self._body = ui.element("tbody")
        with ui.element("div").classes("pager"):
            self._more = ui.button("Show more", on_click=self._show_more).props("outline no-caps")
        row_keys()
        corrections = Corrections(self._seat, Said(self._seat), self.renew)
        self.panel = PastPanel(self._seat, corrections, blind=self._blind)
        self._add(first)

    def _filters(self, names: list[str]) -> None:
        view = self._view
        with ui.element("div").classes("filters").props("role=search"):
            field = ui.input("Text or id", value=view.q, on_change=partial(self._filter, "q"))
            field.props(f"outlined dense debounce=300 clearable maxlength={LONGEST} data-search type=search")
            given = {"": "Any"} | {name: name for name in [*names, *([view.label] if view.label else [])]}
            label = ui.select(
                given, label="Label", value=view.label, with_input=True, on_change=partial(self._filter, "label")
            )
            how = ui.select(HOW, label="Decided how", value=view.how, on_change=partial(self._filter, "how"))
            for choice in (label, how):
                choice.props("outlined dense options-dense behavior=menu")
            for name, said in (("since", "From day (UTC)"), ("until", "To day (UTC)")):
                day = ui.input(said, value=getattr(view, name), on_change=partial(self._filter, name))
                day.props("outlined dense type=date stack-label")

    # -- showing ---------------------------------------------------------------------------------------------------
    def _add(self, found: Page[Past]) -> None:
        now = datetime.now(UTC)
        with self._body:
            for line in found.rows:
                if line.key not in self._rows:
                    self._rows[line.key] = Row(line, now, self._open)
        self._cursor = found.cursor
        self._more.set_visibility(self._cursor is not None)
        self._table.set_visibility(bool(self._rows))
        self._tell_new(0)
        self._none.clear()
        if not self._rows:
            with self._none:
                self._nothing()

    async def _open(self, key: str) -> None:
        await self.panel.show(key)

    def _nothing(self) -> None:
        if self._view.filters:
            with empty("Nothing fits", "Search for less, or look at all that was decided."):
                link("Show all", page(self._seat.desk, "history"))
            return
        with empty("Nothing was decided yet", "Each question that comes in is listed here, with its label and why."):
            link("Go to the inbox", page(self._seat.desk, "inbox"))

    def _tell_new(self, fresh: int) -> None:
        said = f"{fresh:,} new" if fresh < PER_PAGE else f"{PER_PAGE:,} or more new"
        self._fresh.set_visibility(fresh > 0)
        self._fresh.set_text(f"{said}: show")
        self._fresh_said.set_text(said if fresh else "")

    # -- what one does ---------------------------------------------------------------------------------------------
    async def _filter(self, field: str, event: ValueChangeEventArguments[Any]) -> None:
        self._view = self._view.changed(field, event.value)
        await self.load()
        ui.navigate.history.replace(self._view.address(self._seat.desk))

    async def _show_more(self) -> None:
        with self._seat.telling():
            if self._cursor is not None:
                self._add(await self.read(self._cursor))


class Row:
    """One past query: its text, which opens it, what was decided and why, and when it came."""

    def __init__(self, line: Past, now: datetime, show: Callable[[str], Awaitable[None]]) -> None:
        self._line = line
        with ui.element("tr").props("data-row"):
            with ui.element("td").classes("what"):
                self._text = words("button", "").classes("opener text")
                self._text.props("type=button data-open").on("click", lambda: show(line.key), args=[])
            with ui.element("td").classes("label"):
                self._label = words("span", "").classes("text name")
                self._how = words("span", "").classes("soft")
            with ui.element("td").classes("why"):
                self._why = words("span", "").classes("text clamp soft")
            with ui.element("td").classes("when soft"):
                self._when = moment(line.received_at, now)
                if line.asker is not None:
                    words("span", f"by {line.asker}").classes("text")
        self._show(line)

    def renew(self, line: Past) -> None:
        """As it stands by now."""
        if line != self._line:
            self._line = line
            self._show(line)

    def renew_time(self, now: datetime) -> None:
        """How long ago it came, by now."""
        self._when.set_text(ago(self._line.received_at, now))

    def _show(self, line: Past) -> None:
        self._text.set_text(one_line(line.text, line.key))  # which is gone once it was erased
        self._label.set_text(line.label or "")
        sure = "" if line.probability is None else f", {percent(line.probability)}"
        forgotten = ", forgotten" if line.status.value in ("answered", "given") and not line.example else ""
        self._how.set_text(f"{decided(line.status)}{sure}{forgotten}")
        self._why.set_text(one_line(line.reason or "", line.key, 160))
