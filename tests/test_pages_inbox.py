"""The inbox in a browser: from a posted text to its answer, by keyboard alone."""

from __future__ import annotations

from playwright.sync_api import expect

from browser import Site, connected, needs_browser
from inbox_parts import ALIKE, KNOWN, asked, nothing_waits, outcome, ready, said, ticket

pytestmark = needs_browser


def test_a_posted_text_comes_by_itself_and_is_answered_with_one_key(pages: Site) -> None:
    desk = pages.make_desk("flow")
    pages.teach(desk, KNOWN)
    page = pages.open(f"/ui/{desk}/inbox")
    nothing_waits(page)
    (query,) = pages.ask(desk, "my password does not work")
    asked(page, "my password does not work")
    expect(page.locator(".facts")).to_contain_text("From client")
    expect(page.locator(".lease")).to_contain_text("Kept for you until")
    offers = ticket(pages, desk, query["ticket"])["offers"]
    rows = page.locator(".offer")
    expect(rows).to_have_count(len(offers))
    for place, offer in enumerate(offers):
        expect(rows.nth(place)).to_contain_text(offer["label"])
        expect(rows.nth(place)).to_contain_text(offer["example"])
    page.keyboard.press("1")
    said(page, f"Answered “{offers[0]['label']}”")
    nothing_waits(page)
    expect(page.get_by_text("1 question has come in today")).to_be_visible()
    found = outcome(pages, desk, query["id"])
    assert (found["status"], found["label"]) == ("answered", offers[0]["label"])


def test_a_new_label_is_typed_right_after_its_key(pages: Site) -> None:
    desk = pages.make_desk("new")
    (query,) = pages.ask(desk, "Do you ship to Norway?")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "Do you ship to Norway?")
    page.keyboard.type("nsuspicious shipping")  # of which s, u and the second n are keys themselves
    expect(page.get_by_label("Name", exact=True)).to_have_value("suspicious shipping")
    page.keyboard.press("Enter")
    page.keyboard.type("We deliver to all of Europe.")
    page.keyboard.press("Enter")
    page.keyboard.type("Within five days.")
    page.keyboard.press("Control+Enter")
    said(page, "Answered “suspicious shipping”")
    found = outcome(pages, desk, query["id"])
    assert found["label"] == "suspicious shipping"
    assert found["answer"] == "We deliver to all of Europe.\nWithin five days."
    expect(page.get_by_label("Name", exact=True)).to_be_hidden()


def test_labels_are_searched_by_a_few_letters_and_a_new_name_can_be_made(pages: Site) -> None:
    desk = pages.make_desk("search")
    pages.teach(desk, KNOWN)
    first, second = pages.ask(desk, "first question", "second question")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "first question")
    page.keyboard.type("/opnhrs")
    expect(page.get_by_role("option").first).to_contain_text("opening hours")
    page.keyboard.press("Enter")
    said(page, "Answered “opening hours”")
    asked(page, "second question")
    expect(page.locator(".q-dialog")).to_have_count(0)
    page.keyboard.type("/lost parcel")
    expect(page.get_by_role("option", name="New label: lost parcel")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name", exact=True)).to_have_value("lost parcel")
    expect(page.get_by_label("Answer that is sent")).to_be_focused()
    page.keyboard.press("Control+Enter")
    said(page, "Answered “lost parcel”")
    assert outcome(pages, desk, first["id"])["label"] == "opening hours"
    assert outcome(pages, desk, second["id"])["label"] == "lost parcel"


def test_answers_and_skips_are_taken_back_in_turn(pages: Site) -> None:
    desk = pages.make_desk("undo")
    pages.teach(desk, KNOWN)
    first, second = pages.ask(desk, "one of them", "another of them")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "one of them")
    page.keyboard.press("u")
    said(page, "nothing to undo")
    page.keyboard.press("s")
    said(page, "Skipped. Others get it now.")
    asked(page, "another of them")
    page.keyboard.press("1")
    said(page, "Answered")
    asked(page, "one of them")  # which was skipped, and is the only one left
    page.keyboard.press("u")
    asked(page, "another of them")
    assert outcome(pages, desk, second["id"])["status"] == "asked"
    page.keyboard.press("u")
    asked(page, "one of them")
    said(page, "Taken back.")
    assert {ticket(pages, desk, row["ticket"])["status"] for row in (first, second)} == {"open"}
    page.keyboard.press("1")
    asked(page, "another of them")
    page.get_by_role("button", name="Undo", exact=True).first.click()  # beside what was said
    asked(page, "one of them")


