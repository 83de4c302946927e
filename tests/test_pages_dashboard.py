"""The dashboard in a real browser: its figures are the API's, its charts speak, its files hold the same numbers."""

from __future__ import annotations

import csv
import importlib
import io
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from askless.desk.live.desks import Desks
from askless.ledger.database import Database
from askless.service.keys import Role, create_key
from browser import WAIT, Site, connected, needs_axe, needs_browser, violations

pytestmark = needs_browser
expect.set_options(timeout=WAIT)

MARKS = (("fill", "--series-1"), ("stroke", "--ink"))  # the desk's bar, and the lines of intervals
HOSTILE = ("<img src=x onerror=window.hacked=1>", "=1+1", "{a|b} \u05e9\u05dc\u05d5\u05dd", "W" * 90)


@pytest.fixture(scope="module")
def week(site: Site) -> Iterator[str]:
    """A desk into which a week was played: mostly guesses, some audits, some that wait."""
    played = importlib.import_module("docs.week")
    clock = played.Clock(datetime.now(UTC))
    with Database(site.where) as database, Desks(database, listen=False, clock=clock) as desks:
        played.played_week(desks, "week", clock, end=clock.now, questions=170, audit_rate=0.4)
    return "week"


def statistics(site: Site, desk: str, **asked: Any) -> dict[str, Any]:
    with site.http("expert") as http:
        found = http.get(f"/api/v1/desks/{desk}/statistics", params=asked)
        assert found.is_success, found.text
        return dict(found.json())


def settled(site: Site, desk: str) -> dict[str, Any]:
    """The statistics once a desk that was just loaded has decided again what waits."""
    known, before = statistics(site, desk), -1
    while known["guesses"] != before:
        before = known["guesses"]
        time.sleep(1.0)
        known = statistics(site, desk)
    return known


def figure(page: Page, name: str) -> Locator:
    return page.locator(".figure").filter(has=page.locator("dt", has_text=re.compile(f"^{name}$"))).locator("dd")


def chart(page: Page, title: str) -> Locator:
    return page.locator(".chart").filter(has=page.get_by_role("heading", name=title))


def read(file: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file)))


def place(drawn: Locator) -> FloatRect:
    box = drawn.bounding_box()
    assert box is not None
    return box


def plain(text: str | None) -> str:
    return (text or "").replace("\u00a0", " ")


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def answer_all(site: Site, desk: str, labels: dict[str, str]) -> None:
    """Answer what waits, each text with its label."""
    with site.http("expert") as http:
        while (found := http.post(f"/api/v1/desks/{desk}/tickets/next")).status_code == 200:
            ticket = found.json()
            body = {"label": labels[ticket["text"]]}
            made = http.post(f"/api/v1/desks/{desk}/tickets/{ticket['id']}/answer", json=body)
            assert made.is_success, made.text


def test_the_figures_are_those_of_the_api(pages: Site, week: str) -> None:
    page = pages.open(f"/ui/{week}/dashboard?span=all")
    expect(figure(page, "Answered automatically")).to_be_visible()
    known = settled(pages, week)
    assert known["guesses"] > 20
    assert known["audits"] is not None
    page.reload()
    expect(figure(page, "Answered automatically").locator("strong")).to_have_text(
        percent(known["automated"]), use_inner_text=True
    )
    expect(figure(page, "Answered by experts").locator("strong")).to_have_text(f"{known['calls']:,}")
    audited = f"{known['audits']['audited']} of them to audit a guess"
    expect(figure(page, "Answered by experts")).to_contain_text(audited)
    expect(figure(page, "Waiting now").locator("strong")).to_have_text(f"{known['waiting']:,}")
    said = plain(figure(page, "Median wait").locator("strong").text_content())
    sizes = {"h": 3600, "min": 60, "s": 1}
    parts = [int(count) * sizes[unit] for count, unit in re.findall(r"(\d+) (h|min|s)", said)]
    assert sum(parts) == pytest.approx(
        known["median_wait_seconds"], abs=0.51 if known["median_wait_seconds"] < 3600 else 60
    )
    audits, said = known["audits"], plain(figure(page, "Wrong guesses").text_content())
    assert percent(audits["rate"]) in said
    assert f"{audits['wrong']} of {audits['audited']} audited guesses" in said
    assert f"and {percent(audits['high'])}, with 95 % confidence" in said
    assert f"the desk expected {percent(1 - known['mean_probability'])}" in said


