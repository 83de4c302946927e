"""The page of labels: search, answer texts, renaming, merging, deleting, and the examples of a label."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from browser import Site, connected, needs_axe, needs_browser, violations

pytestmark = needs_browser

TAUGHT = {
    "Where is my parcel?": "track order",
    "Has my parcel been sent?": "track order",
    "Track my order": "track order",
    "I want my money back": "refund",
    "When does my refund come?": "refund",
    "How do I log in?": "login",
}
HOSTILE = '<img src=x onerror="window.broken=1"> {{7*7}} <b>bold</b>'


def open_labels(pages: Site, desk: str, query: str = "", **options: Any) -> Page:
    return pages.open(f"/ui/{desk}/labels{query}", **options)


def row(page: Page, name: str) -> Any:
    return page.locator(".label-row", has_text=name)


def choose(page: Page, piece: str) -> None:
    """Take the first label that a few letters find."""
    page.get_by_role("combobox", name="Label").fill(piece)
    expect(page.get_by_role("option").first).to_contain_text(piece)
    page.keyboard.press("Enter")


def labels_of(pages: Site, desk: str) -> dict[str, dict[str, Any]]:
    """What the API says of the desk's labels, by name."""
    with pages.http() as http:
        return {item["name"]: item for item in http.get(f"/api/v1/desks/{desk}/labels").json()["items"]}


def examples_of(pages: Site, desk: str, label: str) -> set[str]:
    with pages.http() as http:
        found = http.get(f"/api/v1/desks/{desk}/examples", params={"label": label, "limit": 500}).json()
        return {item["text"] for item in found["items"]}


def test_labels_are_counted_searched_and_kept_in_the_address(pages: Site) -> None:
    desk = pages.make_desk("counted")
    pages.teach(desk, TAUGHT)
    asked = pages.ask(desk, "zzz qqq")[0]
    with pages.http("expert") as http:
        assert http.post(f"/api/v1/desks/{desk}/tickets/{asked['ticket']}/answer", json={"label": "login"}).is_success
    page = open_labels(pages, desk)
    expect(page.locator(".label-row .name")).to_have_text(["login", "refund", "track order"])
    expect(row(page, "track order")).to_contain_text("3 examples · 0 % of questions")
    expect(row(page, "login")).to_contain_text("2 examples · 100 % of questions")
    page.get_by_label("Search labels").fill("REF")
    expect(page.locator(".label-row .name")).to_have_text(["refund"])
    row(page, "refund").click()
    expect(page.get_by_role("heading", name="refund")).to_be_visible()
    expect(page.get_by_role("link", name="See it on the map")).to_have_attribute("href", f"/ui/{desk}/map?label=refund")
    expect(page).to_have_url(re.compile(r"\?label=refund&search=REF$"))
    page.reload()
    connected(page)
    expect(page.get_by_role("heading", name="refund")).to_be_visible()
    expect(page.locator(".label-row .name")).to_have_text(["refund"])
    expect(page.locator(".label-example p")).to_have_text(["I want my money back", "When does my refund come?"])


def test_an_answer_text_is_changed_by_keyboard_and_taken_back(pages: Site) -> None:
    desk = pages.make_desk("answers")
    pages.teach(desk, TAUGHT)
    page = open_labels(pages, desk, "?label=login")
    expect(page.get_by_test_id("answer")).to_contain_text("There is none yet")
    page.get_by_role("button", name="Edit the answer text").focus()
    page.keyboard.press("Enter")
    field = page.get_by_role("textbox", name="Answer text")
    expect(field).to_be_focused()
    page.keyboard.type("First line")
    page.keyboard.press("Enter")
    page.keyboard.type("second line")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("answer")).to_have_text("First line\nsecond line")
    assert labels_of(pages, desk)["login"]["answer"] == "First line\nsecond line"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_test_id("answer")).to_contain_text("There is none yet")
    assert labels_of(pages, desk)["login"]["answer"] is None
    page.get_by_role("button", name="Edit the answer text").click()
    page.get_by_role("textbox", name="Answer text").fill("thought better of")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("answer")).to_contain_text("There is none yet")


def test_what_another_wrote_meanwhile_is_told_and_what_is_typed_stays(pages: Site) -> None:
    desk = pages.make_desk("together")
    pages.teach(desk, TAUGHT)
    number = labels_of(pages, desk)["login"]["id"]
    page = open_labels(pages, desk, "?label=login")
    page.get_by_role("button", name="Edit the answer text").click()
    field = page.get_by_role("textbox", name="Answer text")
    field.fill("mine")
    with pages.http() as http:
        assert http.patch(f"/api/v1/desks/{desk}/labels/{number}", json={"answer": "theirs"}).is_success
        assert http.post(f"/api/v1/desks/{desk}/labels", json={"name": "another"}).is_success
    expect(row(page, "another")).to_be_visible()  # the page is renewed
    expect(field).to_have_value("mine")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Someone has changed this answer text meanwhile, to: theirs")).to_be_visible()
    assert labels_of(pages, desk)["login"]["answer"] == "theirs"
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_test_id("answer")).to_have_text("mine")


