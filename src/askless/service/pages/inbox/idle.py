"""What the inbox says while nothing waits."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import datetime

from nicegui import ui

from askless.desk.live.statistics import statistics
from askless.service.pages.inbox.play import Player
from askless.service.pages.parts import empty, percent, words
from askless.service.pages.seat import Seat

_REST = 5.0  # seconds between two counts of the day at least


@dataclass(frozen=True, slots=True)
class Figures:
    """What came in today, by the clock of who reads it, and how much of it the desk answered by itself."""

    received: int
    automated: float | None

    def __str__(self) -> str:
        if not self.received or self.automated is None:
            return "No question has come in today yet."
        came = "1 question has" if self.received == 1 else f"{self.received:,} questions have"
        return f"{came} come in today; the desk answered {percent(self.automated)} by itself."


class Idle:
    """The place where a question will come by itself: what the day was like, and how to send one."""

    def __init__(self, seat: Seat, player: Player, plays: bool, address: str) -> None:
        self._seat = seat
        self._renewed = time.monotonic()
        with ui.element("div").classes("idle") as self._place, empty("Nothing waits", ""):
            self._today = words("p", "")
            self._next = words("p", "")
            if plays:
                player.begins_with(
                    ui.button("Play sample questions in", on_click=player.ask).props("unelevated no-caps")
                )
            if seat.is_admin:
                words("p", "To send a question from a terminal, with a key of the service in $KEY:").classes("how")
                body = json.dumps({"text": "Where is my parcel?"})
                headers = "-H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json'"
                line = f"curl {headers} {address}/api/v1/desks/{seat.desk}/queries -d '{body}'"
                words("code", line).classes("text")

    @staticmethod
    async def figures(seat: Seat) -> Figures:
        """What came in today."""
        midnight = datetime.now(seat.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        row = await seat.work(seat.service.desks.row, seat.desk)
        settings = await seat.change(lambda desk: desk.settings)
        found = await seat.work(lambda: statistics(seat.service.database, row.id, settings.costs, since=midnight))
        return Figures(found.received, found.automated)

    def show(self, figures: Figures, *, away: bool = False) -> None:
        """Show these figures, and say what happens next."""
        self._today.set_text(str(figures))
        self._next.set_text(
            "You were away for a while: press a key, and the next question comes."
            if away
            else "The next question appears here by itself."
        )

    async def renew(self, *, away: bool, now: bool = False) -> None:
        """Count anew, unless that was just done; with `now` in any case."""
        if now or time.monotonic() - self._renewed > _REST:
            self._renewed = time.monotonic()
            self.show(await self.figures(self._seat), away=away)

    def set_visibility(self, visible: bool) -> None:
        """Show or hide it."""
        self._place.set_visibility(visible)
