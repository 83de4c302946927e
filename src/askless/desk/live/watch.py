"""News of other processes, on either kind of database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from sqlalchemy import func, select

from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.listen import Listener

Callback: TypeAlias = Callable[[int, int], None]  # a desk's id, and the id of its newest event

_LOOK = 0.25  # seconds between two looks into an SQLite file
_events = schema.events
_log = logging.getLogger(__name__)


class Watch:
    """Calls back with each desk that has new events, those of this process included.

    PostgreSQL tells of them; an SQLite file is looked into four times a second, which its index makes cheap.
    """

    def __init__(self, database: Database, callback: Callback) -> None:
        self._database, self._callback = database, callback
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._listener: Listener | None = None
        if database.is_sqlite:
            self._last = self._newest()
            self._thread = threading.Thread(target=self._look, name="askless-watch", daemon=True)
            self._thread.start()
        else:
            self._listener = Listener(database, self._told)

    def close(self) -> None:
        """End it; the callback is not called any more once this has returned."""
        self._over.set()
        if self._listener is not None:
            self._listener.close()
        if self._thread is not None:
            self._thread.join()

    def _told(self, message: dict[str, Any]) -> None:
        if "desk" in message and "event" in message:
            try:
                desk, event = int(message["desk"]), int(message["event"])
            except (TypeError, ValueError, OverflowError):
                _log.warning("A message is not of askless, and is passed by: %.200r", message)
            else:
                self._call(desk, event)
            return
        try:  # the connection is new: something may have been missed
            for desk, event in self._all():
                self._call(desk, event)
        except Exception as error:  # noqa: BLE001  (the next message comes all the same)
            _log.warning("Could not look for what other processes have recorded: %r", error)

    def _call(self, desk: int, event: int) -> None:
        try:
            self._callback(desk, event)
        except Exception as error:  # noqa: BLE001  (the other desks are told all the same)
            _log.warning("What was recorded at desk %d could not be taken up: %r", desk, error)

    def _all(self) -> list[tuple[int, int]]:
        with self._database.read() as connection:
            newest = select(func.max(_events.c.id)).where(_events.c.desk == schema.desks.c.id).scalar_subquery()
            rows = connection.execute(select(schema.desks.c.id, newest)).all()
        return [(desk, event) for desk, event in rows if event is not None]

    def _newest(self) -> int:
        with self._database.read() as connection:
            return int(connection.execute(select(func.max(_events.c.id))).scalar() or 0)

    def _look(self) -> None:
        """In SQLite ids grow in the order of the commits, at all desks: what is new comes after the last one seen.

        Where a desk is deleted, the newest is one from before; no id is used twice, so nothing is missed.
        """
        while not self._over.wait(_LOOK):
            try:
                newest = self._newest()
                if newest == self._last:
                    continue
                query = select(_events.c.desk, func.max(_events.c.id)).where(_events.c.id > self._last)
                with self._database.read() as connection:
                    found = [(desk, event) for desk, event in connection.execute(query.group_by(_events.c.desk))]
                self._last = max([newest, *(event for _, event in found)])
                for desk, event in found:
                    self._call(desk, event)
            except Exception as error:  # noqa: BLE001  (the next look may succeed)
                _log.warning("Could not look for what other processes have recorded: %r", error)