def test_a_typed_answer_outlives_a_new_load_of_the_page(pages: Site) -> None:
    desk = pages.make_desk("typed")
    pages.teach(desk, TAUGHT)
    page = open_labels(pages, desk, "?label=refund")
    page.get_by_role("button", name="Edit the answer text").click()
    page.get_by_role("textbox", name="Answer text").fill("half a sent")
    page.reload()
    connected(page)
    expect(page.get_by_role("textbox", name="Answer text")).to_have_value("half a sent")
    page.get_by_role("button", name="Cancel").click()
    page.reload()
    connected(page)
    expect(page.get_by_test_id("answer")).to_be_visible()


def test_a_label_is_made_renamed_and_a_name_in_use_refused(pages: Site) -> None:
    desk = pages.make_desk("named")
    pages.teach(desk, TAUGHT)
    page = open_labels(pages, desk)
    page.get_by_role("button", name="New label").click()
    page.get_by_label("Name").fill("opening hours")
    page.get_by_role("textbox", name="Answer text").fill("From nine to five.")
    page.get_by_role("button", name="Make").click()
    expect(page.get_by_role("heading", name="opening hours")).to_be_visible()
    assert labels_of(pages, desk)["opening hours"]["answer"] == "From nine to five."
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("hours")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="hours", exact=True)).to_be_visible()
    expect(page.get_by_text("opening hours is called hours now.")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("login")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_text("The name 'login' is in use already.")).to_be_visible()
    assert {"hours", "login"} <= set(labels_of(pages, desk))


def test_a_merge_says_before_what_moves(pages: Site) -> None:
    desk = pages.make_desk("merged")
    pages.teach(desk, TAUGHT)
    page = open_labels(pages, desk, "?label=refund")
    page.get_by_role("button", name="Merge into").click()
    choosing = page.get_by_role("dialog", name="Merge refund into")
    expect(choosing.get_by_role("option")).to_contain_text(["login", "track order"])  # and not itself
    choosing.get_by_role("combobox").fill("quite another")
    expect(choosing).to_contain_text("No other label is like that.")
    expect(choosing.get_by_role("option")).to_have_count(0)
    choose(page, "track")
    dialog = page.get_by_role("dialog", name="Merge refund into track order?")
    expect(dialog).to_contain_text("2 examples move to track order; the answer text of track order stays")
    dialog.get_by_role("button", name="Merge").click()
    expect(row(page, "track order")).to_contain_text("5 examples")
    expect(row(page, "refund")).to_have_count(0)
    assert examples_of(pages, desk, "track order") == {t for t, label in TAUGHT.items() if label != "login"}


def test_waiting_suggestions_are_named_by_a_merge_but_not_on_a_blind_desk(pages: Site) -> None:
    """Every guess of the blind desk is audited, so its tickets have guesses, which nobody may know."""
    for desk, settings in (("seeing", {"when_able": "offer"}), ("blind", {"audit_rate": 1.0})):
        pages.make_desk(desk, policy="similarity-threshold:0.9", **settings)
        pages.ask(desk, *(["Where is my parcel?"] if desk == "seeing" else []))
        pages.teach(desk, TAUGHT)
        if desk == "blind":
            pages.ask(desk, "Where is my parcel?")
        with pages.http() as http:
            assert http.get(f"/api/v1/desks/{desk}").json()["waiting"] == 1
        page = open_labels(pages, desk, "?label=track+order")
        page.get_by_role("button", name="Merge into").click()
        choose(page, "log")
        moves = "3 examples and 1 waiting suggestion move to login" if desk == "seeing" else "3 examples move to login"
        expect(page.get_by_role("dialog", name="Merge track order into login?")).to_contain_text(moves)


def test_a_label_with_examples_is_deleted_only_when_its_name_is_typed(pages: Site) -> None:
    desk = pages.make_desk("deleted")
    pages.teach(desk, TAUGHT)
    page = open_labels(pages, desk, "?label=track+order")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 examples of it are forgotten")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    field = dialog.get_by_label("Type track order to confirm")
    expect(field).to_be_focused()
    field.fill("track orde")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    field.fill("track order")
    dialog.get_by_role("button", name="Delete").click()
    expect(row(page, "track order")).to_have_count(0)
    expect(page.get_by_text("No label is picked")).to_be_visible()
    assert set(labels_of(pages, desk)) == {"login", "refund"}


