"""The history: found by text, label, day and how it was decided, explained, corrected and taken back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
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
ODD = "something that nobody has ever asked before"
HOSTILE = [
    "<img src=x onerror=\"document.title='harmed'\"> & <b>bold</b>",
    "‮abc עברית العربية‬",
    "W" * 3_000,
    "\n".join(f"line {n}" for n in range(1_000)),
]


@pytest.fixture(autouse=True)
def patience() -> None:
    expect.set_options(timeout=WAIT)


def made(site: Site, name: str, **settings: Any) -> str:
    """A desk with four examples, one guess, one question that was answered and one that waits."""
    desk = site.make_desk(name, policy="similarity-threshold:0.9", **settings)
    site.teach(desk, TAUGHT)
    site.ask(desk, "where is my parcel?", ODD)
    with site.http("expert") as http:
        ticket = http.post(f"/api/v1/desks/{desk}/tickets/next").json()
        assert ticket["text"] == ODD
        http.post(f"/api/v1/desks/{desk}/tickets/{ticket['id']}/answer", json={"label": "strange"})
    site.ask(desk, "zebra quartz violin")
    return desk


def rows(page: Page) -> Any:
    return page.locator("tr[data-row]")


def query(site: Site, desk: str, text: str) -> dict[str, Any]:
    """What stands about a text, as the API tells it."""
    with site.http() as http:
        found = http.get(f"/api/v1/desks/{desk}/queries", params={"search": text, "limit": 500}).json()["items"]
    (one,) = [one for one in found if one["text"] == text]
    return dict(one)


def test_rows_say_what_was_decided_how_and_why(pages: Site) -> None:
    desk = made(pages, "told")
    page = pages.open(f"/ui/{desk}/history")
    expect(rows(page)).to_have_count(7)
    expect(rows(page).first).to_contain_text("zebra quartz violin")  # the newest
    expect(rows(page).first).to_contain_text("waits for an expert")
    guessed = rows(page).filter(has_text="guessed by the desk")
    expect(guessed).to_have_count(1)
    expect(guessed).to_contain_text("parcel")
    expect(guessed).to_contain_text("like 'where is my parcel' (parcel)")
    expect(rows(page).filter(has_text=ODD)).to_contain_text(re.compile("strange.*answered by expert on", re.DOTALL))
    expect(rows(page).filter(has_text="given before")).to_have_count(4)


def test_the_search_is_in_the_address(pages: Site) -> None:
    desk = made(pages, "found")
    page = pages.open(f"/ui/{desk}/history?how=given&label=refund")
    expect(rows(page)).to_have_count(2)
    page.get_by_label("Text or id").fill("money")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_url(re.compile(r"history\?q=money&label=refund&how=given$"))
    page.reload()
    expect(rows(page)).to_have_count(1)
    today = datetime.now(UTC).date()
    for since, until, count in ((today, today, 7), (today + timedelta(days=2), "", 0), ("", "2020-01-01", 0)):
        page.goto(f"{pages.url}/ui/{desk}/history?since={since}&until={until}")
        expect(rows(page)).to_have_count(count)
    page.get_by_role("link", name="Show all").click()
    expect(rows(page)).to_have_count(7)
    page.goto(f"{pages.url}/ui/{desk}/history?how=nonsense&since=never")
    expect(rows(page)).to_have_count(7)


def test_more_is_loaded_below(pages: Site) -> None:
    desk = pages.make_desk("more", policy="always-ask")
    pages.ask(desk, *[f"number {n}" for n in range(120)])
    page = pages.open(f"/ui/{desk}/history")
    expect(rows(page)).to_have_count(50)
    for count in (100, 120):
        page.get_by_role("button", name="Show more").click()
        expect(rows(page)).to_have_count(count)
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    assert [text.split("\n")[0] for text in rows(page).all_inner_texts()] == [f"number {n}" for n in range(119, -1, -1)]


def test_a_row_tells_its_reasons_and_its_story_by_keyboard(pages: Site) -> None:
    desk = made(pages, "why")
    page = pages.open(f"/ui/{desk}/history?how=guessed")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    panel = page.locator("[data-panel]")
    expect(panel.get_by_role("heading", name="Past questions it rests on")).to_be_visible()
    expect(panel.locator(".rests-on li")).to_have_text([re.compile("100 %.*where is my parcel.*parcel", re.DOTALL)])
    expect(panel.locator(".story li")).to_have_text([re.compile("sent by client"), re.compile("guessed 'parcel'")])
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="where is my parcel?")).to_be_focused()
    waiting = query(pages, desk, "zebra quartz violin")
    page.goto(f"{pages.url}/ui/{desk}/history?open={waiting['id']}")
    panel.get_by_role("link", name="Answer it in the queue").click()
    expect(page).to_have_url(re.compile(rf"/ui/{desk}/queue\?open={waiting['ticket']}$"))
    expect(panel).to_contain_text("zebra quartz violin")


def test_an_example_is_corrected_and_that_is_taken_back(pages: Site) -> None:
    desk = made(pages, "corrected")
    page = pages.open(f"/ui/{desk}/history?q=nobody")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Correct the label").press("Enter")
    page.get_by_label("Name of the label").fill("pcl")
    expect(page.get_by_role("option").first).to_have_text("parcel")
    page.keyboard.press("Enter")
    expect(page.locator(".said")).to_contain_text("is an example of “parcel” now")
    expect(rows(page).first).to_contain_text("corrected by expert")
    assert query(pages, desk, ODD)["label"] == "parcel"
    only = pages.open(f"/ui/{desk}/history?how=corrected")
    expect(rows(only)).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".said")).to_contain_text("Taken back")
    assert query(pages, desk, ODD)["label"] == "strange"


def test_an_example_is_forgotten_and_taken_up_again(pages: Site) -> None:
    desk = made(pages, "forgotten")
    page = pages.open(f"/ui/{desk}/history?q=nobody")
    rows(page).locator("[data-open]").click()
    page.get_by_role("button", name="Forget the example").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.locator(".said")).to_contain_text("is forgotten as an example")
    expect(rows(page).first).to_contain_text("forgotten")
    assert query(pages, desk, ODD)["example"] is False
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".said")).to_contain_text("Taken back")
    found = query(pages, desk, ODD)
    assert (found["example"], found["label"]) == (True, "strange")


def test_a_wrong_guess_becomes_an_example_after_a_question(pages: Site) -> None:
    desk = made(pages, "wrong")
    page = pages.open(f"/ui/{desk}/history?how=guessed")
    rows(page).locator("[data-open]").click()
    page.get_by_role("button", name="Correct the label").click()
    page.get_by_label("Name of the label").fill("refund")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Make it an example of “refund”?")).to_be_visible()
    page.get_by_role("button", name="Make it an example").click()
    expect(page.locator(".said")).to_contain_text("is an example of “refund” now")
    found = query(pages, desk, "where is my parcel?")
    assert (found["label"], found["example"], found["status"]) == ("refund", True, "answered")


def test_live_rows_change_in_place_and_new_ones_are_counted(pages: Site) -> None:
    desk = made(pages, "live")
    page = pages.open(f"/ui/{desk}/history")
    page.get_by_label("Text or id").focus()
    waiting = query(pages, desk, "zebra quartz violin")
    with pages.http("admin") as http:
        http.post(f"/api/v1/desks/{desk}/tickets/{waiting['ticket']}/answer", json={"label": "zebra"})
    expect(rows(page).first).to_contain_text("answered by admin")
    pages.ask(desk, "I want a refund!", "give me my money back!")
    expect(page.get_by_role("button", name="2 new: show")).to_be_visible()
    expect(rows(page)).to_have_count(7)
    expect(page.get_by_label("Text or id")).to_be_focused()
    page.get_by_role("button", name="2 new: show").click()
    expect(rows(page)).to_have_count(9)


def test_an_erased_text_goes_from_an_open_page(pages: Site) -> None:
    desk = made(pages, "erased")
    page = pages.open(f"/ui/{desk}/history")
    expect(page.get_by_text(ODD)).to_have_count(1)
    with pages.http("admin") as http:
        assert http.delete(f"/api/v1/desks/{desk}/queries/{query(pages, desk, ODD)['id']}").is_success
    expect(page.get_by_text(ODD)).to_have_count(0)


def test_a_blind_desk_leaves_out_what_waits(pages: Site) -> None:
    desk = pages.make_desk("blind", policy="similarity-threshold:0.9", audit_rate=1.0)
    pages.teach(desk, TAUGHT)
    pages.ask(desk, "where is my parcel?", ODD)
    page = pages.open(f"/ui/{desk}/history")
    expect(rows(page)).to_have_count(4)
    for text in ("where is my parcel?", ODD):
        page.goto(f"{pages.url}/ui/{desk}/history?open={query(pages, desk, text)['id']}")
        expect(page.get_by_text("not in the history, or waits for an expert")).to_be_visible()
        expect(page.locator("[data-panel]")).to_have_count(0)


def test_hostile_texts_are_shown_as_texts_on_a_phone(pages: Site) -> None:
    desk = pages.make_desk("hostile")
    pages.teach(desk, {text: f"<i>{n}</i>{'w' * 100}" for n, text in enumerate(HOSTILE)})
    page = pages.open(f"/ui/{desk}/history", width=390, height=844)
    expect(rows(page)).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for row, text in enumerate(reversed(HOSTILE)):
        rows(page).nth(row).locator("[data-open]").click()
        expect(page.locator("[data-panel] .whole")).to_have_text(text, use_inner_text=len(text) < 5_000)
        expect(page.locator("[data-panel] h2")).to_contain_text("<i>")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("Escape")
        expect(page.locator("[data-panel]")).to_have_count(0)
    assert page.title() != "harmed"
    assert page.locator("img[src=x], .rows b, .rows i:not(.q-icon)").count() == 0


def test_an_empty_desk_says_what_will_be_here(pages: Site) -> None:
    desk = pages.make_desk("empty")
    page = pages.open(f"/ui/{desk}/history")
    expect(page.get_by_role("heading", name="Nothing was decided yet")).to_be_visible()
    pages.ask(desk, "the first question of all")
    expect(rows(page)).to_have_count(1)


@needs_axe
def test_axe_finds_nothing_serious(pages: Site) -> None:
    desk = made(pages, "axe")
    page = pages.open(f"/ui/{desk}/history")
    expect(rows(page)).to_have_count(7)
    assert violations(page) == []
    rows(page).filter(has_text="guessed").locator("[data-open]").click()
    expect(page.locator(".rests-on")).to_be_visible()
    assert violations(page) == []
