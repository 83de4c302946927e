"""What an operation on a live desk gets: the state in memory, and the open transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, select

from askless.desk.live import snapshot
from askless.desk.live.fold import Fold, VectorOf
from askless.desk.live.rows import insert_rows
from askless.desk.live.settings import LiveSettings
from askless.desk.live.supports import Supports
from askless.desk.live.types import Happening
from askless.desk.live.vectors import StoredVectors, events_with_vectors
from askless.errors import UnknownDesk
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.entry import Entry
from askless.ledger.events import ERASED, SWITCHED, Event
from askless.ledger.ledger import DeskRow

_desks, _events, _webhooks = schema.desks, schema.events, schema.webhooks
_WITHOUT_SNAPSHOTS = (ERASED, SWITCHED)  # who records one deletes the desk's snapshots with it


class LiveDesk:
    """One desk in one process: used by its worker's thread alone, and within a transaction that holds its lock.

    `record` appends an event and applies it to the state; an operation writes the projections that go with it
    (`queries`, `labels`, `tickets`) through `entry.connection`. Where an operation raises after that, the state in
    memory is ahead of the ledger: it is `dirty`, and loaded anew before it is used again.
    """

    def __init__(self, database: Database, row: DeskRow, clock: Callable[[], datetime] | None = None) -> None:
        self.row = row
        self.fold = Fold()
        self.loaded = False
        self.dirty = False
        self.recorded = 0  # the last event recorded in the open transaction
        self.due: dict[int, None] = {}  # waiting queries that may be decided otherwise by now, in order
        self.held: dict[int, datetime] = {}  # those of them that an expert is at work on, and until when
        self.supports = Supports()
        self._database, self._clock = database, clock
        self._entry: Entry | None = None
        self._hooks: list[tuple[int, list[str]]] | None = None

    @property
    def entry(self) -> Entry:
        """The open transaction."""
        if self._entry is None:
            raise RuntimeError("An operation on a desk runs in its worker, within a transaction.")
        return self._entry

    @property
    def settings(self) -> LiveSettings:
        """What the desk is set to."""
        return self.fold.settings

    @property
    def now(self) -> datetime:
        """The time of everything in this transaction."""
        return self.entry.at

    @property
    def time(self) -> datetime:
        """The time outside of a transaction."""
        return datetime.now(UTC) if self._clock is None else self._clock()

    # -- what an operation does ------------------------------------------------------------------------------------
    def record(
        self,
        kind: str,
        query: int | None = None,
        payload: dict[str, Any] | None = None,
        *,
        who: str | None = None,
        seen: bool = False,
    ) -> Event:
        """Append an event and apply it; with `seen` it carries the last event of the desk before it."""
        last = self.fold.last_event if seen else None
        event = self.entry.append(kind, query, payload, who=who, seen=last)
        self.apply(event)
        return event

    def apply(self, event: Event, vector_of: VectorOf | None = None) -> None:
        """Take an event of this transaction into the state; vectors are read where there is no other way to them."""
        self.dirty = True
        self.recorded = event.id
        self._take_in(event, vector_of or StoredVectors(self.entry.connection))

    def tell(self, happening: Happening, event: Event, query: int) -> None:
        """Leave a message for the desk's webhooks that want it; it is sent once this transaction is committed."""
        if self._hooks is None:
            found = self.entry.connection.execute(
                select(_webhooks.c.id, _webhooks.c.kinds).where(_webhooks.c.desk == self.row.id)
            )
            self._hooks = [(id, kinds) for id, kinds in found]
        rows = [
            {
                "desk": self.row.id,
                "webhook": id,
                "kind": happening.value,
                "event": event.id,
                "query": query,
                "status": "pending",
                "attempts": 0,
                "next_at": self.now,
                "created_at": self.now,
            }
            for id, kinds in self._hooks
            if happening.value in kinds
        ]
        insert_rows(self.entry.connection, schema.deliveries, rows)

    # -- what the worker does --------------------------------------------------------------------------------------
    def load(self) -> None:
        """The state from the ledger, before anything is locked."""
        with self._database.read() as connection:
            self._take_over(connection)
        self.loaded = True

    def unload(self) -> None:
        """The state is not to be used any more; of the texts of examples nothing stays, since no event is heard of."""
        self.loaded, self.supports = False, Supports()

    def begin(self, entry: Entry) -> bool:
        """Take up a transaction: first apply what other processes have recorded; whether there was something."""
        if self._clock is not None:
            entry.at = self._clock()
        self._entry, self._hooks, self.recorded = entry, None, 0
        before = self.fold.last_event
        if _row(entry.connection, self.row).embedder == self.row.embedder:
            for event, vector_of in events_with_vectors(entry.connection, self.row.id, before):
                self._take_in(event, vector_of)
        else:  # the vectors of events from before the switch are the new embedder's as well: none fits this state
            self.reload()
        if self.fold.stale:
            self.reload()
        self.dirty = False
        return self.fold.last_event != before

    def catch_up(self) -> bool:
        """Apply what other processes have recorded, without a lock; whether that could be done, without a new load."""
        with self._database.read() as connection:
            if _row(connection, self.row).embedder != self.row.embedder:
                self.unload()
                return False
            for event, vector_of in events_with_vectors(connection, self.row.id, self.fold.last_event):
                self._take_in(event, vector_of)
        if self.fold.stale:
            self.unload()
        return self.loaded

    def reload(self) -> None:
        """Make the state anew, as the open transaction sees the ledger."""
        self._take_over(self.entry.connection)

    def end(self) -> None:
        """The transaction is over."""
        self._entry = None

    def _take_over(self, connection: Connection) -> None:
        """The desk and its state as the connection sees them; nothing is kept of those before."""
        self.row = _row(connection, self.row)
        self.fold = snapshot.load(connection, self.row)
        self.due, self.held = dict.fromkeys(self.fold.waiting), {}
        self.dirty, self.supports = False, Supports()

    def _take_in(self, event: Event, vector_of: VectorOf) -> None:
        """Apply an event, whoever recorded it, and note what follows from it for later."""
        before = self.fold.changes
        self.fold.apply(event, vector_of)
        self.supports.follow(event)
        if self.fold.changes != before:  # those that were due already come first
            self.due |= dict.fromkeys(self.fold.waiting)
        if event.kind in _WITHOUT_SNAPSHOTS:
            self.fold.saved = 0


def live_desks() -> Select[tuple[int, str, str]]:
    """The desks of the service: the first event of each is its settings. Those of `askless label` have no mode."""
    mode = select(_events.c.payload["mode"].as_string()).where(_events.c.desk == _desks.c.id)
    first = mode.order_by(_events.c.id).limit(1).scalar_subquery()
    return select(_desks.c.id, _desks.c.name, _desks.c.embedder).where(first.is_not(None))


def find_desk(connection: Connection, name: str) -> DeskRow:
    """The desk of the service that has this name."""
    found = connection.execute(live_desks().where(_desks.c.name == name)).one_or_none()
    if found is None:
        raise UnknownDesk(f"There is no desk {name!r}.")
    return DeskRow(found.id, found.name, found.embedder)


def _row(connection: Any, row: DeskRow) -> DeskRow:
    """The desk as it stands: its embedder may be another by now, or the desk gone."""
    found = connection.execute(select(_desks.c.name, _desks.c.embedder).where(_desks.c.id == row.id)).one_or_none()
    if found is None or found.name != row.name:
        raise UnknownDesk(f"There is no desk {row.name!r} any more.")
    return DeskRow(row.id, found.name, found.embedder)
