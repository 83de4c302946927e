"""What the tests of the inbox share: a few examples, and what to wait for."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect

from browser import WAIT, Site

expect.set_options(timeout=WAIT)
KNOWN = {
    "Where is my card? It was posted two weeks ago": "card not arrived",
    "My new card has not come yet": "card not arrived",
    "I forgot my password": "reset password",
    "How do I get a new password?": "reset password",
    "What time do you close today?": "opening hours",
    "Are you open on Sunday?": "opening hours",
}
ALIKE = {"policy": "similarity-threshold:0.95"}  # guesses what it has seen before, and asks about the rest


def ready(page: Page) -> None:
    """Wait until the page has its keys."""
    page.wait_for_function("window.askless?.keys !== null")


def asked(page: Page, text: str) -> None:
    """Wait until this question is on the screen, and the page has its keys."""
    shown = page.locator(".asked")
    expect(shown).to_be_visible()
    expect(shown).to_have_text(text)
    ready(page)


def said(page: Page, text: str) -> None:
    """Wait until the page has said this."""
    expect(page.locator(".said")).to_contain_text(text)


def nothing_waits(page: Page) -> None:
    """Wait until the page says that nothing waits."""
    expect(page.get_by_role("heading", name="Nothing waits")).to_be_visible()
    ready(page)


def outcome(site: Site, desk: str, key: str) -> dict[str, Any]:
    """What the asker is told."""
    with site.http("client") as http:
        found: dict[str, Any] = http.get(f"/api/v1/desks/{desk}/queries/{key}").json()
        return found


def ticket(site: Site, desk: str, number: int) -> dict[str, Any]:
    """A ticket as the API shows it."""
    with site.http() as http:
        found: dict[str, Any] = http.get(f"/api/v1/desks/{desk}/tickets/{number}").json()
        return found
