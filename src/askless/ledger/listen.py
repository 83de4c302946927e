"""News of other processes: what they committed to a ledger in PostgreSQL."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from askless.ledger.engines import connect_arguments, require_psycopg
from askless.ledger.entry import CHANNEL

if TYPE_CHECKING:
    from types import TracebackType

    import psycopg

    from askless.ledger.database import Database

Message: TypeAlias = dict[str, Any]

_LOOK_UP = 0.5  # seconds until a listener that is to end notices it
_PATIENCE = (0.05, 2.0)  # seconds between tries to connect: the first, doubled up to the last


class Listener:
    """A thread that calls back with each message that `Entry.notify` sent, this process's own included.

    Messages get lost while the server cannot be reached. So each time the connection stands, the first time too, the
    callback gets an empty message: anything may have happened at any desk. The callback runs in the listener's thread
    and should only note what it is told. On SQLite there is nothing to listen to, and no thread.
    """

    def __init__(self, database: Database, callback: Callable[[Message], None]) -> None:
        self._callback = callback
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        if not database.is_sqlite:
            require_psycopg()
            self._address = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
            self._thread = threading.Thread(target=self._run, name="askless-listener", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        import psycopg

        pause = _PATIENCE[0]
        while not self._over.is_set():
            try:
                with psycopg.connect(self._address, autocommit=True, **connect_arguments()) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    pause = _PATIENCE[0]
                    self._callback({})
                    self._listen(connection)
            except psycopg.Error:  # the server is gone, or not there yet
                self._over.wait(pause)
                pause = min(2 * pause, _PATIENCE[1])

    def _listen(self, connection: psycopg.Connection[Any]) -> None:
        while not self._over.is_set():
            for notice in connection.notifies(timeout=_LOOK_UP):
                self._callback(_read(notice.payload))
                if self._over.is_set():
                    return

    def close(self) -> None:
        """End the thread; the callback is not called any more once this has returned."""
        self._over.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read(payload: str) -> Message:
    """The message; an empty one where it is not of askless: look at everything."""
    try:
        message = json.loads(payload)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
