"""The labels of a desk: a list to search in, and beside it the label that is picked out."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from urllib.parse import urlencode

from fastapi import Request
from nicegui import APIRouter, ui
from nicegui.element import Element

from askless.desk.live import labels as live
from askless.desk.live.label_use import LabelUse, uses
from askless.service.pages.dialogs import choices, dialog
from askless.service.pages.frame import frame, sit
from askless.service.pages.keyed import Keyed
from askless.service.pages.labels.panel import Panel
from askless.service.pages.parts import empty, percent, words
from askless.service.pages.paths import page
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

router = APIRouter()

_MOST = 200  # labels in the list at once


@router.page("/{desk}/labels")
async def labels(request: Request, desk: str) -> None:
    """All labels; `?label=` is the name of the one that is open, `?search=` what their names hold."""
    seat = await sit(request, desk)
    if seat is None:
        return
    found = await seat.read_desk(uses)
    wanted = request.query_params.get("label")
    picked = next((use.row.id for use in found if use.row.name == wanted), None)
    with frame(seat, "labels"):
        shown = _Labels(seat, picked, request.query_params.get("search", ""))
    await shown.show(found)
    seat.on_change(shown.renew)


class _Labels:
    """What the page shows, and which label is open."""

    def __init__(self, seat: Seat, picked: int | None, search: str) -> None:
        self._seat, self._picked, self._search = seat, picked, search
        self._found: list[LabelUse] = []
        self._said = Said(seat)
        self._nothing = ui.element("div")
        with self._nothing:
            self._say_empty()
        self._split = ui.element("div").classes("split")
        with self._split:
            with ui.element("section").classes("side").props('aria-label="All labels"'):
                self._tools()
                self._list = Keyed(ui.element("ul").classes("label-list"), self._row)
                self._more = words("p", "").classes("soft").props("role=status")
            self._panel = Panel(seat, self._said, self.renew, self._close)

    def _say_empty(self) -> None:
        with empty(
            "There are no labels yet",
            "A label is an answer that the desk can give. Make the first here, import examples, or answer a question "
            "in the inbox with a new one.",
        ):
            ui.button("New label", on_click=self._make).props("unelevated no-caps")

    def _tools(self) -> None:
        with ui.element("div").classes("ask-tools"):
            field = ui.input("Search labels", value=self._search, on_change=lambda e: self._look_for(e.value or ""))
            field.props("outlined dense clearable clear-icon=close debounce=150 type=search autocomplete=off")
            ui.button("New label", on_click=self._make).props("unelevated no-caps")

    def _row(self, use: LabelUse) -> tuple[Element, Callable[[LabelUse], None]]:
        number = use.row.id
        with ui.element("li") as item:
            button = ui.element("button").classes("label-row").props("type=button")
            button.on("click", lambda: self._pick(number))
            with button:
                name, said = words("span", "").classes("name text"), words("span", "").classes("soft")

        def change(use: LabelUse) -> None:
            name.set_text(use.row.name)
            said.set_text(_in_short(use))

        change(use)
        return item, change

    # -- what changes ----------------------------------------------------------------------------------------------
    async def renew(self) -> None:
        """Show what stands now."""
        await self.show(await self._seat.read_desk(uses))

    async def show(self, found: list[LabelUse]) -> None:
        """Show these labels."""
        self._found = found
        self._show_list()
        await self._panel.renew(found)

    def _show_list(self) -> None:
        self._nothing.set_visibility(not self._found)
        self._split.set_visibility(bool(self._found))
        piece = self._search.strip().casefold()
        matching = [use for use in self._found if piece in use.row.name.casefold() or _answers(use, piece)]
        shown: dict[Hashable, LabelUse] = {use.row.id: use for use in matching[:_MOST]}
        self._list.show(shown)
        self._more.set_text(_how_many(len(shown), len(matching), len(self._found)))
        self._mark()

    def _mark(self) -> None:
        if self._picked is not None and all(use.row.id != self._picked for use in self._found):
            self._picked = None  # deleted or merged meanwhile
        self._panel.pick(self._picked)
        if self._picked is None:
            self._split.classes(remove="picked")
        else:
            self._split.classes("picked")
        for number, element in self._list.elements():
            button = element.default_slot.children[0]
            if number == self._picked:
                button.props("aria-current=true")
            else:
                button.props(remove="aria-current")

    def _look_for(self, search: str) -> None:
        self._search = search
        self._show_list()
        self._remember()

    async def _pick(self, number: int) -> None:
        self._picked = number
        self._mark()
        self._remember()
        with self._seat.telling():
            await self._panel.renew(self._found)
        ui.run_javascript("document.getElementById('label-name')?.focus({preventScroll: innerWidth > 900})")

    def _close(self) -> None:
        """Back to the list, where there is no room for both."""
        self._picked = None
        self._mark()
        self._remember()

    def _remember(self) -> None:
        """The address shows what the page shows, so that it can be sent to someone."""
        name = next((use.row.name for use in self._found if use.row.id == self._picked), None)
        asked = {"label": name, "search": self._search.strip()}
        query = urlencode({key: value for key, value in asked.items() if value})
        ui.navigate.history.replace(page(self._seat.desk, "labels") + (f"?{query}" if query else ""))

    async def _make(self) -> None:
        with dialog(self._seat, "New label") as opened:
            name = ui.input("Name").props("outlined autofocus autocomplete=off maxlength=200")
            answer = ui.textarea("Answer text").props("outlined autogrow maxlength=10000")
            words("p", "The answer text is sent to who asks. It may be added later.").classes("soft")
            with choices(opened):
                ui.button("Make", on_click=lambda: opened.submit((name.value, answer.value))).props(
                    "unelevated no-caps"
                )
        given = await opened
        if given is None:
            return
        with self._seat.telling():
            made = await self._seat.change(lambda desk: live.create(desk, given[0], given[1] or None, self._seat.who))
            self._said(f"The label {made.name} is there. It is guessed once it has examples.")
            await self.renew()
            await self._pick(made.id)


def _answers(use: LabelUse, piece: str) -> bool:
    return bool(piece) and piece in (use.row.answer or "").casefold()


def _in_short(use: LabelUse) -> str:
    examples = f"{use.row.examples:,} example{'' if use.row.examples == 1 else 's'}"
    return examples if use.share is None else f"{examples} · {percent(use.share)} of questions"


def _how_many(shown: int, matching: int, all: int) -> str:
    if not matching:
        return "No label and no answer text holds that."
    if shown < matching:
        return f"{shown:,} of {matching:,} labels are shown. Search for the others."
    return f"{matching:,} of {all:,} labels" if matching < all else f"{all:,} label{'' if all == 1 else 's'}"
