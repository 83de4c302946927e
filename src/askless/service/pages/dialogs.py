"""Questions that a page asks in front of everything else: to be sure, or for a text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui

from askless.service.pages.parts import words
from askless.service.pages.seat import Seat


@contextmanager
def dialog(seat: Seat, title: str) -> Iterator[ui.dialog]:
    """A card in front of the page with that heading; Escape closes it. What is put inside follows the heading.

    It belongs to the page, not to the row whose button opened it: a renewal of the row leaves it open.
    """
    with seat.client, ui.dialog() as opened:
        opened.props["aria-label"] = title
        opened.on("hide", opened.delete)
        with ui.card().classes("card ask-dialog"):
            words("h2", title).classes("text")
            yield opened


@contextmanager
def choices(opened: ui.dialog) -> Iterator[None]:
    """The buttons at the end of a dialog, the one that leaves everything as it is first."""
    with ui.element("div").classes("ask-choices"):
        ui.button("Cancel", on_click=lambda: opened.submit(None)).props("flat no-caps")
        yield


async def sure(
    seat: Seat, title: str, text: str, *, yes: str, typed: str | None = None, colour: str = "negative"
) -> bool:
    """Whether they are sure. With `typed`, they must type that first."""
    with dialog(seat, title) as opened:
        words("p", text).classes("text")
        field = None
        if typed is not None:
            field = ui.input(f"Type {typed} to confirm").props("outlined autofocus autocomplete=off")
        with choices(opened):
            button = ui.button(yes, on_click=lambda: opened.submit(True), color=colour).props("unelevated no-caps")
        if field is not None:
            button.disable()
            field.on_value_change(lambda event: button.set_enabled((event.value or "").strip() == typed))
        else:
            button.props("autofocus")
    return bool(await opened)


async def text_for(seat: Seat, title: str, label: str, value: str, *, yes: str) -> str | None:
    """A line of text; None where they thought better of it."""
    with dialog(seat, title) as opened:
        field = ui.input(label, value=value).props("outlined autofocus autocomplete=off maxlength=200")
        field.on("keydown.enter", lambda: opened.submit(field.value))
        with choices(opened):
            ui.button(yes, on_click=lambda: opened.submit(field.value)).props("unelevated no-caps")
    found: str | None = await opened
    return found
