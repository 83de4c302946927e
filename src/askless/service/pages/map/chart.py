"""The map as ECharts draws it: which label has which colour and sign, and what is faint."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from askless.desk.live.projection import LabelShape, Map, Point
from askless.service.pages.example_card import NO_TEXT

COLOURED = 12  # labels that can be told apart by their colours
# Each has a contrast of at least 3 with the cards of both themes; those of one sign differ most.
COLOURS = (
    "#2f7de1", "#d4552a", "#1c9a6c", "#b04fc0", "#d63a6e", "#0e93ab",
    "#7a6cf0", "#a8790f", "#5f8f1f", "#c44a9e", "#8a6d5c", "#3f8fc0",
)  # fmt: skip
SIGNS = ("circle", "triangle", "rect", "diamond")
GREY = "#7d8895"
_WIDE, _HIGH = 4.0, 3.0  # the shape of the chart, so that a distance is as long to the right as upwards
_ROOM = 1.08
_TIP_SIGNS, _TIP_WIDTH = 240, 56  # of a text that is pointed at


@dataclass(frozen=True, slots=True)
class Look:
    """How the points of a label look."""

    colour: str
    sign: str


@dataclass(frozen=True, slots=True)
class View:
    """What is looked at: the labels that are picked, and the keys of the examples that a search has found, if any."""

    picked: frozenset[str] = frozenset()
    found: frozenset[str] | None = None

    def is_faint(self, point: Point) -> bool:
        """Whether the point stands back behind others."""
        if self.found is not None and point.key not in self.found:
            return True
        return bool(self.picked) and point.label not in self.picked


def looks(shapes: Sequence[LabelShape], picked: Collection[str]) -> dict[str, Look]:
    """The twelve labels with most examples have colours of their own; another is grey until it is picked."""
    order = sorted(shapes, key=lambda shape: (-shape.examples, shape.label))
    found = {
        shape.label: Look(colour, sign)
        for shape, colour, sign in zip(order, COLOURS, cycle(SIGNS), strict=False)
    }  # fmt: skip
    rest = [shape.label for shape in order[COLOURED:]]
    for place, label in enumerate(label for label in rest if label in picked):
        found[label] = Look(COLOURS[place % COLOURED], SIGNS[(place + 1 + place // COLOURED) % len(SIGNS)])
    return {shape.label: found.get(shape.label, Look(GREY, "circle")) for shape in shapes}


def options(drawn: Map, view: View) -> dict[str, Any]:
    """The chart. It has the same three series whatever is looked at, so that a change keeps the zoom."""
    look = looks(drawn.labels, view.picked)
    x, y = _axes(drawn)
    few = len(drawn.labels) <= COLOURED
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 8, "bottom": 8},
        "xAxis": x,
        "yAxis": y,
        "dataZoom": [
            {"type": "inside", "xAxisIndex": 0, "filterMode": "none"},
            {"type": "inside", "yAxisIndex": 0, "filterMode": "none"},
        ],
        "tooltip": {
            "renderMode": "richText",
            "confine": True,
            "backgroundColor": "#ffffff",
            "borderColor": "#c5ccd6",
            "textStyle": {"color": "#1b2430", "fontSize": 13},
            ":formatter": "point => point.data.tip",
        },
        "series": [
            _outlines([shape for shape in drawn.labels if few or shape.label in view.picked], look, view),
            _points(drawn.points, look, view),
            _names([shape for shape in drawn.labels if shape.label in view.picked]),
        ],
    }


def _axes(drawn: Map) -> tuple[dict[str, Any], dict[str, Any]]:
    """Axes without a scale, around all hulls: distances mean something here, places do not."""
    corners = [corner for shape in drawn.labels for corner in shape.corners]
    xs, ys = [x for x, _ in corners] or [0.0], [y for _, y in corners] or [0.0]
    half = max(max(xs) - min(xs), (max(ys) - min(ys)) * _WIDE / _HIGH) / 2 * _ROOM or 1.0
    middles = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    halves = half, half * _HIGH / _WIDE
    x, y = (
        {"type": "value", "min": middle - reach, "max": middle + reach, "show": False}
        for middle, reach in zip(middles, halves, strict=True)
    )
    return x, y


def _outlines(shapes: Sequence[LabelShape], look: Mapping[str, Look], view: View) -> dict[str, Any]:
    data = [
        {
            "coords": [*shape.corners, shape.corners[0]],
            "lineStyle": {
                "color": look[shape.label].colour,
                "width": 2 if shape.label in view.picked else 1,
                "opacity": 0.9 if shape.label in view.picked else 0.15 if view.picked else 0.35,
            },
        }
        for shape in shapes
        if len(shape.corners) > 1
    ]
    return {"type": "lines", "coordinateSystem": "cartesian2d", "polyline": True, "silent": True, "data": data}


def _points(points: Sequence[Point], look: Mapping[str, Look], view: View) -> dict[str, Any]:
    data = [
        {
            "value": [point.x, point.y],
            "key": point.key,
            "tip": tip(point),
            "symbol": look[point.label].sign,
            "itemStyle": {"color": look[point.label].colour, "opacity": 0.15 if view.is_faint(point) else 0.85},
        }
        for point in sorted(points, key=view.is_faint, reverse=True)  # what stands back is drawn first
    ]
    return {"type": "scatter", "symbolSize": 9, "data": data}


def _names(shapes: Sequence[LabelShape]) -> dict[str, Any]:
    """The names of the picked labels at their centres."""
    name = {"show": True, ":formatter": "place => place.data.label_name", "color": "#1b2430", "fontWeight": "bold"}
    chip = {"backgroundColor": "rgba(255,255,255,.88)", "padding": [3, 6], "borderRadius": 4, "position": "inside"}
    data = [{"value": [shape.x, shape.y], "label_name": plain(shape.label[:40])} for shape in shapes]
    layout = {"moveOverlap": "shiftY"}
    dot = {"type": "scatter", "symbolSize": 1, "silent": True, "z": 5}
    return dot | {"label": name | chip, "labelLayout": layout, "data": data}


def tip(point: Point) -> str:
    """What is said of a point: the beginning of its text, and its label."""
    text = " ".join((point.text or NO_TEXT).split())
    text = text if len(text) <= _TIP_SIGNS else f"{text[:_TIP_SIGNS]}…"
    return plain("\n".join([*textwrap.wrap(text, _TIP_WIDTH), f"— {textwrap.shorten(point.label, 80)}"]))


def plain(text: str) -> str:
    """The text with nothing in it that ECharts takes for a style of its own, which it writes as {name|text}."""
    return text.replace("{", "{\u200b")
