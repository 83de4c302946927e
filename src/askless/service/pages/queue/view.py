"""What of the queue is shown, as the address of the page says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from sqlalchemy import Connection

from askless.desk.live.queue import Order, QueueRow, waiting
from askless.desk.live.types import Why
from askless.service.pages.paths import page

PER_PAGE = 50
LONGEST = 200  # characters that are searched for
COUNTED = 100  # new tickets that are counted one by one


@dataclass(frozen=True, slots=True)
class View:
    """Filter, order and page of the queue."""

    search: str = ""
    label: str | None = None
    why: Why | None = None
    order: Order = Order.USEFUL
    page: int = 1

    @classmethod
    def read(cls, given: Mapping[str, str], *, blind: bool) -> View:
        """The view that an address asks for; what it says wrongly is as if it were not there."""
        names = {"search": "q", "label": "label", "order": "sort"} | ({} if blind else {"why": "why"})
        view, number = cls(), given.get("page", "")
        for field, name in names.items():
            view = view.changed(field, given.get(name))
        return (
            replace(view, page=int(number)) if number.isascii() and number.isdecimal() and 0 < len(number) < 6 else view
        )

    def changed(self, field: str, value: object) -> View:
        """The view with another value of one field, from page one; a value that it cannot have counts as none."""
        text = " ".join(value.split())[:LONGEST] if isinstance(value, str) else ""
        match field:
            case "search":
                return replace(self, search=text, page=1)
            case "label":
                return replace(self, label=text or None, page=1)
            case "why":
                return replace(self, why=Why(text) if text in list(Why) else None, page=1)
            case _:
                return replace(self, order=Order(text) if text in list(Order) else Order.USEFUL, page=1)

    def address(self, desk: str) -> str:
        """The address that asks for this view."""
        given = {
            "q": self.search,
            "label": self.label,
            "why": self.why,
            "sort": None if self.order is Order.USEFUL else self.order,
            "page": self.page if self.page > 1 else None,
        }
        asked = urlencode({name: str(value) for name, value in given.items() if value})
        return page(desk, "queue") + (f"?{asked}" if asked else "")

    @property
    def filters(self) -> bool:
        """Whether some of what waits may be left out."""
        return bool(self.search or self.label or self.why)


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of the queue: the lines of the page, how many fit, and the number of the newest that fits."""

    lines: list[QueueRow]
    total: int
    newest: int
    page: int


def read_page(connection: Connection, desk: int, view: View, *, blind: bool, now: datetime) -> Read:
    """The page of the view; the last one where there are not so many."""
    number = max(1, view.page)
    lines, total = _some(connection, desk, view, blind=blind, now=now, offset=(number - 1) * PER_PAGE)
    if not lines and total:
        number = (total + PER_PAGE - 1) // PER_PAGE
        lines, total = _some(connection, desk, view, blind=blind, now=now, offset=(number - 1) * PER_PAGE)
    newest, _ = _some(connection, desk, view, blind=blind, now=now, order=Order.NEWEST, limit=1)
    return Read(lines, total, max((line.id for line in newest), default=0), number)


def read_new(
    connection: Connection, desk: int, view: View, *, blind: bool, now: datetime, newest: int
) -> tuple[int, int]:
    """How many that fit have come since the ticket `newest`, `COUNTED` at most, and how many fit in all."""
    lines, total = _some(connection, desk, view, blind=blind, now=now, order=Order.NEWEST, limit=COUNTED)
    return sum(line.id > newest for line in lines), total


def read_fitting(
    connection: Connection, desk: int, view: View, *, blind: bool, now: datetime, who: str, most: int
) -> list[int]:
    """The first tickets that fit and that no other expert holds."""
    lines, _ = _some(connection, desk, view, blind=blind, now=now, limit=most)
    return [line.id for line in lines if line.lease_by in (None, who)]


def _some(
    connection: Connection,
    desk: int,
    view: View,
    *,
    blind: bool,
    now: datetime,
    order: Order | None = None,
    offset: int = 0,
    limit: int = PER_PAGE,
) -> tuple[list[QueueRow], int]:
    return waiting(
        connection,
        desk,
        now=now,
        blind=blind,
        search=view.search or None,
        label=view.label,
        why=view.why,
        order=order or view.order,
        offset=offset,
        limit=limit,
    )
