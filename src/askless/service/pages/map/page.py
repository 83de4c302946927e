"""The map: the examples of a desk in a plane, and how its labels lie to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from nicegui import APIRouter, ui
from nicegui.events import EChartPointClickEventArguments
from sqlalchemy import Connection, select

from askless.desk.live.projection import Map, map_of
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.service.pages.example_card import ExampleCard
from askless.service.pages.frame import frame, sit
from askless.service.pages.map import chart as map_chart
from askless.service.pages.map.legend import Legend
from askless.service.pages.map.table import Table
from askless.service.pages.parts import empty, percent, words
from askless.service.pages.paths import ASSETS, page
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

router = APIRouter()

_FEWEST = 3  # examples that a map is drawn of
_MOST = 2000  # points: more cannot be told apart
_LEARNING = (
    kinds.ANSWERED, kinds.GIVEN, kinds.RELABELLED, kinds.RETRACTED, kinds.FORGOTTEN, kinds.ERASED, kinds.RENAMED,
    kinds.MERGED, kinds.LABEL_DELETED, kinds.SWITCHED,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drawing:
    """A map, and the last event that it shows."""

    map: Map
    event: int


@router.page("/{desk}/map")
async def show_map(request: Request, desk: str) -> None:
    """The map; each `?label=` is picked out."""
    seat = await sit(request, desk)
    if seat is None:
        return
    drawing = await seat.read_desk(_draw)
    with frame(seat, "map"):
        ui.add_head_html(f'<script src="{ASSETS}/map.js" defer></script>')
        shown = _Shown(seat, drawing, request.query_params.getlist("label"))
    seat.on_change(shown.look)


class _Shown:
    """What the page shows, and what is looked at."""

    def __init__(self, seat: Seat, drawing: Drawing, picked: list[str]) -> None:
        self._seat, self._drawing = seat, drawing
        self._view = map_chart.View(frozenset(picked) & {shape.label for shape in drawing.map.labels})
        self._card = ExampleCard(seat, Said(seat), self.draw)
        self._late = ui.element("p").classes("late").props("role=status")
        self._place = ui.element("div")
        self._build()

    def _build(self) -> None:
        self._place.clear()
        drawn = self._drawing.map
        with self._place:
            if drawn.examples < _FEWEST:
                _say_empty(drawn.examples)
                return
            words("p", _in_words(drawn)).classes("soft")
            with ui.element("div").classes("map-split"):
                self._chart_part()
                self._legend = Legend(drawn, self._pick)
            self._table = Table(drawn, self._open)
        self._renew()

    def _chart_part(self) -> None:
        with ui.element("section").classes("map-chart card").props('aria-label="Map of the examples"'):
            with ui.element("div").classes("ask-tools"):
                field = ui.input("Search texts", on_change=lambda e: self._look_for(e.value or ""))
                field.props("outlined dense clearable clear-icon=close debounce=200 type=search autocomplete=off")
                self._found = words("span", "").classes("soft").props("role=status")
                ui.space()
                for name, icon, said in (
                    ("in", "add", "Zoom in"), ("out", "remove", "Zoom out"), ("all", "fit_screen", "Whole map"),
                ):  # fmt: skip
                    button = ui.button(icon=icon, on_click=lambda name=name: self._zoom(name))
                    button.props("flat round dense").props["aria-label"] = said
            self._chart = ui.echart(map_chart.options(self._drawing.map, self._view), on_point_click=self._clicked)
            self._chart.classes("map").props("role=img")
            words("p", "Turn the wheel or pinch to zoom, drag to move, click a point to open it.").classes("soft hint")

    # -- what is looked at -----------------------------------------------------------------------------------------
    def _pick(self, picked: frozenset[str]) -> None:
        self._view = map_chart.View(picked, self._view.found)
        self._renew(chart=True)
        self._remember()

    def _remember(self) -> None:
        """The address shows what the page shows, so that it can be sent to someone."""
        query = urlencode([("label", label) for label in sorted(self._view.picked)])
        ui.navigate.history.replace(page(self._seat.desk, "map") + (f"?{query}" if query else ""))

    def _look_for(self, search: str) -> None:
        piece = search.strip().casefold()
        keys = (point.key for point in self._drawing.map.points if piece in (point.text or "").casefold())
        found = frozenset(keys) if piece else None
        self._view = map_chart.View(self._view.picked, found)
        self._found.set_text("" if found is None else f"{len(found):,} found" if found else "No text holds that.")
        self._renew(chart=True)

    def _renew(self, *, chart: bool = False) -> None:
        drawn = self._drawing.map
        if chart:
            self._chart.options.update(map_chart.options(drawn, self._view))
            self._chart.update()
        look = map_chart.looks(drawn.labels, self._view.picked)
        self._legend.show(self._view.picked, look)
        self._chart.props["aria-label"] = _summary(drawn, self._view.picked)
        self._table.show(self._view)

    def _zoom(self, how: str) -> None:
        ui.run_javascript(f"askless.zoomMap({self._chart.id}, {how!r})")

    # -- what changes ----------------------------------------------------------------------------------------------
    async def look(self) -> None:
        """Say that the map is not of now any more: to draw it anew would move it under the eyes of who reads it."""
        event = await self._seat.read_desk(_last_event)
        if event == self._drawing.event or self._late.default_slot.children:
            return
        if self._drawing.map.examples < _FEWEST:
            await self.draw()
            return
        with self._late:
            words("span", "What the desk has learned has changed since this map was drawn.")
            ui.button("Draw it anew", on_click=self.draw).props("flat dense no-caps")

    async def draw(self) -> None:
        """Draw the map of what stands now."""
        with self._seat.telling():
            self._drawing = await self._seat.read_desk(_draw)
            self._view = map_chart.View(self._view.picked & {shape.label for shape in self._drawing.map.labels})
            self._late.clear()
            self._build()
            self._remember()

    async def _clicked(self, event: EChartPointClickEventArguments) -> None:
        data: Any = event.data  # as it was given to the chart
        await self._open(str(data["key"]))

    async def _open(self, key: str) -> None:
        point = next((point for point in self._drawing.map.points if point.key == key), None)
        if point is not None:
            await self._card.open(key, point.text, point.label)


def _draw(connection: Connection, desk: int) -> Drawing:
    event = _last_event(connection, desk)
    return Drawing(map_of(connection, desk, most=_MOST), event)


def _last_event(connection: Connection, desk: int) -> int:
    """The last event that has changed what is on the map."""
    e = schema.events.c
    found = select(e.id).where(e.desk == desk, e.kind.in_(_LEARNING)).order_by(e.id.desc()).limit(1)
    return int(connection.execute(found).scalar() or 0)


def _say_empty(examples: int) -> None:
    has = "none yet" if not examples else f"{examples} so far"
    with empty(
        "There is no map yet",
        f"A map needs at least {_FEWEST} examples with a text that the embedder knows; the desk has {has}. Examples "
        "come with experts' answers, or by import.",
    ):
        pass


def _in_words(drawn: Map) -> str:
    shown = f"{drawn.shown:,} of {drawn.examples:,}" if drawn.shown < drawn.examples else f"All {drawn.examples:,}"
    return (
        f"{shown} examples, each a point, in the plane that shows most of how they differ. It holds "
        f"{percent(drawn.share)} of the variance: what lies apart here is apart, and what overlaps here may still be "
        "apart in all dimensions, in which the desk decides."
    )


def _summary(drawn: Map, picked: frozenset[str]) -> str:
    shapes = [shape for shape in drawn.labels if shape.label in picked]
    said = f"Map of {drawn.shown:,} examples of {len(drawn.labels):,} labels in two dimensions."
    for shape in shapes[: map_chart.COLOURED]:
        near = f", nearest to {shape.nearest[0].label}" if shape.nearest else ""
        said += f" Picked out: {shape.label}, {shape.examples:,} examples{near}."
    return f"{said} The same as a table follows the map."