def test_what_can_be_undone_is_known_after_a_reload(pages: Site) -> None:
    desk = pages.make_desk("reload")
    pages.teach(desk, KNOWN)
    pages.ask(desk, "answered too early")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "answered too early")
    page.keyboard.press("1")
    said(page, "Answered")
    page.reload()
    connected(page)
    nothing_waits(page)
    ready(page)
    page.keyboard.press("u")
    asked(page, "answered too early")


def test_an_answer_says_what_else_it_settles(pages: Site) -> None:
    desk = pages.make_desk("settles", **ALIKE)
    pages.teach(desk, KNOWN)
    same = pages.ask(desk, *["Do you have gift cards?"] * 4)
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "Do you have gift cards?")
    page.keyboard.press("1")
    said(page, "3 waiting questions are now answered by this.")
    nothing_waits(page)
    assert sorted(outcome(pages, desk, row["id"])["status"] for row in same) == ["answered", *["guessed"] * 3]
    page.keyboard.press("u")
    said(page, "Taken back. The 3 questions that the desk answered by it keep that answer: see the history.")
    assert sorted(outcome(pages, desk, row["id"])["status"] for row in same) == ["asked", *["guessed"] * 3]


def test_the_guess_is_shown_with_its_reasons_and_enter_takes_it(pages: Site) -> None:
    desk = pages.make_desk("guess")
    pages.teach(desk, KNOWN)
    (query,) = pages.ask(desk, "When are you open?")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "When are you open?")
    expect(page.get_by_role("button", name="Guess")).to_be_visible()
    best = ticket(pages, desk, query["ticket"])["offers"][0]
    page.keyboard.press("g")
    panel = page.get_by_role("dialog")
    expect(panel).to_contain_text(best["label"])
    expect(panel).to_contain_text(best["example"])
    expect(panel.get_by_role("button", name="Take it")).to_be_focused()
    page.keyboard.press("Enter")
    said(page, f"Answered “{best['label']}”")
    assert outcome(pages, desk, query["id"])["label"] == best["label"]


def test_a_blind_desk_says_nothing_of_what_it_thinks(pages: Site) -> None:
    desk = pages.make_desk("blind", audit_rate=1.0, **ALIKE)
    pages.teach(desk, KNOWN)
    guessed, unsure = pages.ask(desk, "Are you open on Sunday?", "Do you have gift cards?")
    assert (guessed["status"], unsure["status"]) == ("guessed", "asked")
    page = pages.open(f"/ui/{desk}/inbox")
    seen = []
    for _ in range(2):
        expect(page.locator(".asked")).to_be_visible()
        expect(page.locator(".why")).to_have_text(
            "This desk checks itself against its experts, so it keeps what it thinks to itself."
        )
        expect(page.locator(".likely")).to_have_count(0)
        names = page.locator(".offer strong").all_inner_texts()
        assert names == sorted(names)
        expect(page.get_by_role("button", name="Skip")).to_be_visible()
        expect(page.get_by_role("button", name="Guess")).to_be_hidden()  # it would have nothing else to say
        ready(page)
        page.keyboard.press("g")
        said(page, "keeps what it thinks to itself")
        expect(page.get_by_role("dialog")).to_have_count(0)
        text = page.locator(".asked").inner_text()
        seen.append(text)
        page.keyboard.press("1")
        expect(page.locator(".asked", has_text=text).locator("visible=true")).to_have_count(0)
    assert sorted(seen) == ["Are you open on Sunday?", "Do you have gift cards?"]


def test_a_key_that_is_pressed_twice_answers_one_question(pages: Site) -> None:
    desk = pages.make_desk("twice")
    pages.teach(desk, KNOWN)
    pages.ask(desk, "the first of two", "the second of two")
    page = pages.open(f"/ui/{desk}/inbox")
    asked(page, "the first of two")
    press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '1', bubbles: true}));"
    page.evaluate(press * 2)
    asked(page, "the second of two")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("take a suggestion")  # both keys were dealt with before it
    with pages.http() as http:
        waiting = http.get(f"/api/v1/desks/{desk}/tickets", params={"status": "open"}).json()["items"]
    assert [row["text"] for row in waiting] == ["the second of two"]
    page.keyboard.press("1")  # in front of which the list of keys is
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    asked(page, "the second of two")


def test_a_ticket_can_be_linked_to(pages: Site) -> None:
    desk = pages.make_desk("linked")
    _, wanted = pages.ask(desk, "the one before", "the one that is wanted")
    page = pages.open(f"/ui/{desk}/inbox?ticket={wanted['ticket']}")
    asked(page, "the one that is wanted")
    other = pages.open(f"/ui/{desk}/inbox?ticket={wanted['ticket']}", "admin")
    said(other, "is held by 'expert'")
    asked(other, "the one before")
