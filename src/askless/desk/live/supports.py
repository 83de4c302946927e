"""The examples that guesses rest on, as askers are told of them: kept in memory, since most guesses name many."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from askless.desk.live.read import Support, evidence
from askless.ledger.events import Event

_MOST = 4_000_000  # characters


class Supports:
    """What `read.evidence` has found, until an event says that it may have changed.

    Every change of a query's text or label comes with an event that names the query, or with one of a label, which
    names none. A desk that is loaded anew begins with an empty memory.
    """

    def __init__(self) -> None:
        self._known: dict[int, Support] = {}
        self._size = 0  # in characters, of what was kept since the memory was empty

    def find(self, connection: Connection, ids: Iterable[int]) -> dict[int, Support]:
        """The examples with these ids, and perhaps others, as they are now: an erased one has no text."""
        wanted = set(ids)
        unknown = wanted.difference(self._known)
        if not unknown:
            return self._known
        new = evidence(connection, unknown)
        size = sum(map(_size, new.values()))
        if self._size + size > _MOST:
            found = new | {id: self._known[id] for id in wanted - unknown}
            self._known, self._size = (new, size) if size <= _MOST else ({}, 0)
            return found
        self._known |= new
        self._size += size
        return self._known

    def follow(self, event: Event) -> None:
        """Forget what an event may have changed."""
        if event.query is None:
            self._known, self._size = {}, 0
        else:
            self._known.pop(event.query, None)


def _size(support: Support) -> int:
    return len(support.key) + len(support.text or "") + len(support.label)
