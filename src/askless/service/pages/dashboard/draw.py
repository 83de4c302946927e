"""How charts are drawn: options of ECharts. Colours are the page's own variables, so that they follow light and dark.

No text of a user is ever the key of an option: NiceGUI runs what stands under a key that begins with a colon. What a
point says under the mouse is made here, as lines of text; `dashboard.said` in the browser puts them there as text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from askless.service.pages.dashboard.data import Numbers, starts
from askless.service.pages.dashboard.words import tick

Options: TypeAlias = dict[str, Any]
Values: TypeAlias = Sequence[float | None]

_STILL = {"disabled": True}  # ECharts cannot brighten a variable: what is pointed at would lose its colour
_NAME_WIDTH = 150  # pixels for the names beside bars, which fits a phone
_UNITS = ((2 * 86_400.0, 86_400.0, "days"), (2 * 3_600.0, 3_600.0, "hours"), (120.0, 60.0, "minutes"))


def over_time(
    numbers: Numbers,
    series: list[Options],
    *,
    percent: bool = False,
    unit: str | None = None,
    top: float | None = None,
    legend: bool = False,
) -> Options:
    """Series along the spans of the window; `top` is the share that a chart of percentages reaches up to."""
    window = numbers.window
    height: Options = {"type": "value", "min": 0, "axisLabel": _label(), "splitLine": _grid_line()}
    if percent:
        height |= {"max": 100 if top is None else 10 * math.ceil(10 * min(1.0, top)), "axisLabel": _label("{value} %")}
    elif unit is not None:
        height |= {"name": unit, "nameTextStyle": {"color": _colour("--soft"), "align": "left"}}
    along = {
        "type": "category",
        "data": [tick(start, window.by, window.span) for start in starts(numbers)],
        "axisLabel": _label() | {"hideOverlap": True},
        "axisLine": {"lineStyle": {"color": _colour("--line")}},
        "axisTick": {"show": False},
    }
    options = _common("axis") | {"xAxis": along, "yAxis": height, "series": series}
    options["grid"] = {"left": 4, "right": 12, "top": 34 if legend or unit else 12, "bottom": 4, "containLabel": True}
    if legend:
        names = [one["name"] for one in series if "name" in one]
        text = {"color": _colour("--soft")}
        options["legend"] = {"data": names, "top": 0, "left": 0, "itemWidth": 18, "itemHeight": 10, "textStyle": text}
    return options


def line(values: Values, said: Sequence[str], colour: str, *, filled: bool = False) -> Options:
    """A line through points; across spans without a value it goes on."""
    style = {"areaStyle": {"color": _colour(colour), "opacity": 0.14}} if filled else {}
    return _series("line", values, said, colour) | {"symbolSize": _size(values), "connectNulls": True, **style}


def dashed(values: Values, colour: str, *, name: str) -> Options:
    """A line of what was expected."""
    alone = sum(value is not None for value in values) == 1  # a line needs two points to be seen
    symbol = "circle" if alone else "none"
    drawn = _series("line", values, [], colour) | {"name": name, "symbol": symbol, "connectNulls": True}
    return drawn | {"lineStyle": {"color": _colour(colour), "type": "dashed", "width": 2}}


def points(values: Values, colour: str, *, name: str) -> Options:
    """Points without a line."""
    return _series("scatter", values, [], colour) | {"name": name, "symbolSize": 9, "z": 5}


def bars(values: Values, said: Sequence[str], colour: str, *, stack: str | None = None, name: str = "") -> Options:
    """Bars from the axis up, or from the bars below them in the stack."""
    placed = {"stack": stack} if stack else {}
    named = {"name": name} if name else {}
    return _series("bar", values, said, colour) | {"barMaxWidth": 26, **placed, **named}


def ways(found: Sequence[tuple[str, tuple[float | None, float | None, float | None], str]]) -> Options:
    """A bar for each way, with the interval of its cost across its end."""
    colours = ("--series-1", "--series-3", "--series-3")
    bars = [
        {"value": parts[0], "said": said, "itemStyle": {"color": _colour(colour)}}
        for (_, parts, said), colour in zip(found, colours, strict=True)
    ]
    intervals = [
        {
            "type": "line",
            "data": [[parts[1], way], [parts[2], way]],
            "symbol": "rect",
            "symbolSize": [2, 14],
            "color": _colour("--ink"),
            "lineStyle": {"color": _colour("--ink"), "width": 2},
            "emphasis": _STILL,
            "silent": True,
            "z": 5,
        }
        for way, parts, _ in found
        if parts[1] != parts[2]  # a way that is not known has none
    ]
    names = [way if parts[0] is not None else f"{way}\n(not known)" for way, parts, _ in found]
    drawn = {"type": "bar", "data": bars, "barMaxWidth": 30, "emphasis": _STILL}
    options = _sideways(names, [drawn, *intervals])
    if any("\n" in name for name in names):  # with it ECharts keeps all the width for names, so only where it must
        options["yAxis"]["axisLabel"]["lineHeight"] = 15
    return options


def ranked(found: Sequence[tuple[str, int, str]]) -> Options:
    """A bar for each name, the longest at the top."""
    values, said = [float(count) for _, count, _ in found], [words for _, _, words in found]
    drawn = _series("bar", values, said, "--series-1") | {"barMaxWidth": 18, "cursor": "pointer"}
    return _sideways([name for name, _, _ in found], [drawn])


def unit_of(seconds: float) -> tuple[float, str]:
    """The unit in which waiting times up to this one are drawn."""
    return next(((size, name) for least, size, name in _UNITS if seconds >= least), (1.0, "seconds"))


# -- parts ---------------------------------------------------------------------------------------------------------
def _common(trigger: str) -> Options:
    tooltip = {
        "trigger": trigger,
        "confine": True,
        ":formatter": "dashboard.said",
        "className": "chart-said",
        "axisPointer": {"type": "shadow", "shadowStyle": {"color": _colour("--soft"), "opacity": 0.12}},
    }
    return {"animation": False, "tooltip": tooltip, "textStyle": {"fontFamily": "inherit"}}


def _sideways(names: list[str], series: list[Options]) -> Options:
    aside = {
        "type": "category",
        "data": names,
        "inverse": True,
        "axisLabel": _label() | {"width": _NAME_WIDTH, "overflow": "truncate", "color": _colour("--ink")},
        "axisLine": {"show": False},
        "axisTick": {"show": False},
    }
    along = {
        "type": "value",
        "min": 0,
        "minInterval": 1,
        "axisLabel": _label() | {"hideOverlap": True},
        "splitLine": _grid_line(),
    }
    grid = {"left": 4, "right": 18, "top": 4, "bottom": 4, "containLabel": True}
    return _common("axis") | {"xAxis": along, "yAxis": aside, "series": series, "grid": grid}


def _series(kind: str, values: Values, said: Sequence[str], colour: str) -> Options:
    items: list[Any] = list(values)
    if said:
        items = [{"value": value, "said": words} for value, words in zip(values, said, strict=True)]
    return {
        "type": kind,
        "data": items,
        "color": _colour(colour),
        "itemStyle": {"color": _colour(colour)},
        "lineStyle": {"color": _colour(colour), "width": 2},
        "emphasis": _STILL,
    }


def _size(values: Values) -> int:
    """Points as large as there is room for."""
    return 6 if len(values) <= 60 else 3


def _label(formatter: str | None = None) -> Options:
    return {"color": _colour("--soft")} | ({"formatter": formatter} if formatter else {})


def _grid_line() -> Options:
    return {"lineStyle": {"color": _colour("--line")}}


def _colour(name: str) -> str:
    return f"var({name})" if name.startswith("--") else name
