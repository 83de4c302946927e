"""The inbox in browsers while other things happen: other experts, a restart of the service, answers from elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import update

from askless.ledger import schema
from askless.ledger.database import Database
from browser import Site, connected, needs_browser
from inbox_parts import ALIKE, KNOWN, asked, nothing_waits, outcome, ready, said, ticket

pytestmark = needs_browser

PRESS = "key => setTimeout(() => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})), 300)"


def end_lease(site: Site, number: int) -> None:
    """Have the time of a lease be over."""
    with Database(site.where) as database, database.write() as connection:
        over = datetime.now(UTC) - timedelta(minutes=1)
        connection.execute(update(schema.tickets).where(schema.tickets.c.id == number).values(lease_until=over))


def answered_by(site: Site, desk: str, number: int, label: str, role: str = "admin") -> None:
    with site.http(role) as http:
        assert http.post(f"/api/v1/desks/{desk}/tickets/{number}/answer", json={"label": label}).is_success


def test_two_windows_answer_one_ticket_at_once_and_one_wins(pages: Site) -> None:
    desk = pages.make_desk("race")
    pages.teach(desk, KNOWN)
    query, _ = pages.ask(desk, "who is first?", "the one after")
    windows = {key: pages.open(f"/ui/{desk}/inbox") for key in ("1", "2")}
    for page in windows.values():
        asked(page, "who is first?")
    labels = [offer["label"] for offer in ticket(pages, desk, query["ticket"])["offers"]]
    for key, page in windows.items():
        page.evaluate(PRESS, key)
    for page in windows.values():
        asked(page, "the one after")
    told = {key: page.locator(".said").inner_text() for key, page in windows.items()}
    won = outcome(pages, desk, query["id"])["label"]
    winner = str(1 + labels.index(won))
    loser = "2" if winner == "1" else "1"
    assert f"Answered “{won}”" in told[winner]
    assert "already" in told[loser] or "another window" in told[loser]
    assert won in told[loser]


def test_an_expert_whose_lease_has_ended_is_told_who_has_the_ticket(pages: Site) -> None:
    desk = pages.make_desk("leases")
    pages.teach(desk, KNOWN)
    (query,) = pages.ask(desk, "whose is it?")
    first = pages.open(f"/ui/{desk}/inbox")
    asked(first, "whose is it?")
    second = pages.open(f"/ui/{desk}/inbox", "admin")
    nothing_waits(second)  # it is kept for the first one
    assert ticket(pages, desk, query["ticket"])["lease_by"] == "expert"
    end_lease(pages, query["ticket"])
    with pages.http() as http:
        http.post(f"/api/v1/desks/{desk}/tickets/next")
    asked(second, "whose is it?")
    nothing_waits(first)
    said(first, "admin has taken the question before")
    second.keyboard.press("1")
    said(second, "Answered")
    assert ticket(pages, desk, query["ticket"])["closed_by"] == "admin"


def test_a_lease_is_lengthened_for_who_is_there(pages: Site) -> None:
    desk = pages.make_desk("longer", lease_seconds=4)
    (query,) = pages.ask(desk, "still thinking")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "still thinking")
    until = [datetime.fromisoformat(ticket(pages, desk, query["ticket"])["lease_until"])]
    while until[-1] - until[0] < timedelta(seconds=4):  # which is over if nobody lengthens it
        page.wait_for_timeout(200)
        found = ticket(pages, desk, query["ticket"])
        assert found["lease_by"] == "expert"
        until.append(datetime.fromisoformat(found["lease_until"]))
    expect(page.locator(".lease")).to_contain_text("Kept for you until")


def test_what_is_answered_elsewhere_goes_and_what_was_typed_stays(pages: Site) -> None:
    desk = pages.make_desk("elsewhere")
    first, second = pages.ask(desk, "gone soon", "stays a while")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "gone soon")
    page.keyboard.type("nhalf a na")
    end_lease(pages, first["ticket"])
    answered_by(pages, desk, first["ticket"], "done")
    asked(page, "stays a while")
    said(page, "admin has answered the question before in another window, with “done”.")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("me")
    expect(page.get_by_label("Name", exact=True)).to_have_value("half a name")
    expect(page.get_by_text("Another question has come")).to_be_visible()
    page.keyboard.press("Control+Enter")  # meant for the question before, perhaps
    expect(page.get_by_text("send it once more")).to_be_visible()
    assert outcome(pages, desk, second["id"])["status"] == "asked"
    page.keyboard.press("Control+Enter")
    said(page, "Answered “half a name”")
    assert outcome(pages, desk, second["id"])["label"] == "half a name"


def test_what_the_desk_settles_or_an_admin_erases_goes_from_the_screen(pages: Site) -> None:
    desk = pages.make_desk("settled", **ALIKE)
    query, other = pages.ask(desk, "never mind", "what is left")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "never mind")
    with pages.http() as http:
        assert http.delete(f"/api/v1/desks/{desk}/queries/{query['id']}").is_success
    asked(page, "what is left")
    said(page, "needs no answer any more")
    expect(page.get_by_test_id("waiting-count")).to_have_text("1")
    assert ticket(pages, desk, other["ticket"])["lease_by"] == "expert"


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_a_restart_in_mid_work_loses_nothing(pages: Site, kill: bool) -> None:
    desk = pages.make_desk(f"restart-{kill}".lower())
    pages.ask(desk, "in the middle of it", "the next one")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "in the middle of it")
    page.keyboard.type("nshipping")
    expect(page.get_by_label("Name", exact=True)).to_have_value("shipping")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Answer that is sent")).to_be_focused()
    page.keyboard.type("We deliver ")
    pages.stop(kill=kill)
    page.keyboard.type("to all of Europe.")  # while nobody listens
    page.evaluate("window.before = true")
    pages.start()
    page.wait_for_function("window.before === undefined && window.did_handshake === true")
    asked(page, "in the middle of it")
    expect(page.get_by_label("Name", exact=True)).to_have_value("shipping")
    expect(page.get_by_label("Answer that is sent")).to_have_value("We deliver to all of Europe.")
    _answer_with_what_was_typed(page)
    with pages.http("client") as http:
        found = http.get(f"/api/v1/desks/{desk}/queries/{_first_key(pages, desk)}").json()
    assert (found["label"], found["answer"]) == ("shipping", "We deliver to all of Europe. And beyond.")


def _answer_with_what_was_typed(page: Page) -> None:
    expect(page.get_by_label("Answer that is sent")).to_be_focused()  # as it was
    page.keyboard.type(" And beyond.")
    page.keyboard.press("Control+Enter")
    said(page, "Answered “shipping”")
    asked(page, "the next one")
    expect(page.get_by_label("Name", exact=True)).to_be_hidden()


def _first_key(site: Site, desk: str) -> str:
    with site.http() as http:
        rows = http.get(f"/api/v1/desks/{desk}/queries", params={"search": "in the middle of it"}).json()["items"]
    return str(rows[0]["id"])


def test_a_reload_brings_back_the_ticket_and_no_old_text(pages: Site) -> None:
    desk = pages.make_desk("again")
    pages.ask(desk, "the same as before", "not this one")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "the same as before")
    page.keyboard.type("nnever sent")
    expect(page.get_by_label("Name", exact=True)).to_have_value("never sent")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Name", exact=True)).to_be_hidden()
    page.reload()
    connected(page)
    asked(page, "the same as before")
    ready(page)
    expect(page.get_by_label("Name", exact=True)).to_be_hidden()
