"""What is around every page: its places in sight at any width, and what becomes of a page whose desk is deleted."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser import Site, needs_browser
from inbox_parts import asked

pytestmark = needs_browser

PLACES = ("Inbox", "Queue", "History", "Labels", "Map", "Conflicts", "Dashboard", "Settings")


@pytest.mark.parametrize("width", [1200, 1024, 768])
def test_all_places_and_the_name_of_the_desk_are_in_sight(pages: Site, width: int) -> None:
    desk = pages.make_desk(f"customer-{width}")
    page = pages.open(f"/ui/{desk}/conflicts", "admin", width=width)
    for name in PLACES:
        expect(page.locator(".places").get_by_role("link", name=name)).to_be_in_viewport(ratio=1)
    assert page.locator(".desk-name").evaluate("name => name.scrollWidth <= name.clientWidth")
    assert page.locator(".places").evaluate("places => places.scrollWidth <= places.clientWidth")


def test_one_can_log_out_from_the_list_of_desks(pages: Site) -> None:
    pages.make_desk("first")
    pages.make_desk("second")
    page = pages.open("/ui/", "admin", width=390, height=800)
    expect(page.get_by_role("link", name="second")).to_be_visible()
    page.get_by_role("button", name="Your menu").click()
    expect(page.get_by_text("admin, admin")).to_be_visible()
    page.get_by_text("Log out").click()
    page.wait_for_url("**/login")


def test_on_a_phone_the_open_place_is_in_sight(pages: Site) -> None:
    desk = pages.make_desk("narrow")
    page = pages.open(f"/ui/{desk}/conflicts", "admin", width=390, height=800)
    expect(page.locator(".place.here")).to_contain_text("Conflicts")
    expect(page.locator(".place.here")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_page_whose_desk_is_deleted_says_so_instead_of_its_question(pages: Site) -> None:
    desk = pages.make_desk("short-lived")
    pages.ask(desk, "who will answer this?")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "who will answer this?")
    with pages.http() as http:
        assert http.delete(f"/api/v1/desks/{desk}").is_success
    expect(page.get_by_role("heading", name=f"There is no desk '{desk}'")).to_be_visible()
    expect(page.get_by_text("who will answer this?")).to_have_count(0)
    expect(page.get_by_role("link", name="All desks", exact=True)).to_be_visible()


def test_a_window_that_is_used_again_has_forgotten_all(pages: Site) -> None:
    """Of the tests themselves: what one leaves in its windows no other finds."""
    desk = pages.make_desk("forgetful")
    first = pages.open(f"/ui/{desk}/conflicts", width=390)
    first.evaluate("localStorage.left = sessionStorage.left = 'behind'; document.cookie = 'left=behind; path=/'")
    pages.close_windows()
    again = pages.open(f"/ui/{desk}/conflicts", "admin")
    assert again is first
    assert again.evaluate("[localStorage.left, sessionStorage.left, document.cookie.includes('left')]") == [
        None,
        None,
        False,
    ]
    expect(again.get_by_role("link", name="Settings")).to_be_visible()  # which only an admin has
