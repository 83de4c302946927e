"""What of the history is shown, as the address of the page says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Connection

from askless.desk.live.history import Past, past
from askless.desk.live.read import Page
from askless.desk.live.types import QueryStatus
from askless.service.pages.paths import page

LONGEST = 200  # characters that are searched for
PER_PAGE = 50
CORRECTED = "corrected"
HOW = {
    "": "Any",
    QueryStatus.GUESSED.value: "Guessed by the desk",
    QueryStatus.ANSWERED.value: "Answered by an expert",
    CORRECTED: "Corrected by an expert",
    QueryStatus.GIVEN.value: "Given before",
    QueryStatus.ASKED.value: "Waits for an expert",
}


@dataclass(frozen=True, slots=True)
class View:
    """What is searched for: each field as it stands in the address, empty where it does not matter."""

    q: str = ""
    label: str = ""
    how: str = ""
    since: str = ""  # a day, from its beginning in UTC
    until: str = ""  # a day, to its end in UTC

    @classmethod
    def read(cls, given: Mapping[str, str]) -> View:
        """The view that an address asks for; what it says wrongly is as if it were not there."""
        view = cls()
        for field in fields(cls):
            view = view.changed(field.name, given.get(field.name))
        return view

    def changed(self, field: str, value: object) -> View:
        """The view with another value of one field; a value that it cannot have counts as none."""
        text = " ".join(value.split())[:LONGEST] if isinstance(value, str) else ""
        if (field == "how" and text not in HOW) or (field in ("since", "until") and _day(text) is None):
            text = ""
        return replace(self, **{field: text})

    def address(self, desk: str) -> str:
        """The address that asks for this view."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        asked = urlencode({name: value for name, value in given.items() if value})
        return page(desk, "history") + (f"?{asked}" if asked else "")

    @property
    def filters(self) -> bool:
        """Whether some of the history may be left out."""
        return self != View()


def read_past(
    connection: Connection, desk: int, view: View, *, blind: bool, cursor: str | None = None, limit: int = PER_PAGE
) -> Page[Past]:
    """The queries that fit, the newest first."""
    wanted: dict[str, Any] = {"corrected": True} if view.how == CORRECTED else {}
    if view.how and view.how != CORRECTED:
        wanted = {"status": QueryStatus(view.how)}
    since, until = _day(view.since), _day(view.until)
    if since is not None and until is not None and until < since:
        since, until = until, since  # the wrong way round can only mean this
    return past(
        connection,
        desk,
        search=view.q or None,
        label=view.label or None,
        since=since,
        until=None if until is None else until + timedelta(days=1),
        blind=blind,
        cursor=cursor,
        limit=limit,
        **wanted,
    )


def _day(text: str) -> datetime | None:
    """The beginning of a day in UTC; None where the text is none, or one that cannot be counted from."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC) if 1970 <= day.year < 9000 else None