def test_the_money_saved_comes_of_the_prices_and_these_stay_in_the_browser(pages: Site, week: str) -> None:
    page = pages.open(f"/ui/{week}/dashboard?span=all")
    expect(figure(page, "Saved")).to_contain_text("Give the two prices")
    page.get_by_label("An expert's answer costs").fill("3.5")
    page.get_by_label("A wrong answer costs").fill("40")
    page.get_by_label("Currency sign").fill("<b>")
    saved = statistics(pages, week, call_price=3.5, mistake_price=40)["saved"]
    digits = 2 if max(abs(saved["low"]), abs(saved["high"])) < 100 else 0
    minus = "\N{MINUS SIGN}" if saved["value"] < 0 else ""
    shown = f"{minus}<b>{abs(saved['value']):,.{digits}f}"
    expect(figure(page, "Saved").locator("strong")).to_have_text(shown)
    with page.expect_download() as file:
        page.get_by_text("Download the figures as CSV").click()
    rows = {row["figure"]: row for row in read(file.value.path().read_text(encoding="utf-8-sig"))}
    assert [float(rows["saved"][name]) for name in ("value", "low", "high")] == pytest.approx(
        [saved["value"], saved["low"], saved["high"]]
    )
    page.reload()
    connected(page)
    expect(figure(page, "Saved").locator("strong")).to_have_text(shown)
    page.get_by_label("A wrong answer costs").fill("-1")
    expect(page.get_by_text("A number from 0 to")).to_be_visible()
    expect(figure(page, "Saved")).to_contain_text("Give the two prices")


def test_hovering_says_what_the_chart_shows_and_a_change_leaves_it_there(pages: Site, week: str) -> None:
    page = pages.open(f"/ui/{week}/dashboard?span=all&by=day")
    drawn = chart(page, "Calls per hour").locator(".nicegui-echart")
    drawn.scroll_into_view_if_needed()
    expect(drawn.locator("svg")).to_be_visible()
    box = place(drawn)
    page.mouse.move(box["x"] + box["width"] - 40, box["y"] + 120)
    said = page.locator(".chart-said:visible")
    last = statistics(pages, week)["buckets"][-1]
    answers = f"{last['calls']} answer{'' if last['calls'] == 1 else 's'}"
    expect(said).to_contain_text(answers)
    expect(said).to_contain_text(str(datetime.fromisoformat(last["start"]).year))
    before = page.locator(".window p").text_content()
    pages.ask(week, "a question that comes while the mouse is on the chart")
    expect(page.locator(".window p")).not_to_have_text(str(before))
    expect(said).to_contain_text(answers)


def test_a_bar_keeps_its_colour_and_interval_while_it_is_pointed_at(pages: Site, week: str) -> None:
    page = pages.open(f"/ui/{week}/dashboard?span=all")
    drawn = chart(page, "Regret").locator(".nicegui-echart")
    drawn.scroll_into_view_if_needed()
    marks = [drawn.locator(f"path[{how}='var({colour})']") for how, colour in MARKS]
    for mark in marks:
        expect(mark).not_to_have_count(0)
    before = [mark.count() for mark in marks]
    box = place(drawn)
    page.mouse.move(box["x"] + 140, box["y"] + 35)
    expect(page.locator(".chart-said:visible strong")).to_have_text("this desk")
    assert [mark.count() for mark in marks] == before