def test_an_example_is_forgotten_moved_and_given_back(pages: Site) -> None:
    desk = pages.make_desk("examples")
    pages.teach(desk, TAUGHT)
    page = open_labels(pages, desk, "?label=refund")
    page.get_by_role("button", name="Forget I want my money back").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(page.locator(".label-example")).to_have_count(1)
    assert examples_of(pages, desk, "refund") == {"When does my refund come?"}
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".label-example")).to_have_count(2)
    assert examples_of(pages, desk, "refund") == {"I want my money back", "When does my refund come?"}
    page.get_by_role("button", name="Open I want my money back").click()
    page.get_by_role("button", name="Move to another label").click()
    choose(page, "log")
    expect(page.get_by_text("“I want my money back” is an example of “login” now.")).to_be_visible()
    expect(page.locator(".label-example")).to_have_count(1)
    assert "I want my money back" in examples_of(pages, desk, "login")


def test_examples_come_fifty_at_a_time(pages: Site) -> None:
    desk = pages.make_desk("fifty")
    pages.teach(desk, {f"Question number {n} about parcels": "parcels" for n in range(120)})
    page = open_labels(pages, desk, "?label=parcels")
    expect(page.locator(".label-example")).to_have_count(50)
    page.get_by_role("button", name="Later").click()
    expect(page.get_by_text("51 to 100")).to_be_visible()
    page.get_by_role("button", name="Later").click()
    expect(page.locator(".label-example")).to_have_count(20)
    expect(page.get_by_role("button", name="Later")).to_be_disabled()
    page.get_by_role("button", name="Earlier").click()
    expect(page.get_by_text("51 to 100")).to_be_visible()


def test_the_list_is_live_and_keeps_the_focus(pages: Site) -> None:
    desk = pages.make_desk("live")
    pages.teach(desk, TAUGHT)
    page = open_labels(pages, desk)
    row(page, "refund").focus()
    with pages.http() as http:
        http.post(f"/api/v1/desks/{desk}/labels", json={"name": "a new one"})
        http.post(f"/api/v1/desks/{desk}/examples", json={"examples": [{"text": "Repay me", "label": "refund"}]})
    expect(row(page, "a new one")).to_be_visible()
    expect(row(page, "refund")).to_contain_text("3 examples")
    expect(row(page, "refund")).to_be_focused()


def test_hostile_names_answers_and_texts_are_shown_as_they_are(pages: Site) -> None:
    desk = pages.make_desk("hostile")
    long = "x" * 3000
    lines = "\n".join(f"line {n}" for n in range(1000))
    rtl = "אפשר להחזיר מוצר?"
    pages.teach(desk, {f"{HOSTILE} text": HOSTILE, long: HOSTILE, lines: HOSTILE, rtl: HOSTILE})
    number = labels_of(pages, desk)[HOSTILE]["id"]
    with pages.http() as http:
        assert http.patch(f"/api/v1/desks/{desk}/labels/{number}", json={"answer": HOSTILE}).is_success
        http.post(f"/api/v1/desks/{desk}/labels", json={"name": "y" * 200})
    page = open_labels(pages, desk, width=390)
    row(page, HOSTILE).click()
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    expect(page.get_by_test_id("answer")).to_have_text(HOSTILE)
    expect(page.locator(".label-example p").first).to_have_text(f"{HOSTILE} text")
    expect(page.get_by_text(rtl)).to_be_visible()
    page.get_by_role("button", name="Forget <img").click()
    expect(page.get_by_role("dialog")).to_contain_text(HOSTILE[:40])
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Merge into").click()
    choose(page, "yyy")
    expect(page.get_by_role("dialog", name="into yyy")).to_contain_text(HOSTILE)  # the list is still fading out
    page.keyboard.press("Escape")
    assert page.evaluate("window.broken") is None
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_the_list_and_the_label_take_turns(pages: Site) -> None:
    desk = pages.make_desk("phone")
    pages.teach(desk, TAUGHT)
    page = open_labels(pages, desk, width=390)
    row(page, "refund").click()
    expect(page.get_by_role("heading", name="refund")).to_be_focused()
    expect(row(page, "refund")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="All labels").click()
    expect(row(page, "refund")).to_be_visible()
    expect(page.get_by_role("heading", name="refund")).to_be_hidden()


def test_an_empty_desk_says_what_to_do(pages: Site) -> None:
    desk = pages.make_desk("fresh")
    page = open_labels(pages, desk)
    expect(page.get_by_text("There are no labels yet")).to_be_visible()
    page.get_by_role("button", name="New label").click()
    page.get_by_label("Name").fill("first")
    page.get_by_role("button", name="Make").click()
    expect(row(page, "first")).to_contain_text("0 examples")


@needs_axe
def test_labels_can_be_used_by_all(pages: Site) -> None:
    desk = pages.make_desk("for-all")
    pages.teach(desk, TAUGHT)
    page = open_labels(pages, desk, "?label=refund")
    expect(page.locator(".label-example")).to_have_count(2)
    assert violations(page) == []
    page.get_by_role("button", name="Merge into").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []
