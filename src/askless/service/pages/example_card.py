"""One example in front of the page: its text, its label, and what can be done about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from askless.service.pages.correct import Corrections
from askless.service.pages.dialogs import choices, dialog
from askless.service.pages.parts import words
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

NO_TEXT = "(came as a vector, without a text)"


class ExampleCard:
    """Opens, moves and forgets examples; `changed` is called when something was done."""

    def __init__(self, seat: Seat, said: Said, changed: Callable[[], Awaitable[None]]) -> None:
        self._seat, self._corrections = seat, Corrections(seat, said, changed)

    async def open(self, key: str, text: str | None, label: str) -> None:
        """Show all of its text, and do with it what they want."""
        with dialog(self._seat, "Example") as opened:
            words("p", text or NO_TEXT).classes("text example-text").props("tabindex=0")
            words("p", f"Label: {label}").classes("soft text")
            with choices(opened):
                ui.button("Forget", on_click=lambda: opened.submit(self.forget)).props("flat no-caps color=negative")
                ui.button("Move to another label", on_click=lambda: opened.submit(self.move)).props(
                    "unelevated no-caps"
                )
        chosen = await opened
        if chosen is not None:
            await chosen(key, text, label)

    async def move(self, key: str, text: str | None, label: str) -> None:
        """Ask for another label, and give it that."""
        with self._seat.telling():
            await self._corrections.relabel(key, text, label, example=True)

    async def forget(self, key: str, text: str | None, label: str) -> None:
        """Ask whether it is to be forgotten, and do it."""
        with self._seat.telling():
            await self._corrections.forget(key, text, label)
