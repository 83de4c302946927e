"""The conflicts: what experts contradict each other about is shown side by side and goes once it is settled."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser import WAIT, Site, needs_axe, needs_browser, violations

pytestmark = needs_browser

SAME = "how do I get my money back"
HOSTILE = "<img src=x onerror=\"document.title='harmed'\">" + "W" * 500 + "‮ עברית"


@pytest.fixture(autouse=True)
def patience() -> None:
    expect.set_options(timeout=WAIT)


def torn(site: Site, name: str, text: str = SAME, **settings: Any) -> str:
    """A desk where the same text is an example of two labels, and waits besides."""
    desk = site.make_desk(name, policy="conservative-hull", **settings)
    given = [
        {"id": "one", "text": text, "label": "refund"},
        {"id": "other", "text": text, "label": "cancel"},
        {"id": "apart", "text": "where is my parcel", "label": "parcel"},
    ]
    with site.http() as http:
        assert http.post(f"/api/v1/desks/{desk}/examples", json={"examples": given}).is_success
    (asked,) = site.ask(desk, text)
    assert asked["status"] == "asked"
    return desk


def told(site: Site, desk: str) -> tuple[int, int]:
    """How many conflicts and contradictions the API tells of."""
    with site.http() as http:
        found = http.get(f"/api/v1/desks/{desk}/conflicts").json()
    standing = [one for one in found["items"] if sum(side["inside"] for side in one["sides"]) > 1]
    return len(standing), len(found["contradictions"])


def cards(page: Page) -> Any:
    return page.locator("article.conflict")


def test_both_kinds_are_shown_with_the_examples_of_each_side(pages: Site) -> None:
    desk = torn(pages, "both")
    assert told(pages, desk) == (1, 1)
    page = pages.open(f"/ui/{desk}/conflicts")
    expect(page.get_by_role("heading", name="Equal questions with different labels")).to_be_visible()
    expect(page.get_by_role("heading", name="Questions between labels")).to_be_visible()
    expect(cards(page)).to_have_count(2)
    for card in range(2):
        expect(cards(page).nth(card).get_by_role("heading", level=3)).to_have_text(SAME)
        assert sorted(cards(page).nth(card).get_by_role("heading", level=4).all_inner_texts()) == ["cancel", "refund"]
    expect(page.get_by_text("parcel")).to_have_count(0)
    page.get_by_role("link", name="Answer it in the queue").click()
    expect(page.locator("[data-panel]")).to_contain_text(SAME)


def test_a_correction_settles_both_and_undo_brings_them_back(pages: Site) -> None:
    desk = torn(pages, "settled")
    page = pages.open(f"/ui/{desk}/conflicts")
    watching = pages.open(f"/ui/{desk}/conflicts")
    expect(cards(watching)).to_have_count(2)
    page.get_by_role("button", name=f"Correct: {SAME} (cancel)").first.press("Enter")
    page.get_by_label("Name of the label").press_sequentially("rfnd")
    expect(page.get_by_role("option").first).to_have_text("refund")
    page.keyboard.press("Enter")
    for one in (page, watching):
        expect(one.get_by_role("heading", name="No conflicts")).to_be_visible()
    expect(page.locator(".said")).to_contain_text("is an example of “refund” now")
    assert told(pages, desk) == (0, 0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".said")).to_contain_text("Taken back")
    for one in (page, watching):
        expect(one.get_by_role("heading", name="Equal questions with different labels")).to_be_visible()


def test_forgetting_one_side_settles_it(pages: Site) -> None:
    desk = torn(pages, "forgotten")
    page = pages.open(f"/ui/{desk}/conflicts")
    page.get_by_role("button", name=f"Forget: {SAME} (refund)").first.click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("heading", name="No conflicts")).to_be_visible()
    assert told(pages, desk) == (0, 0)


def test_a_conflict_comes_and_goes_while_the_page_is_open(pages: Site) -> None:
    desk = pages.make_desk("live", policy="conservative-hull")
    page = pages.open(f"/ui/{desk}/conflicts")
    expect(page.get_by_role("heading", name="No conflicts")).to_be_visible()
    expect(page.get_by_text("A conflict is a question that")).to_be_visible()
    given = [{"id": label, "text": SAME, "label": label} for label in ("refund", "cancel")]
    with pages.http() as http:
        http.post(f"/api/v1/desks/{desk}/examples", json={"examples": given})
        expect(cards(page)).to_have_count(1)
        http.delete(f"/api/v1/desks/{desk}/examples/cancel")
    expect(cards(page)).to_have_count(0)


def test_a_blind_desk_does_not_tell_which_question_it_is(pages: Site) -> None:
    desk = torn(pages, "blind", audit_rate=0.5)
    page = pages.open(f"/ui/{desk}/conflicts")
    expect(cards(page)).to_have_count(2)
    between = cards(page).filter(has_text="A question between")
    expect(between).to_contain_text("The question itself is not shown")
    expect(page.get_by_role("link", name="Answer it in the queue")).to_have_count(0)


def test_hostile_texts_are_shown_as_texts_on_a_phone(pages: Site) -> None:
    desk = torn(pages, "hostile", HOSTILE)
    page = pages.open(f"/ui/{desk}/conflicts", width=390, height=844)
    expect(cards(page)).to_have_count(2)
    expect(cards(page).first).to_contain_text("<img src=x onerror=")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title() != "harmed"
    assert page.locator("img[src=x]").count() == 0


@needs_axe
def test_axe_finds_nothing_serious(pages: Site) -> None:
    desk = torn(pages, "axe")
    page = pages.open(f"/ui/{desk}/conflicts")
    expect(cards(page)).to_have_count(2)
    assert violations(page) == []
