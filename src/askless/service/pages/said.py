"""The line of a page that says what was done, with a button that takes it back where the desk can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from askless.service.pages.parts import words
from askless.service.pages.seat import Seat

_STAYS = 15.0  # seconds after which a line goes by itself that offers nothing


class Said:
    """What was done last; it is read out to who cannot see it.

    A line with a way back stays until it is closed or the next is said; one without goes by itself after a while.
    """

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._line = ui.element("div").classes("said").props("role=status aria-live=polite")

    def __call__(
        self, text: str, undo: Callable[[], Awaitable[object]] | None = None, *, undone: str = "Taken back."
    ) -> None:
        """Say it; `undo` takes it back, and then `undone` is said."""
        self._line.clear()
        self._line.classes(add="plain" if undo is None else "", remove="" if undo is None else "plain")
        with self._line:
            words("span", text).classes("text")
            if undo is not None:
                ui.button("Undo", on_click=lambda: self._take_back(undo, undone)).props("flat dense no-caps")
            else:
                ui.timer(_STAYS, self._line.clear, once=True)
            ui.button(icon="close", on_click=self._line.clear).props('flat dense round aria-label="Close"')

    async def _take_back(self, undo: Callable[[], Awaitable[object]], undone: str) -> None:
        with self._seat.telling():
            await undo()
            self(undone)


def taken_back(settled: int) -> str:
    """What undoing an answer has changed, which the desk had used to answer so many others."""
    if not settled:
        return "Taken back."
    if settled == 1:
        return "Taken back. The question that the desk answered by it keeps that answer: see the history."
    return f"Taken back. The {settled:,} questions that the desk answered by it keep that answer: see the history."