def test_the_table_and_the_file_hold_the_numbers_of_the_chart(pages: Site, week: str) -> None:
    page = pages.open(f"/ui/{week}/dashboard?span=all&by=day")
    card = chart(page, "Answered automatically")
    card.get_by_text("Show as table").click()
    buckets = statistics(pages, week)["buckets"]
    expect(card.locator("tbody tr")).to_have_count(len(buckets))
    for shown, bucket in zip(card.locator("tbody tr").all(), buckets, strict=True):
        cells = [plain(cell) for cell in shown.locator("td").all_text_contents()]
        assert cells[0] == bucket["start"][:16].replace("T", " ")
        assert cells[1:] == [str(bucket["received"]), str(bucket["guesses"]), percent(bucket["automated"])]
    with page.expect_download() as file:
        card.get_by_role("link", name="Download as CSV").click()
    assert file.value.suggested_filename == "week-automated.csv"
    rows = read(file.value.path().read_text(encoding="utf-8-sig"))
    assert [(row["start"], int(row["guesses"]), float(row["automated"])) for row in rows] == [
        (bucket["start"], bucket["guesses"], pytest.approx(bucket["automated"])) for bucket in buckets
    ]


def test_the_file_needs_a_session_that_sees_the_desk(pages: Site, week: str) -> None:
    address = f"{pages.url}/ui/{week}/dashboard.csv?chart=labels"
    answer = httpx.get(address, timeout=60)
    assert (answer.status_code, answer.headers["location"][:6]) == (303, "/login")
    assert httpx.get(address, headers=_bearer(pages.key["client"]), timeout=60).status_code == 303
    pages.make_desk("elsewhere")
    with Database(pages.where) as database:
        other = create_key(database, "of elsewhere", Role.EXPERT, "elsewhere").secret
    assert httpx.get(address, headers=_bearer(other), timeout=60).status_code == 404
    own = _bearer(pages.key["expert"])
    found = httpx.get(address, headers=own, timeout=60)
    assert found.headers["content-type"].startswith("text/csv")
    assert httpx.get(f"{pages.url}/ui/nowhere/dashboard.csv", headers=own, timeout=60).status_code == 404
    assert "it has figures" in httpx.get(f"{address}s", headers=own, timeout=60).json()["detail"]
    assert httpx.get(f"{address}&span=9y", headers=own, timeout=60).status_code == 422


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_hostile_labels_are_text_in_charts_tables_and_files(pages: Site) -> None:
    desk = pages.make_desk("hostile", policy="always-ask")
    texts = {f"question {k} about {label[:20]}": label for k, label in enumerate(HOSTILE)}
    pages.ask(desk, *texts)
    answer_all(pages, desk, texts)
    page = pages.open(f"/ui/{desk}/dashboard")
    card = chart(page, "Labels that cause most questions")
    drawn = card.locator(".nicegui-echart")
    drawn.scroll_into_view_if_needed()
    expect(drawn.get_by_text("=1+1", exact=True)).to_be_visible()
    box = place(drawn)
    for k, label in enumerate(sorted(HOSTILE)):
        page.mouse.move(box["x"] + 190, box["y"] + (k + 0.5) * (box["height"] - 30) / len(HOSTILE))
        expect(page.locator(".chart-said:visible strong")).to_have_text(label)
    card.get_by_text("Show as table").click()
    expect(card.locator("tbody td:first-child")).to_have_text(sorted(HOSTILE))
    own = _bearer(pages.key["expert"])
    file = httpx.get(f"{pages.url}/ui/{desk}/dashboard.csv?chart=labels", headers=own, timeout=60).content
    cells = [row["label"] for row in read(file.decode("utf-8-sig"))]
    assert cells == ["'=1+1" if label == "=1+1" else label for label in sorted(HOSTILE)]
    assert page.evaluate("window.hacked") is None
    link = card.get_by_role("link", name=HOSTILE[0]).get_attribute("href")
    assert link is not None
    assert httpx.URL(link).params["label"] == HOSTILE[0]
    drawn.scroll_into_view_if_needed()
    box = place(drawn)
    page.mouse.click(box["x"] + 190, box["y"] + 30)
    page.wait_for_url("**/history?label=*")
    pages.complaints.clear()  # the page that it leads to is another test's


