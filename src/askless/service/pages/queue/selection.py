"""Which tickets of the queue are selected, and the buttons that select and answer them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from askless.desk.live.together import MOST
from askless.service.pages.queue.row import Row
from askless.service.pages.queue.view import PER_PAGE
from askless.service.pages.seat import Seat


class Selection:
    """The selected tickets, in the order in which they were selected; those of other pages stay selected.

    `fitting` gives the first tickets that fit the filter, `answer` is what is done with those selected.
    """

    def __init__(
        self,
        seat: Seat,
        fitting: Callable[[], Awaitable[list[int]]],
        answer: Callable[[list[int]], Awaitable[None]],
    ) -> None:
        self._seat, self._fitting, self._answer = seat, fitting, answer
        self._ids: dict[int, None] = {}
        self._rows: Mapping[int, Row] = {}
        self._total = 0  # tickets that fit the filter
        self._filling = False  # whether boxes are being ticked by the page itself

    def __contains__(self, id: int) -> bool:
        return id in self._ids

    @property
    def ids(self) -> list[int]:
        """The selected tickets."""
        return list(self._ids)

    def build(self) -> None:
        """The line of buttons."""
        with ui.element("div").classes("queue-bar selecting") as self._bar:
            self._page = ui.checkbox("All on this page", on_change=self._choose_page).props("dense")
            self._all = ui.button("", on_click=self._choose_all).props("flat dense no-caps")
            ui.space()
            self._clear = ui.button("Clear", on_click=self.clear).props("flat dense no-caps")
            self._go = ui.button("", on_click=lambda: self._answer(self.ids)).props("unelevated no-caps data-answer")

    def show(self, rows: Mapping[int, Row], total: int) -> None:
        """The buttons as they are for these rows, of so many tickets that fit."""
        self._rows, self._total, count = rows, total, len(self._ids)
        self._bar.set_visibility(bool(rows))
        self._all.set_text(f"Select the first {MOST:,}" if total > MOST else f"Select all {total:,}")
        self._all.set_visibility(total > PER_PAGE)
        self._clear.set_visibility(count > 0)
        self._go.set_text(f"Answer {count:,} selected" if count else "Answer selected")
        self._go.set_enabled(count > 0)
        free = [id for id, row in rows.items() if row.free]
        self._tick(self._page, bool(free) and all(id in self._ids for id in free))
        for id, row in rows.items():
            self._tick(row.box, id in self._ids)

    def choose(self, id: int, chosen: bool) -> None:
        """Select a ticket, or do so no more; so many as can be answered together."""
        if self._filling:
            return
        self._set([id], chosen)

    def _set(self, ids: list[int], chosen: bool) -> None:
        for id in ids:
            if not chosen:
                self._ids.pop(id, None)
            elif len(self._ids) < MOST:
                self._ids[id] = None
            elif id not in self._ids:
                self._seat.say(f"At most {MOST:,} are answered together.", wrong=True)
                break
        self.show(self._rows, self._total)

    def drop(self, id: int) -> None:
        """This one can be answered no more."""
        self._ids.pop(id, None)

    def clear(self) -> None:
        """Select none."""
        self._ids = {}
        self.show(self._rows, self._total)

    def _choose_page(self, event: ValueChangeEventArguments[Any]) -> None:
        if not self._filling:
            self._set([id for id, row in self._rows.items() if row.free], bool(event.value))

    async def _choose_all(self) -> None:
        with self._seat.telling():
            self._ids = dict.fromkeys(await self._fitting())
            self.show(self._rows, self._total)

    def _tick(self, box: ui.checkbox, value: bool) -> None:
        self._filling = True
        box.set_value(value)
        self._filling = False
