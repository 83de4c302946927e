"""The page of settings: what is saved, what other costs would change, two admins at once, another embedder."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from askless.datasets.sample import support_questions
from askless.desk.live.settings import LiveSettings
from askless.desk.live.what_if import CostEffect, effect_of_costs
from askless.ledger import schema
from askless.ledger.database import Database
from askless.service.pages.settings.fields import _kind
from askless.service.pages.settings.words import TITLES, effect_in_words, said
from askless.types import Costs
from browser import Site, connected, needs_axe, needs_browser, violations

TAUGHT = {f"Where is parcel number {n}?": "track order" for n in range(8)} | {
    f"I want a refund for order {n}": "refund" for n in range(8)
}


def open_settings(pages: Site, desk: str, **options: Any) -> Page:
    return pages.open(f"/ui/{desk}/settings", "admin", **options)


def settings_of(pages: Site, desk: str) -> dict[str, Any]:
    """What the API says that the desk is set to."""
    with pages.http() as http:
        found: dict[str, Any] = http.get(f"/api/v1/desks/{desk}").json()["settings"]
        return found


def setting(page: Page, title: str) -> Any:
    return page.locator(".setting", has=page.get_by_role("heading", name=title, exact=True))


def save(page: Page) -> None:
    page.get_by_role("button", name="Save").click()


@needs_browser
def test_settings_are_saved_told_and_taken_back(pages: Site) -> None:
    desk = pages.make_desk("saved")
    before = settings_of(pages, desk)
    page = open_settings(pages, desk)
    expect(page.get_by_text("Everything is saved.")).to_be_visible()
    setting(page, "Audit rate").get_by_role("spinbutton").fill("2.5")
    setting(page, "Lease").get_by_role("spinbutton").fill("600")
    setting(page, "Retention").get_by_role("spinbutton").fill("90")
    setting(page, "Mode").get_by_text("Shadow").click()
    page.get_by_role("switch", name="Share examples").click()
    expect(page.get_by_text("Not saved yet: mode, audit rate, lease, retention, share examples.")).to_be_visible()
    save(page)
    expect(page.get_by_text("Saved. Audit rate: 0 % → 2.5 %; Mode: live → shadow; Lease: 300 seconds")).to_be_visible()
    after = settings_of(pages, desk)
    changes = {"audit_rate": 0.025, "lease_seconds": 600, "retention_days": 90, "mode": "shadow"}
    assert after == before | changes | {"share_examples": True}
    page.get_by_role("button", name="Undo").click()
    expect(setting(page, "Lease").get_by_role("spinbutton")).to_have_value("300")
    expect(setting(page, "Retention").get_by_role("spinbutton")).to_have_value("")
    assert settings_of(pages, desk) == before


@needs_browser
def test_a_click_on_save_right_after_the_typing_is_not_lost(pages: Site) -> None:
    desk = pages.make_desk("at-once")
    page = open_settings(pages, desk)
    save(page)
    expect(page.get_by_text("Everything is saved already.")).to_be_visible()
    setting(page, "Lease").get_by_role("spinbutton").fill("120")
    page.get_by_role("button", name="Save").click(force=True)  # whatever the page has heard of the typing by then
    expect(page.get_by_text("Saved. Lease")).to_be_visible()
    assert settings_of(pages, desk)["lease_seconds"] == 120


@needs_browser
def test_the_policy_is_chosen_from_those_that_may_be_named_here(pages: Site) -> None:
    desk = pages.make_desk("policy", policy="ghc:0.8")
    page = open_settings(pages, desk)
    threshold = page.get_by_label("Threshold, from 0 to 1")
    expect(threshold).to_have_value("0.8")
    threshold.fill("1.5")
    expect(page.get_by_text("A threshold lies between 0 and 1")).to_be_visible()
    save(page)
    expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()
    assert settings_of(pages, desk)["policy"] == "ghc:0.8"
    threshold.fill("0.75")
    expect(setting(page, "Policy").get_by_text("A threshold lies between 0 and 1")).to_be_hidden()
    save(page)
    expect(page.get_by_text("Saved. Policy: ghc:0.8 → generalized-hull:0.75.")).to_be_visible()
    assert settings_of(pages, desk)["policy"] == "generalized-hull:0.75"
    page.get_by_role("combobox", name="Policy").click()
    page.get_by_role("option", name="always-ask").click()
    expect(threshold).to_be_hidden()
    save(page)
    expect(page.get_by_text("→ always-ask.")).to_be_visible()
    assert settings_of(pages, desk)["policy"] == "always-ask"


@needs_browser
def test_the_effect_of_other_costs_is_shown_before_they_are_saved(pages: Site) -> None:
    desk = pages.make_desk("effect")
    questions = list(zip(*support_questions(), strict=True))[:240]
    pages.teach(desk, dict(questions[::2]))
    pages.ask(desk, *(text for text, _ in questions[1::2]))
    with Database(pages.where) as database, database.read() as connection:
        number = connection.execute(schema.desks.select().where(schema.desks.c.name == desk)).one().id
        effect = effect_of_costs(connection, number, Costs(-1, 1, -500))
    assert effect.decisions == 120
    assert effect.asked < effect.would_ask
    page = open_settings(pages, desk)
    shown = setting(page, "Costs").locator(".effect")
    expect(shown).to_contain_text(f"the desk asked {effect.asked} of the last 120 questions")
    page.get_by_label("For a wrong guess").fill("-500")
    expect(shown).to_contain_text(
        f"With these costs the desk would have asked {effect.would_ask} instead of {effect.asked} of the last 120 "
        "questions. This compares the recorded probabilities with the new costs"
    )
    expect(shown).to_contain_text("A question costs 2, a mistake 501.")
    assert settings_of(pages, desk)["costs"]["wrong"] == -10
    page.get_by_label("For a wrong guess").fill("5")
    expect(setting(page, "Costs").get_by_role("alert").first).to_contain_text("Costs must satisfy")
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_label("For a wrong guess")).to_have_value("-10")
    expect(shown).to_contain_text(f"the desk asked {effect.asked} of the last 120 questions")


@needs_browser
def test_a_policy_that_does_not_look_at_the_costs_says_so_and_shadow_mode_would_have_asked(pages: Site) -> None:
    desk = pages.make_desk("heedless", policy="ghc:0.8", mode="shadow")
    pages.teach(desk, TAUGHT)
    pages.ask(desk, "Where is parcel number 3?", "Something else")
    page = open_settings(pages, desk)
    costs, unused = setting(page, "Costs"), "does not look at them: they count in the statistics alone"
    shown = costs.locator(".effect")
    expect(costs).to_contain_text(unused)
    expect(costs).not_to_contain_text("the more it asks")
    expect(shown).to_contain_text("The desk would have asked 1 of the last 2 questions; in shadow mode everything is")
    page.get_by_label("For a wrong guess").fill("-500")
    expect(shown).to_contain_text("The policy does not look at the costs: others change none of its decisions")
    page.get_by_role("combobox", name="Policy").click()
    page.get_by_role("option", name="self-tuning").click()
    expect(costs).to_contain_text("the more it asks")
    expect(costs).not_to_contain_text(unused)
    expect(shown).to_contain_text("None of the last 2 questions has a recorded probability")
    page.get_by_role("button", name="Discard").click()
    expect(costs).to_contain_text(unused)


@needs_browser
def test_what_another_admin_did_meanwhile_is_told_and_not_overwritten(pages: Site) -> None:
    desk = pages.make_desk("two")
    page = open_settings(pages, desk)
    lease = setting(page, "Lease").get_by_role("spinbutton")
    lease.fill("120")
    expect(page.get_by_text("Not saved yet: lease.")).to_be_visible()
    with pages.http() as http:
        changed = http.patch(f"/api/v1/desks/{desk}", json={"lease_seconds": 900, "retention_days": 30})
        assert changed.is_success
    expect(page.get_by_text("admin has set this to 900 seconds meanwhile.")).to_be_visible()
    expect(setting(page, "Retention").get_by_role("spinbutton")).to_have_value("30")
    expect(lease).to_have_value("120")
    save(page)
    expect(page.get_by_text("Decide first which lease is to hold")).to_be_visible()
    assert settings_of(pages, desk)["lease_seconds"] == 900
    page.get_by_role("button", name="Keep mine").click()
    save(page)
    expect(page.get_by_text("Saved. Lease: 900 seconds → 120 seconds.")).to_be_visible()
    assert (settings_of(pages, desk)["lease_seconds"], settings_of(pages, desk)["retention_days"]) == (120, 30)


@needs_browser
def test_a_save_is_not_taken_back_over_what_another_admin_did_since(pages: Site) -> None:
    desk = pages.make_desk("undone")
    page = open_settings(pages, desk)
    setting(page, "Lease").get_by_role("spinbutton").fill("120")
    save(page)
    expect(page.get_by_text("Saved. Lease: 300 seconds → 120 seconds.")).to_be_visible()
    with pages.http() as http:
        assert http.patch(f"/api/v1/desks/{desk}", json={"lease_seconds": 900}).is_success
    expect(setting(page, "Lease").get_by_role("spinbutton")).to_have_value("900")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Another admin has changed the lease meanwhile: nothing was changed.")).to_be_visible()
    assert settings_of(pages, desk)["lease_seconds"] == 900


@needs_browser
def test_what_is_not_saved_yet_outlives_a_new_load_of_the_page(pages: Site) -> None:
    desk = pages.make_desk("reloaded")
    page = open_settings(pages, desk)
    setting(page, "Costs").get_by_label("For a wrong guess").fill("-25")
    setting(page, "Mode").get_by_text("Shadow").click()
    setting(page, "Retention").get_by_role("spinbutton").fill("30")
    unsaved = page.get_by_text("Not saved yet: costs, mode, retention.")
    expect(unsaved).to_be_visible()
    page.wait_for_function("askless.kept('settings reloaded').includes('retention_days')")
    page.reload()
    connected(page)
    expect(unsaved).to_be_visible()
    expect(setting(page, "Costs").get_by_label("For a wrong guess")).to_have_value("-25")
    expect(setting(page, "Costs")).to_contain_text("A question costs 2, a mistake 26.")
    save(page)
    expect(page.get_by_text("Everything is saved.")).to_be_visible()
    assert settings_of(pages, desk)["costs"]["wrong"] == -25
    page.wait_for_function("askless.kept('settings reloaded') === ''")


@needs_browser
def test_a_desk_is_paused_and_resumed(pages: Site) -> None:
    desk = pages.make_desk("paused")
    page = open_settings(pages, desk)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("new questions are refused, and what waits").first).to_be_visible()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert settings_of(pages, desk)["paused"] is True
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert settings_of(pages, desk)["paused"] is False


@needs_browser
def test_the_embedder_is_changed_by_a_job_that_shows_its_end(pages: Site) -> None:
    desk = pages.make_desk("embedder")
    pages.teach(desk, TAUGHT)
    page = open_settings(pages, desk)
    expect(page.get_by_text("Now: wordllama (")).to_be_visible()
    page.get_by_role("combobox", name="Another embedder").click()
    page.get_by_role("option", name="wordllama:64").click()
    page.get_by_role("button", name="Embed anew").click()
    page.get_by_role("dialog").get_by_role("button", name="Embed anew").click()
    expect(page.get_by_text("The desk was switched to wordllama:64; 16 texts were embedded.")).to_be_visible(
        timeout=20_000
    )
    assert settings_of(pages, desk)["embedder"] == "wordllama:64"


@needs_browser
def test_an_experts_key_sees_a_sentence(pages: Site) -> None:
    desk = pages.make_desk("experts")
    page = pages.open(f"/ui/{desk}/settings", "expert")
    expect(page.get_by_text("This page needs a key with the role admin")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)


@needs_browser
def test_on_a_phone_everything_has_room(pages: Site) -> None:
    desk = pages.make_desk("phone")
    page = open_settings(pages, desk, width=390)
    expect(page.get_by_text(f"askless desk delete {desk}")).to_be_visible()
    expect(page.get_by_text("The desk has decided nothing yet")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@needs_axe
@needs_browser
def test_settings_can_be_used_by_all(pages: Site) -> None:
    desk = pages.make_desk("for-all")
    page = open_settings(pages, desk)
    setting(page, "Lease").get_by_role("spinbutton").fill("77")
    expect(page.get_by_text("Not saved yet: lease.")).to_be_visible()
    assert violations(page) == []


# -- words and values ----------------------------------------------------------------------------------------------
def test_every_setting_is_on_the_page() -> None:
    """The embedder and the pause have places of their own."""
    assert set(TITLES) == set(LiveSettings().written()) - {"embedder", "paused"}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("audit_rate", 0.0, "0 %"),
        ("audit_rate", 0.1, "10 %"),
        ("audit_rate", 0.025, "2.5 %"),
        ("audit_rate", 1.0, "100 %"),
        ("costs", Costs(-1, 1, -10.5), "-1, 1, -10.5"),
        ("retention_days", None, "for ever"),
        ("share_examples", True, "yes"),
    ],
)
def test_values_are_said_in_short(name: str, value: Any, text: str) -> None:
    assert said(name, value) == text


def test_decisions_without_a_probability_are_named() -> None:
    text = effect_in_words(CostEffect(1000, 340, 212, 40), same=False)
    assert "asked 212 instead of 340 of the last 1,000 questions" in text
    assert "the desk would also have learned differently" in text
    assert "40 of them have no recorded probability and count as they were" in text
    assert "None of the last 7 questions" in effect_in_words(CostEffect(7, 3, 3, 7), same=False)
    assert "decided nothing yet" in effect_in_words(CostEffect(0, 0, 0, 0), same=False)


@pytest.mark.parametrize(("in_shadow", "asked"), [(0, "asked"), (1000, "would have asked"), (5, "would have asked")])
@pytest.mark.parametrize("ignored", [False, True])
def test_in_shadow_mode_the_desk_only_would_have_asked(in_shadow: int, asked: str, ignored: bool) -> None:
    text = effect_in_words(CostEffect(1000, 902, 902, 0, in_shadow), same=True, ignored=ignored)
    assert f"desk {asked} 902 of the last 1,000 questions" in text
    assert ("With the costs as they are" in text) is not ignored


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        ("self-tuning", ("self-tuning", None)),
        ("ghc:0.8", ("generalized-hull", 0.8)),
        ("ghc", ("generalized-hull", 0.9)),
        ("amp:0.95", ("active-perceptron", 0.95)),
        ("chc", ("conservative-hull", None)),
        ("conservative-hull:refine=true", ("conservative-hull:refine=true", None)),
        ("mine:Policy", ("mine:Policy", None)),
    ],
)
def test_policies_are_found_in_the_list_or_kept_as_they_are(policy: str, kind: tuple[str, float | None]) -> None:
    assert _kind(policy) == kind
