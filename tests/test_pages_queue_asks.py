"""The queue says what an answer sends before it does, gives the keys back after a search, and turns blind at once."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from askless.desk.live.types import LabelRow
from askless.service.pages.queue.batch import what_is_sent
from askless.service.pages.said import taken_back
from browser import WAIT, Site, needs_browser
from test_pages_queue import TAUGHT, answers, asking, rows


@pytest.fixture(autouse=True)
def patience() -> None:
    expect.set_options(timeout=WAIT)


def choose(page: Page, label: str) -> None:
    """Open the first question by keyboard and type a label for it."""
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("[data-panel]")).to_contain_text("Kept for you")
    page.keyboard.press("/")
    expect(page.get_by_label("Name of the label")).to_be_focused()
    page.keyboard.type(label)
    expect(page.get_by_role("option").first).to_contain_text(label)
    page.keyboard.press("Enter")


@needs_browser
def test_a_new_label_for_one_question_is_asked_about_and_a_known_one_is_not(pages: Site) -> None:
    desk = asking(pages, "mistyped", "one", "two")
    page = pages.open(f"/ui/{desk}/queue?sort=oldest")
    choose(page, "zebra")
    asks = page.get_by_role("dialog", name="Answer 1 question with “zebra”?")
    expect(asks).to_contain_text("This label is new. Its asker gets its name alone")
    page.keyboard.press("Escape")
    expect(asks).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("[data-panel]")).to_have_count(0)
    assert answers(pages, desk) == {}
    with pages.http() as http:
        names = {row["name"] for row in http.get(f"/api/v1/desks/{desk}/labels").json()["items"]}
    assert names == set(TAUGHT.values())
    page.evaluate("document.activeElement.blur()")
    choose(page, "refund")
    expect(page.locator(".said")).to_contain_text("1 answered with “refund”.")
    assert answers(pages, desk) == {"one": "refund"}


@needs_browser
def test_keys_typed_faster_than_the_service_answers_are_not_lost(pages: Site) -> None:
    desk = asking(pages, "hasty", "one", "two")
    page = pages.open(f"/ui/{desk}/queue?sort=oldest")
    expect(rows(page)).to_have_count(2)
    page.evaluate("""async () => {
        for (const key of "jxjxa") {
            document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
            await new Promise(setTimeout);
        }
    }""")
    expect(page.get_by_label("Name of the label")).to_be_focused()
    page.keyboard.type("refund")
    expect(page.get_by_role("option").first).to_contain_text("refund")
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Answer 2 questions with “refund”?").get_by_role("button").last.click()
    expect(page.locator(".said")).to_contain_text("2 answered with “refund”.")
    assert answers(pages, desk) == {"one": "refund", "two": "refund"}


@needs_browser
def test_enter_and_escape_lead_out_of_the_search(pages: Site) -> None:
    desk = asking(pages, "searched", "an apple", "a pear")
    page = pages.open(f"/ui/{desk}/queue")
    expect(rows(page)).to_have_count(2)
    page.keyboard.press("/")
    expect(page.get_by_label("Text or id")).to_be_focused()
    page.keyboard.type("pear")
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="a pear", exact=True)).to_be_focused()
    expect(page.locator("[data-panel]")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_label("Text or id")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Text or id")).not_to_be_focused()
    page.keyboard.press("j")
    expect(page.get_by_role("button", name="a pear", exact=True)).to_be_focused()


@needs_browser
def test_an_open_page_turns_blind_with_its_desk(pages: Site) -> None:
    desk = asking(pages, "turning", "where is it")
    page = pages.open(f"/ui/{desk}/queue")
    expect(page.get_by_role("columnheader")).to_have_text(["Select", "Question", "Suggested", "Why", "Asked"])
    with pages.http() as http:
        assert http.patch(f"/api/v1/desks/{desk}", json={"audit_rate": 0.5}).is_success
    pages.ask(desk, "and this")
    expect(page.get_by_role("columnheader")).to_have_text(["Select", "Question", "Asker suggests", "Asked"])


def label(answer: str | None) -> LabelRow:
    return LabelRow(id=1, name="refund", answer=answer, examples=3, created_at=datetime.now(UTC))


def test_the_words_say_what_askers_get() -> None:
    assert what_is_sent(label("Within five days."), 2) == "Each asker gets: Within five days."
    assert "no answer text" in what_is_sent(label(None), 1)
    assert what_is_sent(None, 3).startswith("This label is new. Each asker gets its name alone")


def test_the_words_say_what_cannot_be_taken_back() -> None:
    assert taken_back(0) == "Taken back."
    assert "The question that the desk answered" in taken_back(1)
    assert "1,200 questions" in taken_back(1200)
