"""The dashboard: what the desk saves and how far to trust it, in figures and in charts."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query, Request, Response
from nicegui import APIRouter, ui

from askless.desk.live.statistics import Prices
from askless.errors import AsklessError, InvalidInput
from askless.service.errors import problem, problem_of
from askless.service.keys import Role
from askless.service.pages.dashboard.card import ChartCard
from askless.service.pages.dashboard.charts import charts
from askless.service.pages.dashboard.data import DEFAULT_SPAN, SPANS, Numbers, Window, read_numbers
from askless.service.pages.dashboard.figures import FigureRow, figures, summary
from askless.service.pages.dashboard.prices import PriceFields
from askless.service.pages.dashboard.words import at_day
from askless.service.pages.frame import frame, sit
from askless.service.pages.parts import empty, link, words
from askless.service.pages.paths import ASSETS, page
from askless.service.pages.seat import Seat

router = APIRouter()

_REST = 5.0  # seconds between two renewals at least
_EVERY = 60.0  # seconds after which the window is moved on though nothing has happened
_PATIENCE = 1.5  # seconds of counting after which the page says that it counts
_TITLES = {"24h": "24 hours", "7d": "7 days", "30d": "30 days", "all": "All time"}
_HEAD = f'<script src="{ASSETS}/dashboard.js" defer></script>'

Price = Annotated[float | None, Query(ge=0, le=1e9, allow_inf_nan=False)]


@router.page("/{desk}/dashboard")
async def dashboard(request: Request, desk: str, span: str = DEFAULT_SPAN, by: str = "") -> None:
    """The figures and charts of a desk over the time that the address names."""
    seat = await sit(request, desk)
    if seat is None:
        return
    ui.add_head_html(_HEAD)
    with frame(seat, "dashboard"):
        await Dashboard(seat, span, by).build()


@router.get("/{desk}/dashboard.csv")
async def numbers_as_file(
    request: Request,
    desk: str,
    chart: str = "figures",
    span: str = DEFAULT_SPAN,
    by: str = "",
    call_price: Price = None,
    mistake_price: Price = None,
) -> Response:
    """The numbers of one chart, or the figures, as CSV: for who may see the dashboard."""
    service, caller, state = request.state.service, request.state.caller, request.scope["state"]
    if not (caller.sees(desk) and caller.may(Role.EXPERT)):
        return problem(404, f"There is no desk {desk!r}.", state["request_id"])
    prices = None if call_price is None or mistake_price is None else Prices(call_price, mistake_price)
    try:
        numbers = await service.work(read_numbers, service, desk, span, by, prices)
    except AsklessError as error:
        return problem_of(error, state)
    drawn = charts(numbers) if numbers.spans else ()  # where nothing came there is nothing to draw
    known = {found.name: found for found in (summary(numbers), *drawn)}
    if chart not in known:
        return problem(
            404, f"The dashboard has no chart {chart!r:.40}; it has {', '.join(known)}.", state["request_id"]
        )
    headers = {"Content-Disposition": f'attachment; filename="{desk}-{chart}.csv"', "Cache-Control": "no-store"}
    file = known[chart].csv().encode("utf-8-sig")  # by whose mark spreadsheets know that it is UTF-8
    return Response(file, media_type="text/csv; charset=utf-8", headers=headers)


class Dashboard:
    """The page of one desk and window; it is renewed while it is open, part by part."""

    def __init__(self, seat: Seat, span: str, by: str) -> None:
        self._seat, self._span, self._by = seat, span, by
        self._cards: dict[str, ChartCard] = {}
        self._layout: tuple[str, ...] | None = None

    async def build(self) -> None:
        """Count, and show; where that takes long the page stands meanwhile and says so."""
        try:
            numbers = await self._first_numbers()
        except InvalidInput as error:
            with empty("There is no such dashboard", str(error)):
                link("The last 7 days", page(self._seat.desk, "dashboard"))
            return
        self._controls(numbers.window)
        self._row = FigureRow(self._seat)
        self._fields = PriceFields(self._seat, self._renew)
        self._body = ui.element("div").classes("charts")
        self._show(numbers)
        self._seat.on_change(self._renew_and_rest, every=_EVERY)

    # -- numbers ---------------------------------------------------------------------------------------------------
    async def _first_numbers(self) -> Numbers:
        counting = asyncio.ensure_future(self._read(None))
        done, _ = await asyncio.wait({counting}, timeout=_PATIENCE)
        if not done:
            with ui.element("p").classes("counting soft").props("role=status") as box:
                ui.spinner(size="1.5em")
                words("span", "Counting what this desk has done ...")
            await self._seat.client.connected()
            await asyncio.wait({counting})
            box.delete()
        return counting.result()

    async def _read(self, prices: Prices | None) -> Numbers:
        seat = self._seat
        return await seat.work(read_numbers, seat.service, seat.desk, self._span, self._by, prices)

    async def _renew(self) -> None:
        with self._seat.telling():
            self._show(await self._read(self._fields.prices))

    async def _renew_and_rest(self) -> None:
        begun = time.monotonic()
        self._show(await self._read(self._fields.prices))
        await asyncio.sleep(max(_REST, 10 * (time.monotonic() - begun)))  # a large desk is counted less often

    # -- the page --------------------------------------------------------------------------------------------------
    def _controls(self, window: Window) -> None:
        with ui.element("div").classes("window"):
            with ui.element("nav").classes("choice").props('aria-label="How far back"'):
                for span in SPANS:
                    self._choice(_TITLES[span], {"span": span}, chosen=span == window.span)
            with ui.element("nav").classes("choice").props('aria-label="Counted by"'):
                for by in window.choices:
                    self._choice(f"by {by}", {"span": window.span, "by": by}, chosen=by == window.by)
            self._said = words("p", "").classes("soft")
            self._file = link("Download the figures as CSV", "").classes("file")
            self._file.props["download"] = ""

    def _choice(self, title: str, asked: dict[str, str], *, chosen: bool) -> None:
        choice = link(title, f"{page(self._seat.desk, 'dashboard')}?{urlencode(asked)}")
        if chosen:
            choice.classes("here").props("aria-current=true")

    def _show(self, numbers: Numbers) -> None:
        """Change what has changed; the page is laid out anew only where it shows other things than before."""
        since = numbers.window.since
        begun = "All time" if since is None else f"Since {at_day(since)}, {since:%H:%M} UTC"
        self._said.set_text(f"{begun}; as of {numbers.now:%H:%M:%S} UTC")
        came = bool(numbers.statistics.received)
        found = charts(numbers) if came else ()
        if came:
            self._row.show(figures(numbers, self._fields.currency))
        self._fields.box.set_visibility(came and not numbers.shadow)
        self._file.set_visibility(came)
        self._file.props["href"] = self._file_of("figures", numbers.prices)
        layout = (str(numbers.ever), *(chart.name for chart in found))
        if layout != self._layout:
            self._layout = layout
            self._lay_out(numbers)
        for chart in found:
            self._cards[chart.name].show(chart)

    def _lay_out(self, numbers: Numbers) -> None:
        self._body.clear()
        with self._body:
            if not numbers.ever:
                self._nothing_yet()
            elif not numbers.statistics.received:
                with empty("Nothing came in during this time", "Look further back:"):
                    link("All time", f"{page(self._seat.desk, 'dashboard')}?span=all")
            else:
                found = charts(numbers)
                self._cards = {c.name: ChartCard(c, self._file_of(c.name)) for c in found}

    def _nothing_yet(self) -> None:
        with empty(
            "Nothing has come in yet",
            "With the first question this page shows what was answered automatically, what was asked, and how long it "
            "waited. A trend can be seen after about 50 questions; how often guesses are wrong, once audits are "
            "turned on and some twenty of them are answered.",
        ):
            link("Go to the inbox", page(self._seat.desk, "inbox"))

    def _file_of(self, chart: str, prices: Prices | None = None) -> str:
        asked = {"chart": chart, "span": self._span, "by": self._by}
        if prices is not None:
            asked |= {"call_price": str(prices.call), "mistake_price": str(prices.mistake)}
        return f"{page(self._seat.desk, 'dashboard.csv')}?{urlencode(asked)}"
