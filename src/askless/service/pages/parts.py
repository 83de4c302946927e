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
