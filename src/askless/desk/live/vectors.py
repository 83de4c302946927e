"""Vectors of queries, read from the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from askless.ledger import events as kinds
from askless.ledger import schema
from askless.ledger.entry import events_after
from askless.ledger.events import Event

_AT_ONCE = 500  # ids in one statement
_CHUNK = 5000  # events, and so vectors, in memory at once
_table = schema.queries
_ONE = select(_table.c.vector)

# The events from which a state takes a vector.
_NEED = frozenset({kinds.DECIDED, kinds.ASKED, kinds.ANSWERED, kinds.GIVEN, kinds.RELABELLED, kinds.RETRACTED})


class StoredVectors:
    """The vector of a query by its id: from what is at hand, or from the ledger; None where there is none."""

    def __init__(self, connection: Connection, at_hand: Mapping[int, NDArray[np.float32] | None] | None = None) -> None:
        self._connection = connection
        self._at_hand = {} if at_hand is None else at_hand

    def __call__(self, id: int) -> NDArray[np.float32] | None:
        """One vector."""
        if id in self._at_hand:
            return self._at_hand[id]
        return as_vector(self._connection.execute(_ONE.where(_table.c.id == id)).scalar())

    def many(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32] | None]:
        """Many vectors, from the ledger as it is now."""
        return read_vectors(self._connection, ids)


def read_vectors(connection: Connection, ids: Iterable[int]) -> dict[int, NDArray[np.float32] | None]:
    """Many vectors at once."""
    wanted = list(ids)
    found: dict[int, NDArray[np.float32] | None] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        block = wanted[start : start + _AT_ONCE]
        for id, vector in connection.execute(select(_table.c.id, _table.c.vector).where(_table.c.id.in_(block))):
            found[id] = as_vector(vector)
    return found


def events_with_vectors(
    connection: Connection, desk: int, last: int = 0, *, upto: int | None = None
) -> Iterator[tuple[Event, StoredVectors]]:
    """The events of a desk in their order, each with a way to the vectors that it may need."""
    chunk: list[Event] = []
    for event in events_after(connection, desk, last, upto=upto, chunk=_CHUNK):
        chunk.append(event)
        if len(chunk) == _CHUNK:
            yield from _ready(connection, chunk)
            chunk = []
    yield from _ready(connection, chunk)


def _ready(connection: Connection, chunk: list[Event]) -> Iterator[tuple[Event, StoredVectors]]:
    needed = {event.query for event in chunk if event.query is not None and event.kind in _NEED}
    vectors = StoredVectors(connection, read_vectors(connection, needed))
    for event in chunk:
        yield event, vectors


def as_vector(stored: bytes | None) -> NDArray[np.float32] | None:
    """The numbers of a stored vector."""
    return None if stored is None else np.frombuffer(stored, dtype=np.float32)
