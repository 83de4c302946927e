"""Small parts that several pages use. All of them show what users wrote as text, never as markup."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement


def words(tag: str, text: str) -> TextElement:
    """A text in an element of that tag: a heading, a paragraph, a key on the keyboard."""
    return TextElement(tag=tag, text=text)


@contextmanager
def empty(title: str, text: str) -> Iterator[None]:
    """What a page says where there is nothing to show: what that means, and what to do. What is put inside follows."""
    with ui.element("section").classes("empty"):
        words("h2", title)
        words("p", text)
        yield


def ago(at: datetime, now: datetime) -> str:
    """How long ago that was, in words."""
    seconds = max(0, int((now - at).total_seconds()))
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def moment(at: datetime, now: datetime) -> TextElement:
    """How long ago that was, with the exact time where one points at it."""
    shown = words("time", ago(at, now))
    shown.props["title"] = at.strftime("%Y-%m-%d %H:%M:%S %z")
    shown.props["datetime"] = at.isoformat()
    return shown


def one_line(text: str | None, key: str, longest: int = 240) -> str:
    """The beginning of a query's text in one line; of one that came as a vector, or was erased, its id."""
    if text is None:
        return f"(no text; id {key})"
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def link(text: str, address: str) -> TextElement:
    """A link to an address as the browser has it; NiceGUI's own would put the place of the pages before it again."""
    shown = words("a", text)
    shown.props["href"] = address
    return shown


def percent(share: float) -> str:
    """A share in whole percent; what is not certain is never said to be."""
    shown = round(100 * share)
    if shown == 100 and share < 1:
        return "over 99 %"
    return "under 1 %" if shown == 0 and share > 0 else f"{shown} %"
