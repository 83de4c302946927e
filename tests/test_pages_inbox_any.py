"""The inbox in a browser: any text, any width, any way of using it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser import Site, needs_axe, needs_browser, violations
from inbox_parts import KNOWN, asked, nothing_waits, ready, said

pytestmark = needs_browser

HOSTILE = (
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>',
    "**bold** [link](javascript:alert(1)) {{7*7}} ${7*7} `code`",
    "\u202emirrored\u202c مرحبا بالعالم",
    "w" * 5000,
    "\n".join(f"line {number}" for number in range(1000)),
)


@pytest.mark.parametrize("text", HOSTILE, ids=["markup", "templates", "directions", "one word", "lines"])
def test_any_text_is_shown_as_text(pages: Site, text: str) -> None:
    desk = pages.make_desk(f"hostile-{HOSTILE.index(text)}")
    label = '<b onclick="window.hacked=1">"label"</b>' + "l" * 120
    answer = '</textarea><img src=x onerror="window.hacked=1">'
    with pages.http() as http:
        http.post(f"/api/v1/desks/{desk}/labels", json={"name": label, "answer": answer})
    pages.teach(desk, {"<i>past</i> question": label})
    pages.ask(desk, f"{text} question")
    page = pages.open(f"/ui/{desk}/inbox", width=390, height=800)
    shown = page.locator(".asked")
    expect(shown).to_be_visible()
    assert shown.evaluate("e => e.textContent") == f"{text} question"
    assert shown.evaluate("e => e.children.length") == 0
    expect(page.locator(".offer strong")).to_have_text(label)
    expect(page.locator(".offer")).to_contain_text(answer)
    expect(page.locator(".offer")).to_contain_text("<i>past</i> question")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ready(page)
    page.keyboard.press("1")
    said(page, label)
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_everything_is_there_for_the_mouse_and_the_finger(pages: Site) -> None:
    desk = pages.make_desk("touch")
    pages.teach(desk, KNOWN)
    pages.ask(desk, "tap one", "tap two", "tap three")
    page = pages.open(f"/ui/{desk}/inbox", width=390, height=800, has_touch=True)
    asked(page, "tap one")
    page.get_by_role("button", name="Skip").tap()
    asked(page, "tap two")
    page.locator(".offer").first.tap()
    asked(page, "tap three")
    page.get_by_role("button", name="Undo").last.tap()
    asked(page, "tap two")
    page.get_by_role("button", name="New label").tap()
    page.get_by_label("Name", exact=True).fill("tapped")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Answer with it").tap()
    said(page, "Answered “tapped”")
    asked(page, "tap three")
    page.get_by_role("button", name="Search labels").tap()
    page.get_by_role("option", name="reset password").tap()
    said(page, "Answered “reset password”")


@pytest.mark.parametrize(("width", "height"), [(1200, 600), (768, 600), (390, 600)])
def test_what_can_be_done_is_in_sight_under_many_suggestions(pages: Site, width: int, height: int) -> None:
    desk = pages.make_desk(f"crowded-{width}")
    pages.teach(desk, {f"a question about item {number}": f"item {number}" for number in range(9)})
    pages.ask(desk, "which item is it?")
    page = pages.open(f"/ui/{desk}/inbox", width=width, height=height)
    asked(page, "which item is it?")
    expect(page.locator(".offer").last).to_be_visible()
    expect(page.locator(".offer").last).not_to_be_in_viewport(ratio=1)
    for name in ("Search labels", "New label", "Skip"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)


@needs_axe
def test_the_inbox_can_be_used_by_all(pages: Site) -> None:
    desk = pages.make_desk("axe")
    page = pages.open(f"/ui/{desk}/inbox", "admin")
    nothing_waits(page)
    assert violations(page) == []
    pages.teach(desk, KNOWN)
    pages.ask(desk, "a question for everyone\n" * 60, "another one")
    expect(page.locator(".asked")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("n")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    said(page, "Answered")
    for key, title in (("?", "Keys"), ("g", "What the desk would guess")):
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=title)).to_be_visible()
        assert violations(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
