"""One line of the queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from nicegui import ui

from askless.desk.live.queue import QueueRow
from askless.desk.live.together import Standing
from askless.desk.live.types import TicketStatus, Why
from askless.service.pages.panel import time_left
from askless.service.pages.parts import ago, moment, one_line, percent, words

WHY = {
    Why.UNSURE: "unsure",
    Why.UNKNOWN: "no known word",
    Why.SHADOW: "shadow mode",
    Why.AUDIT: "audit",
    Why.FEEDBACK: "asker disagrees",
}


class Row:
    """A waiting ticket: a box to tick, its text, which opens it, and what is known of it."""

    def __init__(
        self,
        line: QueueRow,
        who: str,
        now: datetime,
        *,
        blind: bool,
        chosen: bool,
        choose: Callable[[int, bool], None],
        show: Callable[[int], Awaitable[None]],
    ) -> None:
        self.line, self._who = line, who
        text = one_line(line.text, line.key)
        with ui.element("tr").props("data-row") as self.element:
            with ui.element("td").classes("pick"):
                self.box = ui.checkbox(value=chosen, on_change=lambda event: choose(line.id, bool(event.value)))
                self.box.props("data-select dense")
                self.box.props["aria-label"] = f"Select: {text[:80]}"
            with ui.element("td").classes("what"):
                opener = words("button", text).classes("opener text").props("type=button data-open")
                opener.on("click", lambda: show(line.id), args=[])
                self._state = words("span", "").classes("state")
            with ui.element("td").classes("label"):
                self._label(line)
            if not blind:
                words("td", "" if line.why is None else WHY[line.why]).classes("why soft")
            with ui.element("td").classes("when soft"):
                self._when = moment(line.opened_at, now)
                if line.asker is not None:
                    words("span", f"by {line.asker}").classes("text")
        self._hold(line.lease_by, line.lease_until, now)

    def _label(self, line: QueueRow) -> None:
        if line.label is not None:
            words("span", line.label).classes("text name")
            if line.probability is not None:
                words("span", percent(line.probability)).classes("soft")
        if line.suggested is not None:
            words("span", f"asker: {line.suggested}").classes("text soft")

    def _hold(self, by: str | None, until: datetime | None, now: datetime) -> None:
        """Say who holds it; what another expert holds cannot be selected."""
        self.free = by in (None, self._who)
        text = ""
        if by is not None and until is not None:
            text = f"{'yours' if self.free else f'held by {by}'} for {time_left(until, now)}"
            self._state.props["title"] = f"until {until:%Y-%m-%d %H:%M:%S %z}"
        self._state.set_text(text)
        self.box.set_enabled(self.free)

    def renew(self, standing: Standing, now: datetime) -> None:
        """As it stands by now, while it waits."""
        self._when.set_text(ago(self.line.opened_at, now))
        self._hold(standing.lease_by, standing.lease_until, now)

    def fade(self, standing: Standing | None) -> None:
        """It waits no more: it stays where it is, so that nothing moves, and can neither be selected nor opened."""
        self.free = False
        self.box.set_value(False)
        self.box.disable()
        answered = standing is not None and standing.status is TicketStatus.ANSWERED
        by = f"answered by {standing.closed_by}" if standing is not None and answered else "answered by the desk"
        self._state.set_text(by)
        self.element.classes("gone")
