"""The queue: many questions answered together by keyboard, live and blind, with texts that mean harm, on a phone."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser import WAIT, Site, needs_axe, needs_browser, violations

pytestmark = needs_browser

TAUGHT = {
    "where is my parcel": "parcel",
    "my parcel has not come": "parcel",
    "give me my money back": "refund",
    "I want a refund": "refund",
}
HOSTILE = [
    "<img src=x onerror=\"document.title='harmed'\"> & <script>document.title='harmed'</script>",
    "‮abc עברית العربية‬",
    "W" * 3_000,
    "\n".join(f"line {n}" for n in range(1_000)),
]


@pytest.fixture(autouse=True)
def patience() -> None:
    expect.set_options(timeout=WAIT)


def asking(site: Site, name: str, *texts: str, **settings: Any) -> str:
    """A desk that asks everything, with these questions."""
    desk = site.make_desk(name, policy="always-ask", **settings)
    site.teach(desk, TAUGHT)
    site.ask(desk, *texts)
    return desk


def rows(page: Page) -> Any:
    return page.locator("tr[data-row]")


def waiting(site: Site, desk: str) -> list[dict[str, Any]]:
    """What waits, as the API tells it."""
    with site.http() as http:
        found: list[dict[str, Any]] = http.get(
            f"/api/v1/desks/{desk}/tickets", params={"status": "open", "limit": 500}
        ).json()["items"]
    return found


def put_back(site: Site, desk: str) -> None:
    """Wait until no ticket is held any more."""
    end = time.monotonic() + WAIT / 1000
    while any(one["lease_by"] for one in waiting(site, desk)):
        assert time.monotonic() < end, "a ticket is held still"


def answers(site: Site, desk: str) -> dict[str, str | None]:
    """The labels of all texts that were answered, as the API tells them."""
    with site.http() as http:
        found = http.get(f"/api/v1/desks/{desk}/queries", params={"status": "answered", "limit": 500}).json()["items"]
    return {one["text"]: one["label"] for one in found}


def test_many_are_answered_together_and_taken_back_by_keyboard_alone(pages: Site) -> None:
    texts = [f"question number {n}" for n in range(25)]
    desk = asking(pages, "together", *texts)
    page = pages.open(f"/ui/{desk}/queue?sort=oldest")
    expect(page.get_by_test_id("fitting")).to_have_text("25 questions wait")
    expect(page.locator("[data-answer]")).to_be_disabled()
    page.keyboard.press("j")
    expect(page.get_by_role("button", name=texts[0], exact=True)).to_be_focused()
    page.keyboard.press("x")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    page.keyboard.press("k")
    expect(page.get_by_role("button", name=texts[0], exact=True)).to_be_focused()
    expect(page.locator("[data-answer]")).to_have_text("Answer 2 selected")
    page.keyboard.press("x")  # not the first after all
    expect(page.locator("[data-answer]")).to_have_text("Answer 1 selected")
    page.get_by_role("checkbox", name="This page").focus()
    page.keyboard.press("Space")
    expect(page.locator("[data-answer]")).to_have_text("Answer 25 selected")
    page.keyboard.press("a")
    expect(page.get_by_label("Name of the label")).to_be_focused()
    page.keyboard.type("rfd")
    expect(page.get_by_role("option").first).to_have_text("refund")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Answer 25 questions with “refund”?")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".said")).to_contain_text("25 answered with “refund”.")
    expect(page.get_by_text("Nothing waits", exact=True)).to_be_visible()
    assert answers(pages, desk) == dict.fromkeys(texts, "refund")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_test_id("fitting")).to_have_text("25 questions wait")
    assert answers(pages, desk) == {}
    assert [one["lease_by"] for one in waiting(pages, desk)] == [None] * 25


def test_what_others_hold_is_told_and_left_to_them(pages: Site) -> None:
    desk = asking(pages, "shared", "one", "two", "three")
    with pages.http("admin") as http:
        held = http.post(f"/api/v1/desks/{desk}/tickets/next").json()
    page = pages.open(f"/ui/{desk}/queue")
    expect(rows(page).filter(has_text="held by admin for 5 minutes more")).to_have_count(1)
    page.get_by_role("checkbox", name="This page").click()
    expect(page.locator("[data-answer]")).to_have_text("Answer 2 selected")
    with pages.http("admin") as http:
        other = next(one for one in waiting(pages, desk) if one["id"] != held["id"])
        http.post(f"/api/v1/desks/{desk}/tickets/{other['id']}/claim")  # which no event tells the page of
    page.locator("[data-answer]").click()
    page.get_by_label("Name of the label").fill("brand new")
    expect(page.get_by_role("option")).to_have_text(["New label: brand new"])
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Answer 2 questions").click()
    expect(page.locator(".said")).to_contain_text("1 answered with “brand new”, 1 was taken by others.")
    expect(rows(page)).to_have_count(2)
    assert list(answers(pages, desk).values()) == ["brand new"]


def test_the_desk_answers_further_ones_by_itself_and_the_line_says_so(pages: Site) -> None:
    desk = pages.make_desk("learning", policy="similarity-threshold:0.9")
    texts = ["please cancel my order today"] * 6
    pages.ask(desk, *texts)
    page = pages.open(f"/ui/{desk}/queue")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-answer]")).to_have_text("Answer 2 selected")
    page.keyboard.press("a")
    page.get_by_label("Name of the label").fill("cancel")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Answer 2 questions").click()
    said = "2 answered with “cancel”, 4 further ones are now answered by the desk."
    expect(page.locator(".said")).to_contain_text(said)
    expect(rows(page)).to_have_count(0)


def test_one_is_opened_and_answered_in_the_panel(pages: Site) -> None:
    desk = asking(pages, "panel", "has my parcel been sent", "another one")
    page = pages.open(f"/ui/{desk}/queue?q=parcel")
    expect(page.get_by_test_id("fitting")).to_have_text("1 fits")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    panel = page.locator("[data-panel]")
    expect(panel).to_contain_text("has my parcel been sent")
    expect(panel).to_contain_text("Kept for you")
    (held,) = [one for one in waiting(pages, desk) if one["lease_by"]]
    assert (held["text"], held["lease_by"]) == ("has my parcel been sent", "expert")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(page.get_by_role("button", name="has my parcel been sent")).to_be_focused()
    put_back(pages, desk)
    page.keyboard.press("Enter")
    offer = panel.locator("[data-offer]").filter(has_text="parcel").first
    expect(offer).to_be_visible()
    page.keyboard.press(offer.get_attribute("data-offer") or "")
    expect(page.locator(".said")).to_contain_text("1 answered with “parcel”.")
    expect(page.get_by_text("Nothing that waits fits")).to_be_visible()
    assert answers(pages, desk) == {"has my parcel been sent": "parcel"}


def test_rows_go_and_new_ones_are_counted_without_moving_what_is_there(pages: Site) -> None:
    desk = asking(pages, "live", "first", "second", "third")
    page = pages.open(f"/ui/{desk}/queue?sort=oldest")
    rows(page).filter(has_text="second").get_by_role("checkbox").click()
    third = rows(page).filter(has_text="third")
    third.hover()
    place = third.bounding_box()
    with pages.http("admin") as http:
        number = next(one["id"] for one in waiting(pages, desk) if one["text"] == "first")
        http.post(f"/api/v1/desks/{desk}/tickets/{number}/answer", json={"label": "parcel"})
    pages.ask(desk, "fourth", "fifth")
    expect(page.get_by_role("button", name="2 new: show")).to_be_visible()
    expect(rows(page).filter(has_text="answered by admin")).to_have_count(1)
    assert third.bounding_box() == place
    page.get_by_label("Text or id").hover()
    expect(rows(page)).to_have_count(2)
    expect(rows(page).filter(has_text="second").get_by_role("checkbox")).to_be_checked()
    page.get_by_role("button", name="2 new: show").click()
    expect(rows(page)).to_have_count(4)
    expect(rows(page).filter(has_text="second").get_by_role("checkbox")).to_be_checked()
    expect(page.locator("[data-answer]")).to_have_text("Answer 1 selected")


def test_filter_order_and_page_are_in_the_address(pages: Site) -> None:
    desk = asking(pages, "address", *[f"apple {n}" for n in range(60)], "pear")
    page = pages.open(f"/ui/{desk}/queue?q=apple&sort=newest&page=2&why=unsure")
    expect(rows(page)).to_have_count(10)
    expect(rows(page).first).to_contain_text("apple 9")
    expect(page.get_by_text("51 to 60 of 60")).to_be_visible()
    page.get_by_role("button", name="Before").click()
    expect(rows(page).first).to_contain_text("apple 59")
    expect(page).not_to_have_url(re.compile("page="))
    page.get_by_label("Text or id").fill("pear")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_url(re.compile(r"queue\?q=pear&why=unsure&sort=newest$"))
    page.reload()
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_label("Text or id")).to_have_value("pear")
    (ticket,) = [one["id"] for one in waiting(pages, desk) if one["text"] == "pear"]
    page.goto(f"{pages.url}/ui/{desk}/queue?open={ticket}")
    expect(page.locator("[data-panel]")).to_contain_text("pear")


def test_a_blind_desk_tells_nothing_that_gives_an_audit_away(pages: Site) -> None:
    desk = pages.make_desk("blind", policy="similarity-threshold:0.9", audit_rate=1.0)
    pages.teach(desk, TAUGHT)
    pages.ask(desk, "where is my parcel", "something that nobody has ever asked before")
    page = pages.open(f"/ui/{desk}/queue?why=audit")
    expect(rows(page)).to_have_count(2)
    told = {re.sub(r"where is my parcel|something that .* before", "", row) for row in rows(page).all_inner_texts()}
    assert len(told) == 1, told
    expect(page.get_by_label("Why", exact=True)).to_have_count(0)
    for row in range(2):
        rows(page).nth(row).locator("[data-open]").click()
        panel = page.locator("[data-panel]")
        expect(panel).to_contain_text("Kept for you")
        expect(panel).not_to_contain_text(re.compile("audit|Why it is asked|%"))
        page.keyboard.press("Escape")
        expect(panel).to_have_count(0)


def test_hostile_texts_are_shown_as_texts(pages: Site) -> None:
    desk = asking(pages, "hostile", *HOSTILE)
    with pages.http() as http:
        http.post(f"/api/v1/desks/{desk}/labels", json={"name": HOSTILE[0][:60], "answer": HOSTILE[0]})
    page = pages.open(f"/ui/{desk}/queue?sort=oldest", width=390, height=844)
    expect(rows(page)).to_have_count(4)
    expect(rows(page).first).to_contain_text("<img src=x onerror=")
    for row in range(4):
        rows(page).nth(row).locator("[data-open]").click()
        expect(page.locator("[data-panel] .whole")).to_have_text(HOSTILE[row], use_inner_text=row < 3)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("Escape")
        expect(page.locator("[data-panel]")).to_have_count(0)
    page.get_by_role("checkbox", name="This page").click()
    page.locator("[data-answer]").click()
    page.get_by_label("Name of the label").fill("onerror")
    expect(page.get_by_role("option").first).to_contain_text("<img src=x onerror=")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Answer 4 questions").click()
    expect(page.locator(".said")).to_contain_text("4 answered with “<img src=x onerror=")
    assert page.title() != "harmed"
    assert page.locator("img[src=x]").count() == 0


def test_an_empty_desk_says_so_and_fills_by_itself(pages: Site) -> None:
    desk = pages.make_desk("empty")
    page = pages.open(f"/ui/{desk}/queue")
    expect(page.get_by_role("heading", name="Nothing waits")).to_be_visible()
    pages.ask(desk, "the first question of all")
    expect(rows(page)).to_have_count(1)
    page.goto(f"{pages.url}/ui/{desk}/queue?q=nothing+like+it")
    expect(page.get_by_role("heading", name="Nothing that waits fits")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    expect(rows(page)).to_have_count(1)


@needs_axe
def test_axe_finds_nothing_serious(pages: Site) -> None:
    desk = asking(pages, "axe", *[f"where is parcel {n}" for n in range(60)])
    page = pages.open(f"/ui/{desk}/queue")
    expect(rows(page)).to_have_count(50)
    assert violations(page) == []
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("Enter")
    expect(page.locator("[data-panel]")).to_contain_text("Kept for you")
    assert violations(page) == []
    page.keyboard.press("/")
    expect(page.get_by_role("option").first).to_be_visible()
    assert violations(page) == []
