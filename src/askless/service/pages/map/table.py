"""What is looked at on the map, as a table: for who cannot see the map, or wants to read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from askless.desk.live.projection import Map, Point
from askless.service.pages.example_card import NO_TEXT
from askless.service.pages.map.chart import View
from askless.service.pages.parts import one_line, words

_MOST = 100


class Table:
    """The examples that are picked out, each to be opened as by a click on its point."""

    def __init__(self, drawn: Map, open: Callable[[str], Awaitable[None]]) -> None:
        self._drawn, self._open = drawn, open
        self._view = View()
        with ui.element("details").classes("map-table card") as details:
            words("summary", "Show as a table")
            self._place = ui.element("div")
        self._is_open = False
        details.on("toggle", self._toggle, js_handler="(event) => emit(event.target.open)")

    def _toggle(self, event: object) -> None:
        self._is_open = bool(getattr(event, "args", False))
        self.show(self._view)

    def show(self, view: View) -> None:
        """The examples of this view; nothing is sent to the browser while the table is closed."""
        self._view = view
        self._place.clear()
        if not self._is_open:
            return
        points = [point for point in self._drawn.points if not view.is_faint(point)]
        with self._place:
            if len(points) > _MOST:
                words("p", f"The first {_MOST} of {len(points):,}; pick a label or search to see others.")
            with ui.element("table"):
                words("caption", "Examples that are picked out").classes("unseen")
                with ui.element("thead"), ui.element("tr"):
                    for name in ("Text", "Label"):
                        words("th", name).props("scope=col")
                with ui.element("tbody"):
                    for point in points[:_MOST]:
                        self._row(point)

    def _row(self, point: Point) -> None:
        with ui.element("tr"):
            with ui.element("td"):
                button = ui.element("button").classes("plain text").props("type=button")
                button.on("click", lambda: self._open(point.key))
                with button:
                    words("span", one_line(point.text, point.key) if point.text else NO_TEXT)
            words("td", point.label).classes("text")
