"""Playing the sample in: questions come by themselves, and one sees the desk learn."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from askless.datasets.sample import support_questions
from askless.desk.sample import ANSWERS, EXAMPLES_A_LABEL, LEFT_OUT, answer_of, mixed_questions, sample_examples
from browser import Site, needs_axe, needs_browser, violations
from inbox_parts import KNOWN, asked, nothing_waits

PLAY = "Play sample questions in"
pytestmark = needs_browser


def begin(page: Page, *, expert: bool) -> None:
    nothing_waits(page)
    page.get_by_role("button", name=PLAY).click()
    box = page.get_by_role("checkbox", name="and let the sample's expert answer")
    expect(box).to_be_visible()
    if expert:
        box.click()
    page.get_by_role("button", name="Play", exact=True).click()


def queries(site: Site, desk: str) -> list[dict[str, Any]]:
    with site.http() as http:
        found: list[dict[str, Any]] = http.get(f"/api/v1/desks/{desk}/queries", params={"limit": 500}).json()["items"]
        return found


def test_the_samples_expert_answers_what_is_asked(pages: Site) -> None:
    desk = pages.make_desk("newcomer")
    page = pages.open(f"/ui/{desk}/inbox", "admin")
    begin(page, expert=True)
    line = page.locator(".play .progress p")
    expect(line).to_have_text(
        re.compile(r"^([5-9]|1\d) of 60 played in: 0 answered at once, \d+ by the sample's expert\.$")
    )
    expect(page.locator(".play li").first).to_contain_text("asked: ")
    expect(page.locator(".asked")).to_be_hidden()  # the questions are the other expert's
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Close")).to_be_visible()
    expect(page.get_by_text("Of the last")).to_be_visible()
    truth = dict(zip(*support_questions(), strict=True))
    rows = queries(pages, desk)
    assert 5 <= len(rows) < 60
    for row in rows:
        assert row["status"] == "answered"
        assert row["label"] == truth[row["text"]]
        assert row["answer"] == ANSWERS[row["label"]]
    page.get_by_role("button", name="Close").click()
    nothing_waits(page)
    expect(page.locator(".play")).to_be_hidden()


def test_without_the_expert_the_questions_wait_for_who_plays_them(pages: Site) -> None:
    desk = pages.make_desk("alone")
    page = pages.open(f"/ui/{desk}/inbox", "admin", width=390, height=800)
    begin(page, expert=False)
    expect(page.locator(".play .progress p")).to_have_text(
        re.compile(r"^([3-9]|1\d) of 60 played in: 0 answered at once, \d+ wait for you\.$")
    )
    rows = {row["text"]: row for row in queries(pages, desk)}
    expect(page.locator(".asked")).to_be_visible()
    expect(page.get_by_role("button", name="More")).to_be_hidden()  # one play at a time
    assert page.locator(".asked").inner_text() in rows
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="More")).to_be_visible()
    asked(page, page.locator(".asked").inner_text())
    page.keyboard.type("nfirst label")
    expect(page.get_by_label("Name", exact=True)).to_have_value("first label")
    page.get_by_role("button", name="More").click()
    page.locator(".q-menu").get_by_text(PLAY).click()
    expect(page.get_by_role("checkbox")).to_be_visible()  # all that came so far was the sample's


@needs_axe
def test_the_player_can_be_used_by_all(pages: Site) -> None:
    desk = pages.make_desk("for-all")
    page = pages.open(f"/ui/{desk}/inbox", "admin")
    begin(page, expert=True)
    expect(page.locator(".play li").first).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Close")).to_be_visible()
    assert violations(page) == []


def test_only_an_admin_plays_and_only_where_it_disturbs_nobody(pages: Site) -> None:
    used, empty = pages.make_desk("used"), pages.make_desk("empty")
    pages.teach(used, {"Do you hire?": "jobs", **KNOWN})  # of which one label is none of the sample's
    for desk, role in ((used, "admin"), (empty, "expert")):
        page = pages.open(f"/ui/{desk}/inbox", role)
        nothing_waits(page)
        expect(page.get_by_role("button", name=PLAY)).to_have_count(0)
        expect(page.get_by_role("button", name="More")).to_have_count(0)
    sample = pages.make_desk("shop")
    label, answer = next(iter(ANSWERS.items()))
    with pages.http() as http:
        http.post(f"/api/v1/desks/{sample}/labels", json={"name": label, "answer": answer})
    page = pages.open(f"/ui/{sample}/inbox", "admin")
    nothing_waits(page)
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name=PLAY).or_(page.locator(".q-menu").get_by_text(PLAY)).first.click()
    expect(page.get_by_role("checkbox")).to_be_visible()
    assert f"/api/v1/desks/{sample}/queries" in page.locator(".idle code").inner_text()


@pytest.mark.parametrize("late", [False, True], ids=["before the dialog", "while it is open"])
def test_a_desk_that_was_used_since_the_page_was_opened_is_not_played_with(pages: Site, late: bool) -> None:
    desk = pages.make_desk(f"meanwhile-{late:d}")
    page = pages.open(f"/ui/{desk}/inbox", "admin")
    nothing_waits(page)
    play, expert = page.get_by_role("button", name=PLAY), page.get_by_role("checkbox")
    if late:
        play.click()
        expect(expert).to_be_visible()
    pages.teach(desk, {"Do you hire?": "jobs"})
    (page.get_by_role("button", name="Play", exact=True) if late else play).click()
    expect(page.get_by_text("This desk has labels or questions of its own by now")).to_be_visible()
    expect(play).to_be_hidden()
    expect(page.get_by_role("button", name="More")).to_be_hidden()
    expect(expert).to_be_hidden()
    expect(page.locator(".play")).to_be_hidden()
    assert not [row for row in queries(pages, desk) if row["status"] != "given"]


@pytest.mark.parametrize("few", [False, True])
def test_what_is_played_in_is_no_example_and_has_its_right_label(few: bool) -> None:
    truth = list(zip(*support_questions(), strict=True))
    played = mixed_questions(60, few, Random(3))
    assert len(played) == len(set(played)) == 60
    assert set(played) <= set(truth)
    assert not set(played) & set(sample_examples())
    assert all(answer_of(label) for _, label in played)
    assert any(label in LEFT_OUT for _, label in played) is not few


def test_the_examples_are_the_first_of_each_label() -> None:
    given = sample_examples()
    assert {label for _, label in given} == set(ANSWERS)
    for label in ANSWERS:
        texts = [text for text, other in zip(*support_questions(), strict=True) if other == label]
        assert [text for text, other in given if other == label] == texts[:EXAMPLES_A_LABEL]
