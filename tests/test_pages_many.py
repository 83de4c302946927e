"""Five thousand questions wait: the inbox and the queue stay as small and as quick to use as with one."""

from __future__ import annotations

from playwright.sync_api import expect

from browser import Site, connected, needs_browser
from inbox_parts import asked, ready, said
from test_pages_queue import answers, rows

pytestmark = needs_browser


def test_five_thousand_waiting_tickets(pages: Site) -> None:
    desk = pages.make_desk("full", policy="always-ask")
    pages.teach(desk, {"I want a refund": "refund"})
    check_inbox(pages, desk)
    check_queue(pages, desk)


def check_inbox(pages: Site, desk: str) -> None:
    """They come while the page is open, and it is no larger than with one."""
    pages.ask(desk, "the first")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "the first")
    small = page.evaluate("document.querySelectorAll('*').length")
    pages.ask(desk, *[f"number {number}" for number in range(5_000)])
    expect(page.get_by_test_id("waiting-count")).to_have_text("5,001")
    page.reload()
    connected(page)
    asked(page, "the first")
    assert page.evaluate("document.querySelectorAll('*').length") < small + 50
    ready(page)
    page.keyboard.type("nnumbers")
    expect(page.get_by_label("Name", exact=True)).to_have_value("numbers")
    page.keyboard.press("Control+Enter")
    said(page, "Answered “numbers”")
    asked(page, "number 0")
    expect(page.get_by_test_id("waiting-count")).to_have_text("5,000")


def check_queue(pages: Site, desk: str) -> None:
    """Of them it shows a page, selects many at once, and answers those that a search finds."""
    page = pages.open(f"/ui/{desk}/queue?sort=oldest")
    expect(page.get_by_test_id("fitting")).to_have_text("5,000 questions wait")
    expect(rows(page)).to_have_count(50)
    assert page.evaluate("document.querySelectorAll('*').length") < 2_000
    page.get_by_role("button", name="Next").click()
    expect(rows(page).first).to_contain_text("number 50")
    page.get_by_role("button", name="Select the first 500").click()
    expect(page.locator("[data-answer]")).to_have_text("Answer 500 selected")
    page.get_by_label("Text or id").fill("number 499")
    expect(page.get_by_test_id("fitting")).to_have_text("11 fit")
    expect(page.locator("[data-answer]")).to_be_disabled()
    page.get_by_role("checkbox", name="This page").click()
    page.locator("[data-answer]").click()
    page.get_by_label("Name of the label").fill("refund")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Answer 11 questions").click()
    expect(page.locator(".said")).to_contain_text("11 answered with “refund”.")
    assert sorted(answers(pages, desk).values()) == ["numbers", *["refund"] * 11]
