"""The labels beside the map: to be picked out, each with its spread and its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nicegui import ui

from askless.desk.live.projection import LabelShape, Map
from askless.service.pages.map.chart import COLOURED, Look
from askless.service.pages.parts import one_line, words

_MARKS = {"circle": "●", "triangle": "▲", "rect": "■", "diamond": "◆"}
_MOST = 300  # labels in the list
_NAME = 40  # letters of a neighbour's name


class Legend:
    """A list of all labels, the largest first; those that are ticked are picked out on the map."""

    def __init__(self, drawn: Map, pick: Callable[[frozenset[str]], None]) -> None:
        self._pick, self._picked = pick, frozenset[str]()
        self._boxes: dict[str, ui.checkbox] = {}
        self._marks: dict[str, ui.label] = {}
        self._items: dict[str, ui.element] = {}
        shapes = sorted(drawn.labels, key=lambda shape: (-shape.examples, shape.label))
        with ui.element("section").classes("map-legend").props('aria-label="Labels"'):
            with ui.element("div").classes("ask-tools"):
                words("h2", "Labels")
                ui.space()
                self._none = ui.button("Pick none", on_click=lambda: pick(frozenset())).props("flat dense no-caps")
            field = ui.input("Search labels", on_change=lambda e: self._look_for(e.value or ""))
            field.props("outlined dense clearable clear-icon=close debounce=150 type=search autocomplete=off")
            if len(shapes) > COLOURED:
                words("p", f"The {COLOURED} largest have colours; tick another to see it.").classes("soft hint")
            with ui.element("ul"):
                for shape in shapes[:_MOST]:
                    self._item(shape)
            if len(shapes) > _MOST:
                words("p", f"{_MOST} of {len(shapes):,} labels are listed.").classes("soft")

    def _item(self, shape: LabelShape) -> None:
        name = shape.label
        with ui.element("li") as item:
            with ui.element("div").classes("map-label"):
                self._marks[name] = ui.label("●").classes("mark-sign").props("aria-hidden=true")
                box = ui.checkbox(name, on_change=lambda e: self._tick(name, bool(e.value))).props("dense")
            near = ", ".join(f"{one_line(other.label, '', _NAME)} ({other.cosine:.2f})" for other in shape.nearest)
            said = f"{shape.examples:,} example{'' if shape.examples == 1 else 's'}, spread {shape.spread:.2f}"
            words("p", said).classes("soft").props["title"] = _SPREAD
            if near:
                words("p", f"nearest: {near}").classes("soft text").props["title"] = _COSINE
        self._boxes[name], self._items[name] = box, item

    def _tick(self, name: str, ticked: bool) -> None:
        picked = self._picked | {name} if ticked else self._picked - {name}
        if picked != self._picked:
            self._pick(picked)

    def _look_for(self, search: str) -> None:
        piece = search.strip().casefold()
        for name, item in self._items.items():
            item.set_visibility(piece in name.casefold())

    def show(self, picked: frozenset[str], look: Mapping[str, Look]) -> None:
        """Tick these, and show each label in its colour."""
        self._picked = picked
        self._none.set_visibility(bool(picked))
        for name, box in self._boxes.items():
            box.set_value(name in picked)
            self._marks[name].set_text(_MARKS[look[name].sign])
            self._marks[name].style(f"color: {look[name].colour}")


_SPREAD = "The examples' typical distance from their centre, in all dimensions: 0 where all are alike, at most 1."
_COSINE = "The cosine of the angle between the centres of both labels, in all dimensions: 1 where they are the same."
