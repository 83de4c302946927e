"""One past query in a panel: what was decided, why, its story, and what can be corrected."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from nicegui import ui
from sqlalchemy import Connection

from askless.desk.live import read
from askless.desk.live.history import Past, past
from askless.desk.live.story import Step, story
from askless.desk.live.types import Evidence, Outcome, QueryStatus
from askless.service.pages.correct import Corrections
from askless.service.pages.panel import side_panel, whole_text
from askless.service.pages.parts import link, moment, percent, words
from askless.service.pages.paths import page
from askless.service.pages.seat import Seat

_DECIDED = {
    QueryStatus.GUESSED: "guessed by the desk",
    QueryStatus.ASKED: "waits for an expert",
    QueryStatus.ANSWERED: "answered by an expert",
    QueryStatus.GIVEN: "given before",
}
_EVIDENCE = 8  # past questions that are shown behind a guess


@dataclass(frozen=True, slots=True)
class Found:
    """All that the panel shows of a query."""

    past: Past
    outcome: Outcome
    steps: tuple[Step, ...]


def decided(status: QueryStatus) -> str:
    """What or who decided, in words."""
    return _DECIDED[status]


def find(connection: Connection, desk: int, key: str, *, blind: bool) -> Found | None:
    """What stands about a query, and its story; None where there is none, or where a blind desk must not tell."""
    rows = past(connection, desk, search=key, blind=blind, limit=read.MOST).rows
    row = next((row for row in rows if row.key == key), None)
    if row is None:
        return None
    return Found(row, read.outcome(connection, desk, key), story(connection, desk, key, blind=blind))


class PastPanel:
    """Shows a past query, with what can be corrected about it."""

    def __init__(self, seat: Seat, corrections: Corrections, *, blind: bool) -> None:
        self._seat, self._corrections, self._blind = seat, corrections, blind

    async def show(self, key: str) -> None:
        """Open the query."""
        with self._seat.telling():
            found = await self._seat.read_desk(find, key, blind=self._blind)
            if found is None:
                self._seat.say("This question is not in the history, or waits for an expert again.", wrong=True)
                return
            self._build(found)

    def _build(self, found: Found) -> None:
        row, now = found.past, datetime.now(UTC)
        with side_panel(self._seat, row.label or "Not decided yet") as opened:
            whole_text(row.text, row.key)
            with ui.element("p").classes("soft facts"):
                sure = "" if row.probability is None else f", probability {percent(row.probability)}"
                words("span", f"{decided(row.status)}{sure}")
                moment(row.received_at, now)
                words("span", f"id {row.key}").classes("text")
            _verdict(row)
            if found.outcome.answer:
                words("h3", "Answer that its asker got" if row.status is not QueryStatus.GIVEN else "Answer")
                words("p", found.outcome.answer).classes("text")
            if row.reason and not found.outcome.evidence:
                words("h3", "Why")
                words("p", row.reason).classes("text")
            _rests_on(found.outcome.evidence)
            _story(found.steps, now)
            self._actions(found, opened)
        opened.open()

    def _actions(self, found: Found, opened: ui.dialog) -> None:
        row, ticket = found.past, found.outcome.ticket
        with ui.element("div").classes("panel-actions"):
            if ticket is not None:
                link("Answer it in the queue", f"{page(self._seat.desk, 'queue')}?open={ticket}")
            elif not row.erased:
                ui.button("Correct the label", on_click=lambda: self._correct(row, opened)).props("unelevated no-caps")
            if row.example and row.label is not None:
                ui.button("Forget the example", on_click=lambda: self._forget(row, opened)).props(
                    "flat no-caps color=negative"
                )

    async def _correct(self, row: Past, opened: ui.dialog) -> None:
        with self._seat.telling():
            if await self._corrections.relabel(row.key, row.text, row.label, example=row.example):
                opened.close()

    async def _forget(self, row: Past, opened: ui.dialog) -> None:
        with self._seat.telling():
            if await self._corrections.forget(row.key, row.text, row.label or ""):
                opened.close()


def _verdict(row: Past) -> None:
    if row.right is not None:
        said = "An expert looked at the guess: it was right." if row.right else "An expert found the guess wrong."
        words("p", said).classes("good" if row.right else "bad")


def _rests_on(evidence: tuple[Evidence, ...]) -> None:
    """The past questions behind a guess, those with the largest parts first."""
    if not evidence:
        return
    words("h3", "Past questions it rests on")
    whole = sum(one.weight for one in evidence) or 1.0
    heaviest = sorted(evidence, key=lambda one: -one.weight)
    with ui.element("ul").classes("rests-on"):
        for one in heaviest[:_EVIDENCE]:
            with ui.element("li"):
                words("span", percent(one.weight / whole)).classes("weight")
                with ui.element("span"):
                    words("span", one.text or f"(no text; id {one.key})").classes("text clamp")
                    words("span", one.label).classes("text soft")
    if len(heaviest) > _EVIDENCE:
        words("p", f"and {len(heaviest) - _EVIDENCE:,} more with smaller parts").classes("soft")


def _story(steps: tuple[Step, ...], now: datetime) -> None:
    words("h3", "What happened")
    with ui.element("ol").classes("story"):
        for step in steps:
            with ui.element("li"):
                words("span", step.words).classes("text")
                moment(step.at, now).classes("soft")
