"""The examples of the label that is picked out, fifty at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from datetime import UTC, datetime

from nicegui import ui
from nicegui.element import Element

from askless.desk.live import examples
from askless.desk.live.examples import ExampleRow
from askless.service.pages.example_card import NO_TEXT, ExampleCard
from askless.service.pages.keyed import Keyed
from askless.service.pages.parts import moment, one_line, words
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

_AT_ONCE = 50
_SHOWN = 60  # characters of a text in the name of a button


class Examples:
    """A page of the examples, in the order they came, each to be moved or forgotten."""

    def __init__(self, seat: Seat, said: Said, renew: Callable[[], Awaitable[None]]) -> None:
        self._seat, self._card = seat, ExampleCard(seat, said, renew)
        self._label = ""
        self._cursors: list[str | None] = [None]  # of the pages up to the one that is shown
        self._next: str | None = None
        words("h3", "Examples")
        self._none = words("p", "There are none yet. They come with experts' answers, or by import.").classes("soft")
        self._rows = Keyed(ui.element("ul").classes("example-list"), self._row)
        with ui.element("div").classes("ask-tools") as self._tools:
            self._back = ui.button("Earlier", on_click=lambda: self._turn(-1)).props("outline no-caps dense")
            self._where = words("span", "").classes("soft").props("role=status")
            self._on = ui.button("Later", on_click=lambda: self._turn(1)).props("outline no-caps dense")

    async def renew(self, label: str) -> None:
        """Show what stands now of the page that is open."""
        self._label = label
        found = await self._seat.read_desk(examples.page, label=label, cursor=self._cursors[-1], limit=_AT_ONCE)
        if not found.rows and len(self._cursors) > 1:  # all of the page are gone
            self._cursors.pop()
            await self.renew(label)
            return
        self._next = found.cursor
        shown: dict[Hashable, ExampleRow] = {row.key: row for row in found.rows}
        self._rows.show(shown)
        self._none.set_visibility(not shown)
        first = (len(self._cursors) - 1) * _AT_ONCE + 1
        self._where.set_text(f"{first:,} to {first + len(shown) - 1:,}")
        self._tools.set_visibility(len(self._cursors) > 1 or self._next is not None)
        self._back.set_enabled(len(self._cursors) > 1)
        self._on.set_enabled(self._next is not None)

    async def _turn(self, by: int) -> None:
        if by > 0 and self._next is not None:
            self._cursors.append(self._next)
        elif by < 0 and len(self._cursors) > 1:
            self._cursors.pop()
        with self._seat.telling():
            await self.renew(self._label)

    def _row(self, row: ExampleRow) -> tuple[Element, Callable[[ExampleRow], None]]:
        with ui.element("li").classes("label-example") as item:
            text = words("p", "").classes("text clipped")
            with ui.element("div").classes("ask-tools"):
                moment(row.received_at, datetime.now(UTC)).classes("soft")
                ui.space()
                card = self._card
                named = [
                    (what, ui.button(what, on_click=lambda do=do: do(row.key, row.text, row.label)))
                    for what, do in (("Open", card.open), ("Move", card.move), ("Forget", card.forget))
                ]

        def change(row: ExampleRow) -> None:
            text.set_text(row.text or NO_TEXT)
            for what, button in named:
                button.props("flat no-caps dense").props["aria-label"] = f"{what} {one_line(row.text, row.key, _SHOWN)}"

        change(row)
        return item, change
