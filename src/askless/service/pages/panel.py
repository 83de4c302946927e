"""A panel at the side of the page, in which one of its rows is looked at closely."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from nicegui import ui

from askless.service.pages.parts import words
from askless.service.pages.paths import ASSETS
from askless.service.pages.seat import Seat

ROWS_SCRIPT = f'<script src="{ASSETS}/rows.js" defer></script>'  # keys on pages whose rows open a panel


def row_keys(*more: tuple[str, str]) -> None:
    """A line that names the keys of a page with rows, with those that this page has besides."""
    with ui.element("p").classes("soft keys"):
        for key, does in (("j", "down"), ("k", "up"), ("Enter", "open"), *more, ("/", "search")):
            words("kbd", key)
            words("span", does)


@contextmanager
def side_panel(seat: Seat, title: str) -> Iterator[ui.dialog]:
    """A panel with that heading; Escape closes it and gives the focus back to the row. What is put inside follows."""
    with seat.client, ui.dialog().props("position=right full-height transition-duration=150") as opened:
        opened.props["aria-label"] = title
        opened.on("hide", opened.delete)
        with ui.element("div").classes("side-panel").props("data-panel"):
            with ui.element("div").classes("panel-top"):
                words("h2", title).classes("text")
                ui.button(icon="close", on_click=opened.close).props('flat round dense aria-label="Close"')
            yield opened


def whole_text(text: str | None, key: str) -> None:
    """All of a query's text, which scrolls by itself where it is long."""
    shown = f"(no text; id {key})" if text is None else text
    words("p", shown).classes("text whole").props('tabindex=0 role=region aria-label="Text of the question"')


def time_left(until: datetime, now: datetime) -> str:
    """For how long something still holds, in words."""
    minutes = max(1, round((until - now).total_seconds() / 60))
    return f"{minutes:,} minute{'s' if minutes > 1 else ''} more"
