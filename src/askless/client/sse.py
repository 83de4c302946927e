"""Server-sent events, read from pieces of text as they arrive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# The standard's line ends alone. str.splitlines knows more of them, such as U+2028, which JSON may hold as it is.
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its kind, its data, and its id, which a client that comes back sends as Last-Event-ID."""

    kind: str
    data: str
    id: str | None


class EventReader:
    """Feed it text in pieces of any size; it yields the events that are complete. [WHATWG, server-sent events]"""

    def __init__(self) -> None:
        self._rest = ""
        self._lines: list[str] = []
        self._last_id: str | None = None

    def feed(self, piece: str) -> Iterator[ServerEvent]:
        """The events that this piece ends."""
        text = self._rest + piece
        # A carriage return at the end may be the first half of a line end.
        held = "\r" if text.endswith("\r") else ""
        *whole, rest = _LINE_END.split(text.removesuffix("\r"))
        self._rest = rest + held
        for line in whole:
            if line:
                self._lines.append(line)
                continue
            event = self._event()
            if event is not None:
                yield event

    def _event(self) -> ServerEvent | None:
        """The event of the lines since the last blank one; None where they carry no data (a heartbeat)."""
        kind, data = "message", []
        for line in self._lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                kind = value
            elif name == "data":
                data.append(value)
            elif name == "id":
                self._last_id = value
        self._lines = []
        return ServerEvent(kind, "\n".join(data), self._last_id) if data else None
