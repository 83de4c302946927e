"""The map: what is drawn, picked, searched, opened and said, against what the desk's own projection gives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from askless.desk.live.projection import LabelShape, Map, Point
from askless.service.pages.map.chart import COLOURED, COLOURS, GREY, View, looks, options, plain
from browser import Site, connected, needs_axe, needs_browser, violations

TAUGHT = {
    "Where is my parcel?": "track order",
    "Has my parcel been sent?": "track order",
    "Track my order": "track order",
    "I want my money back": "refund",
    "When does my refund come?": "refund",
    "How do I log in?": "login",
    "I cannot log in": "login",
}
HOSTILE = '<img src=x onerror="window.broken=1"> {bold|text} אפשר'


def chart(page: Page) -> dict[str, Any]:
    """The options of the chart as the browser has them."""
    found: dict[str, Any] = page.evaluate(
        "() => { const id = Number(document.querySelector('.map').id.slice(1));"
        " const {series, dataZoom} = getElement(id).chart.getOption(); return {series, dataZoom}; }"
    )
    return found


def drawn(page: Page) -> None:
    page.wait_for_function(
        "() => getElement(Number(document.querySelector('.map').id.slice(1)))?.chart?.getOption()?.series?.length === 3"
    )


def open_map(pages: Site, desk: str, query: str = "", **options: Any) -> Page:
    page = pages.open(f"/ui/{desk}/map{query}", **options)
    drawn(page)
    return page


def place_of(page: Page, key: str) -> tuple[float, float]:
    """Where on the window the point of an example is."""
    x, y = page.evaluate(
        "(key) => { const element = document.querySelector('.map');"
        " const chart = getElement(Number(element.id.slice(1))).chart;"
        " const point = chart.getOption().series[1].data.find(one => one.key === key);"
        " const [x, y] = chart.convertToPixel({seriesIndex: 1}, point.value);"
        " const box = element.getBoundingClientRect(); return [box.x + x, box.y + y]; }",
        key,
    )
    return float(x), float(y)


# -- in the browser ------------------------------------------------------------------------------------------------
@needs_browser
def test_every_example_is_a_point_and_its_spread_and_neighbours_are_named(pages: Site) -> None:
    desk = pages.make_desk("drawn")
    pages.teach(desk, TAUGHT)
    page = open_map(pages, desk)
    points = chart(page)["series"][1]["data"]
    assert {point["key"] for point in points} == {f"taught {n}" for n in range(len(TAUGHT))}
    expect(page.get_by_text("All 7 examples")).to_contain_text(re.compile(r"holds \d+ % of the variance"))
    item = page.locator(".map-legend li", has_text="refund (").first  # as a neighbour of another
    expect(item).to_contain_text("nearest:")
    expect(item).to_contain_text(re.compile(r"\d example.*, spread 0\.\d\d"))
    expect(page.get_by_role("img", name="Map of 7 examples of 3 labels")).to_be_visible()


@needs_browser
def test_labels_are_picked_by_keyboard_and_kept_in_the_address(pages: Site) -> None:
    desk = pages.make_desk("picked")
    pages.teach(desk, TAUGHT)
    page = open_map(pages, desk)
    page.get_by_role("checkbox", name="track order").focus()
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile(r"\?label=track\+order$"))
    expect(page.get_by_role("img", name="Picked out: track order, 3 examples, nearest to")).to_be_visible()
    opacity = {p["key"]: p["itemStyle"]["opacity"] for p in chart(page)["series"][1]["data"]}
    assert {key for key, value in opacity.items() if value > 0.5} == {"taught 0", "taught 1", "taught 2"}
    assert [name["label_name"] for name in chart(page)["series"][2]["data"]] == ["track order"]
    page.reload()
    connected(page)
    drawn(page)
    expect(page.get_by_role("checkbox", name="track order")).to_be_checked()
    page.get_by_text("Show as a table").click()
    expect(page.locator(".map-table tbody td:nth-child(2)")).to_have_text(["track order"] * 3)
    page.get_by_role("button", name="Pick none").click()
    expect(page.locator(".map-table tbody tr")).to_have_count(len(TAUGHT))


@needs_browser
def test_a_search_finds_texts_and_zooming_survives_it(pages: Site) -> None:
    desk = pages.make_desk("searched")
    pages.teach(desk, TAUGHT)
    page = open_map(pages, desk)
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_function(
        "() => getElement(Number(document.querySelector('.map').id.slice(1))).chart.getOption().dataZoom[0].end < 90"
    )
    zoomed = [(z["start"], z["end"]) for z in chart(page)["dataZoom"]]
    page.get_by_label("Search texts").fill("PARCEL")
    expect(page.get_by_text("2 found")).to_be_visible()
    bright = {p["key"] for p in chart(page)["series"][1]["data"] if p["itemStyle"]["opacity"] > 0.5}
    assert bright == {"taught 0", "taught 1"}
    assert [(z["start"], z["end"]) for z in chart(page)["dataZoom"]] == zoomed
    page.get_by_role("button", name="Whole map").click()
    page.wait_for_function(
        "() => getElement(Number(document.querySelector('.map').id.slice(1))).chart.getOption().dataZoom[0].end === 100"
    )


@needs_browser
def test_a_click_opens_the_example_which_can_be_forgotten(pages: Site) -> None:
    desk = pages.make_desk("clicked")
    pages.teach(desk, TAUGHT)
    page = open_map(pages, desk)
    page.mouse.click(*place_of(page, "taught 3"))
    dialog = page.get_by_role("dialog", name="Example")
    expect(dialog).to_contain_text("I want my money back")
    expect(dialog).to_contain_text("Label: refund")
    dialog.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_text("All 6 examples")).to_be_visible()
    with pages.http() as http:
        left = http.get(f"/api/v1/desks/{desk}/examples").json()["items"]
    assert "I want my money back" not in {item["text"] for item in left}
    page.get_by_text("Show as a table").click()
    page.get_by_role("button", name="Track my order").press("Enter")
    expect(page.get_by_role("dialog", name="Example")).to_contain_text("Track my order")


@needs_browser
def test_the_map_says_when_it_is_not_of_now_and_draws_anew_when_told(pages: Site) -> None:
    desk = pages.make_desk("late")
    pages.teach(desk, TAUGHT)
    page = open_map(pages, desk)
    with pages.http() as http:
        new = [{"text": "Is my parcel lost?", "label": "track order"}]
        assert http.post(f"/api/v1/desks/{desk}/examples", json={"examples": new}).is_success
    expect(page.get_by_text("has changed since this map was drawn")).to_be_visible()
    expect(page.get_by_text("All 7 examples")).to_be_visible()
    page.get_by_role("button", name="Draw it anew").click()
    expect(page.get_by_text("All 8 examples")).to_be_visible()
    expect(page.get_by_text("has changed since this map was drawn")).to_have_count(0)


@needs_browser
def test_a_picked_label_that_is_gone_leaves_the_map_and_the_address(pages: Site) -> None:
    desk = pages.make_desk("gone")
    pages.teach(desk, TAUGHT)
    page = open_map(pages, desk, "?label=refund&label=track+order")
    with pages.http() as http:
        labels = {label["name"]: label["id"] for label in http.get(f"/api/v1/desks/{desk}/labels").json()["items"]}
        merging = f"/api/v1/desks/{desk}/labels/{labels['refund']}/merge"
        assert http.post(merging, json={"into": labels["track order"]}).is_success
    page.get_by_role("button", name="Draw it anew").click()
    expect(page).to_have_url(re.compile(r"/map\?label=track\+order$"))
    expect(page.get_by_role("checkbox", name="refund")).to_have_count(0)


@needs_browser
def test_hostile_texts_stand_in_the_tooltip_as_they_are(pages: Site) -> None:
    desk = pages.make_desk("hostile")
    lines = "\n".join(f"line {n}" for n in range(1000))
    pages.teach(desk, {HOSTILE: HOSTILE, "x" * 3000: HOSTILE, lines: "y" * 200, "How do I log in?": "login"})
    page = open_map(pages, desk, width=390)
    page.mouse.move(*place_of(page, "taught 0"))
    page.wait_for_function(
        "() => getElement(Number(document.querySelector('.map').id.slice(1))).chart.getZr().storage"
        ".getDisplayList(true).some(one => one.style?.text?.includes('<img src=x onerror='))"
    )
    expect(page.get_by_role("checkbox", name=HOSTILE)).to_be_visible()
    page.get_by_role("checkbox", name=HOSTILE).click()
    expect(page.get_by_role("checkbox", name=HOSTILE)).to_be_checked()
    page.get_by_text("Show as a table").click()
    expect(page.locator(".map-table td").first).to_have_text(HOSTILE)
    assert page.locator(".map-table img, .map-legend img, body > div img[src=x]").count() == 0
    assert page.evaluate("window.broken") is None
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@needs_browser
def test_too_few_examples_say_what_is_missing_and_the_map_comes_by_itself(pages: Site) -> None:
    desk = pages.make_desk("few")
    page = pages.open(f"/ui/{desk}/map", width=390)
    expect(page.get_by_text("There is no map yet")).to_be_visible()
    expect(page.get_by_text("the desk has none yet")).to_be_visible()
    pages.teach(desk, TAUGHT)
    expect(page.get_by_text("All 7 examples")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@needs_axe
@needs_browser
def test_the_map_can_be_used_by_all(pages: Site) -> None:
    desk = pages.make_desk("for-all")
    pages.teach(desk, TAUGHT)
    page = open_map(pages, desk, "?label=refund")
    page.get_by_text("Show as a table").click()
    expect(page.locator(".map-table tbody tr")).to_have_count(2)
    assert violations(page) == []


# -- what is drawn -------------------------------------------------------------------------------------------------
def _shape(label: str, examples: int) -> LabelShape:
    return LabelShape(label, 0.0, 0.0, examples, 0.5, ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), ())


def _many(labels: int) -> Map:
    shapes = tuple(_shape(f"label {n:02}", 100 - n) for n in range(labels))
    points = tuple(Point(0.1, 0.2, f"q{n}", "text", shape.label) for n, shape in enumerate(shapes))
    return Map(points, shapes, len(points), len(points), 0.5)


def test_twelve_labels_have_looks_of_their_own_and_another_is_grey_until_picked() -> None:
    many = _many(20)
    look = looks(many.labels, frozenset())
    own = [look[f"label {n:02}"] for n in range(COLOURED)]
    assert len(set(own)) == COLOURED
    assert {look[f"label {n:02}"].colour for n in range(COLOURED, 20)} == {GREY}
    picked = looks(many.labels, {"label 15", "label 16"})
    assert picked["label 14"].colour == GREY
    assert len({picked["label 15"], picked["label 16"], *own}) == COLOURED + 2


def test_outlines_are_faint_up_to_twelve_labels_and_else_of_the_picked_ones() -> None:
    few = options(_many(12), View())["series"][0]["data"]
    assert len(few) == 12
    assert all(line["lineStyle"]["opacity"] < 0.5 for line in few)
    assert options(_many(13), View())["series"][0]["data"] == []
    picked = options(_many(13), View(frozenset({"label 03"})))["series"][0]["data"]
    assert len(picked) == 1
    assert picked[0]["coords"][0] == picked[0]["coords"][-1]


@pytest.mark.parametrize("ground", ["#ffffff", "#1a212b"])
def test_colours_stand_out_from_the_cards_of_both_themes(ground: str) -> None:
    """The contrast of WCAG 2.2 for graphics: at least 3."""

    def luminance(colour: str) -> float:
        shares = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for colour in (*COLOURS, GREY):
        high, low = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 3.0, colour


def test_what_looks_like_a_style_of_echarts_is_plain_text() -> None:
    assert not re.search(r"\{[a-zA-Z0-9_]+\|", plain("a {bold|b} c"))
    assert plain("a {bold|b} c").replace("\u200b", "") == "a {bold|b} c"
