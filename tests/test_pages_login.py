"""The login of the pages: keys of experts and admins open them, others do not; nothing comes from another site."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from askless.ledger.database import Database
from askless.service.auth import COOKIE
from askless.service.keys import Role, create_key, revoke_key
from browser import Site, connected, needs_axe, needs_browser, violations

pytestmark = needs_browser


def socket_of(pages: Site, client: str) -> str:
    """The address of the connection behind the page of that client."""
    query = f"EIO=4&transport=websocket&client_id={client}"
    return f"{pages.url.replace('http', 'ws')}/ui/_nicegui_ws/socket.io/?{query}"


def test_who_is_not_logged_in_is_led_to_the_login_and_then_to_the_page(pages: Site) -> None:
    desk = pages.make_desk("returns")
    page = pages.window(None)
    page.goto(f"{pages.url}/ui/{desk}/inbox")
    expect(page).to_have_url(re.compile(r"/login\?next="))
    page.get_by_label("Key").fill(pages.key["expert"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/{desk}/inbox")
    connected(page)
    expect(page.get_by_role("link", name="Inbox")).to_have_attribute("aria-current", "page")


def test_a_key_after_the_number_sign_logs_in_and_leaves_the_address(pages: Site) -> None:
    pages.make_desk("first")
    pages.make_desk("second")
    page = pages.window(None)
    page.goto(f"{pages.url}/login#{pages.key['admin']}")
    page.wait_for_url("**/ui/")
    expect(page.get_by_role("heading", name="Desks")).to_be_visible()
    page.go_back()
    assert pages.key["admin"] not in page.url


def test_a_wrong_key_is_told_and_may_be_typed_again(pages: Site) -> None:
    page = pages.window(None)
    page.goto(f"{pages.url}/login")
    page.get_by_label("Key").fill("ask_wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("not in force")
    expect(page.get_by_label("Key")).to_be_focused()
    pages.complaints.clear()  # the browser's own line about the 401


def test_a_clients_key_does_not_open_the_pages(pages: Site) -> None:
    desk = pages.make_desk("private")
    page = pages.window(None)
    page.goto(f"{pages.url}/login")
    page.get_by_label("Key").fill(pages.key["client"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("role client")
    assert not [cookie for cookie in page.context.cookies() if cookie["name"] == COOKIE]
    bearer = {"Authorization": f"Bearer {pages.key['client']}"}
    answer = httpx.get(f"{pages.url}/ui/{desk}/inbox", headers=bearer, timeout=60)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login")


def test_the_login_leads_to_no_other_site(pages: Site) -> None:
    pages.make_desk("home")
    for address in ("https://example.org/ui/", "//example.org/ui/", "javascript:alert(1)"):
        page = pages.window(None)
        page.goto(f"{pages.url}/login?next={address}#{pages.key['expert']}")
        page.wait_for_url(f"{pages.url}/ui/**")


def test_the_key_of_one_desk_sees_no_other(pages: Site) -> None:
    pages.make_desk("mine")
    pages.make_desk("theirs")
    with Database(pages.where) as database:
        secret = create_key(database, "one desk", Role.EXPERT, "mine").secret
    page = pages.window(None)
    page.goto(f"{pages.url}/login#{secret}")
    page.wait_for_url("**/ui/mine/inbox")
    page.goto(f"{pages.url}/ui/theirs/inbox")
    expect(page.get_by_text("There is no desk 'theirs'")).to_be_visible()
    missing = pages.window("admin")
    missing.goto(f"{pages.url}/ui/nowhere/inbox")
    expect(missing.get_by_text("There is no desk 'nowhere'")).to_be_visible()
    pages.complaints.clear()  # the browser's own lines about the 404


def test_a_page_whose_key_is_revoked_shows_nothing_more(pages: Site) -> None:
    desk = pages.make_desk("watched")
    with Database(pages.where) as database:
        secret = create_key(database, "leaving", Role.EXPERT).secret
    page = pages.window(None)
    page.goto(f"{pages.url}/login?next=/ui/{desk}/inbox#{secret}")
    page.wait_for_url(f"**/ui/{desk}/inbox")
    connected(page)
    with Database(pages.where) as database:
        revoke_key(database, "leaving")
    pages.ask(desk, "a question that only who is logged in may see")
    page.wait_for_url("**/login**")


def test_a_page_of_another_site_gets_no_connection(pages: Site) -> None:
    answer = httpx.post(f"{pages.url}/api/v1/session", json={"key": pages.key["expert"]}, timeout=60)
    cookie = {"Cookie": f"{COOKIE}={answer.cookies[COOKIE]}"}
    address = socket_of(pages, "of-no-page")
    with connect(address, additional_headers=cookie, origin=Origin(pages.url)) as own:
        assert str(own.recv(timeout=20)).startswith("0")
    refused: list[tuple[dict[str, str], Origin | None]] = [
        (cookie, Origin("https://example.org")),
        (cookie, None),
        ({}, Origin(pages.url)),
    ]
    for headers, origin in refused:
        with pytest.raises(InvalidStatus, match="403"):
            connect(address, additional_headers=headers, origin=origin)


def test_pages_take_nothing_from_other_sites_and_stand_in_no_frame(pages: Site) -> None:
    desk = pages.make_desk("alone")
    page = pages.window("expert")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{pages.url}/ui/{desk}/inbox")
    connected(page)
    assert [url for url in asked if not url.startswith((pages.url, "data:", "blob:"))] == []
    answer = httpx.get(f"{pages.url}/login", timeout=60)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


def test_nothing_but_the_librarys_own_files_is_given_to_strangers(pages: Site) -> None:
    for path in ("inbox", "dashboard.csv", "zzz", "1.0/static/x", "1.0/static/../../inbox"):
        answer = httpx.get(f"{pages.url}/ui/_nicegui/{path}", timeout=60)
        assert (answer.status_code, answer.headers["location"][:6]) == (303, "/login"), path
    polled = httpx.get(f"{pages.url}/ui/_nicegui_ws/socket.io/?EIO=4&transport=polling", timeout=60)
    assert polled.status_code == 303
    with pages.http("expert") as http:
        assert not http.get("/ui/_nicegui_ws/socket.io/?EIO=4&transport=polling").is_success


def test_a_page_answers_to_nobody_but_who_opened_it(pages: Site) -> None:
    desk = pages.make_desk("mine-alone")
    page = pages.open(f"/ui/{desk}/inbox", "admin")
    address = socket_of(pages, page.evaluate("window.clientId"))
    own = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == COOKIE)
    with connect(address, additional_headers={"Cookie": f"{COOKIE}={own}"}, origin=Origin(pages.url)) as socket:
        assert str(socket.recv(timeout=20)).startswith("0")
    answer = httpx.post(f"{pages.url}/api/v1/session", json={"key": pages.key["expert"]}, timeout=60)
    others = {"Cookie": f"{COOKIE}={answer.cookies[COOKIE]}"}
    with pytest.raises(InvalidStatus, match="403"):
        connect(address, additional_headers=others, origin=Origin(pages.url))


def test_errors_of_the_api_stay_problems_beside_the_pages(pages: Site) -> None:
    with pages.http() as http:
        for path, status in (("/api/v1/nothing", 404), ("/nothing", 404)):
            answer = http.get(path)
            assert answer.status_code == status
            assert answer.headers["content-type"] == "application/problem+json"
        assert http.delete("/healthz").status_code == 405


def test_logging_out_ends_the_session(pages: Site) -> None:
    desk = pages.make_desk("evening")
    page = pages.open(f"/ui/{desk}/inbox")
    page.get_by_role("button", name="Your menu").click()
    page.get_by_text("Log out").click()
    page.wait_for_url("**/login")
    page.goto(f"{pages.url}/ui/{desk}/inbox")
    expect(page).to_have_url(re.compile("/login"))


def test_dark_is_kept(pages: Site) -> None:
    desk = pages.make_desk("night")
    page = pages.open(f"/ui/{desk}/inbox")
    page.get_by_role("button", name="Your menu").click()
    page.get_by_text("Dark", exact=True).click()
    expect(page.locator("body.body--dark")).to_be_visible()
    page.reload()
    expect(page.locator("body.body--dark")).to_be_visible()


@needs_axe
def test_the_login_and_the_desks_can_be_used_by_all(pages: Site) -> None:
    pages.make_desk("one")
    page = pages.window(None)
    page.goto(f"{pages.url}/login")
    assert violations(page) == []
    page = pages.open("/ui/", "admin")
    assert violations(page) == []
