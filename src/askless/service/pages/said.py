"""The line of a page that says what was done, with a button that takes it back where the desk can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from askless.service.pages.parts import words
from askless.service.pages.seat import Seat


class Said:
    """What was done last; it is read out to who cannot see it, and stays until it is closed or the next is said."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._line = ui.element("div").classes("said").props("role=status aria-live=polite")

    def __call__(self, text: str, undo: Callable[[], Awaitable[object]] | None = None) -> None:
        """Say it; `undo` takes it back."""
        self._line.clear()
        with self._line:
            words("span", text).classes("text")
            if undo is not None:
                ui.button("Undo", on_click=lambda: self._take_back(undo)).props("flat dense no-caps")
            ui.button(icon="close", on_click=self._line.clear).props('flat dense round aria-label="Close"')

    async def _take_back(self, undo: Callable[[], Awaitable[object]]) -> None:
        with self._seat.telling():
            await undo()
            self("Taken back.")