def test_an_empty_desk_says_what_will_be_here_and_fills_by_itself(pages: Site) -> None:
    desk = pages.make_desk("fresh")
    page = pages.open(f"/ui/{desk}/dashboard")
    expect(page.get_by_text("Nothing has come in yet")).to_be_visible()
    expect(page.locator(".chart")).to_have_count(0)
    with pages.http("expert") as http:
        for chart, status in (("figures", 200), ("automated", 404), ("regret", 404)):
            answer = http.get(f"/ui/{desk}/dashboard.csv", params={"chart": chart, "span": "all"})
            assert answer.status_code == status
    pages.ask(desk, "the first question of all")
    expect(figure(page, "Waiting now").locator("strong")).to_have_text("1")
    expect(figure(page, "Answered automatically")).to_contain_text("0 of 1 question by a guess")
    expect(page.locator(".chart svg")).to_have_count(6)
    expect(page.get_by_text("Nothing has come in yet")).to_have_count(0)


def test_without_audits_it_says_so_and_shows_an_admin_where_to_turn_them_on(pages: Site) -> None:
    desk = pages.make_desk("unaudited", policy="similarity-threshold:0.5")
    pages.teach(desk, {"where is my parcel": "parcel", "block my card": "card"})
    assert pages.ask(desk, "where is my parcel")[0]["status"] == "guessed"
    expert, admin = pages.open(f"/ui/{desk}/dashboard"), pages.open(f"/ui/{desk}/dashboard", "admin")
    for page in (expert, admin):
        expect(figure(page, "Wrong guesses")).to_contain_text("turn audits on to measure it")
        page.get_by_label("An expert's answer costs").fill("1")
        page.get_by_label("A wrong answer costs").fill("2")
        expect(figure(page, "Saved")).to_contain_text("not known")
    expect(admin.get_by_role("link", name="Turn audits on").first).to_have_attribute("href", f"/ui/{desk}/settings")
    expect(expert.get_by_role("link", name="Turn audits on")).to_have_count(0)
    expect(chart(expert, "Wrong guesses")).not_to_contain_text("95 % interval")  # of which there is none
    expect(chart(expert, "Regret")).to_contain_text("(not known)")


def test_shadow_mode_shows_the_guesses_it_did_not_give(pages: Site) -> None:
    desk = pages.make_desk("shadow", policy="similarity-threshold:0.5", mode="shadow")
    pages.teach(desk, {"where is my parcel": "parcel", "block my card": "card"})
    pages.ask(desk, "where is my parcel?", "please block my card")
    answer_all(pages, desk, {"where is my parcel?": "parcel", "please block my card": "parcel"})
    known = statistics(pages, desk)
    assert (known["shadow_guesses"], known["shadow"]["wrong"]) == (2, 1)
    page = pages.open(f"/ui/{desk}/dashboard")
    expect(figure(page, "Guesses recorded").locator("strong")).to_have_text("2")
    expect(figure(page, "Of them wrong")).to_contain_text("1 of 2 answered guesses was wrong")
    for title, cells in (
        ("Would be answered automatically", ["2", "2", "100.0 %"]),
        ("Wrong guesses", ["2", "2", "1"]),
    ):
        chart(page, title).get_by_text("Show as table").click()
        row = chart(page, title).locator("tbody tr")
        expect(row).to_have_count(1)
        assert [plain(cell) for cell in row.locator("td").all_text_contents()][1:4] == cells
    expect(page.get_by_role("heading", name="Regret")).to_have_count(0)
    expect(page.get_by_label("A wrong answer costs")).to_be_hidden()


def test_the_time_is_in_the_address_and_can_be_chosen_by_keyboard(pages: Site, week: str) -> None:
    page = pages.open(f"/ui/{week}/dashboard")
    expect(page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="24 hours").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard?span=24h")
    connected(page)
    expect(page.get_by_role("link", name="by hour")).to_have_attribute("aria-current", "true")
    expect(page.locator(".window p")).to_contain_text("Since")
    page.goto(f"{pages.url}/ui/{week}/dashboard?span=soon")
    expect(page.get_by_text("found 'soon'")).to_be_visible()


@needs_axe
def test_it_fits_a_phone_and_can_be_used_by_all(pages: Site, week: str) -> None:
    page = pages.open(f"/ui/{week}/dashboard?span=all", width=390, height=800)
    for title in ("Wrong guesses", "Labels that cause most questions"):
        chart(page, title).get_by_text("Show as table").click()
        expect(chart(page, title).get_by_role("table")).to_be_visible()
    expect(page.locator(".chart svg")).to_have_count(6)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
